"""Which marks a text has, after which words; and the way into training."""

import pytest

from punctuation_restoration.modeling.configuration_punctuation import DEFAULT_MARK_LABELS
from punctuation_restoration.pipeline.marks import find_marks, mark_places, strip_marks, typed_dashes
from punctuation_restoration.pipeline.words import WordFinder

NAMES = ["O", "COMMA", "PERIOD", "QUESTION"]
find_words = WordFinder(DEFAULT_MARK_LABELS)


def _labels(text):
    marks = find_marks(text, find_words(text), DEFAULT_MARK_LABELS, NAMES)
    return " ".join(mark.label[0] if mark else "-" for mark in marks)


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("a, b. c? d", "C P Q -"),
        ("a; b! c: d… e", "P P C P -"),
        ("你好，今天。北京？很、好", "C P Q C -"),
        ("a?! b!? c.,", "Q Q P"),
        ('"a," (b). [c]?', "C P Q"),
        ("a , b", "C -"),
        ("a\n. b", "P -"),
        ("a 👍. b", "P -"),
        ("a — b – c—d", "C C C -"),
        ("a - b -- c--d --- e", "C C C C -"),
        ("a-b c -d e-", "- - - -"),
        ("a\n- b\n-- c -", "- - -"),
        ("3.5 1,000 12:30 a.b", "- - - -"),
        ("Dr. a U.S. b etc. c", "- - - - - -"),
        ("a :) b :D, c", "- C -"),
        ("سلام، سلام؟ घर। ក។ ა", "C Q P P -"),
        ("a ¿b? c", "- Q -"),
        ("... a", "-"),
        ("", ""),
    ],
)
def test_labels_of_the_marks_in_a_text(text, labels):
    assert _labels(text) == labels


def test_a_mark_knows_where_it_stands():
    text = 'he said "no..." — bye'
    mark = find_marks(text, find_words(text), DEFAULT_MARK_LABELS, NAMES)[2]
    assert (mark.label, text[mark.start : mark.end]) == ("PERIOD", '..." —')


def test_a_mark_may_stand_for_no_label():
    words = WordFinder({"~": None, ".": "PERIOD"})("a ~ b")
    marks = find_marks("a ~ b", words, {"~": None, ".": "PERIOD"}, NAMES)
    assert [mark and mark.label for mark in marks] == [None, None]
    assert (marks[0].start, marks[1]) == (2, None)


def test_an_opening_mark_belongs_to_the_word_behind_it():
    table = {"¿": None, "?": "QUESTION"}
    text = "hola ¿qué tal?"
    marks = find_marks(text, WordFinder(table)(text), table, NAMES)
    assert [mark and mark.label for mark in marks] == [None, None, "QUESTION"]


def test_places_of_marks_leave_typed_faces_out():
    text = "a. :) , b"
    assert mark_places(text, 1, 8, set(".,:")) == [1, 6]
    assert mark_places(text, 2, 5, set(".,:")) == []


def test_typed_dashes_stand_between_two_words():
    assert typed_dashes("a - b", 1, 4) == [(2, 3)]
    assert typed_dashes("a--b", 1, 3) == [(1, 3)]
    assert typed_dashes("a - ", 1, 4) == []
    assert typed_dashes("a, b", 1, 3) == []


@pytest.mark.parametrize(
    ("text", "spoken", "labels"),
    [
        ("Hello, I’m Dr. Lee.", ["Hello", "I'm", "Dr", "Lee"], ["COMMA", "O", "O", "PERIOD"]),
        ("He left the U.S.", ["He", "left", "the", "U.S"], ["O", "O", "O", "PERIOD"]),
        ("你好，我 们。", ["你好", "我们"], ["COMMA", "PERIOD"]),
        ("no marks", ["no", "marks"], ["O", "O"]),
        ("", [], []),
    ],
)
def test_stripping_gives_what_a_recogniser_would_have_written(text, spoken, labels):
    assert strip_marks(text, find_words(text), DEFAULT_MARK_LABELS, NAMES) == (spoken, labels)
