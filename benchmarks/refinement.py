"""Does a second pass help, which fills the most certain slots and decides the others again? Validation F1, by language.

python benchmarks/refinement.py --limit 6000 --output results/refinement.json
"""

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path

from punctuation_restoration.evaluation.benchmarks import Loader
from punctuation_restoration.evaluation.command import load_pipeline
from punctuation_restoration.evaluation.examples import cut
from punctuation_restoration.evaluation.labels import standard_labels
from punctuation_restoration.evaluation.readers import Reader
from punctuation_restoration.evaluation.runner import evaluate_examples
from punctuation_restoration.evaluation.scores import score

BENCHMARKS = ("iwslt2012-dev", "zh-spoken-valid", "ms-news-valid")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="One pass against two.")
    parser.add_argument("--model", help="checkpoint; the default model without it")
    parser.add_argument("--limit", type=int, default=6000, help="words of each validation set")
    parser.add_argument("--bench-root", type=Path, default=Path("../shared/bench"))
    parser.add_argument("--recipe", type=Path, default=Path("recipes/en-zh-ms.yaml"))
    parser.add_argument("--output", type=Path, help="JSON file to write")
    args = parser.parse_args(argv)
    restore = load_pipeline(args.model, None, "auto")
    label_set = standard_labels(restore.model.config)
    loader = Loader(lambda _: Reader.for_labels(label_set), args.bench_root, args.recipe, None)
    results: dict[str, dict[str, dict[str, float]]] = {}
    for name in BENCHMARKS:
        examples = cut(loader(name), args.limit)
        results[name] = {}
        for passes in (1, 2):
            started = time.perf_counter()
            counts = evaluate_examples(restore, examples, label_set, passes=passes).counts
            results[name][f"passes={passes}"] = {
                "micro_f1": round(score(counts).micro.f1, 4),
                "words": counts.n_words,
                "seconds": round(time.perf_counter() - started, 1),
            }
    text = json.dumps(results, indent=1)
    print(text)
    if args.output:
        args.output.write_text(text + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
