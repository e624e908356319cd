"""What a new language gains and what the old ones lose, for three orders of training and for growing amounts of text.

    python -m benchmarks.new_language --from checkpoints/en-zh-ms --encoder ../shared/encoder --old prepared/ \\
        --new prepared_id/ --minutes 10 --out results/new_language.json

The orders are those of Zhu et al.: only the new language; the old ones, then the new; all together. `--amounts` adds
the curve of Li and Lin (Figure 2): F1 against the number of words, adapted from the model and from the bare encoder.
Takes prepared folders and a model; writes JSON with validation micro-F1 per language. Every run is a run of `train.py`,
of so many minutes or, where the machine has other work, so many `--steps`; started again, it goes on where it stopped.
`--document` gets the tables between its lines `<!-- new language -->`.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.arms import cut_folder, run, score
from benchmarks.writing import put_between, write_json
from punctuation_restoration.data.shards import read_index
from punctuation_restoration.data.summary import markdown_table
from punctuation_restoration.evaluation.signature import signature

ROOT = Path(__file__).resolve().parents[1]
BEGIN, END = "<!-- new language -->", "<!-- /new language -->"


def main(argv: Sequence[str] | None = None) -> int:
    """Do all runs and write their scores."""
    args = parse_args(argv)
    work = Path(args.work)
    work.mkdir(parents=True, exist_ok=True)
    scratch = ["--encoder", args.encoder, "--layers", str(args.layers)]
    adapted = ["--from", args.start]
    orders = {
        "before": (),
        "new only": (scratch, [args.new]),
        "old, then new": (adapted, [args.new]),
        "joint": (adapted, [*args.old, args.new]),
    }
    rows = [row(args, name, work, args.steps, *order) for name, order in orders.items()]
    total = sum(row["splits"]["train"]["n_words"] for row in read_index(args.new)["sources"])
    for n_words in args.amounts:
        folder = cut_folder(args.new, work / f"words-{n_words}", n_words / total)
        for name, start in (("adapted", adapted), ("from the encoder", scratch)):
            place = work / str(n_words)
            rows.append({"n_words": n_words, **row(args, name, place, args.curve_steps or args.steps, start, [folder])})
    names = ("steps", "curve_steps", "minutes", "pieces_per_batch", "layers", "threads", "validation_words")
    settings = {name: getattr(args, name) for name in names if not (args.steps and name == "minutes")}
    data = {row["name"]: row["splits"]["train"]["n_words"] for row in read_index(*args.old, args.new)["sources"]}
    result = {"signature": signature(args.start, settings, "cpu"), "training_words": data, "runs": rows}
    write_json(result, Path(args.out))
    if args.document:
        text = args.document.read_text(encoding="utf-8")
        args.document.write_text(fill(text, result), encoding="utf-8")
    return 0


def row(args: argparse.Namespace, name: str, work: Path, steps: int | None, *start: Any) -> dict[str, Any]:
    """One run and its scores; without anything to start from, those of the model that there is."""
    if not start:
        f1 = score(args.start, [*args.old, args.new], args.validation_words, args.threads)
        return {"order": name, "steps": 0, "f1": f1}
    arguments, folders = start
    limits = ["--max-steps", str(steps)] if steps else ["--max-steps", "1000000", "--time-limit", str(args.minutes)]
    for setting in ("recipe", "threads", "pieces_per_batch", "validation_words"):
        limits += ["--" + setting.replace("_", "-"), str(getattr(args, setting))]
    place = work / name.replace(", ", "-").replace(" ", "-")
    found = {"order": name, **run(place, folders, [*args.old, args.new], *limits, *arguments)}
    print(json.dumps(found), flush=True)
    return found


def parse_args(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="A new language in three orders.")
    parser.add_argument("--from", dest="start", required=True, help="model of ours that knows the old languages")
    parser.add_argument("--encoder", required=True, help="bare encoder, for training from the new language alone")
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--old", required=True, nargs="+", help="prepared folders of the old languages")
    parser.add_argument("--new", required=True, help="prepared folder of the new language")
    parser.add_argument("--minutes", type=float, default=10.0, help="of each run, where there are no --steps")
    parser.add_argument("--steps", type=int, help="of each run, in place of --minutes")
    parser.add_argument("--curve-steps", type=int, help="of each run of the curve; the same as the others by default")
    parser.add_argument("--pieces-per-batch", type=int, default=1024)
    parser.add_argument("--recipe", default=str(ROOT / "recipes" / "indonesian.yaml"))
    parser.add_argument("--amounts", type=int, nargs="*", default=[], help="numbers of new words for the curve")
    parser.add_argument("--validation-words", type=int, default=10_000, help="of each language")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--work", default="runs/new_language", help="folder of the runs")
    parser.add_argument("--out", required=True, help="JSON file to write")
    parser.add_argument("--document", type=Path, help="Markdown file that shows the tables")
    return parser.parse_args(argv)


def fill(text: str, result: dict[str, Any]) -> str:
    """The text with the tables between its two lines."""
    return put_between(text, BEGIN, END, tables(result))


def tables(result: dict[str, Any]) -> str:
    """F1 by order, and F1 of the new language by its number of words, in Markdown."""
    orders = [row for row in result["runs"] if "n_words" not in row]
    languages = list(orders[0]["f1"])
    rows = [
        [row["order"], str(row["steps"]), *(f"{row['f1'][language]:.1f}" for language in languages)] for row in orders
    ]
    lines = [markdown_table(["order", "steps", *languages], rows)]
    new = max(languages, key=lambda it: orders[1]["f1"][it])  # what the run on it alone knows best
    curve = [row for row in result["runs"] if "n_words" in row]
    if curve:
        names = list(dict.fromkeys(row["order"] for row in curve))
        rows = []
        for n_words in dict.fromkeys(row["n_words"] for row in curve):
            found = {row["order"]: row["f1"][new] for row in curve if row["n_words"] == n_words}
            rows.append([f"{n_words:,}", *(f"{found[name]:.1f}" for name in names)])
        lines += ["", markdown_table([f"words of `{new}`", *names], rows, n_left=0)]
        lines += ["", f"Every row of the second table after {curve[0]['steps']} steps."]
    machine, settings = result["signature"]["machine"], result["signature"]["settings"]
    lines += [
        "",
        f"Micro-F1 in percent on {settings['validation_words']:,} held-out words of each language. A step has "
        f"{settings['pieces_per_batch']:,} pieces; {machine['processor']}, {settings['threads']} thread(s).",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    raise SystemExit(main())
