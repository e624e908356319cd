"""What a caller may hand in."""

import pytest

from punctuation_restoration.pipeline.items import Item, TimedSpan, join_words, read_item


def test_text_and_known_labels_come_through_as_they_are():
    text = "a\r\n\u200b  b<mask>\ud800"
    assert read_item(text) == read_item({"text": text}) == Item(text)
    assert read_item({"text": "", "known": None}) == Item("")
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
    assert item.spoken.split() == ["大家好", "(a", "b)"]
    assert len(item.spoken) == len(item.text)


def test_times_belong_to_stretches_of_the_text():
    item = read_item({"words": ["hi", "我们", "今天"], "timestamps": [(0, 1), [1.5, 2], (2, None)]})
    assert item.text == "hi 我们今天"
    assert item.spans == [TimedSpan(0, 2, (0, 1)), TimedSpan(3, 5, (1.5, 2)), TimedSpan(5, 7, (2, None))]
    repeated = read_item({"words": ["no", "no", "nono", "no"], "timestamps": [(i, i + 1) for i in range(4)]})
    assert [(span.start, span.end) for span in repeated.spans] == [(0, 2), (3, 5), (6, 10), (11, 13)]


@pytest.mark.parametrize(
    ("item", "error", "message"),
    [
        (None, TypeError, "got NoneType"), (b"a", TypeError, "got bytes"), ({}, ValueError, r"got the keys \[\]"),
        ({"text": "a", "timestamps": []}, ValueError, "timestamps"),
        ({"text": ["a"]}, ValueError, "'text' to be a string, got list"),
        ({"words": ["a", 1]}, ValueError, "list of strings"), ({"words": "ab"}, ValueError, "list of strings"),
        ({"text": "a", "known": [1]}, ValueError, "'known' as"),
        ({"text": "a", "known": {"0": "COMMA"}}, ValueError, "'known' as"),
        ({"words": ["a"], "timestamps": [(0, 1), (1, 2)]}, ValueError, "1 words, got 2"),
        ({"words": ["a"], "timestamps": 3}, ValueError, "got 3"),
        ({"words": ["a"], "timestamps": [(0,)]}, ValueError, "word 0 to have a time"),
        ({"words": ["a"], "timestamps": [("x", 1)]}, ValueError, "word 0 to have a time"),
        ({"text": "a", "chunks": "a"}, ValueError, "restore_transcript"),
        ({"text": "a", "turns": "a"}, ValueError, "'turns' as a list"),
        ({"text": "a", "turns": [0.5]}, ValueError, "'turns' as a list"),
        ({"words": ["a"], "turns": [1]}, ValueError, "'turns', 'unfinished'"),
        ({"words": [{"word": "a"}]}, ValueError, "list of strings.*restore_transcript"),
        ([{"word": "a"}], TypeError, "got list.*restore_transcript"),
    ],
)  # fmt: skip
def test_a_bad_item_is_refused_with_a_reason(item, error, message):
    with pytest.raises(error, match=message):
        read_item(item)
