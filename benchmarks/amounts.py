"""F1 of a new language against the amount of its text, from nothing and from models that know others.

    python -m benchmarks.amounts --arm "from nothing=prepared_id_lstm:models/lstm" \\
        --arm "multilingual=prepared_id_lstm:runs/lstm/shift-4/final" \\
        --arm "default model=prepared_id:checkpoints/en-zh-ms" --arm "bare encoder=prepared_id:../shared/encoder"

An arm is a name, a prepared folder of the new language, and what training starts from. Every point is a run of
`train.py` that goes on until validation does not get better `--patience` times; `--max-steps` bounds it, and the rate
falls towards them. So a point is what so much text is worth, not what so many steps are. The score is that of the best
evaluation, so it is a little too good, alike for all. 0 words: the model as it comes. Started again, the program goes
on where it stopped. Writes `results/amounts.json`, a picture, and the table between the lines `<!-- amounts -->` of
`--document`. This is Figure 2 of Li & Lin (2020).
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.arms import cut_folder, flags, read_log, run, score
from benchmarks.writing import fill, write_json
from punctuation_restoration.data.shards import read_index
from punctuation_restoration.data.summary import markdown_table
from punctuation_restoration.evaluation.signature import shown_model, signature
from punctuation_restoration.registration import CHECKOUT_MODEL

ROOT = Path(__file__).resolve().parents[1]
BEGIN, END = "<!-- amounts -->", "<!-- /amounts -->"
AMOUNTS = [0, 4_000, 16_000, 64_000, 256_000, 10_000_000]  # the last: all that there is


def main(argv: Sequence[str] | None = None) -> int:
    """Train every point, and write what was found."""
    args = parse_args(argv)
    arms = dict(map(read_arm, args.arm))
    rows: list[dict[str, Any]] = []
    for n_words in args.amounts:
        for name, (folder, start) in arms.items():
            rows += points(args, name, folder, start, n_words)
            settings = {key: getattr(args, key) for key in ("max_steps", "patience", "evaluate_every")}
            starts = {one: shown_model(place) for one, (_, place) in arms.items()}
            settings |= {"recipe": Path(args.recipe).name, "arms": starts}
            write_json({"signature": signature(str(CHECKOUT_MODEL), settings, "cpu"), "points": rows}, args.out)
    draw(rows, args.picture)
    if args.document:
        fill(args.document, BEGIN, END, table(rows))
    return 0


def read_arm(text: str) -> tuple[str, tuple[str, str]]:
    """`NAME=FOLDER:START`.

    Raises:
        ValueError: if it is not that.
    """
    name, equals, rest = text.partition("=")
    folder, colon, start = rest.partition(":")
    if not (name and equals and folder and colon and start):
        raise ValueError(f"Expected --arm NAME=PREPARED:START, got {text!r}. Correct it.")
    return name, (folder, start)


def points(args: argparse.Namespace, name: str, folder: str, start: str, n_words: int) -> list[dict[str, Any]]:
    """The scores of an arm at one amount of text, one a seed; none where a bare encoder would have to do without."""
    settings = json.loads((Path(start) / "config.json").read_text(encoding="utf-8"))
    is_own = settings["model_type"] == "punctuation-restoration"
    if not n_words:
        found = score(start, [folder], args.validation_words, args.threads) if is_own else {}
        return [{"arm": name, "n_words": 0, "seed": 0, "f1": mean(found.values())}] if found else []
    total = sum(row["splits"]["train"]["n_words"] for row in read_index(folder)["sources"])
    part = cut_folder(folder, args.work / f"{Path(folder).name}-{n_words}", min(1.0, n_words / total))
    there = sum(row["splits"]["train"]["n_words"] for row in read_index(part)["sources"])
    given = ["--from", start] if is_own else ["--encoder", start, "--layers", str(args.layers)]
    settings = ("recipe", "threads", "max_steps", "patience", "evaluate_every", "validation_words")
    given += flags({"--" + name.replace("_", "-"): getattr(args, name) for name in settings})
    given += args.rates.get(name, "").split()
    rows = []
    for seed in args.seeds:
        place = args.work / name.replace(" ", "-") / f"{n_words}-{seed}"
        trained = run(place, [part], [folder], *given, "--seed", str(seed))
        row = {"arm": name, "n_words": there, "seed": seed, "steps": trained["steps"], "minutes": trained["minutes"]}
        rows.append({**row, "f1": best(place)})
        print(json.dumps(rows[-1]), flush=True)
    return rows


def best(place: Path) -> float:
    """The best mean F1 of a run's evaluations, in points of 100."""
    return max(row["validation"]["mean_f1"] for row in read_log(place / "log.jsonl") if "validation" in row)


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """F1 by amount and arm in Markdown; of several seeds the mean and the range."""
    names = list(dict.fromkeys(row["arm"] for row in rows))
    lines = []
    for n_words in sorted({row["n_words"] for row in rows}):
        found = [[row["f1"] for row in rows if (row["arm"], row["n_words"]) == (name, n_words)] for name in names]
        cells = [f"{mean(f1):.1f} ({min(f1):.1f}–{max(f1):.1f})" if f1 else "" for f1 in found]
        lines.append([f"{n_words:,}", *cells])
    return markdown_table(["words", *names], lines, n_left=0)


def draw(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """A line an arm, over the words on a logarithmic axis; 0 words stand at its left end."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3.5), layout="constrained")
    axes = figure.subplots()
    for name in dict.fromkeys(row["arm"] for row in rows):
        own = [row for row in rows if row["arm"] == name]
        amounts = sorted({row["n_words"] for row in own})
        f1 = [mean(row["f1"] for row in own if row["n_words"] == n_words) for n_words in amounts]
        axes.plot([max(n_words, 1000) for n_words in amounts], f1, marker="o", label=name)
    axes.set_xscale("log")
    axes.set(xlabel="words of the new language (at the left end: none)", ylabel="micro-F1 (%)")
    axes.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)


def parse_args(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--arm", action="append", required=True, metavar="NAME=PREPARED:START")
    parser.add_argument("--rates", action="append", default=[], metavar="NAME=ARGS", help="of train.py, for an arm")
    parser.add_argument("--amounts", type=int, nargs="+", default=AMOUNTS, help="words of the new language")
    parser.add_argument("--recipe", default=str(ROOT / "recipes" / "indonesian.yaml"))
    parser.add_argument("--layers", type=int, default=6, help="of a bare encoder")
    parser.add_argument("--max-steps", type=int, default=4000)
    parser.add_argument("--evaluate-every", type=int, default=100)
    parser.add_argument("--patience", type=int, default=5)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--validation-words", type=int, default=6000)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--work", type=Path, default=Path("runs/amounts"), help="folder of the runs")
    parser.add_argument("--out", type=Path, default=ROOT / "results" / "amounts.json")
    parser.add_argument("--picture", type=Path, default=ROOT / "docs" / "images" / "amounts.png")
    parser.add_argument("--document", type=Path, help="Markdown file that shows the table")
    args = parser.parse_args(argv)
    args.rates = dict(one.split("=", 1) for one in args.rates)
    return args


if __name__ == "__main__":
    raise SystemExit(main())
