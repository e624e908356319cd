"""Restored transcripts in other formats: their sentences, and cues that end with them and keep to limits."""

import json
import re

import pytest
from restorers import RECORDED, marking

from punctuation_restoration.transcripts import CueLimits, read_bytes, read_source, restore_transcript, write_as


@pytest.mark.parametrize(
    ("first", "second"), [("ሰላም ነው።", "ደህና ነኝ።"), ("बारिश हो रही है।", "घर चलो।"), ("Բարև ձեզ։", "Ես գնում եմ։")]
)
def test_a_sentence_ends_as_its_script_ends_sentences(first: str, second: str) -> None:
    transcript, _ = read_bytes(f"{first} {second}\n".encode(), name="talk.txt")
    assert [sentence.text for sentence in restore_transcript(transcript, marking({})).speeches[0].sentences] == [
        first,
        second,
    ]


def test_sentences_end_where_another_speaks_and_name_the_speaker() -> None:
    segments = [
        {"start": n, "end": n + 1, "text": f" {text}", "speaker": speaker}
        for n, (text, speaker) in enumerate([("are you", "A"), ("there", "A"), ("yes", "B")])
    ]
    restored = restore_transcript(read_source(json.dumps({"segments": segments}), "json"), marking({}))
    assert json.loads(restored.source())["sentences"] == [
        {"start": 0.0, "end": 2.0, "text": "are you there", "speaker": "A"},
        {"start": 2.0, "end": 3.0, "text": "yes", "speaker": "B"},
    ]


def test_speakers_of_segments_and_words_are_shown_in_text_and_subtitles() -> None:
    told = [("SPEAKER_00", "hello there"), ("SPEAKER_00", "again"), ("SPEAKER_01", "yes hi")]
    segments = [{"start": n, "end": n + 1, "text": text, "speaker": name} for n, (name, text) in enumerate(told)]
    words = [{"word": text, "start": n, "end": n + 1, "speaker": name} for n, (name, text) in enumerate(told)]
    for given in (segments, words, {"words": words}):
        restored = restore_transcript(read_source(json.dumps(given), "json"), marking({"again": "."}))
        assert [sentence.speaker for sentence in restored.speeches[0].sentences] == ["SPEAKER_00", "SPEAKER_01"]
        assert write_as(restored, "txt") == "SPEAKER_00: hello there again.\nSPEAKER_01: yes hi\n"
        again = read_source(write_as(restored, "srt"), "srt").speeches[0]
        assert again.text.split() == "hello there again. yes hi".split()
        assert [name for _, name in again.speakers] == ["SPEAKER_00", "SPEAKER_01"]
    numbered = [{"word": "hello", "start": 0, "end": 1, "speaker": 0}]  # as Deepgram has them
    assert write_as(restore_transcript(read_source(json.dumps(numbered), "json"), marking({})), "txt") == (
        "SPEAKER 0: hello\n"
    )


def test_times_that_are_no_numbers_count_as_unknown() -> None:
    source = '{"segments": [{"start": NaN, "end": 1.0, "text": "hello"}, {"start": 1.0, "end": 2.0, "text": "you"}]}'
    restored = restore_transcript(read_source(source, "json"), marking({}))
    assert "NaN" in restored.source()
    assert restored.speeches[0].sentences[0].begins == 1.0


@pytest.mark.parametrize("name", ["whisper.json", "talk.srt", "talk.vtt", "whisper.tsv", "words.json"])
@pytest.mark.parametrize("target", ["srt", "vtt", "tsv", "txt", "json", "jsonl"])
def test_what_is_written_in_another_format_can_be_read_again(name: str, target: str) -> None:
    transcript, _ = read_bytes((RECORDED / name).read_bytes(), name=name)
    restored = restore_transcript(transcript, marking({"coming": ".", "changed": ".", "late": ",", "why": "?"}))
    written = write_as(restored, target)
    again = read_source(written, target)
    letters = [re.sub(r"\s", "", speech.text) for speech in again.speeches]
    assert letters == [re.sub(r"\s", "", restored.speeches[0].text)]


def test_sentences_of_several_recordings_have_their_names_in_a_table() -> None:
    rows = [
        {"id": name, "words": [{"word": word, "start": 0, "end": 0.5}]} for name, word in (("a", "hello"), ("b", "you"))
    ]
    restored = restore_transcript(read_source("\n".join(map(json.dumps, rows)), "jsonl"), marking({}))
    assert write_as(restored, "tsv") == "start\tend\ttext\tname\n0\t500\thello\ta\n0\t500\tyou\tb\n"


def test_a_silent_recording_becomes_an_empty_file() -> None:
    restored = restore_transcript(read_source('{"text": "", "segments": []}', "json"), marking({}))
    assert write_as(restored, "srt") == ""
    assert write_as(restored, "vtt") == "WEBVTT\n"


def test_plain_text_cannot_become_subtitles() -> None:
    restored = restore_transcript(read_source("hello there", "txt"), marking({}))
    with pytest.raises(ValueError, match="Expected speech with times"):
        write_as(restored, "srt")
    assert write_as(restored, "txt") == "hello there\n"


def test_cues_end_with_sentences_and_keep_their_limits() -> None:
    spoken = ("a bb ccc dddd eeeee " * 20).split()
    words = [{"word": word, "start": n * 0.3, "end": n * 0.3 + 0.25} for n, word in enumerate(spoken)]
    words[24]["word"] = words[61]["word"] = "stop"
    restored = restore_transcript(read_source(json.dumps(words), "json"), marking({"stop": ".", "ccc": ","}))
    limits = CueLimits(line_width=24, n_lines=2)
    transcript = read_source(write_as(restored, "srt", limits), "srt")
    cues = write_as(restored, "srt", limits).strip().split("\n\n")
    lines = [cue.split("\n")[2:] for cue in cues]
    assert all(len(cue) <= 2 and max(map(len, cue)) <= 24 for cue in lines)
    assert sum(cue[-1].endswith("stop.") for cue in lines) == 2
    assert not transcript.warnings, "cues do not overlap"
    assert " ".join(" ".join(cue) for cue in lines) == restored.speeches[0].text


def test_a_cue_stays_longer_where_reading_takes_longer_and_there_is_room() -> None:
    words = [
        {"word": "incomprehensibilities", "start": 0.0, "end": 0.3},
        {"word": "stop", "start": 0.3, "end": 0.5},
        {"word": "next", "start": 4.0, "end": 4.2},
    ]
    restored = restore_transcript(read_source(json.dumps(words), "json"), marking({"stop": "."}))
    assert write_as(restored, "srt").splitlines()[1] == "00:00:00,000 --> 00:00:01,350"
