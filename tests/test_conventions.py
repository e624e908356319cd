"""The tables of scripts and marks."""

import pytest

from punctuation_restoration.modeling.configuration_punctuation import DEFAULT_LABELS, DEFAULT_MARK_LABELS
from punctuation_restoration.pipeline.conventions import SENTENCE_ENDS, WRITTEN_MARKS, known_marks, script_of, written


@pytest.mark.parametrize(
    ("word", "script"),
    [
        ("hello", "Latin"), ("它", "Han"), ("ㄅ", "Han"), ("〇", "Han"), ("あ", "Kana"), ("カー", "Kana"),
        ("سلام", "Arabic"), ("घर", "Devanagari"), ("வீடு", "Latin"), ("дом", "Latin"), ("한국", "Latin"), ("é", "Latin"),
        ("ក", "Khmer"), ("APIを", "Kana"), ("3rd", "Latin"), ("3.5", None), ("٣", "Arabic"), ("-", None), ("", None),
    ],
)  # fmt: skip
def test_the_script_of_a_word_is_that_of_its_last_letter(word, script):
    assert script_of(word) == script


def test_marks_are_written_as_the_script_writes_them():
    assert [written(mark, "Han") for mark in (",", ".", "?", "?!", "—")] == ["，", "。", "？", "？！", "—"]
    assert [written(mark, "Arabic") for mark in ",.?"] == ["،", ".", "؟"]
    assert [written(mark, "Latin") for mark in ",.?"] == [",", ".", "?"]
    assert written("", "Han") == ""
    assert "".join(written("、", script) for script in ("Han", "Kana", "Latin", "Arabic", "Khmer")) == "、、,،,"


def test_whatever_is_written_is_known_when_it_is_read_again():
    known = known_marks(DEFAULT_MARK_LABELS)
    for script in WRITTEN_MARKS:
        for label in DEFAULT_LABELS[1:]:
            sign = written(label["after"], script)
            assert DEFAULT_MARK_LABELS[known[sign]] == label["name"]


def test_a_mark_that_is_not_among_the_given_brings_no_forms():
    assert known_marks(",") == {",": ",", "﹐": ","} | {row[","]: "," for row in WRITTEN_MARKS.values() if "," in row}
    assert known_marks([]) == {}
    known = known_marks(DEFAULT_MARK_LABELS)
    labels = [DEFAULT_MARK_LABELS[known[sign]] for sign in "｡､፧\u037e﹖"]
    assert labels == ["PERIOD", "COMMA", *["QUESTION"] * 3]
    assert known_marks("。.")["。"] == "。"  # what is given stands for itself


def test_all_that_means_a_period_or_a_question_ends_a_sentence_but_semicolons():
    ends = {sign for sign, label in DEFAULT_MARK_LABELS.items() if label != "COMMA"} - set(";；؛")
    assert ends <= set(SENTENCE_ENDS)
    assert {written(mark, script) for mark in ".?!" for script in WRITTEN_MARKS} <= set(SENTENCE_ENDS)
    assert not set(SENTENCE_ENDS) & set(known_marks(",;:—"))
