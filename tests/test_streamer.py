"""The streamer and the pipeline's streams: what is committed never changes, and nothing is lost."""

import itertools
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from restorers import without_marks

from punctuation_restoration.pipeline import restoration_pipeline
from punctuation_restoration.pipeline.edits import edited
from punctuation_restoration.pipeline.streamer import MAX_OPEN, PunctuationStreamer

WORDS = ["hello", "you", "are", "the", "saya", "awak", "3.5", "it's", "我们", "大家", "今天", "北京", "a"]
SILENT = ["\n[MUSIC]", "\nANNA: ", "\nBO [low]: ", "\n- ", "<|en|>", "♪", "\n[1:02] ", "(laughs)"]
TEXT = st.lists(
    st.sampled_from([*WORDS, *SILENT, " ", " ", "  ", "\n", "“", "”", "(", ")", "，", "? "]), max_size=40
).map("".join)


def cut(text: str, places: list[int]) -> list[str]:
    borders = sorted({0, len(text), *(place % (len(text) + 1) for place in places)})
    return [text[start:end] for start, end in pairwise(borders)]


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(TEXT, st.lists(st.integers(0, 300), max_size=12), st.integers(0, 6), st.integers(0, 5), st.booleans())
@example("you“ hello", [5], 0, 0, False)  # the mark goes behind a quote that a blank follows, the quote with it
@example("hello““ ", [7], 0, 0, False)
@example("中国人民中国人民", [1, 2, 3, 4, 5, 6, 7], 0, 5, False)  # jieba's words lie across what is committed
def test_committed_text_never_changes_and_only_marks_are_added(
    tiny_pipeline: Any, text: str, places: list[int], look_ahead: int, left_context: int, truecase: bool
) -> None:
    streamer = PunctuationStreamer(tiny_pipeline, look_ahead, left_context, truecase=truecase)
    committed = ""
    fed = ""
    edits, words = [], []
    for part in cut(text, places):
        step = streamer.feed(part)
        fed += part
        committed += step.committed
        edits += step.edits
        words += step.words
        assert streamer.committed == committed
        assert without_marks(committed + step.tail).lower() == without_marks(fed).lower()
    last = streamer.flush()
    assert last.tail == ""
    assert streamer.committed == committed + last.committed
    assert without_marks(streamer.committed).lower() == without_marks(text).lower()
    assert edited(text, edits + last.edits) == streamer.committed
    assert all(one["end"] <= other["start"] for one, other in pairwise([*words, *last.words]))


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(TEXT, st.lists(st.integers(0, 300), max_size=6))
def test_with_nothing_committed_before_the_end_it_equals_the_offline_text(
    tiny_pipeline: Any, text: str, places: list[int]
) -> None:
    streamer = PunctuationStreamer(tiny_pipeline, look_ahead=1000)
    for part in cut(text, places):
        assert streamer.feed(part).committed == ""
    assert streamer.flush().committed == tiny_pipeline(text)["text"]


def test_each_word_is_committed_once_when_enough_words_follow_with_its_place_in_all_text(tiny_pipeline: Any) -> None:
    streamer = PunctuationStreamer(tiny_pipeline, look_ahead=2, left_context=3)
    spoken = "hello you are the saya awak hello the you are".split()
    words: list[dict[str, Any]] = []
    for n, word in enumerate(spoken, start=1):
        words += streamer.feed_words([word]).words
        assert len(words) == max(0, n - 2)
    words += streamer.flush().words
    assert [" ".join(spoken)[word["start"] : word["end"]] for word in words] == spoken


def test_an_unfinished_word_is_neither_committed_nor_shown(tiny_pipeline: Any) -> None:
    streamer = PunctuationStreamer(tiny_pipeline, look_ahead=0)
    assert streamer.feed("hel").committed == ""
    step = streamer.feed("lo th")
    assert without_marks(step.committed) == "hello"
    assert step.tail == " th"
    assert without_marks(streamer.feed("e ").committed) == " the"


def test_a_hypothesis_takes_the_place_of_the_last_one_and_is_not_committed(tiny_pipeline: Any) -> None:
    streamer = PunctuationStreamer(tiny_pipeline, look_ahead=0)
    streamer.feed_words(["hello", "you"])
    committed = streamer.committed
    assert without_marks(streamer.hypothesize("are the are").tail) == " are the are"
    assert without_marks(streamer.hypothesize("saya").tail) == " saya"
    assert streamer.committed == committed
    assert without_marks(streamer.feed_words(["awak"]).committed) == " awak"
    streamer.hypothesize("the end")
    assert without_marks(streamer.flush().committed) == " the end"


def test_utterances_are_kept_apart_and_han_words_are_joined(tiny_pipeline: Any) -> None:
    streamer = PunctuationStreamer(tiny_pipeline, look_ahead=3)
    streamer.feed("hello you")
    streamer.flush()
    streamer.feed("are the")
    streamer.flush()
    streamer.feed_words(["我们", "今天", "hello"])
    streamer.flush()
    streamer.feed_words("大家")
    streamer.feed("you a")  # words that were fed as such are finished
    streamer.feed("re")
    streamer.flush()
    assert without_marks(streamer.committed) == "hello you are the 我们今天 hello 大家 you are"


def test_what_nobody_says_is_no_word_however_it_comes(tiny_pipeline: Any) -> None:
    def said(*steps: Any) -> str:
        return " ".join(word["word"] for step in steps for word in step.words)

    fed = [["<|en|>"], ["hello"], ["[MUSIC PLAYING]"], ["you"], ["are"], ["(laughs)"], ["the"], ["end"]]
    streamer = PunctuationStreamer(tiny_pipeline, look_ahead=1, left_context=2)
    steps = [*map(streamer.feed_words, fed), streamer.flush()]
    assert said(*steps) == "hello you are the end"
    lines = "so OK: hello\n[MUSIC PLAYING]\nANNA: you are\nANNA: the end\n[0:01 --> 0:02] saya\n"
    streamer = PunctuationStreamer(tiny_pipeline, look_ahead=0, left_context=1)
    steps = [*map(streamer.feed, lines), streamer.flush()]
    assert said(*steps) == "so OK hello you are the end saya"
    utterances = ["[BLANK_AUDIO]", "hello you", "(laughs)", "[BLANK_AUDIO]", "ANNA: the end", "ANNA: saya"]
    assert said(*map(PunctuationStreamer(tiny_pipeline).flush, utterances)) == "hello you the end saya"
    streamer = PunctuationStreamer(tiny_pipeline)
    steps = [streamer.feed_words(["OK:", "now", "Speaker", "A:", "we", "go"]), streamer.flush()]
    assert said(*steps) == "OK now Speaker A we go"


def test_silence_is_not_kept(tiny_pipeline: Any) -> None:
    watched = Watched(tiny_pipeline)
    streamer = PunctuationStreamer(watched, look_ahead=0)
    streamer.feed_words(["hello"])
    for _ in range(40):
        streamer.feed_words(["[BLANK_AUDIO]" * 40])
    streamer.feed_words(["you"])
    assert len(watched.seen[-1].text) < 2 * MAX_OPEN


class Watched:
    """A pipeline, and the items that it was called with."""

    def __init__(self, restore: Any) -> None:
        self.restore, self.model, self.find_words = restore, restore.model, restore.find_words
        self.seen: list[Any] = []

    def __call__(self, item: Any, **options: Any) -> Any:
        self.seen.append(item)
        return self.restore(item, **options)


def test_a_step_is_one_call_that_shows_the_last_words_and_tells_the_last_mark(tiny_pipeline: Any) -> None:
    watched = Watched(tiny_pipeline)
    streamer = PunctuationStreamer(watched, look_ahead=4, left_context=10, truecase=True)
    watched.seen.clear()  # its options were looked at
    labels: list[str] = []
    for n in range(120):
        n_shown = min(len(labels), 10)
        item_known = {n_shown - 1: labels[-1]} if labels else {}
        labels += [word["label"] for word in streamer.feed_words([WORDS[n % 8]]).words]
        assert (watched.seen[n].known, watched.seen[n].final) == (item_known, False)
    assert len(watched.seen) == 120
    assert max(len(item.text.split()) for item in watched.seen) == 10 + 4 + 1


def test_settings_that_cannot_work_and_wrong_types_are_refused(tiny_pipeline: Any) -> None:
    with pytest.raises(ValueError, match="look_ahead and left_context of 0 words or more"):
        PunctuationStreamer(tiny_pipeline, look_ahead=-1)
    for wrong in ({"marks": "foo"}, {"thresholds": {"COMMA": 2}}, {"foo": 1}):  # before the first word
        with pytest.raises((ValueError, TypeError), match="Expected"):
            PunctuationStreamer(tiny_pipeline, **wrong)
    streamer = PunctuationStreamer(tiny_pipeline)
    for take in (streamer.feed, streamer.flush):
        with pytest.raises(TypeError, match="Use feed_words"):
            take(["hello"])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="Expected a string, got list"):
        streamer.hypothesize(["hello"])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="Expected a string, got NoneType"):
        list(tiny_pipeline.stream(["hello", None]))
    with pytest.raises(ValueError, match="look_ahead and left_context of 0 words or more"):
        list(tiny_pipeline.stream(["hello"], look_ahead=-1))
    with pytest.raises(TypeError, match="Expected a string, got int"):
        streamer.feed_words([1])  # type: ignore[list-item]


def test_less_look_ahead_shows_more_words_before_so_that_every_step_costs_the_same(tiny_pipeline: Any) -> None:
    config = tiny_pipeline.model.config
    assert [PunctuationStreamer(tiny_pipeline, n).left_context + n for n in range(6)] == [8 + 4 + 1] * 6
    assert PunctuationStreamer(tiny_pipeline, 50).left_context == config.left_context


LONG = "hello how are you 我们今天在北京 awak saya it's 3.5 the end\n" * 30


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    monkeypatch.setattr(restoration_pipeline, "STREAM_BLOCK", 300)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(0, len(LONG)), max_size=40))
def test_parts_cut_anywhere_give_the_text_with_marks(tiny_pipeline, places):
    borders = [0, *sorted(places), len(LONG)]
    parts = [LONG[start:end] for start, end in itertools.pairwise(borders)]
    restored = "".join(tiny_pipeline.stream(parts))
    assert restored != LONG
    assert without_marks(restored) == without_marks(LONG)


def test_a_restored_text_of_many_blocks_does_not_change(tiny_pipeline):
    restored = "".join(tiny_pipeline.stream([LONG]))
    assert "".join(tiny_pipeline.stream([restored])) == restored
    assert len(list(tiny_pipeline.stream([LONG, "... " * 9000]))) > 12  # what has few letters is cut as well


@pytest.mark.parametrize(("first", "second"), [("Interviewer:", "Guest:"), ("0:00", "0:04")])
def test_names_and_times_before_lines_are_known_to_the_end_however_long_one_speaks(tiny_pipeline, first, second):
    said = "saya awak is the day you say " * 100
    rows = [
        *[f"{first} hello you", f"{second} you are"] * 3,
        f"{first} {said}",
        f"{second} you are",
        f"{first} is",
    ]
    text = "\n".join(rows)
    results = [tiny_pipeline(text), *tiny_pipeline.stream_results([text])]
    words, *parts = [[word["word"] for word in result["words"]] for result in results]
    assert len(parts) > 5
    assert words == list(itertools.chain.from_iterable(parts))
    assert {"Interviewer", "0:00", "0:04"}.isdisjoint(words)


def test_an_endless_stream_gives_text_and_keeps_little(tiny_pipeline):
    stream = tiny_pipeline.stream(f"hello{number} you are " for number in itertools.count())
    assert all(len(text) > 100 for text in [next(stream) for _ in range(6)][1:])


@pytest.mark.parametrize("part", ["... " * 5000, "a" * 20_000, "hello " + "♪ " * 5000])
def test_text_that_no_word_follows_does_not_wait_for_ever(tiny_pipeline, part):
    streamer = PunctuationStreamer(tiny_pipeline, look_ahead=4)
    committed = "".join(streamer.feed(part).committed for _ in range(4))
    assert len(without_marks(committed)) > 2 * len(without_marks(part))
