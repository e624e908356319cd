"""Counts and scores against numbers counted by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from punctuation_restoration.evaluation.counts import add_counts, count_labels
from punctuation_restoration.evaluation.scores import Scores, score

NAMES = ["O", "COMMA", "PERIOD", "QUESTION"]
O, C, P, Q = NAMES  # noqa: E741
labels = st.sampled_from(NAMES)

# Ten words. Commas: 3 in the reference, 2 predicted, 1 right. Periods: 2, 3, 2. Questions: 1, 1, 0.
REFERENCE = [O, C, O, P, C, O, Q, C, O, P]
PREDICTED = [O, C, C, P, O, O, P, Q, O, P]


def score_labels(reference: list, predicted: list, names: list[str]) -> Scores:
    return score(count_labels(reference, predicted, names))


def test_precision_recall_and_f1_per_mark_are_as_counted_by_hand():
    marks = score_labels(REFERENCE, PREDICTED, NAMES).marks
    assert (marks[C].precision, marks[C].recall, marks[C].f1) == pytest.approx((1 / 2, 1 / 3, 2 / 5))
    assert (marks[P].precision, marks[P].recall, marks[P].f1) == pytest.approx((2 / 3, 1, 4 / 5))
    assert (marks[Q].precision, marks[Q].recall, marks[Q].f1) == (0, 0, 0)
    assert [(mark.n_reference, mark.n_predicted, mark.n_correct) for mark in marks.values()] == [
        (3, 2, 1),
        (2, 3, 2),
        (1, 1, 0),
    ]


def test_the_four_meanings_of_overall_are_kept_apart():
    scores = score_labels(REFERENCE, PREDICTED, NAMES)
    # 3 marks right of 6 predicted and 6 in the reference. With the no-mark label it would be 5 of 10: worthless.
    assert scores.micro.f1 == pytest.approx(1 / 2)
    assert scores.macro.f1 == pytest.approx((2 / 5 + 4 / 5 + 0) / 3)
    assert scores.weighted.f1 == pytest.approx((3 * 2 / 5 + 2 * 4 / 5 + 1 * 0) / 6)


def test_words_without_a_mark_on_either_side_change_no_score():
    scores = score_labels(REFERENCE, PREDICTED, NAMES)
    diluted = score_labels(REFERENCE + [O] * 1000, PREDICTED + [O] * 1000, NAMES)
    assert (diluted.micro, diluted.macro, diluted.weighted) == (scores.micro, scores.macro, scores.weighted)


def test_slot_error_rate_adds_substitutions_deletions_and_insertions():
    # Substitutions: Q as P, C as Q. Deletion: C. Insertion: C. Four errors on six marks.
    assert score_labels(REFERENCE, PREDICTED, NAMES).slot_error_rate == pytest.approx(4 / 6)


def test_merged_classes_forgive_the_mistakes_within_a_class():
    merged = score_labels(REFERENCE, PREDICTED, NAMES).merged
    assert list(merged) == ["4", "3", "2"]
    assert merged["4"].n_correct == 3
    assert merged["3"].n_correct == 4  # the question called a period is a sentence end all the same
    assert merged["2"].n_correct == 5  # the comma called a question is a mark all the same


def test_the_end_of_a_text_is_scored_apart():
    counts = count_labels(REFERENCE, PREDICTED, NAMES, ends_text=True)
    scores = score(counts)
    assert (scores.end_text.n_reference, scores.end_text.n_correct, scores.end_text.f1) == (1, 1, 1)
    assert (scores.mid_text.n_reference, scores.mid_text.n_predicted, scores.mid_text.n_correct) == (5, 5, 2)
    assert scores.micro.n_correct == 3
    mid, end = scores.mid_text_marks, scores.end_text_marks
    numbers = {name: (mark.n_reference, mark.n_predicted, mark.n_correct) for name, mark in end.items()}
    assert numbers == {C: (0, 0, 0), P: (1, 1, 1), Q: (0, 0, 0)}
    for name, mark in scores.marks.items():
        assert mark.n_correct == mid[name].n_correct + end[name].n_correct
        assert mark.n_predicted == mid[name].n_predicted + end[name].n_predicted


def test_a_mark_inside_a_word_is_an_insertion_but_no_word():
    stray = count_labels([], [], NAMES, stray=[C, C])
    scores = score(add_counts(NAMES, [count_labels([O, C], [O, C], NAMES), stray]))
    assert scores.n_words == 2
    assert (scores.micro.precision, scores.micro.recall) == pytest.approx((1 / 3, 1))
    assert scores.slot_error_rate == 2


def test_a_mark_that_the_reference_never_uses_is_left_out_of_the_macro_mean():
    scores = score_labels([C, O, O], [C, Q, O], NAMES)
    assert scores.macro.f1 == 1
    assert scores.micro.f1 == pytest.approx(2 / 3)


def test_nothing_to_score_gives_zeros_instead_of_a_division_by_zero():
    scores = score_labels([], [], NAMES)
    assert (scores.micro.f1, scores.macro.f1, scores.weighted.f1, scores.slot_error_rate) == (0, 0, 0, None)


def test_ids_and_names_score_alike_and_minus_100_is_not_scored():
    ids = [NAMES.index(name) for name in REFERENCE]
    predicted = [NAMES.index(name) for name in PREDICTED]
    by_id = score_labels([*ids, -100], [*predicted, 3], NAMES)
    assert by_id == score_labels(REFERENCE, PREDICTED, NAMES)


@given(st.lists(st.tuples(labels, labels)), st.integers(0, 50))
def test_counts_of_two_halves_add_up_to_those_of_the_whole(pairs, place):
    def count(part):
        return count_labels([a for a, _ in part], [b for _, b in part], NAMES)

    place = min(place, len(pairs))
    halves = add_counts(NAMES, [count(pairs[:place]), count(pairs[place:])])
    assert halves.numbers.tolist() == count(pairs).numbers.tolist()


@given(st.lists(st.tuples(labels, labels)))
def test_every_word_is_counted_once(pairs):
    counts = count_labels([a for a, _ in pairs], [b for _, b in pairs], NAMES, ends_text=True)
    assert counts.mid_text.sum() + counts.end_text.sum() == counts.n_words == len(pairs)
    assert all(counts.end_text[NAMES.index(a), NAMES.index(b)] == 1 for a, b in pairs[-1:])


def test_lists_of_different_length_are_told_apart():
    with pytest.raises(ValueError, match="3 words, 2 predicted labels"):
        score_labels([O, O, O], [O, O], NAMES)


def test_an_unknown_label_is_named():
    with pytest.raises(ValueError, match="EXCLAMATION"):
        score_labels([O], ["EXCLAMATION"], NAMES)
