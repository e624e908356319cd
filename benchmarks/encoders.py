"""What pretrained encoders know: each learns from as many words of each language that it reads, with several seeds.

    python -m benchmarks.encoders --encoder gte-small=FOLDER:en ours-6=../shared/encoder:en,zh,ms:6 --words 400000

An encoder is given as NAME=PLACE:LANGUAGES, and :LAYERS where only the first ones are used. Prepares the texts of the
recipe with each tokenizer, trains a model of one language at a time, scores it on held-out documents, and adds each run
to `results/encoders.json` when it is done; a run that is there is not done again. Then fills the table of the log.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import yaml

from benchmarks.arms import flags, pieces_per_word, run
from benchmarks.writing import fill, write_json
from punctuation_restoration.data.prepare import prepare
from punctuation_restoration.data.recipe import load_recipe
from punctuation_restoration.data.shards import INDEX_NAME
from punctuation_restoration.data.summary import markdown_table
from punctuation_restoration.evaluation.signature import signature

ROOT = Path(__file__).resolve().parents[1]
BEGIN, END = "<!-- encoders: python -m benchmarks.encoders -->", "<!-- end of encoders -->"


@dataclass(frozen=True)
class Arm:
    """An encoder, the languages that it reads, and how many of its layers are used."""

    name: str
    place: str
    languages: tuple[str, ...]
    layers: int | None


def main(argv: Sequence[str] | None = None) -> int:
    """Do the runs that are missing, write them, fill the table."""
    args = parse_args(argv)
    rows: list[dict[str, Any]] = json.loads(args.out.read_text(encoding="utf-8"))["runs"] if args.out.is_file() else []
    for seed in args.seeds:
        for arm in map(read_arm, args.encoder):
            for language in arm.languages:
                known = {"encoder": arm.name, "language": language, "seed": seed}
                if any(known.items() <= row.items() for row in rows):
                    continue
                rows.append({**known, **run_arm(args, arm, language, seed)})
                print(json.dumps(rows[-1]), flush=True)
                settings = {name: getattr(args, name) for name in ("words", "pieces_per_batch", "validation_words")}
                result = {"signature": signature(arm.place, settings, "cpu"), "runs": rows}
                write_json(result, args.out)
    fill(args.document, BEGIN, END, table(rows))
    return 0


def parse_args(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="What pretrained encoders know.")
    parser.add_argument("--encoder", nargs="+", default=[], help="NAME=PLACE:LANGUAGES[:LAYERS]")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--words", type=int, default=400_000, help="of each language, to learn from")
    parser.add_argument("--pieces-per-batch", type=int, default=1024)
    parser.add_argument("--recipe", type=Path, default=ROOT / "recipes" / "encoders.yaml")
    parser.add_argument("--rate", nargs="+", default=[], metavar="NAME=RATE", help="rates other than the recipe's")
    parser.add_argument("--validation-words", type=int, default=10_000)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--work", type=Path, default=Path("runs/encoders"), help="folder of the runs")
    parser.add_argument("--out", type=Path, default=ROOT / "results" / "encoders.json")
    parser.add_argument("--document", type=Path, default=ROOT / "docs" / "log.md")
    return parser.parse_args(argv)


def read_arm(given: str) -> Arm:
    """NAME=PLACE:LANGUAGES[:LAYERS] as an arm.

    Raises:
        ValueError: if it is not written like that.
    """
    name, _, rest = given.partition("=")
    place, *more = rest.split(":")
    if not (name and place and 1 <= len(more) <= 2 and (len(more) == 1 or more[1].isdecimal())):
        raise ValueError(f"Expected --encoder as NAME=PLACE:LANGUAGES[:LAYERS], got {given!r}. Try gte=folder:en.")
    return Arm(name, place, tuple(more[0].split(",")), int(more[1]) if len(more) == 2 else None)


def run_arm(args: argparse.Namespace, arm: Arm, language: str, seed: int) -> dict[str, Any]:
    """One run: F1 on held-out documents, and what it took."""
    folder = args.work / f"data-{Path(arm.place).name}-{language}"
    recipe = load_recipe(args.recipe)
    chosen = [source.name for source in recipe.sources if source.language == language]
    own = args.work / f"{language}.yaml"
    args.work.mkdir(parents=True, exist_ok=True)
    own.write_text(yaml.safe_dump({"base": str(args.recipe.resolve()), "only": chosen}), encoding="utf-8")
    if not (folder / INDEX_NAME).is_file():
        prepare(load_recipe(own), folder, arm.place)
    place = args.work / f"{arm.name}-{language}-{seed}"
    steps = round(args.words * pieces_per_word([folder]) / args.pieces_per_batch)
    rates = dict(rate.split("=") for rate in args.rate)
    arguments = {
        "--recipe": own, "--encoder": arm.place, "--seed": seed, "--max-steps": steps,
        "--pieces-per-batch": args.pieces_per_batch, "--threads": args.threads,
        "--validation-words": args.validation_words,
    }  # fmt: skip
    if arm.layers:
        arguments["--layers"] = arm.layers
    if arm.name in rates:
        arguments["--encoder-rate"] = rates[arm.name]
    found = run(place, [folder], [folder], *flags(arguments))
    config = json.loads((place / "final" / "config.json").read_text(encoding="utf-8"))
    return {
        "f1": found["f1"][language], "steps": found["steps"], "minutes": found["minutes"], "pieces": found["pieces"],
        "slot_style": config["slot_style"], "layers": arm.layers,
    }  # fmt: skip


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Means over seeds by encoder and language, and the distance between seeds, as Markdown."""
    languages = [name for name in ("en", "zh", "ms") if any(row["language"] == name for row in rows)]
    lines = []
    for name in dict.fromkeys(row["encoder"] for row in rows):
        own = [row for row in rows if row["encoder"] == name]
        cells = []
        for language in languages:
            found = [row["f1"] for row in own if row["language"] == language]
            spread = f" ± {(max(found) - min(found)) / 2:.1f}" if len(found) > 1 else ""
            cells.append(f"{mean(found):.1f}{spread}" if found else "")
        minutes = mean(row["minutes"] for row in own)
        n_seeds = len({row["seed"] for row in own})
        lines.append([name, own[0]["slot_style"], str(n_seeds), *cells, f"{minutes:.0f}"])
    return markdown_table(["encoder", "slots", "seeds", *languages, "minutes a run"], lines, n_left=2)


if __name__ == "__main__":
    raise SystemExit(main())
