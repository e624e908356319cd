"""Temperature and thresholds found on validation text."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from punctuation_restoration.evaluation.examples import example_from_text, own_labels, standard_labels
from punctuation_restoration.modeling.configuration_punctuation import PunctuationRestorationConfig
from punctuation_restoration.pipeline.decisions import calibrated, make_choice
from punctuation_restoration.training import validation
from punctuation_restoration.training.validation import best_temperature, tune
from tools.thresholds import ReadExample, f1_with, labelled_rows, main, mark_error


@pytest.fixture
def read(tiny_config: Any, tiny_pipeline: Any) -> list[ReadExample]:
    """Six words of which two have commas that an unsure model gives 0.4, and one a comma-free word with 0.25."""
    text = "a, b c, d e f."
    example = example_from_text("x", text, tiny_pipeline.find_words, standard_labels(tiny_config))
    comma = [0.4, 0.1, 0.4, 0.25, 0.0, 0.0]
    period = [0.0, 0.0, 0.0, 0.0, 0.0, 0.9]
    rows = [[1 - c - p, c, p, 0.0] for c, p in zip(comma, period, strict=True)]
    return [(example, tiny_pipeline(example.text)["words"], np.array(rows))]


def test_the_threshold_is_put_where_f1_is_highest_unless_the_gain_may_be_chance(
    read: list[ReadExample], tiny_config: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def f1(given: Any) -> float:
        return f1_with(given, read, tiny_config, standard_labels(tiny_config))

    assert f1({}) == pytest.approx(0.5)  # 1 of 3 found: 2 · 1 / (3 + 1)
    best = tune(tiny_config.label_names[1:], f1)
    assert best == {"COMMA": 0.275}  # 0.25 and less would add a wrong one
    assert f1(best) == pytest.approx(1.0)
    monkeypatch.setattr(validation, "LEAST_GAIN", 0.6)  # 0.5 is there to be gained
    assert tune(tiny_config.label_names[1:], f1) == {}


def test_further_marks_are_scored_beside_the_basic_ones(tiny_config: Any, tiny_pipeline: Any) -> None:
    labels = [*tiny_config.labels, {"name": "COLON", "before": "", "after": ":"}]
    config = PunctuationRestorationConfig(encoder_config=tiny_config.encoder_config, labels=labels)
    example = example_from_text("x", "a: b c.", tiny_pipeline.find_words, own_labels(config))
    rows = np.array([[0.6, 0.0, 0.0, 0.0, 0.4], [0.7, 0.0, 0.0, 0.0, 0.3], [0.0, 0.0, 1.0, 0.0, 0.0]])
    read = [(example, tiny_pipeline(example.text)["words"], rows)]
    # One of two marks; both; both and a wrong one. Each mark counts alike: the wrong colon makes 2/3 of its own F1.
    for limit, expected in ((0.5, 1 / 2), (0.35, 1.0), (0.25, (2 / 3 + 1) / 2)):
        assert f1_with({"COLON": limit}, read, config, own_labels(config), "all") == pytest.approx(expected)


def test_a_temperature_of_two_takes_the_root_of_the_odds() -> None:
    rows = np.array([[0.8, 0.2, 0.0], [0.1, 0.0, 0.9], [1.0, 0.0, 0.0]])
    halved = calibrated(rows, 2.0)
    assert halved[0] == pytest.approx([2 / 3, 1 / 3, 0.0])  # odds of 4 become odds of 2
    assert halved[1] == pytest.approx([1 / 4, 0.0, 3 / 4])
    assert halved[2] == pytest.approx([1.0, 0.0, 0.0])
    assert calibrated(rows, 1.0) == pytest.approx(rows)
    assert calibrated(rows[:0], 2.0).shape == (0, 3)


@pytest.mark.parametrize(("odds", "temperature"), [(9, 2.0), (3, 1.0), (3**0.5, 0.5)])
def test_the_temperature_makes_three_in_four_three_in_four(odds: float, temperature: float) -> None:
    """Three of four words are what the model says, and it says so with some odds: right would be three to one."""
    rows = np.array([[odds, 1.0]] * 4) / (odds + 1)
    labels = np.array([0, 0, 0, 1])
    found = best_temperature((rows, labels))
    assert found == pytest.approx(temperature, rel=0.025)
    assert calibrated(rows, found)[0, 0] == pytest.approx(0.75, abs=0.005)
    # Where the model is always right or always wrong, it stays in its bounds.
    sure = np.array([[0.6, 0.4]])
    assert best_temperature((sure, np.array([0]))) == 0.25
    assert best_temperature((sure, np.array([1]))) == 4.0


def test_rows_of_a_benchmark_are_those_of_its_words(read: list[ReadExample], tiny_config: Any) -> None:
    rows, labels = labelled_rows(read, tiny_config, standard_labels(tiny_config))
    assert rows.tolist() == read[0][2].tolist()
    assert labels.tolist() == [1, 0, 1, 0, 0, 2]
    choice = make_choice(tiny_config, "basic", {"COMMA": 0.3})
    # Two commas of 0.4 and a period of 0.9 are right: the bin of the former is 0.6 off, that of the latter 0.1.
    assert mark_error(rows, labels, choice) == pytest.approx((2 * 0.6 + 0.1) / 3)


def test_both_are_found_and_written_and_tests_are_refused(
    tiny_checkpoint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, out = tmp_path / "text.jsonl", tmp_path / "found.json"
    text.write_text(json.dumps({"id": "1", "text": "hello, you are. the hello you, are the."}) + "\n")
    assert main(["--model", tiny_checkpoint, "--benchmark", str(text), "--output", str(out)]) == 0
    found = json.loads(out.read_text())
    assert 0.25 <= found["calibration_temperature"] <= 4
    assert found["calibration_error"].keys() == {"before", "after"}
    with pytest.raises(SystemExit):
        main(["--benchmark", str(text), "--further", "iwslt2011-test"])
    assert "spoil" in capsys.readouterr().err
