"""Spanish after Zhu et al. (2022): what English, rewritten to Spanish conventions, gives it, in three orders.

    python -m punctuation_restoration.data.prepare --recipe recipes/spanish.yaml --tokenizer ../shared/encoder \\
        --out prepared-spanish-old/
    python -m punctuation_restoration.data.prepare --texts my_spanish/ --language es --labels recipes/spanish.yaml \\
        --tokenizer ../shared/encoder --out prepared-spanish-new/
    python -m benchmarks.paired --encoder ../shared/encoder --old prepared-spanish-old/ --new prepared-spanish-new/

"new" learns from the new text alone, "old, then new" from half as many words of the old and as many of the new, "joint"
from both mixed; all start from the same weights and see as many words. "old" is the half-way mark of the second: what
English alone gives. Scored is every label on the held-out words of the new text. Without Spanish text,
`--recipe recipes/spanish-stand-in.yaml` makes a stand-in of English dialogues, which says nothing about Spanish.

Every run is a run of `train.py`. Started again, it goes on where it stopped; `results/paired.json` is written after
every run.
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from benchmarks.arms import flags, run
from benchmarks.slots import step_size
from benchmarks.writing import fill, write_json
from punctuation_restoration.data.shards import read_index
from punctuation_restoration.data.summary import markdown_table
from punctuation_restoration.evaluation.signature import signature
from punctuation_restoration.training.validation import score_model

ROOT = Path(__file__).resolve().parents[1]
BEGIN, END = "<!-- paired: python -m benchmarks.paired -->", "<!-- end of paired -->"


def main(argv: Sequence[str] | None = None) -> int:
    """Do what is missing, write it, print a table."""
    args = parse_args(argv)
    torch.set_num_threads(args.threads)
    words, _ = step_size(args, [args.old, args.new])
    steps = max(2, round(args.words / words))
    names = ("words", "layers", "pieces_per_batch", "validation_words", "threads")
    settings = {name: getattr(args, name) for name in names} | {"words_a_step": words, "steps": steps}
    settings["sources"] = {name: source_words(folder) for name, folder in (("old", args.old), ("new", args.new))}
    rows: list[dict[str, Any]] = []
    for seed in args.seeds:
        for row in orders(args, seed, steps):
            rows.append({"seed": seed, **row})
            print(json.dumps(rows[-1]), flush=True)
            write_json({"signature": signature(args.encoder, settings, "cpu"), "runs": rows}, args.out)
    shown = table(rows)
    print(shown)
    if args.document:
        fill(args.document, BEGIN, END, shown)
    return 0


def parse_args(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--encoder", required=True, help="pretrained encoder that every order starts from")
    parser.add_argument("--layers", type=int, default=6, help="its first layers, which are used")
    parser.add_argument("--old", type=Path, required=True, help="prepared folder of rewritten English")
    parser.add_argument("--new", type=Path, required=True, help="prepared folder of Spanish, or of a stand-in")
    parser.add_argument("--recipe", type=Path, default=ROOT / "recipes" / "spanish.yaml")
    parser.add_argument("--words", type=int, default=2_000_000, help="that each order learns from")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--pieces-per-batch", type=int, default=320)
    parser.add_argument("--validation-words", type=int, default=20_000, help="held-out words that are scored")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--work", type=Path, default=Path("runs/paired"), help="folder of the runs")
    parser.add_argument("--out", type=Path, default=ROOT / "results" / "paired.json")
    parser.add_argument("--document", type=Path, help=f"gets the table between {BEGIN} and {END}")
    return parser.parse_args(argv)


def orders(args: argparse.Namespace, seed: int, steps: int) -> Iterator[dict[str, Any]]:
    """The runs of one seed, one after the other."""
    scratch = ["--encoder", args.encoder, "--layers", str(args.layers)]
    adapted = ["--from", str(args.work / f"old-{seed}" / "final")]
    yield arm(args, "old", seed, [args.old], steps // 2, scratch)
    yield arm(args, "old, then new", seed, [args.new], steps - steps // 2, adapted)
    yield arm(args, "new", seed, [args.new], steps, scratch)
    yield arm(args, "joint", seed, [args.old, args.new], steps, scratch)


def arm(
    args: argparse.Namespace, name: str, seed: int, folders: Sequence[Path], steps: int, start: Sequence[str]
) -> dict[str, Any]:
    """One run: its cost, and F1 of each label on the held-out words of the new text."""
    place = args.work / f"{name.replace(',', '').replace(' ', '-')}-{seed}"
    given = {"--recipe": args.recipe, "--seed": seed, "--max-steps": steps, "--pieces-per-batch": args.pieces_per_batch}
    given |= {"--threads": args.threads, "--validation-words": args.validation_words}
    found = run(place, folders, [args.new], *flags(given), *start)
    return {"order": name, **found, "marks": held_out(place, args.new, args.validation_words)}


def held_out(place: Path, folder: Path, n_words: int) -> dict[str, float]:
    """F1 of each label and of all, in points of 100, unless an earlier call has found it."""
    done = place / "marks.json"
    if not done.is_file():
        (row,) = score_model(place / "final", [folder], n_words)["languages"].values()
        write_json({name: round(value, 2) for name, value in row.items()}, done)
    return dict(json.loads(done.read_text(encoding="utf-8")))


def source_words(folder: Path) -> dict[str, int]:
    """Words to train on, by source."""
    return {row["name"]: row["splits"]["train"]["n_words"] for row in read_index(folder)["sources"]}


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Mean F1 of the seeds by order and label, as Markdown."""
    names = [name for name in rows[0]["marks"] if name != "n_words"]
    lines = []
    for order in dict.fromkeys(row["order"] for row in rows):
        own = [row for row in rows if row["order"] == order]
        means = [sum(row["marks"][name] for row in own) / len(own) for name in names]
        lines.append([order, str(len(own)), *(f"{mean:.1f}" for mean in means)])
    return markdown_table(["order", "seeds", *(name if name != "f1" else "all" for name in names)], lines)


if __name__ == "__main__":
    raise SystemExit(main())
