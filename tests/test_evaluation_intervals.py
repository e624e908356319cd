"""Bootstrap intervals and calibration against numbers counted by hand."""

import pytest

from punctuation_restoration.evaluation.calibration import (
    ROWS,
    bins_to_json,
    calibration_error,
    count_reliability,
    reliability_curve,
)
from punctuation_restoration.evaluation.counts import count_labels
from punctuation_restoration.evaluation.intervals import Block, bootstrap, by_key

NAMES = ("O", "COMMA", "PERIOD", "QUESTION")


def part(document: str, reference: list[str], predicted: list[str], block: int = 0) -> Block:
    return Block(document, "test", block, count_labels(reference, predicted, NAMES))


RIGHT = (["COMMA"] * 10, ["COMMA"] * 10)
WRONG = (["COMMA"] * 10, ["O"] * 10)


def test_documents_that_are_all_alike_leave_no_interval():
    intervals = bootstrap([part(str(index), *RIGHT) for index in range(8)])
    assert (intervals.micro, intervals.unit, intervals.n_units) == ((1.0, 1.0), "documents", 8)


def test_the_interval_holds_the_score_and_narrows_with_more_documents():
    few = bootstrap([part(str(index), *(RIGHT if index % 2 else WRONG)) for index in range(10)]).micro
    many = bootstrap([part(str(index), *(RIGHT if index % 2 else WRONG)) for index in range(400)]).micro
    f1 = 2 / 3  # half of the commas found, all of those right
    assert few[0] < many[0] < f1 < many[1] < few[1]
    # The recall of 400 coin flips lies within 1.96 x 0.5 / 20 = 0.049 of a half; F1 is 2r / (1 + r).
    assert many == pytest.approx((2 * 0.451 / 1.451, 2 * 0.549 / 1.549), abs=0.01)


def test_one_stream_without_document_borders_is_drawn_in_blocks_of_words():
    parts = [part("stream", *(RIGHT if index % 3 else WRONG), block=index) for index in range(30)]
    intervals = bootstrap(parts)
    assert (intervals.unit, intervals.n_units) == ("blocks of 200 words", 30)
    assert intervals.micro[0] < 0.8 < intervals.micro[1]


def test_the_blocks_of_a_document_are_drawn_together():
    # Five documents whose blocks all agree: drawn in blocks, their interval would be narrower than it is.
    parts = [
        part(str(document), *(RIGHT if document < 3 else WRONG), block=block)
        for document in range(5)
        for block in range(40)
    ]
    whole = bootstrap(parts)
    alone = bootstrap([Block("one", part.source, index, part.counts) for index, part in enumerate(parts)])
    assert whole.n_units == 5
    assert whole.micro[1] - whole.micro[0] > 3 * (alone.micro[1] - alone.micro[0])


def test_a_rare_mark_has_a_wide_interval():
    # 46 questions among 830 commas, as in the English test; both are found half of the time.
    parts = []
    for index in range(83):
        questions = ["QUESTION"] * (1 if index < 46 else 0)
        predicted = questions if index % 2 else ["O"] * len(questions)
        commas = ["COMMA"] * 10
        parts.append(part(str(index), commas + questions, ["COMMA", "O"] * 5 + predicted))
    marks = bootstrap(parts).marks
    assert marks["QUESTION"][1] - marks["QUESTION"][0] > 0.15
    assert marks["COMMA"][1] - marks["COMMA"][0] < 0.01


def test_the_same_test_gives_the_same_interval_again():
    parts = [part(str(index), *(RIGHT if index % 2 else WRONG)) for index in range(10)]
    assert bootstrap(parts) == bootstrap(parts)


def test_a_test_without_words_has_no_interval():
    with pytest.raises(ValueError, match="one block or more"):
        bootstrap([])


def test_counts_by_document_keep_the_order_of_the_test():
    parts = [part("b", *RIGHT), part("a", *WRONG), part("b", *RIGHT, block=1)]
    assert {name: counts.n_words for name, counts in by_key(parts, "document").items()} == {"b": 20, "a": 10}
    assert list(by_key(parts, "document")) == ["b", "a"]


def test_calibration_error_is_the_mean_distance_of_score_and_share_right():
    # Ten decisions at 0.9 of which 9 are right, and ten at 0.5 of which 2 are: (10 x 0 + 10 x 0.3) / 20.
    decisions = [(0.9, index < 9) for index in range(10)] + [(0.5, index < 2) for index in range(10)]
    bins = count_reliability(decisions)
    assert calibration_error(bins) == pytest.approx(0.15)
    assert reliability_curve(bins).tolist() == [pytest.approx([0.5, 0.2]), pytest.approx([0.9, 0.9])]
    assert bins[0].sum() == 20


def test_calibration_bins_add_up_and_survive_json():
    decisions = [(index / 20, index % 3 == 0) for index in range(21)]
    whole = count_reliability(decisions)
    halves = count_reliability(decisions[:9]) + count_reliability(decisions[9:])
    assert halves == pytest.approx(whole)
    written = bins_to_json(whole)
    assert [written[row] for row in ROWS] == [pytest.approx(row) for row in whole.tolist()]
    assert written["expected_calibration_error"] == calibration_error(whole)


def test_no_decision_has_no_calibration_error_and_a_logit_is_no_score():
    assert calibration_error(count_reliability([])) is None
    with pytest.raises(ValueError, match="probabilities, not logits"):
        count_reliability([(3.2, True)])
