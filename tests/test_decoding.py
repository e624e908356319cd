"""Probabilities into labels."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from punctuation_restoration.modeling.configuration_punctuation import PunctuationRestorationConfig
from punctuation_restoration.pipeline.decisions import decode, end_sentences, last_words, make_choice
from punctuation_restoration.pipeline.words import WordFinder

CONFIG = PunctuationRestorationConfig()
ROW = [0.5, 0.3, 0.15, 0.05]  # O, COMMA, PERIOD, QUESTION


LIKE, LESS = [0.1, 0.4, 0.38, 0.12], [0.3, 0.4, 0.2, 0.1]


@pytest.mark.parametrize(
    ("row", "marks", "thresholds", "label", "score"),
    [
        (ROW, "all", {}, 0, 0.5), ([0.1, 0.6, 0.2, 0.1], "all", {}, 1, 0.6),
        # Chosen labels only: the others give what they have to "no mark".
        ([0.1, 0.2, 0.6, 0.1], ["COMMA"], {}, 0, 0.8), ([0.1, 0.6, 0.2, 0.1], "COMMA", {}, 1, 0.6),
        ([0.1, 0.6, 0.2, 0.1], "comma", {"comma": 0.9}, 0, 0.4), ([0.1, 0.2, 0.6, 0.1], ["comma"], {}, 0, 0.8),
        (ROW[::-1], [], {}, 0, 1.0),
        # A low threshold makes a mark more frequent.
        (ROW, "all", {"COMMA": 0.3}, 1, 0.3), (ROW, "all", {"COMMA": 0.31}, 0, 0.5),
        (ROW, "all", {"COMMA": 0.1, "PERIOD": 0.1}, 1, 0.3), (ROW, "all", {"COMMA": 0.0, "PERIOD": 0.0}, 1, 0.3),
        (ROW, "all", {"QUESTION": 0.0}, 3, 0.05),
        # Of two marks the one that is the most times its threshold is chosen.
        (LIKE, "all", {"COMMA": 0.3, "PERIOD": 0.3}, 1, 0.4),
        (LIKE, "all", {"COMMA": 0.35, "PERIOD": 0.3}, 2, 0.38),  # 1.14 and 1.27 times
        (LIKE, "all", {"PERIOD": 0.3}, 1, 0.4),  # the comma has none, and is the most probable
        # A high threshold makes a mark rarer.
        (LESS, "all", {"COMMA": 0.6}, 0, 0.3), (LESS, "all", {"PERIOD": 0.6}, 1, 0.4),
    ],
)  # fmt: skip
def test_a_label_is_chosen_among_those_allowed_by_probability_and_threshold(row, marks, thresholds, label, score):
    labels, shared = decode([row], make_choice(CONFIG, marks, thresholds))
    assert (labels.tolist(), shared[0, label]) == ([label], pytest.approx(score))


@pytest.mark.parametrize(
    ("marks", "thresholds", "message"),
    [
        ("commas", None, "'basic', 'all', 'sentence-ends' or labels"),
        (["COMMA", "STOP"], None, "STOP"), ("all", {"O": 0.5}, "labels among"),
        ("all", {"COMMA": 1.5}, "from 0 to 1"), ("all", {"COMMA": "high"}, "from 0 to 1"),
    ],
)  # fmt: skip
def test_a_wish_that_cannot_be_met_is_refused(marks, thresholds, message):
    with pytest.raises(ValueError, match=message):
        make_choice(CONFIG, marks, thresholds)


ROWS = st.lists(st.lists(st.floats(0.01, 1), min_size=4, max_size=4), max_size=6).map(
    lambda rows: [[value / sum(row) for value in row] for row in rows]
)


@settings(max_examples=200, deadline=None)
@example([], set(), 0.5)
@given(ROWS, st.sets(st.sampled_from(["COMMA", "PERIOD", "QUESTION"])), st.floats(0, 1))
def test_only_what_is_allowed_and_reaches_its_threshold_is_chosen(rows, marks, threshold):
    thresholds = dict.fromkeys(["COMMA", "QUESTION"], threshold)
    labels, shared = decode(rows, make_choice(CONFIG, sorted(marks), thresholds))
    scores = shared[np.arange(len(labels)), labels]
    assert len(labels) == len(scores) == len(rows)
    for label, score, row in zip(labels, scores, rows, strict=True):
        name = CONFIG.label_names[label]
        assert name == "O" or name in marks
        assert name not in thresholds or score >= threshold
        assert 0 <= score <= 1 + 1e-9
        if label:
            assert score == pytest.approx(row[label])


@settings(max_examples=200, deadline=None)
@given(
    ROWS, st.floats(0, 1), st.floats(0, 1), st.dictionaries(st.sampled_from(["PERIOD", "QUESTION"]), st.floats(0, 1))
)
def test_a_higher_threshold_never_adds_a_mark(rows, one, other, rest):
    low, high = sorted([one, other])
    commas = []
    for threshold in (low, high):
        labels, _ = decode(rows, make_choice(CONFIG, "all", {**rest, "COMMA": threshold}))
        commas.append({index for index, label in enumerate(labels) if label == 1})
    assert commas[1] <= commas[0]


def test_where_a_sentence_must_end_the_likeliest_end_is_written():
    rows = np.array([[0.7, 0.2, 0.04, 0.06], [0.7, 0.2, 0.06, 0.04], [1.0, 0.0, 0.0, 0.0], [0.7, 0.2, 0.06, 0.04]])
    words = WordFinder(CONFIG.mark_labels)("a b c d")
    changed = end_sentences(rows.copy(), last_words([1, 3, 5, 7], words), CONFIG)
    np.testing.assert_allclose(changed[0], [0, 0, 0.4, 0.6])
    np.testing.assert_array_equal(changed[3], rows[3])
    labels, _ = decode(changed, make_choice(CONFIG, thresholds={"PERIOD": 0.5}))
    assert labels.tolist() == [3, 2, 0, 0]  # nothing can be told where the model gives all ends no chance at all
