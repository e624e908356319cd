"""Counts, scores, intervals and calibration against numbers counted by hand; the metric module and a Trainer's."""

import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import EvalPrediction

from punctuation_restoration.evaluation.scores import (
    bootstrap,
    calibration_error,
    compute_metrics,
    count_labels,
    count_reliability,
    metrics,
    paired_bootstrap,
    score,
    units_of,
)

ROOT = Path(__file__).resolve().parents[1]
NAMES = ["O", "COMMA", "PERIOD", "QUESTION"]
O, C, P, Q = NAMES  # noqa: E741
labels = st.sampled_from(NAMES)

# Ten words. Commas: 3 in the reference, 2 predicted, 1 right. Periods: 2, 3, 2. Questions: 1, 1, 0.
REFERENCE = [O, C, O, P, C, O, Q, C, O, P]
PREDICTED = [O, C, C, P, O, O, P, Q, O, P]

# Units of ten commas, of which all, half or none are found: right, in the reference, predicted.
ALL, HALF, NONE = (10, 10, 10), (5, 10, 5), (0, 10, 0)


def score_labels(reference: list, predicted: list, **more: bool) -> dict[str, Any]:
    return score(count_labels(reference, predicted, NAMES, **more), NAMES)


def numbers(mark: dict[str, Any]) -> tuple[int, int, int]:
    return mark["n_reference"], mark["n_predicted"], mark["n_correct"]


def interval(units: Sequence[tuple[int, int, int]]) -> list[float]:
    (found,) = bootstrap(np.array(units)[:, None]).tolist()
    return list(found)


def test_the_meanings_of_overall_are_kept_apart_and_as_counted_by_hand() -> None:
    scores = score_labels(REFERENCE, PREDICTED)
    marks = scores["marks"]
    assert [numbers(marks[name]) for name in (C, P, Q)] == [(3, 2, 1), (2, 3, 2), (1, 1, 0)]
    for kind, expected in (("precision", [1 / 2, 2 / 3, 0]), ("recall", [1 / 3, 1, 0]), ("f1", [2 / 5, 4 / 5, 0])):
        assert [mark[kind] for mark in marks.values()] == pytest.approx(expected)
    # 3 marks right of 6 predicted and 6 in the reference. With the no-mark label it would be 5 of 10: worthless.
    assert scores["micro"]["f1"] == pytest.approx(1 / 2)
    assert scores["macro"]["f1"] == pytest.approx((2 / 5 + 4 / 5 + 0) / 3)
    assert scores["weighted"]["f1"] == pytest.approx((3 * 2 / 5 + 2 * 4 / 5 + 1 * 0) / 6)
    # Substitutions: Q as P, C as Q. Deletion: C. Insertion: C. Four errors on six marks.
    assert scores["slot_error_rate"] == pytest.approx(4 / 6)
    diluted = score_labels(REFERENCE + [O] * 1000, PREDICTED + [O] * 1000)
    assert {key for key in scores if diluted[key] != scores[key]} == {"n_words"}


def test_ids_and_names_score_alike_minus_100_is_not_scored_and_the_end_of_a_text_apart() -> None:
    ids, predicted = ([NAMES.index(name) for name in own] for own in (REFERENCE, PREDICTED))
    assert score_labels([*ids, -100], [*predicted, 3]) == score_labels(REFERENCE, PREDICTED)
    scores = score_labels([*REFERENCE, -100], [*PREDICTED, C], ends_text=True)
    assert [numbers(scores[part]) for part in ("micro", "mid_text", "end_text")] == [(6, 6, 3), (5, 5, 2), (1, 1, 1)]


def test_what_is_not_there_divides_nothing() -> None:
    scores = score_labels([C, O, O], [C, Q, O])
    assert (scores["macro"]["f1"], scores["micro"]["f1"]) == (1, pytest.approx(2 / 3))  # no question in the reference
    scores = score_labels([], [])
    assert [scores[kind]["f1"] for kind in ("micro", "macro", "weighted")] == [0, 0, 0]
    assert scores["slot_error_rate"] is None


@given(st.lists(st.tuples(labels, labels)), st.integers(0, 50))
def test_counts_of_two_halves_add_up_to_those_of_the_whole(pairs: list[tuple[str, str]], place: int) -> None:
    def count(part: list[tuple[str, str]], ends_text: bool) -> np.ndarray:
        return count_labels([a for a, _ in part], [b for _, b in part], NAMES, ends_text=ends_text).sum(axis=0)

    place = min(place, max(len(pairs) - 1, 0))
    whole = count(pairs, True)
    assert (count(pairs[:place], False) + count(pairs[place:], True)).tolist() == whole.tolist()
    assert whole.sum() == score(whole[None], NAMES)["n_words"] == len(pairs)
    assert all(whole[1, NAMES.index(a), NAMES.index(b)] == 1 for a, b in pairs[-1:])


def test_lists_of_different_length_and_unknown_labels_are_refused() -> None:
    with pytest.raises(ValueError, match="3 words, 2 predicted labels"):
        score_labels([O, O, O], [O, O])
    with pytest.raises(ValueError, match="EXCLAMATION"):
        score_labels([O], ["EXCLAMATION"])


@pytest.mark.filterwarnings("default")  # the library warns of its own future
def test_the_metric_module_and_a_trainer_get_the_same_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The module is loaded from outside the root, where `evaluate.py` does not shadow the library."""
    logits = np.eye(4)[[[NAMES.index(name) for name in [*PREDICTED, Q]]]]
    references = np.array([[NAMES.index(name) for name in REFERENCE] + [-100]])
    expected, scores = metrics([REFERENCE], [PREDICTED], NAMES), score_labels(REFERENCE, PREDICTED, ends_text=True)
    for predictions in (logits, (logits, logits * 0)):
        assert compute_metrics(NAMES)(EvalPrediction(predictions, references)) == expected
    kinds = ("micro", "macro", "weighted", "mid_text", "end_text")
    assert [expected[f"{kind}_f1"] for kind in kinds] == [scores[kind]["f1"] for kind in kinds]
    assert [expected[f"{name.lower()}_recall"] for name in NAMES[1:]] == pytest.approx([1 / 3, 1, 0])
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.setattr(sys, "path", [place for place in sys.path if Path(place).resolve() != ROOT])
    if not importlib.util.find_spec("evaluate"):
        pytest.skip("the library `evaluate`, for which the module is, is not installed")
    metric = importlib.import_module("evaluate").load(str(ROOT / "punctuation_restoration/evaluation/punctuation_f1"))
    assert metric.compute(references=[REFERENCE], predictions=[PREDICTED]) == expected


# Intervals


def test_the_interval_holds_the_score_and_narrows_with_more_documents_that_differ() -> None:
    assert interval([HALF] * 8) == pytest.approx([2 / 3, 2 / 3])
    few, many = (interval([ALL, NONE] * n) for n in (5, 200))
    f1 = 2 / 3  # half of the commas found, all of those right
    assert few[0] < many[0] < f1 < many[1] < few[1]
    # The recall of 400 coin flips lies within 1.96 x 0.5 / 20 = 0.049 of a half; F1 is 2r / (1 + r).
    assert many == pytest.approx([2 * 0.451 / 1.451, 2 * 0.549 / 1.549], abs=0.01)


def test_whole_documents_are_drawn_and_blocks_of_words_where_there_are_few() -> None:
    found, missed = (count_labels([C] * 10, [label] * 10, NAMES) for label in (C, O))
    documents = [np.concatenate([found if n < 3 else missed] * 40) for n in range(5)]
    unit, units = units_of(documents)
    assert (unit, units[:, 0].tolist()) == ("documents", [[400, 400, 400]] * 3 + [[0, 400, 0]] * 2)
    few, alone = units_of([np.concatenate(documents)])
    assert (few, len(alone)) == ("blocks of 200 words", 200)
    # Drawn in blocks, the interval of documents whose blocks agree would be narrower than it is.
    whole, narrow = (bootstrap(own)[0] for own in (units, alone))
    assert whole[1] - whole[0] > 3 * (narrow[1] - narrow[0])


def test_a_difference_that_is_the_same_everywhere_has_no_interval() -> None:
    # All commas found, F1 1; half of them found and none wrong, F1 2 x 0.5 / 1.5.
    found = paired_bootstrap([ALL] * 8, [HALF] * 8)
    assert found == {"micro": pytest.approx(1 / 3), "interval_95": pytest.approx([1 / 3, 1 / 3]), "share_above_0": 1.0}
    same = [ALL, HALF, NONE] * 4
    assert paired_bootstrap(same, same) == {"micro": 0.0, "interval_95": [0.0, 0.0], "share_above_0": 0.0}
    even = paired_bootstrap([ALL, HALF] * 100, [HALF, ALL] * 100)
    assert even["micro"] == 0.0
    assert 0.4 < even["share_above_0"] < 0.6


units = st.tuples(st.sampled_from([ALL, HALF, NONE]), st.sampled_from([ALL, HALF, NONE]))


@settings(deadline=None)
@given(st.lists(units, min_size=1, max_size=9))
def test_worse_is_the_opposite_of_better(pairs: list[tuple[tuple[int, int, int], tuple[int, int, int]]]) -> None:
    new, earlier = zip(*pairs, strict=True)
    one, two = paired_bootstrap(new, earlier), paired_bootstrap(earlier, new)
    assert one["micro"] == pytest.approx(-two["micro"])
    assert one["interval_95"] == pytest.approx([-end for end in reversed(two["interval_95"])])
    assert one["share_above_0"] + two["share_above_0"] <= 1


def test_pairs_are_closer_than_two_intervals_say() -> None:
    # Documents that differ much, and systems that differ by one comma in each.
    earlier, new = ([(n + more, 10, n + more) for n in (1, 3, 5, 7, 9) * 6] for more in (0, 1))
    found = paired_bootstrap(new, earlier)
    assert interval(new)[0] < interval(earlier)[1]  # the intervals overlap
    assert 0 < found["interval_95"][0] < found["micro"] < found["interval_95"][1]


# Calibration


def test_calibration_error_is_the_mean_distance_of_score_and_share_right() -> None:
    # Ten decisions at 0.9 of which 9 are right, and ten at 0.5 of which 2 are: (10 x 0 + 10 x 0.3) / 20.
    scores, right = np.repeat([0.9, 0.5], 10), np.array([index < 9 for index in range(10)] + [True] * 2 + [False] * 8)
    bins = count_reliability(scores, right)
    assert calibration_error(bins) == pytest.approx(0.15)
    assert bins[:, bins[0] > 0].tolist() == [[10, 10], [2, 9], [pytest.approx(5), pytest.approx(9)]]
    assert count_reliability(scores[:7], right[:7]) + count_reliability(scores[7:], right[7:]) == pytest.approx(bins)


def test_no_decision_has_no_calibration_error() -> None:
    assert calibration_error(count_reliability(np.array([]), np.array([]))) is None
