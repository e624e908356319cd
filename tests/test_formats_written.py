"""How texts of files reach the restorer; other formats: their sentences, and cues that end with them, within limits."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from restorers import RECORDED, marking

from punctuation_restoration.pipeline import restoration_pipeline
from punctuation_restoration.transcripts import (
    CueLimits,
    read_bytes,
    read_source,
    restore_transcript,
    restored_parts,
    restoring,
    write_as,
)


def restored_json(value: Any, after: dict[str, str]) -> Any:
    return restore_transcript(read_source(json.dumps(value), "json"), marking(after))


@pytest.mark.parametrize(
    ("first", "second"), [("ሰላም ነው።", "ደህና ነኝ።"), ("बारिश हो रही है।", "घर चलो।"), ("Բարև ձեզ։", "Ես գնում եմ։")]
)
def test_a_sentence_ends_as_its_script_ends_sentences(first: str, second: str) -> None:
    transcript, _ = read_bytes(f"{first} {second}\n".encode(), name="talk.txt")
    restored = restore_transcript(transcript, marking({}))
    assert [sentence.text for sentence in restored.speeches[0].sentences] == [first, second]


def test_sentences_end_where_another_speaks_and_name_the_speaker_in_every_format() -> None:
    told = [("SPEAKER_00", "hello there"), ("SPEAKER_00", "again"), ("SPEAKER_01", "yes hi")]
    segments = [{"start": n, "end": n + 1, "text": text, "speaker": name} for n, (name, text) in enumerate(told)]
    words = [{"word": text, "start": n, "end": n + 1, "speaker": name} for n, (name, text) in enumerate(told)]
    for given in (segments, words, {"words": words}):
        restored = restored_json(given, {"again": "."})
        assert [sentence.row() for sentence in restored.speeches[0].sentences] == [
            {"start": 0.0, "end": 2.0, "text": "hello there again.", "speaker": "SPEAKER_00"},
            {"start": 2.0, "end": 3.0, "text": "yes hi", "speaker": "SPEAKER_01"},
        ]
        assert write_as(restored, "txt") == "SPEAKER_00: hello there again.\nSPEAKER_01: yes hi\n"
        again = read_source(write_as(restored, "srt"), "srt").speeches[0]
        assert again.text.split() == "hello there again. yes hi".split()
        assert [name for _, name in again.speakers] == ["SPEAKER_00", "SPEAKER_01"]
    numbered = [{"word": "hello", "start": 0, "end": 1, "speaker": 0}]  # as Deepgram has them
    assert write_as(restored_json(numbered, {}), "txt") == "SPEAKER 0: hello\n"


def test_times_that_are_no_numbers_count_as_unknown() -> None:
    source = '{"segments": [{"start": NaN, "end": 1.0, "text": "hello"}, {"start": 1.0, "end": 2.0, "text": "you"}]}'
    restored = restore_transcript(read_source(source, "json"), marking({}))
    assert "NaN" in restored.source()
    assert restored.speeches[0].sentences[0].begins == 1.0


@pytest.mark.parametrize("name", ["whisper.json", "talk.srt", "talk.vtt", "words.json"])
@pytest.mark.parametrize("target", ["srt", "vtt", "txt", "json", "jsonl"])
def test_what_is_written_in_another_format_can_be_read_again(name: str, target: str) -> None:
    transcript, _ = read_bytes((RECORDED / name).read_bytes(), name=name)
    restored = restore_transcript(transcript, marking({"coming": ".", "changed": ".", "late": ",", "why": "?"}))
    (again,) = read_source(write_as(restored, target), target).speeches
    assert "".join(again.text.split()) == "".join(restored.speeches[0].text.split())


def test_a_silent_recording_becomes_an_empty_file_and_plain_text_no_subtitles() -> None:
    silent = restored_json({"text": "", "segments": []}, {})
    assert [write_as(silent, name) for name in ("srt", "vtt")] == ["", "WEBVTT\n"]
    restored = restore_transcript(read_source("hello there", "txt"), marking({}))
    with pytest.raises(ValueError, match="Expected speech with times"):
        write_as(restored, "srt")
    assert write_as(restored, "txt") == "hello there\n"


def test_cues_end_with_sentences_and_keep_their_limits() -> None:
    spoken = ("a bb ccc dddd eeeee " * 20).split()
    words = [{"word": word, "start": n * 0.3, "end": n * 0.3 + 0.25} for n, word in enumerate(spoken)]
    words[24]["word"] = words[61]["word"] = "stop"
    restored = restored_json(words, {"stop": ".", "ccc": ","})
    written = write_as(restored, "srt", CueLimits(line_width=24, n_lines=2))
    lines = [cue.split("\n")[2:] for cue in written.strip().split("\n\n")]
    assert all(len(cue) <= 2 and max(map(len, cue)) <= 24 for cue in lines)
    assert sum(cue[-1].endswith("stop.") for cue in lines) == 2
    assert not read_source(written, "srt").warnings, "cues do not overlap"
    assert " ".join(" ".join(cue) for cue in lines) == restored.speeches[0].text


def test_a_cue_stays_longer_where_reading_takes_longer_and_there_is_room() -> None:
    told = [("incomprehensibilities", 0.0), ("stop", 0.3), ("next", 4.0)]
    restored = restored_json([{"word": word, "start": n, "end": n + 0.2} for word, n in told], {"stop": "."})
    assert write_as(restored, "srt").splitlines()[1] == "00:00:00,000 --> 00:00:01,350"


@pytest.mark.parametrize("options", [{}, {"existing": "replace"}, {"truecase": True}, {"pause": 0.5}])
def test_a_long_text_is_streamed_and_its_edits_are_those_of_the_whole(
    tiny_pipeline: Any, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    spoken = "hello you, are the saya awak 大家好 我们今天 the end?".split() * 30
    words = [{"word": word, "start": n * 0.5, "end": n * 0.5 + 0.4} for n, word in enumerate(spoken)]
    transcript = read_source(json.dumps(words), "json")
    text = transcript.speeches[0].text
    monkeypatch.setattr(restoring, "LONG", 700)
    monkeypatch.setattr(restoration_pipeline, "STREAM_BLOCK", 200)
    done: list[int] = []
    restored = restore_transcript(transcript, tiny_pipeline, on_progress=done.append, **options)
    assert len(done) > 5
    assert sum(done) == len(text)
    speech = restored.speeches[0]
    assert [word["word"] for word in speech.words] == [word.text for word in tiny_pipeline.find_words(text)]
    assert all("timestamp" in word for word in speech.words) == ("pause" in options)
    value = json.loads(restored.source())
    assert "".join("".join(word["word"] for word in value).split()) == "".join(speech.text.split())
    assert {edit["source"] for edit in speech.edits} == {"model"} | (
        {"removal"} if "existing" in options else {"truecase"} if "truecase" in options else set()
    )


def test_a_text_that_is_not_long_is_restored_as_by_one_call(tiny_pipeline: Any) -> None:
    text = "hello you are the saya awak 大家好 " * 200
    restored = restore_transcript(read_source(text, "txt"), tiny_pipeline)
    assert restored.speeches[0].edits == tiny_pipeline(text)["edits"]


def test_plain_text_restored_in_parts_is_the_same(tiny_pipeline: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    source = "\ufeffhello you  are the\nsaya awak 大家好我们今天 hello\r\n\n you are \n" * 9
    transcript = read_source(source, "txt")
    monkeypatch.setattr(restoring, "LONG", 20)
    monkeypatch.setattr(restoration_pipeline, "STREAM_BLOCK", 60)
    parts = list(restored_parts(transcript, tiny_pipeline))
    assert "".join(parts) == restore_transcript(transcript, tiny_pipeline).source() != source
    assert len(parts) > 5
    for source, file_format in (("- a\n- b", "txt"), ('["a"]', "json")):
        transcript = read_source(source, file_format)
        whole = restore_transcript(transcript, tiny_pipeline).source()
        assert list(restored_parts(transcript, tiny_pipeline)) == [whole]


def test_opening_marks_and_capitals_stand_before_their_word_across_cues() -> None:
    source = "1\n00:00:01,000 --> 00:00:02,000\n<i>hola</i>\n\n2\n00:00:02,000 --> 00:00:03,000\n<i>como estas</i>\n"
    edits = [(4, "", "."), (5, "", "¿"), (5, "c", "C"), (15, "", "?")]

    def restore(items: Iterable[Any], **options: Any) -> Iterator[dict[str, Any]]:
        for item in items:
            words = [{"start": match.start(), "end": match.end()} for match in re.finditer(r"\w+", item["text"])]
            changes = [dict(zip(("start", "removed", "inserted"), edit, strict=True)) for edit in edits]
            yield {"text": "hola. ¿Como estas?", "words": words, "edits": changes}

    restored = restore_transcript(read_source(source, "srt"), restore)
    assert restored.source() == source.replace("hola", "hola.").replace("como estas", "¿Como estas?")
    assert restored.speeches[0].text == "hola. ¿Como estas?"
    assert [sentence.text for sentence in restored.speeches[0].sentences] == ["hola.", "¿Como estas?"]
