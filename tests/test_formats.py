"""Recorded outputs of recognisers: read, marked in place by a stand-in for the model, refused where they are broken."""

import json
import re
from pathlib import Path

import pytest
from restorers import RECORDED, marking, restored_source, source_without_sentences

from punctuation_restoration.transcripts import FormatError, read_bytes, read_source, restore_transcript

FILES = sorted(path for path in RECORDED.rglob("*") if path.is_file() and path.suffix != ".md")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
@pytest.mark.parametrize("sign", ["", "‡"])
def test_restoring_adds_marks_and_sentences_and_nothing_else(path: Path, sign: str) -> None:
    transcript, encoding = read_bytes(path.read_bytes(), name=path.name)
    source = source_without_sentences(restore_transcript(transcript, marking({"*": sign})))
    if sign:
        assert source.count("‡") + source.count("\\u2021") >= 2
    bare = source.replace("‡", "").replace("\\u2021", "")
    if transcript.document is None:
        assert encoding.encode(bare) == path.read_bytes()
    else:
        assert_same_values(bare, transcript.source)


def assert_same_values(written: str, source: str) -> None:
    """Values and their order; blanks and zeros behind a point may differ."""
    zeros = re.compile(r"(\.\d+?)0+(?=[,}\s])")
    assert "".join(zeros.sub(r"\1", written).split()) == "".join(zeros.sub(r"\1", source).split())


def test_whisper_gets_the_marks_in_its_text_its_segments_and_their_words() -> None:
    source = restored_source("whisper.json", {"coming": ".", "trip": "?", "long": ",", "sea": "."})
    value = json.loads(source)
    original = json.loads((RECORDED / "whisper.json").read_text())
    assert value["text"].startswith(" hello everyone thanks for coming. how was your trip? it was long, but")
    assert value["segments"][0]["text"] == " hello everyone thanks for coming. how was"
    assert [w["word"] for w in value["segments"][1]["words"][:2]] == [" your", " trip?"]
    assert value["sentences"] == [
        {"start": 0.0, "end": 2.2, "text": "hello everyone thanks for coming."},
        {"start": 2.7, "end": 3.84, "text": "how was your trip?"},
        {"start": 4.3, "end": 6.8, "text": "it was long, but we saw the sea."},
    ]
    for new, old in zip(value["segments"], original["segments"], strict=True):
        assert {k: v for k, v in new.items() if k not in ("text", "words")} == {
            k: v for k, v in old.items() if k not in ("text", "words")
        }
        assert [(w["start"], w["end"], w["probability"]) for w in new["words"]] == [
            (w["start"], w["end"], w["probability"]) for w in old["words"]
        ]


def test_json_written_in_ascii_stays_ascii() -> None:
    source = restored_source("whisper_mandarin.json", {"好": "，", "京": "。", "吗": "？"})
    assert source.isascii()
    value = json.loads(source)
    assert value["text"] == "大家好，今天我们去北京。你想去吗？"
    assert [w["word"] for w in value["segments"][0]["words"]] == ["大家", "好，", "今天", "我们", "去", "北京。"]
    assert value["sentences"][1] == {"start": 3.4, "end": 4.2, "text": "你想去吗？"}


def test_whisperx_words_without_times_take_them_from_their_neighbours() -> None:
    value = json.loads(restored_source("whisperx.json", {"250": ".", "there": "?"}))
    assert value["segments"][0]["words"][-1] == {"word": "250."}
    assert value["word_segments"][7] == {"word": "250."}
    assert value["word_segments"][-1]["word"] == "there?"
    assert value["sentences"][0]["start"] == 0.454
    assert 2.3 <= value["sentences"][0]["end"] <= 3.1


def test_vosk_results_are_one_transcript_and_stay_several() -> None:
    source = restored_source("vosk.json", {"it": "?", "almost": ",", "noon": "."})
    assert '"text": "what time is it?"' in source
    assert '"word": "noon."' in source
    assert '"conf": 0.9812' in source
    transcript, _ = read_bytes((RECORDED / "vosk.json").read_bytes(), name="vosk.json")
    assert [speech.text for speech in transcript.speeches] == ["what time is it almost noon"]


def test_a_text_alone_is_json_too() -> None:
    restore = marking({"you": "."})
    assert restore_transcript(read_source('"hello you"', "json"), restore).source() == '"hello you."'
    lines = read_source('"hello"\n{"text": "you"}\n', "jsonl")
    assert restore_transcript(lines, restore).source() == '"hello"\n{"text": "you."}\n'


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('["hello","there"]', '["hello,","there."]'),
        ('{"words": ["hello", "there"]}', '{"words": ["hello,", "there."]}'),
        ('[{"text": "hello", "end": 1}, {"text": "there"}]', None),
        ('[{"word": "hello"}, {"word": "there"}]', '[{"word": "hello,"}, {"word": "there."}]'),
    ],
)
def test_plain_word_lists(source: str, expected: str | None) -> None:
    if expected is None:
        expected = source.replace("hello", "hello,").replace("there", "there.")
    assert restore_transcript(read_source(source, "json"), marking({"hello": ",", "there": "."})).source() == expected


@pytest.mark.parametrize(
    ("file_format", "source", "message"),
    [
        ("json", '{"text": "hello", "segments": [{"text": "hel', r"talk:1: Expected the rest of the JSON"),
        ("json", '{"text": "hello",\n "segments": [', r"talk:2: Expected the rest of the JSON"),
        ("json", '{"text":\n\n hello}', r"talk:3: Expected JSON, got 'hello}' in column 2"),
        ("json", "3", r"talk:1: Expected a JSON object, list or text"),
        ("json", " \n", r"talk:1: Expected JSON, got an empty file"),
        ("jsonl", '"a"\n\n3\n', r"talk:3: Expected a JSON object, list or text"),
        ("json", '{"segments": [\n{"start": 1}]}', r"talk:1: segments\[0\]: Expected a text, or a list of words"),
        ("json", '{"segments": [{"text": "a", "start": "x"}]}', r"segments\[0\]: Expected times as numbers"),
        ("json", '[{"word": "a"},\n {"wort": "b"}]', r"\[1\]: Expected a text"),
        ("json", '{"a": 1}', "Expected a recogniser's output"),
        ("jsonl", '{"text": "a"}\n{"text": "b"\n', r"talk:2: Expected the rest of the JSON"),
        ("jsonl", '{"text": "a"}\n{"text": 3}\n', r"talk:2: Expected"),
        ("jsonl", '{"text": "a"} {"text": "b"}\n', r"talk:1: Expected one JSON value a line"),
        ("tsv", "a\tb\nc\td\n", r"talk:1: Expected a header with start, end and text"),
        ("tsv", "start\tend\ttext\n1\thello\n", r"talk:2: Expected 3 fields"),
        ("tsv", "start\tend\ttext\n0\tx\thello\n", r"talk:2: Expected times in whole milliseconds"),
    ],
)
def test_bad_files_are_refused_with_the_line(file_format: str, source: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read_bytes(source.encode(), file_format, name="talk")


def test_an_empty_file_is_no_fault_but_for_json() -> None:
    for file_format in ("txt", "srt", "vtt", "jsonl", "tsv"):
        for source in ("", "\ufeff", "\n"):
            assert restore_transcript(read_source(source, file_format), marking({})).source() == source
