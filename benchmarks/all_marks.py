"""What further marks cost the basic ones, and how well they are learned: two runs from one model, for every seed.

    python -m punctuation_restoration.data.prepare --recipe recipes/all-marks.yaml --tokenizer checkpoints/en-zh-ms \\
        --max-words 300000 --out prepared-all-marks/
    python -m punctuation_restoration.data.prepare --recipe recipes/en-zh-ms.yaml --tokenizer checkpoints/en-zh-ms \\
        --max-words 300000 --out prepared-basic/
    python -m benchmarks.all_marks --basic prepared-basic/ --all prepared-all-marks/ --steps 9000 \\
        --out results/all_marks.json

Both go on from one model with the same text, steps and seed; one keeps its labels, the other gets those of the recipe.
Both are scored on validation sets in `, . ?`, through the pipeline as users get it, with the thresholds that their runs
found. Of the other, the F1 of every label on its held-out words is given as well. Started again, it goes on where it
stopped.
"""

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.arms import flags, read_log, run
from benchmarks.writing import write_json
from punctuation_restoration.cli.models import load_pipeline
from punctuation_restoration.evaluation.benchmarks import BENCHMARKS, load_examples
from punctuation_restoration.evaluation.examples import cut
from punctuation_restoration.evaluation.intervals import bootstrap
from punctuation_restoration.evaluation.labels import standard_labels
from punctuation_restoration.evaluation.runner import evaluate_examples
from punctuation_restoration.evaluation.scores import score
from punctuation_restoration.evaluation.signature import signature

VALIDATION = ("iwslt2012-dev", "zh-spoken-valid", "ms-news-valid", "ms-spoken-valid")


def main(argv: Sequence[str] | None = None) -> int:
    """Do all runs and write their scores."""
    args = parse_args(argv)
    rows = []
    for seed in args.seeds:
        for name, folder, recipe in (("basic", args.basic, args.recipe), ("all", args.all, args.all_recipe)):
            rows.append({"labels": name, "seed": seed, **arm(args, args.work / f"{name}-{seed}", folder, recipe, seed)})
            print(json.dumps(rows[-1]), flush=True)
    settings = {name: getattr(args, name) for name in ("steps", "threads", "validation_words", "limit")}
    write_json({"signature": signature(args.start, settings, "cpu"), "runs": rows}, args.out)
    return 0


def arm(args: argparse.Namespace, place: Path, folder: str, recipe: str, seed: int) -> dict[str, Any]:
    """One run and its scores."""
    given = {"--from": args.start, "--recipe": recipe, "--seed": seed, "--max-steps": args.steps}
    given |= {"--threads": args.threads, "--validation-words": args.validation_words}
    found = run(place, [folder], [folder], *flags(given))
    last = next(row["validation"] for row in reversed(read_log(place / "log.jsonl")) if "validation" in row)
    return {
        "steps": found["steps"],
        "minutes": found["minutes"],
        "pieces": found["pieces"],
        "held_out": last["languages"],  # of every label, before thresholds
        "basic_marks": basic_scores(place, args),
    }


def basic_scores(place: Path, args: argparse.Namespace) -> dict[str, Any]:
    """F1 in `, . ?` on every validation set, unless an earlier call has found it."""
    done = place / "basic.json"
    if not done.is_file():
        restore = load_pipeline(str(place / "final"), dtype="float32")
        label_set, found = standard_labels(restore.model.config), {}
        for name in args.benchmark:
            examples = load_examples(name, label_set, args.bench_root, Path(args.recipe))
            evaluation = evaluate_examples(restore, cut(examples, args.limit), label_set)
            scores, spread = score(evaluation.counts), asdict(bootstrap(evaluation.blocks))
            marks = {label: mark.f1 for label, mark in scores.marks.items()}
            found[name] = {"f1": scores.micro.f1, "interval_95": spread["micro"], "marks": marks}
        write_json(found, done)
    return dict(json.loads(done.read_text(encoding="utf-8")))


def parse_args(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="What further marks cost, and what they gain.")
    parser.add_argument("--from", dest="start", default="checkpoints/en-zh-ms", help="the model that both go on from")
    parser.add_argument("--basic", required=True, help="text prepared with the labels of that model")
    parser.add_argument("--all", required=True, help="the same text, prepared with all labels")
    parser.add_argument("--recipe", default="recipes/en-zh-ms.yaml", help="recipe of the first, and of held-out text")
    parser.add_argument("--all-recipe", default="recipes/all-marks.yaml", help="recipe of the second, with its labels")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--steps", type=int, default=9000)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--validation-words", type=int, default=20_000, help="held-out words of each language")
    parser.add_argument("--benchmark", nargs="+", choices=BENCHMARKS, default=list(VALIDATION), help="validation sets")
    parser.add_argument("--limit", type=int, default=30_000, help="words of each")
    parser.add_argument("--bench-root", type=Path, default=Path("../shared/bench"))
    parser.add_argument("--work", type=Path, default=Path("runs/all_marks"), help="folder of the runs")
    parser.add_argument("--out", type=Path, required=True, help="JSON file to write")
    return parser.parse_args(argv)


if __name__ == "__main__":
    raise SystemExit(main())
