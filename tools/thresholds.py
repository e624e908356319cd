"""Validation text → the temperature that calibrates a model, and the thresholds with which it scores best.

    python -m tools.thresholds --model M --benchmark iwslt2012-dev ms-news-valid --further en-casing-valid

Training finds both, on the validation words of its run; here they are found on as much text as wanted, through the
pipeline. The model reads each text once; `training/validation.py` says how they are found. Each set counts alike.
Sets after `--further` have all marks of the model, and give the thresholds of labels besides `, . ?`: those with the
highest mean of the marks' own F1.
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from punctuation_restoration.evaluation.benchmarks import BENCHMARKS, default_root
from punctuation_restoration.evaluation.examples import Example, LabelSet, cut, own_labels, standard_labels
from punctuation_restoration.evaluation.runner import align
from punctuation_restoration.evaluation.scored_texts import load_examples
from punctuation_restoration.evaluation.scores import calibration_error, count_labels, count_reliability, score
from punctuation_restoration.loading import load_pipeline
from punctuation_restoration.pipeline.decisions import Choice, calibrated, decode, make_choice
from punctuation_restoration.training.validation import best_temperature, tune
from tools.documents import tell

ReadExample = tuple[Example, list[dict[str, Any]], np.ndarray]  # an example, its words, and (W, M) probabilities


def read_once(restore: Any, examples: Sequence[Example]) -> list[ReadExample]:
    """What the model thinks of every word of the examples."""
    names = restore.model.config.label_names
    read = []
    for example in examples:
        words = restore(example.text, all_scores=True, thresholds={})["words"]
        read.append((example, words, np.array([[word["scores"][name] for name in names] for word in words])))
    return read


def f1_with(
    given: Mapping[str, float], read: Sequence[ReadExample], config: Any, label_set: LabelSet, marks: str = "basic"
) -> float:
    """F1, 0 to 1, of one benchmark with some thresholds: micro-F1, but the mean over all marks for `marks="all"`.

    Micro-F1 of all marks hardly notices those that are rare.
    """
    choice = make_choice(config, marks, given)
    counts = []
    for example, words, rows in read:
        labels = (config.label_names[label] for label in decode(rows, choice)[0])
        decided = [{**word, "label": label} for word, label in zip(words, labels, strict=True)]
        counts.append(count_labels(example.labels, align(example, decided, label_set)[0], label_set.names))
    mean = "macro" if marks == "all" else "micro"
    return float(score(np.concatenate(counts), label_set.names)[mean]["f1"])


def labelled_rows(read: Sequence[ReadExample], config: Any, label_set: LabelSet) -> tuple[np.ndarray, np.ndarray]:
    """Of the words of one benchmark the probabilities (n, M) and true labels (n,), both in terms of `, . ?`."""
    rows, labels = [], []
    for example, words, probabilities in read:
        numbered = [{**word, "score": number} for number, word in enumerate(words)]
        for place, label in zip(align(example, numbered, label_set)[1], example.labels, strict=True):
            if not np.isnan(place):
                rows.append(probabilities[int(place)])
                labels.append(config.label_names.index(label))
    return decode(rows, make_choice(config))[1], np.array(labels)


def mark_error(rows: np.ndarray, labels: np.ndarray, choice: Choice) -> float | None:
    """The calibration error of the marks that are written, 0 to 1."""
    decided, shared = decode(rows, choice)
    (marks,) = decided.nonzero()
    return calibration_error(count_reliability(shared[marks, decided[marks]], (decided == labels)[marks]))


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Find temperature and thresholds on validation data.")
    parser.add_argument("--model", help="checkpoint; the default model without it")
    parser.add_argument("--benchmark", nargs="+", required=True, help="validation sets")
    parser.add_argument("--further", nargs="+", default=[], help="validation sets that have all marks of the model")
    parser.add_argument("--limit", type=int, help="words of each")
    parser.add_argument("--bench-root", type=Path, default=default_root())
    parser.add_argument("--recipe", type=Path, default=Path("recipes/en-zh-ms.yaml"))
    parser.add_argument("--output", type=Path, help="JSON file to write")
    args = parser.parse_args(argv)
    tests = [name for name in (*args.benchmark, *args.further) if name in BENCHMARKS and BENCHMARKS[name].use == "test"]
    if tests:
        parser.error(f"expected validation sets, got the tests {tests}; thresholds found on a test spoil its score")
    restore = load_pipeline(args.model, dtype="auto")
    config = restore.model.config
    label_set, all_labels = standard_labels(config), own_labels(config)
    old = config.calibration_temperature, make_choice(config, "basic", config.thresholds)
    config.calibration_temperature = 1.0  # what is read is what the model itself says

    def read_set(name: str, label_set: LabelSet) -> list[ReadExample]:
        examples = load_examples(name, label_set, args.bench_root, args.recipe)
        return read_once(restore, cut(examples, args.limit) if args.limit else examples)

    sets = {name: read_set(name, label_set) for name in args.benchmark}
    labelled = {name: labelled_rows(read, config, label_set) for name, read in sets.items()}
    temperature = best_temperature(*labelled.values())
    marked = {name: read_set(name, all_labels) for name in args.further}
    sets, marked = (
        {name: [(*one, calibrated(rows, temperature)) for *one, rows in read] for name, read in part.items()}
        for part in (sets, marked)
    )

    def scores(given: Mapping[str, float]) -> dict[str, float]:
        return {name: f1_with(given, read, config, label_set) for name, read in sets.items()}

    names = [config.label_names[index] for index in sorted(set(config.basic_labels) - {0})]
    best = tune(names, lambda given: float(np.mean(list(scores(given).values()))))
    before, after = (
        {name: mark_error(calibrated(rows, divisor), labels, choice) for name, (rows, labels) in labelled.items()}
        for divisor, choice in (old, (temperature, make_choice(config, "basic", best)))
    )
    further = {name: limit for name, limit in (config.thresholds or {}).items() if name not in names}
    if marked:

        def mean_f1(given: Mapping[str, float]) -> float:
            return float(np.mean([f1_with(given, read, config, all_labels, "all") for read in marked.values()]))

        further = tune([name for name in config.label_names[1:] if name not in names], mean_f1, best)
    found = {
        "calibration_temperature": temperature,
        "thresholds": further | best,
        "before": scores({}),  # without thresholds
        "after": scores(best),
        "calibration_error": {"before": before, "after": after},  # before: as the model came
    }
    tell(found, args.output)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
