"""Thresholds found on validation text."""

import numpy as np
import pytest

from benchmarks.thresholds import f1_with, main, read_once
from punctuation_restoration.evaluation.examples import example_from_text
from punctuation_restoration.evaluation.labels import standard_labels
from punctuation_restoration.training import thresholds
from punctuation_restoration.training.thresholds import tune


@pytest.fixture
def label_set(tiny_config):
    return standard_labels(tiny_config)


@pytest.fixture
def read(tiny_config, tiny_pipeline, label_set):
    """Six words of which two have commas that an unsure model gives 0.4, and one a comma-free word with 0.25."""
    example = example_from_text("a, b c, d e f.", tiny_pipeline.find_words, label_set, id="x", source="s")
    words = tiny_pipeline(example.text)["words"]
    comma = [0.4, 0.1, 0.4, 0.25, 0.0, 0.0]
    period = [0.0, 0.0, 0.0, 0.0, 0.0, 0.9]
    rows = [[1 - c - p, c, p, 0.0] for c, p in zip(comma, period, strict=True)]
    return [(example, words, np.array(rows))]


def tuned(read, config, label_set):
    return tune(config.label_names[1:], lambda given: {"x": f1_with(given, read, config, label_set)})


def test_the_threshold_is_put_where_f1_is_highest(read, tiny_config, label_set):
    assert f1_with({}, read, tiny_config, label_set) == pytest.approx(0.5)  # 1 of 3 found: 2 · 1 / (3 + 1)
    best, steps = tuned(read, tiny_config, label_set)
    assert best == {"COMMA": 0.275}  # 0.25 and less would add a wrong one
    assert steps[-1]["micro_f1"] == {"x": pytest.approx(1.0)}


def test_a_gain_that_may_be_chance_sets_no_threshold(read, tiny_config, label_set, monkeypatch):
    monkeypatch.setattr(thresholds, "LEAST_GAIN", 0.6)  # 0.5 is there to be gained
    best, steps = tuned(read, tiny_config, label_set)
    assert best == {}
    assert len(steps) == 1


def test_probabilities_are_read_from_the_pipeline_as_users_get_it(tiny_pipeline, label_set):
    example = example_from_text("hello you, are the.", tiny_pipeline.find_words, label_set, id="x", source="s")
    ((_, words, probabilities),) = read_once(tiny_pipeline, [example])
    assert probabilities.shape == (4, 4)
    assert probabilities.sum(axis=1) == pytest.approx(1)
    assert [word["score"] for word in words] == pytest.approx(list(probabilities.max(axis=1)))


def test_tests_are_refused(capsys):
    with pytest.raises(SystemExit):
        main(["--benchmark", "iwslt2011-test"])
    assert "spoil" in capsys.readouterr().err
