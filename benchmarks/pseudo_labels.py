"""Discriminative self-training (Chen et al. 2021) on text whose marks are hidden: five arms, round after round.

    python -m benchmarks.pseudo_labels --encoder ../shared/encoder --words 2000000

The sources of one recipe lose their marks; of the others a part is human-labelled text. The teacher learns from that
alone; the students learn from it and from what their teacher says of the hidden text. All start from the encoder, and
every run sees as many words. In the first round all students learn the same pseudo labels; later rounds go on until a
student is no better than its teacher (`training/self_training.py`). The best model of each arm is scored on whole
validation sets and compared with the teacher and with vanilla self-training of the same seed by a paired bootstrap; so
is the ensemble of an arm's seeds, with its first alone. Writes `results/pseudo_labels.json` after every arm, and
prints a table. Started again, it goes on where it stopped.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
import yaml

from benchmarks.arms import cost, cut_folder, flags, run, write_resolved
from benchmarks.slots import SETS, against, f1_of, place_name, score_set, set_path, step_size
from benchmarks.writing import fill, write_json
from punctuation_restoration.data.prepare import prepare
from punctuation_restoration.data.recipe import load_recipe
from punctuation_restoration.data.shards import INDEX_NAME, read_index
from punctuation_restoration.data.summary import markdown_table
from punctuation_restoration.evaluation.signature import signature
from punctuation_restoration.training.self_training import ROUNDS_FILE

ROOT = Path(__file__).resolve().parents[1]
BEGIN, END = "<!-- pseudo labels: python -m benchmarks.pseudo_labels -->", "<!-- end of pseudo labels -->"
TEACHER, VANILLA = "teacher", "vanilla"
# What is added to the arm before: which of the losses' settings, and the argument here that gives its value.
ARMS: dict[str, Mapping[str, str]] = {
    VANILLA: {},
    "weight": {"--pseudo-weight": "weight"},
    "weight and smoothing": {
        "--pseudo-weight": "weight", "--label-smoothing": "smoothing", "--pseudo-smoothing": "smoothing",
    },
    "weight and discriminative smoothing": {
        "--pseudo-weight": "weight", "--label-smoothing": "human_smoothing", "--pseudo-smoothing": "smoothing",
    },
}  # fmt: skip
CURVE_POINTS = 10


def main(argv: Sequence[str] | None = None) -> int:
    """Do what is missing, write it, print a table."""
    args = parse_args(argv)
    torch.set_num_threads(args.threads)
    human, hidden = folders(args)
    words, pieces = step_size(args, [human])
    names = (
        "words", "human_words", "hidden_words", "layers", "pieces_per_batch", "weight", "smoothing", "human_smoothing",
        "rounds", "round_words", "limit",
    )  # fmt: skip
    settings = {name: getattr(args, name) for name in names} | {"words_a_step": words, "pieces_a_step": pieces}
    result: dict[str, Any] = {"signature": signature(args.encoder, settings, "cpu"), "runs": [], "ensembles": []}
    result["text"] = {"human": n_words(human), "hidden": n_words(hidden)}
    for seed in args.seeds:
        for name in [TEACHER, *args.arms]:
            result["runs"].append(run_arm(args, human, hidden, name, seed, words))
            print(json.dumps(result["runs"][-1]), flush=True)
            write_json(result, args.out)
    result["ensembles"] = [ensemble(args, name) for name in [TEACHER, *args.arms] if len(args.seeds) > 1]
    write_json(result, args.out)
    print(table(result))
    if args.document:
        fill(args.document, BEGIN, END, table(result))
    return 0


def parse_args(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--encoder", required=True, help="pretrained encoder")
    parser.add_argument("--layers", type=int, default=6, help="its first layers, which are used")
    parser.add_argument("--words", type=int, default=2_000_000, help="that every run learns from, seen again or not")
    parser.add_argument("--human-words", type=int, default=500_000, help="of text whose marks are known")
    parser.add_argument("--hidden-words", type=int, default=1_000_000, help="of text whose marks are hidden")
    parser.add_argument("--arms", nargs="+", default=list(ARMS), choices=list(ARMS), metavar="ARM", help=str([*ARMS]))
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=3, help="at most")
    parser.add_argument("--round-words", type=int, default=60_000, help="of each language, to judge rounds on")
    parser.add_argument("--weight", type=float, default=0.5, help="of pseudo labels, but in vanilla self-training")
    parser.add_argument("--smoothing", type=float, default=0.1, help="of pseudo labels; where it is equal, of all")
    parser.add_argument("--human-smoothing", type=float, default=0.0, help="of human labels, where it is another")
    parser.add_argument("--recipe", type=Path, default=ROOT / "recipes" / "en-zh-ms.yaml")
    parser.add_argument("--hidden", type=Path, default=ROOT / "recipes" / "en-zh-ms-unlabelled.yaml", help="recipe")
    parser.add_argument("--data", type=Path, nargs="+", help="prepared folders; without them the recipe is prepared")
    parser.add_argument("--pieces-per-batch", type=int, default=320)
    parser.add_argument("--validation-words", type=int, default=20_000, help="of each language, to find a run's best")
    parser.add_argument("--sets", nargs="+", default=SETS, help="benchmarks or files that the end is scored on")
    parser.add_argument("--limit", type=int, help="words of each set (default: all)")
    parser.add_argument("--bench-root", type=Path, default=Path("../shared/bench"))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--work", type=Path, default=Path("runs/pseudo-labels"), help="folder of the runs")
    parser.add_argument("--out", type=Path, default=ROOT / "results" / "pseudo_labels.json")
    parser.add_argument("--document", type=Path, help=f"gets the table between {BEGIN} and {END}")
    return parser.parse_args(argv)


def folders(args: argparse.Namespace) -> tuple[Path, Path]:
    """Prepared text with human labels, and text whose labels are not to be read; made once."""
    data = args.data or [args.work / "data"]
    if not args.data and not (data[0] / INDEX_NAME).is_file():
        prepare(load_recipe(args.recipe), data[0], args.encoder)
    names = {source.name for source in load_recipe(args.hidden).sources}
    index = read_index(*data)
    rows = {"human": [row for row in index["sources"] if row["name"] not in names]}
    rows["hidden"] = [{**row, "is_labelled": False} for row in index["sources"] if row["name"] in names]
    found = []
    for name, most in (("human", args.human_words), ("hidden", args.hidden_words)):
        write_resolved({**index, "sources": rows[name]}, args.work / f"{name}-whole")
        share = min(1.0, most / n_words(args.work / f"{name}-whole"))
        found.append(cut_folder(args.work / f"{name}-whole", args.work / f"{name}-{most}", share))
    return found[0], found[1]


def n_words(folder: Path) -> int:
    """Training words of a prepared folder."""
    return sum(row["splits"]["train"]["n_words"] for row in read_index(folder)["sources"])


def run_arm(args: argparse.Namespace, human: Path, hidden: Path, name: str, seed: int, words: float) -> dict[str, Any]:
    """The runs of an arm: F1 of its rounds, its cost, F1 on whole sets, and how much better that is than other arms."""
    place = args.work / place_name(name, seed)
    given = train_arguments(args, seed, words)
    rounds = []
    if name == TEACHER:
        run(place, [human], [human], *given)
    else:
        rounds = self_train(args, human, hidden, name, seed, given)
    students = [place / f"round-{number}" / "student" for number in range(1, len(rounds))]
    costs = [cost(one) for one in students or [place]]
    results = {one: score_set(args, [best_model(args, name, seed)], set_path(place, one), one) for one in args.sets}
    return {
        "arm": name,
        "seed": seed,
        "rounds": [round(row["f1"], 2) for row in rounds],  # the teacher's, and those of the students
        **{key: round(sum(row[key] for row in costs), 1) for key in ("steps", "minutes", "words", "pieces")},
        "f1": f1_of(results.values()),
        **{f"against_{other}": against(args, results, other, seed) for other in (TEACHER, VANILLA) if other != name},
    }


def train_arguments(args: argparse.Namespace, seed: int, words: float) -> list[str]:
    """Arguments of `train.py` that all runs of a seed share. Words are tagged, and no slots are filled."""
    recipe = args.work / "recipe.yaml"
    changes = {"base": str(args.recipe.resolve()), "sampling": {"filled_windows": 0.0}}
    recipe.write_text(yaml.safe_dump(changes), encoding="utf-8")
    steps = max(1, round(args.words / words))
    given = {
        "--recipe": recipe, "--encoder": args.encoder, "--layers": args.layers, "--slot-style": "last-piece",
        "--seed": seed, "--max-steps": steps, "--pieces-per-batch": args.pieces_per_batch, "--threads": args.threads,
        "--validation-words": args.validation_words, "--evaluate-every": max(1, steps // CURVE_POINTS),
    }  # fmt: skip
    return flags(given)


def self_train(
    args: argparse.Namespace, human: Path, hidden: Path, name: str, seed: int, given: Sequence[str]
) -> list[dict[str, Any]]:
    """Self-training in a process of its own. Gives its rounds.

    The labels of the first round are those that another arm of the seed has learned, where there is one.
    """
    place = args.work / place_name(name, seed)
    labelled = [args.work / place_name(other, seed) / "round-1" / "pseudo" for other in ARMS]
    there = [folder for folder in labelled if (folder / INDEX_NAME).is_file()]
    if there and not (place / "round-1" / "pseudo" / INDEX_NAME).is_file():
        write_resolved(read_index(there[0]), place / "round-1" / "pseudo")
    losses = [part for key, own in ARMS[name].items() for part in (key, str(getattr(args, own)))]
    command = [sys.executable, "-m", "punctuation_restoration.training.self_training", "--student", "encoder"]
    command += ["--teacher", str(best_model(args, TEACHER, seed)), "--data", str(human), "--unlabelled", str(hidden)]
    command += ["--rounds", str(args.rounds), "--round-words", str(args.round_words), "--out", str(place)]
    subprocess.run([*command, *given, *losses], check=True, env={**os.environ, "OMP_NUM_THREADS": str(args.threads)})
    return list(json.loads((place / ROUNDS_FILE).read_text(encoding="utf-8")))


def best_model(args: argparse.Namespace, name: str, seed: int) -> Path:
    """The best model of an arm: the teacher's best, or that of its best student."""
    place = args.work / place_name(name, seed)
    if name == TEACHER:
        return place / "best"
    rounds = json.loads((place / ROUNDS_FILE).read_text(encoding="utf-8"))
    return Path(max(rounds[1:], key=lambda row: row["f1"])["model"])


def ensemble(args: argparse.Namespace, name: str) -> dict[str, Any]:
    """An arm's models of all seeds, averaged in the pipeline, and how much better they are than the first alone."""
    models = [best_model(args, name, seed) for seed in args.seeds]
    place = args.work / place_name(f"{name} ensemble", len(models))
    results = {one: score_set(args, models, set_path(place, one), one) for one in args.sets}
    alone = against(args, results, name, args.seeds[0])
    return {"arm": name, "seeds": args.seeds, "f1": f1_of(results.values()), "against_alone": alone}


def table(result: Mapping[str, Any]) -> str:
    """Mean F1 by arm and set, with the mean gain over the teacher (of ensembles: over one model), as Markdown.

    A gain is shown where its interval leaves 0 out with every seed; otherwise there is none.
    """
    runs = result["runs"]
    sets = list(runs[0]["f1"])
    lines = []
    for name in dict.fromkeys(row["arm"] for row in runs):
        own = [row for row in runs if row["arm"] == name]
        cells = [cell([row["f1"][one] for row in own], [row.get("against_teacher", {}).get(one) for row in own])
                 for one in sets]  # fmt: skip
        students = " / ".join(str(max(len(row["rounds"]) - 1, 0)) for row in own)
        lines.append([name, students, *cells, f"{statistics.mean(row['minutes'] for row in own):.0f}"])
    for row in result["ensembles"]:
        cells = [cell([row["f1"][one]], [row["against_alone"].get(one)]) for one in sets]
        lines.append([f"{row['arm']}, {len(row['seeds'])} models averaged", "", *cells, ""])
    return markdown_table(["arm", "rounds", *(f"`{one}`" for one in sets), "minutes"], lines)


def cell(f1: Sequence[float], found: Sequence[Mapping[str, Any] | None]) -> str:
    """Mean F1 and, where there is a gain or a loss in each comparison, its mean."""
    gains = [one for one in found if one]
    is_sure = bool(gains) and (
        all(one["interval_95"][0] > 0 for one in gains) or all(one["interval_95"][1] < 0 for one in gains)
    )
    mean = f"{statistics.mean(f1):.1f}"
    return mean + (f" ({100 * statistics.mean(one['micro'] for one in gains):+.1f})" if is_sure else "")


if __name__ == "__main__":
    raise SystemExit(main())
