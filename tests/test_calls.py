"""What recognisers hand over in Python, and how a call gives it back: the same shape, with marks."""

import copy
import json
import logging
from collections import namedtuple
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
from restorers import RECORDED

from punctuation_restoration.transcripts import read_source, restore_file, restore_transcript

SAID = "hello you are the saya 我们今天 it's the day"


@dataclass
class Word:
    start: float
    end: float
    word: str
    probability: float


@dataclass(frozen=True)
class Segment:
    """As faster-whisper has it, but for what it shares with others."""

    id: int
    start: float
    end: float
    text: str
    tokens: list[int]
    words: list[Word] | None


def timed_words(kind: Any, said: str = SAID, lead: str = " ") -> list[Any]:
    return [kind(start=n, end=n + 0.3, word=lead + word, probability=0.9) for n, word in enumerate(said.split())]


def segments(kind: Any, kind_of_word: Any = None) -> list[Any]:
    """Two of them, the second of which has no words."""
    words = timed_words(kind_of_word, SAID) if kind_of_word else None
    return [
        kind(id=0, start=0.0, end=4.0, text=f" {SAID}", tokens=[50364, 1], words=words),
        kind(id=1, start=4.0, end=5.5, text=" saya awak the", tokens=[], words=None),
    ]


WordTuple = namedtuple("WordTuple", "start end word probability")
SegmentTuple = namedtuple("SegmentTuple", "id start end text tokens words")


def whisper() -> dict[str, Any]:
    return {"text": f" {SAID} saya awak the", "segments": segments(dict, dict), "language": "en"}


def whisperx() -> dict[str, Any]:
    """Aligned: no text of the whole, words without a leading blank, a numeral without times, speakers."""
    first = [{"word": "hello", "start": 0.1, "end": 0.4, "score": 0.8, "speaker": "A"}, {"word": "2014"}]
    second = [{"word": "you", "start": 1.0, "end": 1.2, "score": 0.9, "speaker": "B"}]
    return {
        "segments": [
            {"start": 0.1, "end": 0.9, "text": " hello 2014", "words": first, "speaker": "A"},
            {"start": 1.0, "end": 1.2, "text": "you", "words": second, "speaker": "B"},
        ],
        "word_segments": first + second,
    }


def attributes(thing: Any) -> dict[str, Any]:
    return thing if isinstance(thing, dict) else vars(thing) if hasattr(thing, "__dict__") else thing._asdict()


def letters(text: str) -> str:
    return "".join(sign for sign in text if sign.isalnum() or sign == "'")


def test_whispers_dictionary_comes_back_with_the_same_marks_in_all_its_texts(restore):
    given = whisper()
    result = restore_transcript(restore, given)
    assert result["text"] == restore(f" {SAID} saya awak the")["text"]
    assert result["text"] == "".join(segment["text"] for segment in result["segments"])
    first = result["segments"][0]
    assert "".join(word["word"] for word in first["words"]).split() == first["text"].split()
    assert result.keys() == {*given, "sentences"}


@pytest.mark.parametrize("make", [whisper, whisperx])
def test_all_else_of_a_dictionary_stays_and_the_callers_own_is_not_touched(restore, make):
    given = make()
    result = restore_transcript(restore, given)
    assert given == make()
    assert restore_transcript(restore, result) == result  # restored once and for all
    for segment, own in zip(result["segments"], given["segments"], strict=True):
        assert {**segment, "text": own["text"], "words": own["words"]} == own
        for word, own_word in zip(segment["words"] or [], own["words"] or [], strict=True):
            assert letters(word["word"]) == letters(own_word["word"])
            assert word["word"].startswith(" ") == own_word["word"].startswith(" ")
            assert {**word, "word": own_word["word"]} == own_word
    if make is whisperx:
        assert [word for segment in result["segments"] for word in segment["words"]] == result["word_segments"]


@pytest.mark.parametrize("name", ["whisper", "whisperx", "whisper_mandarin", "faster_whisper", "words"])
def test_a_call_gives_what_the_file_gets(restore, name):
    source = (RECORDED / f"{name}.json").read_text(encoding="utf-8")
    called, file = restore_transcript(restore, json.loads(source)), restore_file(restore, read_source(source, "json"))
    written = json.loads(file.source())
    assert called == written


def test_dictionaries_of_other_recognisers(restore):
    text = restore(SAID)["text"]
    vosk = restore_transcript(restore, {"text": SAID, "result": timed_words(dict, lead="")})
    assert (vosk["text"], vosk["result"][0]["word"]) == (text, text.split()[0])
    nemo = restore_transcript(
        restore, {"text": SAID, "timestamp": {"word": timed_words(dict, lead=""), "segment": [{"segment": SAID}]}}
    )
    assert (nemo["text"], nemo["timestamp"]["segment"][0]["segment"]) == (text, text)
    assert nemo["timestamp"]["word"][0]["word"] == text.split()[0]
    words = restore_transcript(restore, {"words": timed_words(Word), "language": "en"})
    assert (words["words"], words["language"]) == (restore_transcript(restore, timed_words(Word)), "en")
    assert restore_transcript(restore, restore(SAID))["text"] == text  # our own


@pytest.mark.parametrize("kind_of_word", [Word, WordTuple, SimpleNamespace, dict])
@pytest.mark.parametrize("kind", [Segment, SegmentTuple, SimpleNamespace, dict])
def test_segments_and_words_come_back_as_what_they_were(restore, kind, kind_of_word):
    expected = restore_transcript(restore, whisper())["segments"]
    for given in (segments(kind, kind_of_word), timed_words(kind_of_word)):
        before, read = copy.deepcopy(given), []
        result = restore_transcript(restore, (read.append(one) or one for one in given))  # a generator is read once
        assert given == before == read
        assert [type(one) for one in result] == [type(one) for one in given]
        assert result == restore_transcript(restore, given) == list(restore_transcript(restore, tuple(given)))
    words = [attributes(word) for word in result]
    assert words == expected[0]["words"]
    found = [attributes(one) for one in restore_transcript(restore, segments(kind, kind_of_word))]
    assert [one["text"] for one in found] == [one["text"] for one in expected]
    assert [attributes(word) for word in found[0]["words"]] == words


def test_what_faster_whisper_returns_comes_back_as_a_pair(restore):
    about = SimpleNamespace(language="en", duration=5.5, all_language_probs=[("en", 0.9)])
    given = segments(Segment, Word)
    alone = restore_transcript(restore, iter(given))
    assert alone == restore_transcript(restore, given) != given
    for pair in ((iter(given), about), (given, about)):
        result = restore_transcript(restore, pair)
        assert result == (alone, about)
        assert result[1] is about
    assert restore_transcript(restore, (iter([]), about)) == ([], about)
    assert restore_transcript(restore, [(iter(given), about), given]) == [(alone, about), alone]
    two = tuple(segments(SegmentTuple))
    assert restore_transcript(restore, two) == tuple(restore_transcript(restore, list(two)))


class Reply:
    """As the packages of services give it."""

    text: str
    segments: list[Any]

    def __init__(self, **fields: Any):
        self.__dict__ |= fields


def test_the_result_of_a_service_comes_back_as_such_an_object(restore):
    told = {"text": f" {SAID} saya awak the", "language": "english", "duration": "5.5", "words": None}
    given = Reply(**told, segments=segments(Reply))
    result = restore_transcript(restore, given)
    assert type(result) is Reply
    assert given.text == told["text"]
    expected = restore_transcript(restore, whisper())
    assert vars(result) | {"segments": None} == told | {"text": expected["text"], "segments": None}
    assert [one.text for one in result.segments] == [one["text"] for one in expected["segments"]]
    assert restore_transcript(restore, Reply(text=SAID)).text == restore(SAID)["text"]
    assert restore_transcript(restore, [Reply(text=SAID, words=timed_words(Word))])[0].words == restore_transcript(
        restore, timed_words(Word)
    )


def test_several_transcripts_are_a_batch(restore):
    one, other = whisper(), whisperx()
    alone = [restore_transcript(restore, one), restore_transcript(restore, other)]
    for results in (
        restore_transcript(restore, [one, other]),
        restore_transcript(restore, (given for given in (one, other))),
    ):
        assert [result["segments"] for result in results] == [result["segments"] for result in alone]
    texts = ["hello you", {"text": "are the"}, {"words": ["hello", "saya"]}]
    assert [result["text"] for result in restore(texts)] == [restore(text)["text"] for text in texts]
    lists = [segments(Segment, Word), timed_words(dict), []]
    assert restore_transcript(restore, lists) == [*(restore_transcript(restore, given) for given in lists[:2]), []]
    streamed, text = restore_transcript(restore, [(segment for segment in lists[0]), {"text": "hello"}])
    assert (streamed, text["text"]) == (restore_transcript(restore, lists[0]), restore("hello")["text"])


@pytest.mark.parametrize(
    "value", [whisper(), whisper()["segments"], [whisper()], timed_words(dict), {"text": "a", "id": 1}]
)
def test_a_recognisers_value_at_the_other_door_is_shown_to_this_one(restore, value):
    with pytest.raises((TypeError, ValueError), match=r"punctuation_restoration\.restore_transcript\(restore, value\)"):
        restore(value)


def test_the_order_of_segments_does_not_change_what_they_are(restore):
    timed, bare = {"text": "hello", "start": 0.0}, {"text": "you"}
    for pair in ([timed, bare], [bare, timed]):
        texts = [one["text"] for one in restore_transcript(restore, pair)]
        assert " ".join(texts) == restore(" ".join(one["text"] for one in pair))["text"]


def test_words_stay_letter_for_letter(restore):
    given = ["你好", "  it's", "3.5", "HELLO ", "\tsaya", "well-known", "e.g.", "👍🏽", ""]
    words = [{"word": word, "start": n, "end": n + 1} for n, word in enumerate(given)]
    for options in ({}, {"truecase": True}, {"existing": "replace"}):
        for word, own in zip(restore_transcript(restore, words, **options), given, strict=True):
            assert letters(word["word"]).lower() == letters(own).lower()
            assert word["word"].startswith(own[: len(own) - len(own.lstrip())])


def test_words_that_do_not_spell_their_segment_get_no_marks_and_that_is_told(restore, caplog):
    given = {"segments": [{"text": "hello you", "start": 0, "end": 1, "words": [{"word": "hallo", "start": 0}]}]}
    with caplog.at_level(logging.WARNING):
        result = restore_transcript(restore, given)
    assert result["segments"][0]["words"] == [{"word": "hallo", "start": 0}]
    assert result["segments"][0]["text"] == restore("hello you")["text"]
    assert "segments[0].words[0]: it does not spell what is said" in caplog.text


def test_nothing_said_is_no_fault(restore):
    silence = {"text": "", "segments": [], "language": "en"}
    assert restore_transcript(restore, silence) == silence
    assert (
        restore_transcript(restore, {"segments": [{"text": " ", "start": 0, "end": 1}]})["segments"][0]["text"] == " "
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([Segment(0, 0, 1, "a", [], None), None], r"\[1\]: Expected .*, got None"),
        ([Segment(0, 0, 1, "a", [], None), "b"], r"\[1\]: Expected .*, got 'b'"),
        ([Segment(0, 0, 1, "a", [], [Word("now", 1, "a", 1)])], r"\[0\]\.words\[0\]: Expected times as numbers"),
        (
            {"segments": [{"text": "a"}, {"wort": "b"}]},
            r"segments\[1\]: Expected .* got the keys wort\..*--keys text=NAME",
        ),
        ({"segments": [{"text": "a"}, "b"]}, r"segments\[1\]: Expected .*, got 'b'"),
        ({"segments": 3}, "got the keys segments"),
        ([{"segments": []}, {"segments": [{"text": 3}]}], r"\[1\]: Expected .* got the keys segments, segments\.text"),
        (SimpleNamespace(results={"said": "hello you"}), "got the keys results.*--keys text=NAME"),
        (object(), "got <object object.*Pass its text, or the dictionary in it"),
        (b"hello you", "got b'hello you'"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(restore, given, message):
    with pytest.raises((TypeError, ValueError), match=message):
        restore_transcript(restore, given)
