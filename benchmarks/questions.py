"""How many questions are found where six of ten that are written are right: recall at a precision, with intervals.

    python -m benchmarks.questions --benchmark ms-manglish-valid ms-spoken-valid zh-english-valid

One threshold of the question mark after the other is tried, the other marks' stay; given is the highest recall of those
with the precision asked for. The interval is that of the same search on samples of documents, or of blocks of words
where there are few (`evaluation/intervals.py`). Writes `results/questions.json`.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import punctuation_restoration
from benchmarks.thresholds import ReadExample, labelled_rows, read_once
from benchmarks.writing import write_json
from punctuation_restoration.cli.models import load_pipeline
from punctuation_restoration.evaluation.benchmarks import BENCHMARKS, load_examples
from punctuation_restoration.evaluation.intervals import BLOCK_WORDS, MIN_DOCUMENTS, N_SAMPLES, SEED
from punctuation_restoration.evaluation.labels import LabelSet, standard_labels
from punctuation_restoration.evaluation.signature import signature
from punctuation_restoration.pipeline.decoding import decode, make_choice

ROOT = Path(__file__).resolve().parents[1]
QUESTION = "QUESTION"
SETS = ("ms-manglish-valid", "ms-spoken-valid", "zh-english-valid")
GRID = np.arange(0.025, 0.976, 0.025)


def counts(rows: np.ndarray, labels: np.ndarray, config: Any) -> np.ndarray:
    """Questions that are right, that are written, and that there are, by threshold, (3, n_thresholds)."""
    question = config.label_names.index(QUESTION)
    is_question, found = labels == question, []
    for threshold in GRID:
        choice = make_choice(config, "basic", {**(config.thresholds or {}), QUESTION: float(threshold)})
        written = decode(rows, choice)[0] == question
        found.append((np.sum(written & is_question), written.sum(), is_question.sum()))
    return np.array(found).T


def units_of(read: Sequence[ReadExample], config: Any, label_set: LabelSet) -> np.ndarray:
    """Counts of documents, or of blocks of words where there are few, (n_units, 3, n_thresholds)."""
    documents = [labelled_rows([one], config, label_set)[:2] for one in read]
    if len(documents) < MIN_DOCUMENTS:
        documents = [
            (rows[first : first + BLOCK_WORDS], labels[first : first + BLOCK_WORDS])
            for rows, labels in documents
            for first in range(0, len(labels), BLOCK_WORDS)
        ]
    return np.stack([counts(rows, labels, config) for rows, labels in documents if len(labels)])


def best_recall(added: np.ndarray, precision: float) -> np.ndarray:
    """The highest recall with that precision, (...), of counts (..., 3, n_thresholds); 0 where there is none."""
    right, written, there = np.moveaxis(added, -2, 0)
    recall = right / np.maximum(there, 1)
    return np.where((right >= precision * written) & (written > 0), recall, 0.0).max(axis=-1)


def measure(units: np.ndarray, precision: float) -> dict[str, Any]:
    """Recall at a precision, its 95 % interval, and the threshold that gives it."""
    whole = units.sum(axis=0)
    recall = float(best_recall(whole, precision))
    generator = np.random.default_rng(SEED)
    drawn = generator.multinomial(len(units), np.full(len(units), 1 / len(units)), size=N_SAMPLES)
    samples = best_recall(np.tensordot(drawn, units, axes=1), precision)
    interval = [round(float(end), 4) for end in np.percentile(samples, [2.5, 97.5])]
    right, written, there = whole
    fits = (right >= precision * written) & (right == round(recall * there[0]))
    threshold = round(float(GRID[fits.argmax()]), 3) if fits.any() else None
    return {"recall": round(recall, 4), "interval_95": interval, "threshold": threshold, "n_questions": int(there[0])}


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, and write what was found."""
    parser = argparse.ArgumentParser(description="Recall of questions at a precision.")
    parser.add_argument("--model", default=punctuation_restoration.DEFAULT_MODEL)
    parser.add_argument("--benchmark", nargs="+", choices=BENCHMARKS, default=list(SETS))
    parser.add_argument("--precision", type=float, default=0.6)
    parser.add_argument("--bench-root", type=Path, default=Path("../shared/bench"))
    parser.add_argument("--recipe", type=Path, default=ROOT / "recipes" / "en-zh-ms.yaml", help="of held-out text")
    parser.add_argument("--output", type=Path, default=ROOT / "results" / "questions.json")
    args = parser.parse_args(argv)
    restore = load_pipeline(args.model, dtype="float32")
    config, label_set = restore.model.config, standard_labels(restore.model.config)
    found = {}
    for name in args.benchmark:
        read = read_once(restore, load_examples(name, label_set, args.bench_root, args.recipe))
        found[name] = measure(units_of(read, config, label_set), args.precision)
        print(name, found[name], flush=True)
    settings = {"precision": args.precision, "recipe": args.recipe.name}
    write_json({"signature": signature(args.model, settings, "cpu"), "sets": found}, args.output)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
