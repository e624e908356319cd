"""Recall of questions at a precision: by hand, and on a tiny model."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from benchmarks import questions
from punctuation_restoration.evaluation.examples import example_from_text


def test_the_highest_recall_among_thresholds_that_are_precise_enough() -> None:
    right, written, there = [3, 2, 1, 0], [6, 3, 1, 0], [4, 4, 4, 4]
    added = np.array([right, written, there])
    assert questions.best_recall(added, 0.6) == 0.5  # the second: two of three right, two of four found
    assert questions.best_recall(added, 0.5) == 0.75
    assert questions.best_recall(added, 0.9) == 0.25
    assert questions.best_recall(np.array([[0], [3], [4]]), 0.1) == 0


def test_questions_are_counted_at_every_threshold(tiny_config: Any) -> None:
    rows = np.array([[0.1, 0.0, 0.0, 0.9], [0.6, 0.0, 0.0, 0.4], [0.9, 0.0, 0.0, 0.1]])
    found = questions.counts(rows, np.array([3, 0, 3]), tiny_config)
    at = dict(zip(questions.GRID.round(3).tolist(), found.T.tolist(), strict=True))
    assert at[0.05] == [2, 3, 2]
    assert at[0.25] == [1, 2, 2]
    assert at[0.5] == [1, 1, 2]
    assert at[0.95] == [0, 0, 2]


def test_the_program_measures_a_model(tiny_pipeline: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def load(name: str, label_set: Any, *given: Any) -> list[Any]:
        text = "Hello, how are you? You are the best. Is the day you say? "
        return [
            example_from_text(text * n, tiny_pipeline.find_words, label_set, id=str(n), source="x") for n in range(1, 7)
        ]

    monkeypatch.setattr(questions, "load_examples", load)
    monkeypatch.setattr(questions, "load_pipeline", lambda *given, **more: tiny_pipeline)
    monkeypatch.setattr(questions, "signature", lambda *given: {})
    out = tmp_path / "questions.json"
    assert questions.main(["--benchmark", "ms-manglish-valid", "--precision", "0.01", "--output", str(out)]) == 0
    found = SimpleNamespace(**json.loads(out.read_text())["sets"]["ms-manglish-valid"])
    assert found.n_questions == 2 * sum(range(1, 7))
    assert found.interval_95[0] <= found.recall <= found.interval_95[1]
