"""How far scores are from shares of right marks, as a model is and with the temperature and thresholds that were found.

    python -m benchmarks.calibration --found results/thresholds.json --output results/calibration.json \\
        --benchmark iwslt2011-test zh-tst2011+2012-punctuated

The model reads each text once. `error` is the calibration error of the marks that are written (`evaluation/
calibration.py`), `error_where_marked` that of those where the reference lacks no mark: not in stretches of more than 40
words (characters in Mandarin) without any, nor where captions have a blank between Han characters
(`evaluation/runner.py`, `may_lack_mark`). What lies between the two is the most that missing marks of the reference can
explain: no mark that is left out can be right. `unsure` is the share of all words there, `wrong_unsure` of wrong marks.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.thresholds import f1_with, labelled_rows, mark_error, read_once
from benchmarks.writing import tell
from punctuation_restoration.evaluation.benchmarks import load_examples
from punctuation_restoration.evaluation.labels import standard_labels
from punctuation_restoration.pipeline.decoding import Choice, calibrated, decode, make_choice


def reliability(rows: np.ndarray, labels: np.ndarray, unsure: np.ndarray, choice: Choice) -> dict[str, Any]:
    """Figures of the marks that are written, 0 to 1, from probabilities (n, M), true labels (n,) and `unsure` (n,)."""
    decided, scores = decode(rows, choice)
    marks = decided > 0
    wrong = marks & (decided != labels)
    return {
        "error": mark_error(rows, labels, choice),
        "error_where_marked": mark_error(rows[~unsure], labels[~unsure], choice),
        "mean_score": float(scores[marks].mean()) if marks.any() else None,
        "precision": 1 - float(wrong.sum() / marks.sum()) if marks.any() else None,
        "n_marks": int(marks.sum()),
        "wrong_unsure": float(unsure[wrong].mean()) if wrong.any() else None,
    }


def main(argv: Sequence[str] | None = None) -> int:
    from punctuation_restoration.cli.models import load_pipeline

    parser = argparse.ArgumentParser(description="Measure calibration before and after.")
    parser.add_argument("--model", help="checkpoint; the default model without it")
    parser.add_argument("--found", type=Path, required=True, help="JSON file that benchmarks.thresholds wrote")
    parser.add_argument("--benchmark", nargs="+", required=True)
    parser.add_argument("--bench-root", type=Path, default=Path("../shared/bench"))
    parser.add_argument("--recipe", type=Path, default=Path("recipes/en-zh-ms.yaml"))
    parser.add_argument("--output", type=Path, help="JSON file to write")
    args = parser.parse_args(argv)
    found = json.loads(args.found.read_text(encoding="utf-8"))
    restore = load_pipeline(args.model, dtype="auto")
    config, label_set = restore.model.config, standard_labels(restore.model.config)
    settings = {
        "before": (config.calibration_temperature, config.thresholds or {}),
        "after": (found["calibration_temperature"], found["thresholds"]),
    }
    config.calibration_temperature = 1.0  # what is read is what the model itself says
    told: dict[str, Any] = {"found": found, "benchmarks": {}}
    for name in args.benchmark:
        read = read_once(restore, load_examples(name, label_set, args.bench_root, args.recipe))
        rows, labels, unsure = labelled_rows(read, config, label_set)
        told["benchmarks"][name] = {"unsure": float(unsure.mean())}
        for when, (temperature, thresholds) in settings.items():
            figures = reliability(
                calibrated(rows, temperature), labels, unsure, make_choice(config, "basic", thresholds)
            )
            at_temperature = [(example, words, calibrated(one, temperature)) for example, words, one in read]
            f1 = f1_with(thresholds, at_temperature, config, label_set)
            told["benchmarks"][name][when] = {"f1": f1, **figures}
        tell(told, args.output)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
