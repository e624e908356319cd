"""What contexts and backends do to F1: validation F1 by language, decisions that change, and pieces read a word.

    python -m benchmarks.contexts --contexts 120,40,15 120,20,10 110,12,8 100,8,4 --output results/contexts.json
    python -m benchmarks.contexts --contexts 120,16,8 120,16,8+90,16,8 --output results/averaging.json
    python -m benchmarks.contexts --backends torch onnx onnx-int8 --output results/backends.json

Takes a model and validation sets, gives one row a setting. Contexts joined by `+` are windows of two sizes, so that
borders fall elsewhere, and a word gets the mean of its probabilities (Courtland et al. 2020, section 3). The first row
is the one that the others are compared with. A word's "pieces read" count it again in every window that shows it: time
is proportional to them. It measures no time.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from transformers import logging, pipeline

import punctuation_restoration
from benchmarks.thresholds import micro_f1
from benchmarks.writing import write_json
from punctuation_restoration.evaluation.benchmarks import BENCHMARKS, load_examples
from punctuation_restoration.evaluation.examples import Example, cut
from punctuation_restoration.evaluation.labels import standard_labels
from punctuation_restoration.evaluation.reference_files import digest_of
from punctuation_restoration.evaluation.signature import signature
from punctuation_restoration.pipeline.decoding import decode, make_choice

SETS = ("iwslt2012-dev", "zh-spoken-valid", "ms-news-valid", "ms-spoken-valid")
CONTEXTS = ("120,40,15", "120,30,15", "120,20,15", "120,20,10", "120,12,8", "120,8,4", "120,4,2")
KEYS = ("window", "left_context", "right_context")
Contexts = dict[str, int]


def decide(restore: Any, examples: Sequence[Example], contexts: Sequence[Contexts]) -> tuple[list[Any], int, int]:
    """The words of each example as the pipeline gives them, how many there are, and how many pieces were read."""
    texts = [example.text for example in examples]
    passes = [[result["words"] for result in restore(texts, all_scores=len(contexts) > 1, **one)] for one in contexts]
    words = averaged(passes, restore.model.config) if len(passes) > 1 else passes[0]
    n_pieces = sum(
        len(window["input_ids"]) for text in texts for one in contexts for window in restore.preprocess(text, **one)
    )
    return words, sum(map(len, words)), n_pieces


def averaged(passes: Sequence[Any], config: Any) -> list[Any]:
    """The words of the first pass, labelled by the mean probabilities of all passes."""
    choice = make_choice(config, "basic", config.thresholds)
    decided = []
    for documents in zip(*passes, strict=True):
        rows = [[list(word["scores"].values()) for word in words] for words in documents]
        labels = decode(np.mean(rows, axis=0), choice)[0] if rows[0] else []
        names = [config.label_names[label] for label in labels]
        decided.append([{**word, "label": name} for word, name in zip(documents[0], names, strict=True)])
    return decided


def labels_of(words: Sequence[Any]) -> list[str]:
    return [word["label"] for found in words for word in found]


def measure(args: argparse.Namespace) -> dict[str, Any]:
    """All rows.

    Raises:
        ValueError: for a test set, or contexts that are not three numbers.
    """
    tests = [name for name in args.sets if BENCHMARKS[name].use == "test"]
    if tests:
        raise ValueError(f"Expected validation sets, got the tests {tests}. Settings chosen on a test spoil its score.")
    contexts = [
        [dict(zip(KEYS, map(int, one.split(",")), strict=True)) for one in text.split("+")] for text in args.contexts
    ]
    settings = [(backend, given) for backend in args.backends for given in contexts or [[{}]]]
    restorers = {name: load(args.model, name) for name in args.backends}
    config = restorers[args.backends[0]].model.config
    label_set = standard_labels(config)
    read = {name: load_examples(name, label_set, args.bench_root, args.recipe) for name in args.sets}
    samples = {name: cut(examples, args.limit) for name, examples in read.items()}
    rows: list[dict[str, Any]] = []
    first: dict[str, list[str]] = {}
    for backend, given in settings:
        row: dict[str, Any] = {"backend": backend, **{key: given[0].get(key, getattr(config, key)) for key in KEYS}}
        if len(given) > 1:
            row["averaged_with"] = [list(one.values()) for one in given[1:]]
        row |= {"f1": {}, "changed_percent": {}, "pieces_per_word": {}}
        for name, examples in samples.items():
            words, n_words, n_pieces = decide(restorers[backend], examples, given)
            labels = labels_of(words)
            expected = first.setdefault(name, labels)
            n_changed = sum(one != other for one, other in zip(labels, expected, strict=True))
            row["f1"][name] = round(100 * micro_f1(examples, words, label_set), 2)
            row["changed_percent"][name] = round(100 * n_changed / n_words, 3)
            row["pieces_per_word"][name] = round(n_pieces / n_words, 3)
        row["mean_f1"] = round(sum(row["f1"].values()) / len(row["f1"]), 2)
        rows.append(row)
        print(json.dumps(row), flush=True)
    used = {"limit": args.limit, "digests": {name: digest_of(examples) for name, examples in samples.items()}}
    model = args.model or str(restorers[args.backends[0]].model.name_or_path)
    return {"rows": rows, "signature": signature(model, used, "cpu")}


def load(model: str | None, backend: str) -> Any:
    """The pipeline as users get it."""
    build: Any = pipeline
    return build(
        "punctuation-restoration", model=model or punctuation_restoration.DEFAULT_MODEL, backend=backend, device="cpu"
    )


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--model", help="checkpoint; the default model without it")
    parser.add_argument("--sets", nargs="+", default=SETS, help="validation sets")
    parser.add_argument("--contexts", nargs="+", default=[], metavar="W,L,R", help=f"such as {' '.join(CONTEXTS)}")
    parser.add_argument("--backends", nargs="+", default=["torch"])
    parser.add_argument("--limit", type=int, default=6000, help="words (Han characters) of each set")
    parser.add_argument("--bench-root", type=Path, default=Path("../shared/bench"))
    parser.add_argument("--recipe", type=Path, default=Path("recipes/en-zh-ms.yaml"))
    parser.add_argument("--output", type=Path, help="JSON file to write")
    args = parser.parse_args(argv)
    logging.disable_progress_bar()
    try:
        result = measure(args)
    except ValueError as error:
        print(f"settings.py: {error}", file=sys.stderr)
        return 2
    if args.output:
        write_json(result, args.output)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
