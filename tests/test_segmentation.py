"""Han text into words."""

import builtins
import pickle
import sys

import pytest

from punctuation_restoration.pipeline import segmentation
from punctuation_restoration.pipeline.segmentation import HanSegmenter
from punctuation_restoration.pipeline.words import WordFinder


def test_words_of_a_run_joined_are_the_run():
    segment = HanSegmenter()
    for run in ("今天天气很好", "我哋今日去邊度", "𠀀𠀁々〇㐀", "⼀丨", "今" * 500):
        assert "".join(segment(run)) == run
    assert segment("好") == ["好"]


@pytest.mark.parametrize(
    ("traditional", "simplified"),
    [("我們今天去看電影", "我们今天去看电影"), ("衞生署裏面", "卫生署里面"), ("呢個幾多錢", "呢个几多钱")],
)
def test_traditional_words_are_those_of_the_simplified_text(traditional, simplified):
    words = HanSegmenter()(traditional)
    assert "".join(words) == traditional
    assert list(map(len, words)) == list(map(len, HanSegmenter()(simplified)))
    assert max(map(len, words)) > 1


def test_cantonese_words_hide_no_slot_of_mandarin():
    assert HanSegmenter()("他呢个人认为很好")[:3] == ["他", "呢", "个人"]
    assert HanSegmenter()("你呢度假去哪里")[:3] == ["你", "呢", "度假"]


def test_words_that_no_dictionary_has_are_not_made_up():
    # jieba's hidden Markov model would join these to one word, and hide the marks between them.
    assert HanSegmenter()("他来到了网易杭研大厦")[-3:] == ["杭", "研", "大厦"]


def test_a_dictionary_may_be_words_or_a_file(tmp_path):
    assert HanSegmenter()("去杭研大厦") == ["去", "杭", "研", "大厦"]
    assert HanSegmenter(["杭研大厦"])("去杭研大厦") == ["去", "杭研大厦"]
    path = tmp_path / "words.txt"
    path.write_text("杭研 100 n\n研大 1\n", encoding="utf-8")
    assert HanSegmenter(str(path))("去杭研大厦") == ["去", "杭研", "大厦"]
    assert HanSegmenter()("去杭研大厦") == ["去", "杭", "研", "大厦"]  # others are not changed by it
    path.write_text("杭研大廈 100 n\n", encoding="utf-8")
    for dictionary in (str(path), ["杭研大廈"]):  # it may be Traditional
        assert HanSegmenter(dictionary)("去杭研大廈") == ["去", "杭研大廈"]
        assert HanSegmenter(dictionary)("去杭研大厦") == ["去", "杭研大厦"]
    assert [word.text for word in WordFinder("，", ["杭研大厦"])("去杭 研大厦")] == ["去", "杭 研大厦"]


def test_a_dictionary_that_cannot_be_read_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"no such\.txt.*Correct the path"):
        HanSegmenter(str(tmp_path / "no such.txt"))
    with pytest.raises(ValueError, match="Expected words"):
        HanSegmenter(["好", ""])
    path = tmp_path / "latin.txt"
    path.write_bytes("caf\xe9 1\n".encode("latin-1"))
    with pytest.raises(ValueError, match="UTF-8"):
        HanSegmenter(path)("今天")


def test_a_finder_can_be_sent_to_another_process():
    find_words = WordFinder(".", ["杭研大厦"])
    find_words("杭研大厦")
    assert [word.text for word in pickle.loads(pickle.dumps(find_words))("去杭研大厦")] == ["去", "杭研大厦"]


def test_the_cache_is_kept_in_a_folder_of_the_users_own(tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    monkeypatch.setattr(segmentation, "JIEBA_CACHE", str(folder))
    assert segmentation._new_tokenizer().tmp_dir == str(folder)
    assert [path.name for path in folder.iterdir()] == ["jieba.cache"]


def test_a_folder_that_cannot_be_made_is_no_hindrance(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setattr(segmentation, "JIEBA_CACHE", str(tmp_path / "file" / "cache"))
    assert "".join(segmentation._new_tokenizer().cut("今天")) == "今天"


def test_without_jieba_only_han_text_fails(monkeypatch):
    monkeypatch.setattr(segmentation, "_default_tokenizer", segmentation._new_tokenizer)
    monkeypatch.delitem(sys.modules, "jieba", raising=False)
    load = builtins.__import__

    def load_all_but_jieba(name, *args, **kwargs):
        if name == "jieba":
            raise ImportError(name)
        return load(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", load_all_but_jieba)
    find_words = WordFinder(".")
    assert [word.text for word in find_words("hello 好")] == ["hello", "好"]  # one character needs no dictionary
    with pytest.raises(ImportError, match="pip install jieba"):
        find_words("你好")
