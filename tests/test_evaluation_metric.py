"""One metric: that of `evaluate.py`, of the module for the library `evaluate`, and of a Trainer."""

import importlib
import importlib.metadata
import sys
from pathlib import Path

import numpy as np
import pytest
from transformers import EvalPrediction

from punctuation_restoration.evaluation.scores import compute_metrics, count_labels, metrics, score

ROOT = Path(__file__).resolve().parents[1]
NAMES = ("O", "COMMA", "PERIOD", "QUESTION")
REFERENCE = ["O", "COMMA", "PERIOD", "O", "QUESTION", "PERIOD"]
PREDICTED = ["O", "COMMA", "PERIOD", "COMMA", "PERIOD", "PERIOD"]


@pytest.mark.filterwarnings("default")  # the library warns of its own future
def test_the_metric_module_gives_the_same_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is loaded from outside the root, where `evaluate.py` does not shadow the library."""
    try:
        importlib.metadata.version("evaluate")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("the library `evaluate`, for which this module is, is not installed")
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.setattr(sys, "path", [place for place in sys.path if Path(place).resolve() != ROOT])
    library = importlib.import_module("evaluate")
    metric = library.load(str(ROOT / "punctuation_restoration" / "evaluation" / "punctuation_f1"))
    found = metric.compute(references=[REFERENCE], predictions=[PREDICTED])
    scores = score(count_labels(REFERENCE, PREDICTED, NAMES, ends_text=True), NAMES)
    kinds = ("micro", "macro", "weighted", "mid_text", "end_text")
    assert [found[f"{kind}_f1"] for kind in kinds] == [scores[kind]["f1"] for kind in kinds]
    assert [found[f"{name.lower()}_recall"] for name in NAMES[1:]] == [1, 2 / 2, 0]
    assert (found["n_words"], found["micro_f1"]) == (6, pytest.approx(2 * 3 / (5 + 4)))


def test_a_trainer_gets_the_same_numbers() -> None:
    references = np.array([[0, 1, 2, -100], [3, -100, -100, -100]])
    chosen = np.array([[0, 1, 1, 3], [3, 2, 2, 2]])
    logits = np.eye(4)[chosen]
    expected = metrics([[0, 1, 2], [3]], [[0, 1, 1], [3]], NAMES)
    assert compute_metrics(NAMES)(EvalPrediction(logits, references)) == expected
    assert compute_metrics(NAMES)(EvalPrediction((logits, logits * 0), references)) == expected
    assert (expected["micro_f1"], expected["n_words"], expected["question_f1"]) == (pytest.approx(2 / 3), 4, 1.0)
