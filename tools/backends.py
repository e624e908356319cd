"""What a backend changes: decisions, and F1, beside `torch` in fp32. docs/speed.md quotes it by `tools.speed --fill`.

    python -m tools.backends --output results/backends.json
    python -m tools.backends --backends torch --before runs/default/final    # what storing in 8 bits changes

Each set counts alike. The first backend, or the model of `--before`, is what the others are compared with.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from punctuation_restoration.default_models import DEFAULT_MODEL
from punctuation_restoration.evaluation.benchmarks import default_root
from punctuation_restoration.evaluation.examples import Example, cut, standard_labels
from punctuation_restoration.evaluation.result_files import signature
from punctuation_restoration.evaluation.runner import align
from punctuation_restoration.evaluation.scored_texts import load_examples
from punctuation_restoration.evaluation.scores import count_labels, score
from punctuation_restoration.loading import load_pipeline
from tools.documents import tell
from tools.speed import BACKENDS

SETS = ("iwslt2012-dev", "zh-spoken-valid", "ms-news-valid", "ms-spoken-valid")
Decided = dict[str, list[str]]  # by set the label of every unit


def decide(restore: Any, sets: dict[str, list[Example]]) -> Decided:
    """What a pipeline decides on every set."""
    labels = standard_labels(restore.model.config)
    return {
        name: [label for one in own for label in align(one, restore(one.text)["words"], labels)[0]]
        for name, own in sets.items()
    }


def compare(found: Decided, reference: Decided, sets: dict[str, list[Example]], names: Sequence[str]) -> dict[str, Any]:
    """F1 of each set and their mean, and how many of the decisions are others than the reference's, in percent."""
    f1, changed = {}, {}
    for name, examples in sets.items():
        true = [label for one in examples for label in one.labels]
        f1[name] = round(100 * float(score(count_labels(true, found[name], names), names)["micro"]["f1"]), 2)
        n_changed = sum(a != b for a, b in zip(found[name], reference[name], strict=True))
        changed[name] = round(100 * n_changed / max(len(true), 1), 3)
    return {"f1": f1, "mean_f1": round(fmean(f1.values()), 2), "changed_percent": changed}


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Measure what each backend changes.")
    parser.add_argument("--model", default=DEFAULT_MODEL, help="folder of the model")
    parser.add_argument("--before", help="the model before it was stored in fewer bits: what all are compared with")
    parser.add_argument("--backends", nargs="+", choices=tuple(BACKENDS), default=list(BACKENDS))
    parser.add_argument("--benchmark", nargs="+", default=SETS, help="validation sets")
    parser.add_argument("--limit", type=int, default=30_000, help="words of each")
    parser.add_argument("--bench-root", type=Path, default=default_root())
    parser.add_argument("--recipe", type=Path, default=Path("recipes/en-zh-ms.yaml"))
    parser.add_argument("--output", type=Path, help="JSON file to write")
    args = parser.parse_args(argv)
    systems = [("before", args.before, "torch")] if args.before else []
    systems += [(backend, args.model, backend) for backend in args.backends]
    rows, sets, reference = list[dict[str, Any]](), dict[str, list[Example]](), Decided()
    for name, model, backend in systems:
        restore = load_pipeline(model, device="cpu", backend=backend)
        label_set = standard_labels(restore.model.config)
        sets = sets or {
            one: cut(load_examples(one, label_set, args.bench_root, args.recipe), args.limit) for one in args.benchmark
        }
        found = decide(restore, sets)
        reference = reference or found
        rows.append({"backend": name, **compare(found, reference, sets, label_set.names)})
    tell({"rows": rows, "signature": signature(args.model, {"limit": args.limit}, "cpu")}, args.output)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
