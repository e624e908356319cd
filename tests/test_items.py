"""What a caller may hand in."""

import json
import math
from typing import Any

import numpy as np
import pytest

from punctuation_restoration.pipeline.items import Item, join_words, read_item


def test_text_and_known_labels_come_through_as_they_are():
    text = "a\r\n\u200b  b<mask>\ud800"
    assert read_item(text) == read_item({"text": text}) == Item(text)
    assert read_item({"text": "a", "known": {}, "final": False}) == Item("a", final=False)
    for item in ({"text": "a b"}, {"words": ["a"]}):
        assert read_item({**item, "known": {0: "COMMA"}}).known == {0: "COMMA"}


def test_words_are_joined_by_one_space_and_han_words_by_none():
    assert join_words(["hello", "我们", "今天", "ok", "好"]) == "hello 我们今天 ok 好"
    assert join_words(["你\U000e0100", "好", "，", "好"]) == "你\U000e0100好 ， 好"
    assert join_words([]) == ""
    assert join_words(["", "a", ""]) == " a "


def test_words_that_nobody_says_are_hidden():
    item = read_item({"words": ["<|zh|>", "大家", "好", "[BLANK_AUDIO]", "(laughs)", "(a", "b)"]})
    assert item.text == "<|zh|> 大家好 [BLANK_AUDIO] (laughs) (a b)"
    assert item.audible.split() == ["大家好", "(a", "b)"]
    assert len(item.audible) == len(item.text)


@pytest.mark.parametrize(
    ("item", "error", "message"),
    [
        (None, TypeError, "got NoneType"), (b"a", TypeError, "got bytes"), ({}, ValueError, r"got the keys \[\]"),
        ({"text": "a", "words": ["a"]}, ValueError, r"got the keys \['text', 'words'\]"),
        ({"text": "a", "timestamps": []}, ValueError, "timestamps.*restore_transcript"),
        ({"text": ["a"]}, ValueError, r"'text' to be a string, got \['a'\]"),
        ({"words": ["a", 1]}, ValueError, "list of strings"), ({"words": "ab"}, ValueError, "list of strings"),
        ({"text": "a", "known": [1]}, ValueError, "'known' to be {word index: label name}, got"),
        ({"text": "a", "known": {"0": "COMMA"}}, ValueError, "'known' to be"),
        ({"text": "a", "turns": "a"}, ValueError, "'turns' to be a list of character offsets"),
        ({"text": "a", "turns": [0.5]}, ValueError, "'turns' to be"),
        ({"words": ["a"], "final": 0}, ValueError, "'final' to be True or False, got 0"),
        ({"words": [{"word": "a"}]}, ValueError, "list of strings.*restore_transcript"),
        ([{"word": "a"}], TypeError, "got list.*restore_transcript"),
    ],
)  # fmt: skip
def test_a_bad_item_is_refused_with_a_reason(item, error, message):
    with pytest.raises(error, match=message):
        read_item(item)


def test_words_keep_their_times(restore: Any) -> None:
    """A word that is found in two given ones, or is a part of one, has their times."""
    item = {"words": ["hello", "you are", "我", "们", "大家"], "timestamps": [(n, n + 0.5) for n in range(5)]}
    words = restore(item)["words"]
    assert [word["timestamp"] for word in words] == [(0, 0.5), (1, 1.5), (1, 1.5), (2, 3.5), (4, 4.5)]
    assert "timestamp" not in restore({"words": item["words"]})["words"][0]
    some = {"words": ["a", "b", "c"], "timestamps": np.array([[0, 0.5], [1, np.nan], [2, 3]], dtype=np.float32)}
    for times in (
        some["timestamps"],
        [(np.float32(0), 0.5), [1, None], np.array([2, 3])],
        [("0:00", "0.5s"), (1, math.nan), (2, 3)],
    ):
        found = restore({**some, "timestamps": times})["words"]
        assert [word["timestamp"] for word in found] == [(0, 0.5), (1, None), (2, 3)]
        assert json.dumps(found)
    for wrong in ([], [(0, 1)] * 4, [(0, 1)] * 4 + [(0,)], [("soon", 1)] * 5, [(True, 1)] * 5, ["01"] * 5, None, "01"):
        with pytest.raises(ValueError, match=r"Expected 'timestamps' to be a \(start, end\) in seconds for each"):
            restore({**item, "timestamps": wrong})
