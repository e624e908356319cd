"""Slot filling or tagging: four ways of reading slots, each learned from one encoder and as many words.

    python -m benchmarks.slots --encoder ../shared/encoder --words 8000000 --out results/slots.json

Every arm is a run of `train.py` with the recipe of the default model, without filled slots, which a tagger cannot have.
With masks among the pieces, batches and windows hold more pieces for the same words. A run's `log.jsonl` is its curve;
its end is scored on whole validation sets by `evaluate.py`, and compared with tagging of the same seed by a paired
bootstrap. Then the speed of serving is measured, arm after arm in turn. Writes JSON after every run and prints a table.
Started again, it goes on where it stopped; the results of sets, with the counts of blocks, stay with the runs.
"""

import argparse
import json
import statistics
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import yaml
from transformers import AutoTokenizer

from benchmarks.arms import flags, read_log, run, seen
from benchmarks.writing import fill, write_json
from punctuation_restoration.cli.evaluate import main as evaluate
from punctuation_restoration.cli.models import load_pipeline
from punctuation_restoration.data.prepare import prepare, slot_config
from punctuation_restoration.data.recipe import load_recipe
from punctuation_restoration.data.shards import INDEX_NAME, read_index
from punctuation_restoration.data.summary import markdown_table
from punctuation_restoration.evaluation.result_files import compare, file_name, read_result
from punctuation_restoration.evaluation.signature import signature
from punctuation_restoration.pipeline.slots import SlotEncoder
from punctuation_restoration.training.building import batch_source
from punctuation_restoration.training.settings import TrainingSettings

ROOT = Path(__file__).resolve().parents[1]
BEGIN, END = "<!-- slots: python -m benchmarks.slots -->", "<!-- end of slots -->"
SETS = ("iwslt2012-dev", "zh-spoken-valid", "ms-news-valid", "ms-spoken-valid")
BASELINE = "tagging"
SAMPLED_STEPS = 200  # steps whose words and pieces are counted to plan a run
CURVE_POINTS = 20


@dataclass(frozen=True)
class Arm:
    """How an arm reads slots, and the share of the layers that a stream runs through."""

    slot_style: str
    layers: float = 1.0


ARMS = {
    BASELINE: Arm("last-piece"),
    "mask stream, all layers": Arm("mask-stream"),
    "mask stream, half of the layers": Arm("mask-stream", 0.5),
    "masks among the pieces": Arm("mask"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Do what is missing, write it, print a table."""
    args = parse_args(argv)
    torch.set_num_threads(args.threads)
    args.work.mkdir(parents=True, exist_ok=True)
    folders = args.data or [args.work / "data"]
    if not args.data and not (folders[0] / INDEX_NAME).is_file():
        prepare(load_recipe(args.recipe), folders[0], args.encoder)
    words, pieces = step_size(args, folders)
    names = ("words", "layers", "pieces_per_batch", "validation_words", "limit")
    settings = {name: getattr(args, name) for name in names} | {"words_a_step": words, "pieces_a_step": pieces}
    rows = other_rows(args, settings)
    result: dict[str, Any] = {"signature": signature(args.encoder, settings, "cpu"), "runs": rows, "serving": {}}
    for seed in args.seeds:
        for name in args.arms:
            rows.append(run_arm(args, folders, name, seed, words, pieces))
            print(json.dumps({key: value for key, value in rows[-1].items() if key != "curve"}), flush=True)
            write_json(result, args.out)
    places = {row["arm"]: args.work / place_name(row["arm"], row["seed"]) / "final" for row in reversed(rows)}
    result["serving"] = serving(places, args.texts, args.rounds)
    write_json(result, args.out)
    print(table(result))
    if args.document:
        fill(args.document, BEGIN, END, table(result))
    return 0


def parse_args(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--encoder", required=True, help="pretrained encoder with a tokenizer that has a mask")
    parser.add_argument("--layers", type=int, default=6, help="its first layers, which are used")
    parser.add_argument("--words", type=int, default=8_000_000, help="of all languages, to learn from")
    parser.add_argument("--arms", nargs="+", default=list(ARMS), choices=list(ARMS), metavar="ARM", help=str([*ARMS]))
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--recipe", type=Path, default=ROOT / "recipes" / "en-zh-ms.yaml")
    parser.add_argument("--data", type=Path, nargs="+", help="prepared folders; without them the recipe is prepared")
    parser.add_argument("--pieces-per-batch", type=int, default=320, help="where no masks stand among the pieces")
    parser.add_argument("--validation-words", type=int, default=6_000, help="of each language, for the curves")
    parser.add_argument("--sets", nargs="+", default=SETS, help="benchmarks or files that the end is scored on")
    parser.add_argument("--limit", type=int, help="words of each set (default: all)")
    parser.add_argument("--bench-root", type=Path, default=Path("../shared/bench"))
    parser.add_argument("--texts", type=Path, default=ROOT / "examples" / "texts", help=".txt files to time serving on")
    parser.add_argument("--rounds", type=int, default=5, help="times that each arm is timed")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--work", type=Path, default=Path("runs/slots"), help="folder of the runs")
    parser.add_argument("--out", type=Path, default=ROOT / "results" / "slots.json")
    parser.add_argument("--document", type=Path, help=f"gets the table between {BEGIN} and {END}")
    return parser.parse_args(argv)


def other_rows(args: argparse.Namespace, settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Runs of earlier calls with the same settings that are not asked for now."""
    if not args.out.is_file():
        return []
    found = json.loads(args.out.read_text(encoding="utf-8"))
    is_same = found["signature"]["settings"] == settings
    asked = {(name, seed) for name in args.arms for seed in args.seeds}
    return [row for row in found["runs"] if is_same and (row["arm"], row["seed"]) not in asked]


def step_size(args: argparse.Namespace, folders: Sequence[Path]) -> tuple[float, float]:
    """Mean words and pieces of a step of tagging, counted in the first steps of a run."""
    settings, recipe = TrainingSettings(pieces_per_batch=args.pieces_per_batch), load_recipe(args.recipe)
    config = slot_config(args.encoder, recipe)
    slots = SlotEncoder(AutoTokenizer.from_pretrained(args.encoder), config)
    source = batch_source(settings, recipe, read_index(*folders), slots, config, (0, 1))
    batches = [batch for step in range(SAMPLED_STEPS) for batch in source.step(step)]
    n_words = sum(int((batch["slot_positions"] != 0).sum()) for batch in batches)
    n_pieces = sum(int(batch["attention_mask"].sum()) for batch in batches)
    return round(n_words / SAMPLED_STEPS, 1), round(n_pieces / SAMPLED_STEPS, 1)


def run_arm(
    args: argparse.Namespace, folders: Sequence[Path], name: str, seed: int, words: float, pieces: float
) -> dict[str, Any]:
    """One run: its curve, its cost, F1 on whole sets, and how much better that is than tagging, where that is done."""
    arm, place = ARMS[name], args.work / place_name(name, seed)
    # Where each word has a mask among the pieces, windows and batches hold as many words as the others' do.
    longer = 1 + words / pieces if arm.slot_style == "mask" else 1.0
    lengths = {round(length * longer): share for length, share in load_recipe(args.recipe).sampling.lengths.items()}
    model = {"slot_style": arm.slot_style, "mask_layers": max(1, round(args.layers * arm.layers))}
    recipe = args.work / f"{place_name(name, seed)}.yaml"
    changes = {"model": model, "sampling": {"lengths": lengths, "filled_windows": 0.0}}
    recipe.write_text(yaml.safe_dump({"base": str(args.recipe.resolve()), **changes}), encoding="utf-8")
    steps = max(1, round(args.words / words))
    arguments = {
        "--recipe": recipe, "--encoder": args.encoder, "--layers": args.layers, "--slot-style": arm.slot_style,
        "--seed": seed, "--max-steps": steps, "--pieces-per-batch": round(args.pieces_per_batch * longer),
        "--threads": args.threads, "--validation-words": args.validation_words,
        "--evaluate-every": max(1, steps // CURVE_POINTS),
    }  # fmt: skip
    found = run(place, folders, folders, *flags(arguments))
    rows = read_log(place / "log.jsonl")
    results = {one: score_set(args, [place / "final"], set_path(place, one), one) for one in args.sets}
    row = {
        "arm": name, "seed": seed, "slot_style": arm.slot_style, "steps": found["steps"], "minutes": found["minutes"],
        "words": seen(rows, "words"), "pieces": found["pieces"],
        "f1": f1_of(results.values()),
        "curve": {row["step"]: f1_by_language(row) for row in rows if "validation" in row},
    }  # fmt: skip
    if arm.slot_style == "mask-stream":
        row["mask_layers"] = model["mask_layers"]
    return {**row, "against_tagging": against(args, results, BASELINE, seed) if name != BASELINE else {}}


def place_name(arm: str, seed: int) -> str:
    """The folder of a run."""
    return f"{arm.replace(',', '').replace(' ', '-')}-{seed}"


def set_path(place: Path, name: str) -> Path:
    """Where a run keeps its result on a set."""
    return place / "sets" / f"{file_name(name)}.json"


def score_set(args: argparse.Namespace, models: Sequence[Path], path: Path, name: str) -> dict[str, Any]:
    """The result of one model, or of the ensemble of several, on one set; one that is there is not made again.

    Raises:
        ValueError: if the set cannot be scored.
    """
    call = ["--model", str(models[0]), "--benchmark", name, "--output", str(path), "--device", "cpu"]
    call += ["--bench-root", str(args.bench_root), "--recipe", str(args.recipe)]
    call += ["--ensemble", *map(str, models[1:])] if models[1:] else []
    call += ["--limit", str(args.limit)] if args.limit else []
    if not path.is_file() and evaluate(call) != 0:
        raise ValueError(f"Expected a score on {name}, got none; evaluate.py says above what is wrong.")
    return read_result(path)


def f1_of(results: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """Micro-F1 by set, in points of 100."""
    return {result["benchmark"]: round(100 * result["scores"]["micro"]["f1"], 2) for result in results}


def against(
    args: argparse.Namespace, results: Mapping[str, Mapping[str, Any]], other: str, seed: int
) -> dict[str, dict[str, Any]]:
    """How much better some results are than those of another arm, on the sets on which that is scored."""
    paths = {one: set_path(args.work / place_name(other, seed), one) for one in results}
    there = {one: read_result(path) for one, path in paths.items() if path.is_file()}
    return {results[one]["benchmark"]: compare(results[one], earlier) for one, earlier in there.items()}


def f1_by_language(row: Mapping[str, Any]) -> dict[str, float]:
    """Validation F1 of a row of a run's log."""
    return {language: round(scores["f1"], 2) for language, scores in row["validation"]["languages"].items()}


def serving(places: Mapping[str, Path], texts: Path, rounds: int) -> dict[str, Any]:
    """Words and pieces a second of processor time in torch: medians over rounds, in which the models take turns.

    A stream's masks are no pieces; in overlapping windows a piece counts again.
    """
    restorers = {name: load_pipeline(str(place), "cpu", dtype="float32") for name, place in places.items()}
    items = [path.read_text(encoding="utf-8") for path in sorted(texts.glob("*.txt"))]
    seconds: dict[str, list[float]] = {name: [] for name in places}
    for number in range(rounds + 1):
        for name, restore in restorers.items():
            started = time.process_time()
            restore(items, existing="replace", return_words=False)
            if number:  # the first round loads what is loaded once
                seconds[name].append(time.process_time() - started)
    found = {}
    for name, restore in restorers.items():
        n_words = sum(len(restore.find_words(item)) for item in items)
        windows = (window for item in items for window in restore.preprocess(item, existing="replace"))
        n_pieces, middle = sum(len(window["input_ids"]) for window in windows), statistics.median(seconds[name])
        found[name] = {
            "words_per_second": round(n_words / middle, 1),
            "pieces_per_second": round(n_pieces / middle, 1),
            "pieces_per_word": round(n_pieces / n_words, 3),
        }
    return found


def table(result: Mapping[str, Any]) -> str:
    """Mean F1 by arm and set, with the mean distance from tagging, and what training and serving cost, as Markdown."""
    runs = result["runs"]
    sets = list(runs[0]["f1"])
    lines = []
    for name in dict.fromkeys(row["arm"] for row in runs):
        own = [row for row in runs if row["arm"] == name]
        cells = []
        for one in sets:
            gains = [100 * row["against_tagging"][one]["micro"] for row in own if one in row["against_tagging"]]
            cells.append(f"{statistics.mean(row['f1'][one] for row in own):.1f}")
            cells[-1] += f" ({statistics.mean(gains):+.1f})" if gains else ""
        minutes = statistics.mean(row["minutes"] for row in own)
        speed = result["serving"].get(name, {}).get("words_per_second", 0)
        lines.append([name, str(len(own)), *cells, f"{minutes:.0f}", f"{speed:,.0f}"])
    head = ["slots", "seeds", *(f"`{one}`" for one in sets), "minutes a run", "words a second"]
    return markdown_table(head, lines)


if __name__ == "__main__":
    raise SystemExit(main())
