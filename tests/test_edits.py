"""Marks of a text, after which words; the parts of an edited text. Worked pairs in `quality/` have the way back."""

import pytest

from punctuation_restoration.modeling.configuration_punctuation import DEFAULT_MARK_LABELS
from punctuation_restoration.pipeline.edits import Edit, edited, edited_between
from punctuation_restoration.pipeline.marks import find_marks, strip_marks
from punctuation_restoration.pipeline.words import WordFinder

NAMES = ["O", "COMMA", "PERIOD", "QUESTION"]
find_words = WordFinder(DEFAULT_MARK_LABELS)


@pytest.mark.parametrize(
    ("start", "end", "part"),
    [(0, 7, "one. ¿Two?"), (0, 3, "one."), (3, 7, " ¿Two?"), (4, 7, "¿Two?"), (0, 4, "one. "), (2, 2, "")],
)
def test_a_part_of_an_edited_text_has_the_edits_that_belong_to_it(start, end, part):
    edits = [
        Edit(start=place, removed=old, inserted=new, label=None, score=None, source="model")
        for place, old, new in [(3, "", "."), (4, "", "¿"), (4, "t", "T"), (7, "", "?")]
    ]
    assert edited("one two", edits) == "one. ¿Two?"
    assert edited_between("one two", edits, start, end) == part


def _labels(text):
    marks = find_marks(text, find_words(text), DEFAULT_MARK_LABELS, NAMES)
    return " ".join(mark.label[0] if mark else "-" for mark in marks)


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("a, b. c? d", "C P Q -"), ("a; b! c: d… e", "P P C P -"), ("你好，今天。北京？很、好", "C P Q C -"),
        ("a?! b!? c.,", "Q Q P"), ('"a," (b). [c]?', "C P Q"), ("a , b", "C -"), ("a\n. b", "P -"), ("a 👍. b", "P -"),
        ("a — b – c—d", "C C C -"), ("a - b -- c--d --- e", "C C C C -"), ("a-b c -d e-", "- - - -"),
        ("a-- b-. c--, d", "C P C -"), ("a\n-----\nb c --d", "- - - -"),
        ("a\n- b\n-- c -", "- - C"), ("a--\nb -\nc\nd --\n\ne --", "C C - C C"), ("a b -5 c-", "- - - -"),
        ("a (b --) c \"d -\" e -", "- C - C C"),
        ("3.5 1,000 12:30 a.b", "- - - -"), ("Dr. a U.S. b etc. c", "- - - - - -"),
        ("a :) b :D, c", "- C -"), ("سلام، سلام؟ घर। ក។ ა", "C Q P P -"), ("a ¿b? c", "- Q -"), ("... a", "-"),
        ("", ""), ("a :-) b :/ c ;D d :'( e", "- - - - -"), ("(a :) ok <3! b", "- P -"),
        ("a:) b :)c : d: (e) 12:30", "C C C C - -"),
    ],
)  # fmt: skip
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
