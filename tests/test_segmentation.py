"""Han text into words; Traditional text is read as if it were Simplified, and stays as it is."""

import pickle
import sys
from typing import Any

import pytest

from punctuation_restoration.pipeline.segmentation import SIMPLIFIED, SIMPLIFIED_FORMS, TRADITIONAL, HanSegmenter
from punctuation_restoration.pipeline.words import WordFinder


def test_words_of_a_run_joined_are_the_run():
    segment = HanSegmenter()
    for run in ("今天天气很好", "我哋今日去邊度", "𠀀𠀁々〇㐀", "⼀丨", "今" * 500):
        assert "".join(segment(run)) == run
    assert segment("好") == ["好"]


def test_cantonese_words_hide_no_slot_of_mandarin():
    assert HanSegmenter()("他呢个人认为很好")[:3] == ["他", "呢", "个人"]
    assert HanSegmenter()("你呢度假去哪里")[:3] == ["你", "呢", "度假"]


def test_words_that_no_dictionary_has_are_not_made_up():
    # jieba's hidden Markov model would join these to one word, and hide the marks between them.
    assert HanSegmenter()("他来到了网易杭研大厦")[-3:] == ["杭", "研", "大厦"]


def test_a_dictionary_may_be_words_or_a_file(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("杭研 100 n\n研大 1\n", encoding="utf-8")
    assert HanSegmenter(str(path))("去杭研大厦") == ["去", "杭研", "大厦"]
    assert HanSegmenter()("去杭研大厦") == ["去", "杭", "研", "大厦"]  # others are not changed by it
    find_words = WordFinder("，", ["杭研大廈"])  # it may be Traditional
    for text in ("去杭研大廈", "去杭研大厦", "去杭 研大厦"):
        assert [word.text for word in find_words(text)] == ["去", text[1:]]
    assert [word.text for word in pickle.loads(pickle.dumps(find_words))("去杭研大厦")] == ["去", "杭研大厦"]


def test_a_dictionary_that_cannot_be_read_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"no such\.txt.*Correct the path"):
        HanSegmenter(str(tmp_path / "no such.txt"))
    with pytest.raises(ValueError, match="Expected words"):
        HanSegmenter(["好", ""])
    path = tmp_path / "latin.txt"
    path.write_bytes("caf\xe9 1\n".encode("latin-1"))
    with pytest.raises(ValueError, match="UTF-8"):
        HanSegmenter(path)


def test_without_jieba_only_han_text_fails(monkeypatch):
    monkeypatch.setitem(sys.modules, "jieba", None)
    find_words = WordFinder(".", ["杭研"])
    assert [word.text for word in find_words("hello 好")] == ["hello", "好"]  # one character needs no dictionary
    with pytest.raises(ImportError, match="pip install jieba"):
        find_words("你好")


PAIRS = [
    ("我們說你們這樣大家不開心", "我们说你们这样大家不开心"), ("衞生署裏面嘅電話唔好打", "卫生署里面的电话不好打"),
    ("我們今天去看電影呢個幾多錢", "我们今天去看电影呢个几多钱"),
]  # fmt: skip


def test_each_character_has_one_form_which_has_no_other() -> None:
    assert len(set(TRADITIONAL)) == len(TRADITIONAL) == len(SIMPLIFIED_FORMS) > 2500
    assert set(TRADITIONAL).isdisjoint(SIMPLIFIED_FORMS)
    assert not any(character.isascii() for character in TRADITIONAL + SIMPLIFIED_FORMS)


@pytest.mark.parametrize(("given", "simplified"), PAIRS)
def test_traditional_text_gets_the_marks_of_simplified_text_and_keeps_its_characters(
    tiny_pipeline: Any, given: str, simplified: str
) -> None:
    found, expected = (tiny_pipeline(text, all_scores=True) for text in (given, simplified))
    assert [word["word"] for word in found["words"]] != [word["word"] for word in expected["words"]]
    for one, other in zip(found["words"], expected["words"], strict=True):
        same = ("start", "end", "label", "scores")
        assert [one[key] for key in same] == [other[key] for key in same]
        assert one["word"] == given[one["start"] : one["end"]]
    assert "".join(sign for sign in found["text"] if sign not in "，。？") == given
    assert given.translate(SIMPLIFIED) == simplified
