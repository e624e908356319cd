"""Recorded outputs of recognisers: read, restored by a stand-in that knows no language, and written back in place."""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from punctuation_restoration.pipeline import restoration_pipeline
from punctuation_restoration.transcripts import (
    CueLimits,
    FormatError,
    read_bytes,
    read_source,
    restore_transcript,
    restored_parts,
    restoring,
    write_as,
)

RECORDED = Path(__file__).resolve().parents[1] / "examples" / "transcripts"
MARKS = ",.?，。？"
FILES = sorted(path for path in RECORDED.rglob("*") if path.is_file() and path.suffix != ".md")


def marking(after: dict[str, str]) -> Any:
    """A restorer that writes given marks after given words; the score is 0.9 where it writes one."""

    def restore(texts: Iterable[str], **options: Any) -> Iterator[dict[str, Any]]:
        for text in texts:
            words, edits = [], []
            parts, done = [], 0
            for match in re.finditer(r"[\u4e00-\u9fff]|[^\W_\u4e00-\u9fff]+(?:['.][^\W_]+)*", text):
                mark = after.get(match.group(), after.get("*", ""))
                words.append({"word": match.group(), "start": match.start(), "end": match.end(), "mark": mark})
                words[-1]["score"] = 0.9 if mark else 0.6
                if mark:
                    edits.append({"start": match.end(), "removed": "", "inserted": mark, "score": 0.9})
                parts += [text[done : match.end()], mark]
                done = match.end()
            yield {"text": "".join([*parts, text[done:]]), "edits": edits, "words": words}

    return restore


def restored_source(name: str, after: dict[str, str], **options: Any) -> str:
    transcript, _ = read_bytes((RECORDED / name).read_bytes(), name=name)
    return restore_transcript(transcript, marking(after), **options).source()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_without_restoring_every_recorded_file_comes_back_byte_for_byte(path: Path) -> None:
    transcript, encoding = read_bytes(path.read_bytes(), name=path.name)
    assert transcript.speeches, "a recorded file has speech"
    unchanged = restore_transcript(
        transcript, lambda texts: ({"text": text, "edits": [], "words": []} for text in texts)
    )
    assert encoding.encode(unchanged.source(with_sentences=False)) == path.read_bytes()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_restoring_adds_marks_and_sentences_and_nothing_else(path: Path) -> None:
    transcript, _ = read_bytes(path.read_bytes(), name=path.name)
    source = restore_transcript(transcript, marking({"*": "‡"})).source(with_sentences=False)
    assert source.count("‡") + source.count("\\u2021") >= 2
    assert source.replace("‡", "").replace("\\u2021", "") == transcript.source


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


@pytest.mark.parametrize(
    ("first", "second"), [("ሰላም ነው።", "ደህና ነኝ።"), ("बारिश हो रही है।", "घर चलो।"), ("Բարև ձեզ։", "Ես գնում եմ։")]
)
def test_a_sentence_ends_as_its_script_ends_sentences(first: str, second: str) -> None:
    transcript, _ = read_bytes(f"{first} {second}\n".encode(), name="talk.txt")
    assert [sentence.text for sentence in restore_transcript(transcript, marking({})).speeches[0].sentences] == [
        first,
        second,
    ]


def test_restoring_a_file_again_replaces_its_sentences() -> None:
    once = restored_source("whisper.json", {"coming": "."})
    again = restore_transcript(read_source(once, "json"), marking({})).source()
    assert json.loads(again) == json.loads(once)


def test_a_list_of_segments_of_faster_whisper_has_words_or_not() -> None:
    value = json.loads(restored_source("faster_whisper.json", {"semalam": ".", "tak": "?"}))
    assert [segment["text"] for segment in value] == [" saya pergi ke pasar semalam.", " awak nak ikut tak?"]
    assert value[0]["words"][-1]["word"] == " semalam."


def test_whisperx_words_without_times_take_them_from_their_neighbours() -> None:
    value = json.loads(restored_source("whisperx.json", {"250": ".", "there": "?"}))
    assert value["segments"][0]["words"][-1] == {"word": "250."}
    assert value["word_segments"][7] == {"word": "250."}
    assert value["word_segments"][-1]["word"] == "there?"
    assert value["sentences"][0]["start"] == 0.454
    assert 2.3 <= value["sentences"][0]["end"] <= 3.1


def test_transformers_chunks() -> None:
    value = json.loads(restored_source("chunks.json", {"morning": ",", "me": "?"}))
    assert value["text"] == " good morning, can you hear me?"
    assert value["chunks"][1] == {"text": " morning,", "timestamp": [0.4, 0.9]}
    assert value["chunks"][-1] == {"text": " me?", "timestamp": [2.1, None]}


def test_nemo_hypotheses_are_texts_of_their_own() -> None:
    lines = restored_source("nemo.jsonl", {"well": ",", "you": "?", "yes": "."}).splitlines()
    first, second = (json.loads(line) for line in lines)
    assert first["text"] == "well, i do not mind do you?"
    assert first["timestamp"]["word"][0]["word"] == "well,"
    assert first["timestamp"]["segment"][0]["segment"] == first["text"]
    assert first["sentences"] == [{"start": 0.32, "end": 2.72, "text": "well, i do not mind do you?"}]
    assert second["text"] == "yes."


def test_vosk_results_are_one_transcript_and_keep_their_layout() -> None:
    source = restored_source("vosk.json", {"it": "?", "almost": ",", "noon": "."})
    assert '"text" : "what time is it?"' in source
    assert '"word" : "noon."' in source
    assert '"conf" : 0.981200' in source
    transcript, _ = read_bytes((RECORDED / "vosk.json").read_bytes(), name="vosk.json")
    assert [speech.text for speech in transcript.speeches] == ["what time is it almost noon"]


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


def test_han_words_of_a_list_are_joined_without_blanks() -> None:
    assert read_source('["大家","好","hello","there","我"]', "json").speeches[0].text == "大家好 hello there 我"


def test_ctm_channels_are_texts_of_their_own_and_silence_gets_no_mark() -> None:
    source = restored_source("meeting.ctm", {"start": "?", "yes": ",", "do": "."})
    assert "meeting1 A 0.72 0.40 start? 0.97" in source
    assert "meeting1 B 2.05 0.35 do. 0.93" in source
    assert "<eps> 1.00" in source
    transcript, _ = read_bytes((RECORDED / "meeting.ctm").read_bytes(), name="meeting.ctm")
    assert [(s.name, s.text) for s in transcript.speeches] == [
        ("meeting1 A", "shall we start"),
        ("meeting1 B", "yes please do"),
    ]


def test_tsv_with_times_is_one_transcript_and_without_them_rows_are_texts() -> None:
    last_row = restored_source("whisper.tsv", {"trip": "?"}).splitlines()[2]
    assert last_row == "3200\t6800\tyour trip? it was long but we saw the sea"
    rows = read_source("id\ttext\r\n1\thello there\r\n2\tyou\r\n", "tsv")
    assert [(s.name, s.text) for s in rows.speeches] == [("1", "hello there"), ("2", "you")]


def test_field_names_the_key_or_column_of_the_text() -> None:
    assert read_source('{"said": "hello there", "text": "no"}', "jsonl", "said").speeches[0].text == "hello there"
    assert read_source("a\tsaid\nx\thello\n", "tsv", "said").speeches[0].text == "hello"


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


def test_opening_marks_and_capitals_stand_before_their_word_across_cues() -> None:
    source = "1\n00:00:01,000 --> 00:00:02,000\n<i>hola</i>\n\n2\n00:00:02,000 --> 00:00:03,000\n<i>como estas</i>\n"
    edits = [(4, "", "."), (5, "", "¿"), (5, "c", "C"), (15, "", "?")]

    def restore(texts: Iterable[str], **options: Any) -> Iterator[dict[str, Any]]:
        for text in texts:
            words = [{"start": m.start(), "end": m.end()} for m in re.finditer(r"\w+", text)]
            yield {"text": "hola. ¿Como estas?", "words": words, "edits": [
                {"start": start, "removed": removed, "inserted": inserted} for start, removed, inserted in edits
            ]}  # fmt: skip

    restored = restore_transcript(read_source(source, "srt"), restore)
    assert restored.source() == source.replace("hola", "hola.").replace("como estas", "¿Como estas?")
    assert restored.speeches[0].text == "hola. ¿Como estas?"
    assert [sentence.text for sentence in restored.speeches[0].sentences] == ["hola.", "¿Como estas?"]


@pytest.mark.parametrize(("start", "removed", "inserted"), [(0, "hello", "hallo"), (0, "", "s"), (3, "h", "H")])
def test_a_restorer_that_changes_a_word_is_refused(start: int, removed: str, inserted: str) -> None:
    edits = [{"start": start, "removed": removed, "inserted": inserted}]
    with pytest.raises(ValueError, match="must not change words"):
        restore_transcript(
            read_source("hello there", "txt"), lambda texts: ({"text": "", "edits": edits} for _ in texts)
        )


@pytest.mark.parametrize(
    ("file_format", "source", "message"),
    [
        ("json", '{"text": "hello", "segments": [{"text": "hel', r"talk:1: Expected the rest of the JSON"),
        ("json", '{"text": "hello",\n "segments": [', r"talk:2: Expected the rest of the JSON"),
        ("json", '{"text":\n\n hello}', r"talk:3: Expected JSON, got 'hello}' in column 2"),
        ("json", "3", r"talk:1: Expected a JSON object, list or text"),
        ("json", " \n", r"talk:1: Expected JSON, got an empty file"),
        ("jsonl", '"a"\n\n3\n', r"talk:3: Expected a JSON object, list or text"),
        ("json", '{"segments": [\n{"start": 1}]}', r"talk:2: Expected a list under 'words'"),
        ("json", '{"segments": [\n{"text": "a", "start": "x"}]}', r"talk:2: Expected times as numbers"),
        ("json", '[{"word": "a"},\n {"wort": "b"}]', r"talk:2: Expected a word"),
        ("json", '{"a": 1}', "Expected a recogniser's output"),
        ("nemo", '{"text": "a"}', "Expected nemo output"),
        ("jsonl", '{"text": "a"}\n{"text": "b"\n', r"talk:2: Expected the rest of the JSON"),
        ("jsonl", '{"text": "a"}\n{"text": 3}\n', r"talk:2: Expected"),
        ("jsonl", '{"text": "a"} {"text": "b"}\n', r"talk:1: Expected one JSON value a line"),
        ("tsv", "a\tb\nc\td\n", r"talk:1: Expected a column named 'text'"),
        ("tsv", "id\ttext\n1\thello\tyou\n", r"talk:2: Expected 2 fields"),
        ("tsv", "start\tend\ttext\n0\tx\thello\n", r"talk:2: Expected a time in whole milliseconds"),
        ("ctm", "a 1 0.0 0.1 hello\na 1 0.1 you\n", r"talk:2: Expected `recording channel"),
        ("ctm", "a 1 zero 0.1 hello\n", r"talk:1: Expected start and duration"),
        ("ctm", "a 1 * * <ALT_BEGIN>\n", r"talk:1: Expected one word after another"),
    ],
)
def test_bad_files_are_refused_with_the_line(file_format: str, source: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read_bytes(source.encode(), file_format, name="talk")


def test_an_empty_file_is_no_fault_but_for_json() -> None:
    for file_format in ("txt", "lines", "srt", "vtt", "jsonl", "tsv", "ctm"):
        for source in ("", "\ufeff", "\n"):
            assert restore_transcript(read_source(source, file_format), leave_alone).source() == source


def test_words_that_do_not_spell_the_text_are_left_alone_and_reported() -> None:
    source = '{"segments": [{"text": "hello there", "start": 0, "end": 1, "words": [{"word": "hallo"}]}]}'
    transcript = read_source(source, "json")
    assert transcript.warnings == ["line 1: the words of a segment do not spell its text; only the text gets marks"]
    value = json.loads(restore_transcript(transcript, marking({"there": "."})).source())
    assert value["segments"][0]["text"] == "hello there."
    assert value["segments"][0]["words"] == [{"word": "hallo"}]


def test_unknown_format_and_field_without_use_are_refused() -> None:
    with pytest.raises(ValueError, match="Expected a format among"):
        read_source("a", "docx")
    with pytest.raises(ValueError, match="only for json, jsonl and tsv"):
        read_source("a", "srt", "text")


@pytest.mark.parametrize("name", ["whisper.json", "talk.srt", "talk.vtt", "whisper.tsv", "words.json"])
@pytest.mark.parametrize("target", ["srt", "vtt", "tsv", "txt", "json", "jsonl"])
def test_what_is_written_in_another_format_can_be_read_again(name: str, target: str) -> None:
    transcript, _ = read_bytes((RECORDED / name).read_bytes(), name=name)
    restored = restore_transcript(transcript, marking({"coming": ".", "changed": ".", "late": ",", "why": "?"}))
    written = write_as(restored, target)
    again = read_source(written, target)
    letters = [re.sub(r"\s", "", speech.text) for speech in again.speeches]
    assert letters == [re.sub(r"\s", "", restored.speeches[0].text)]


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


def test_a_text_alone_is_json_too() -> None:
    restore = marking({"you": "."})
    assert restore_transcript(read_source('"hello you"', "json"), restore).source() == '"hello you."'
    lines = read_source('"hello"\n{"text": "you"}\n', "jsonl")
    assert restore_transcript(lines, restore).source() == '"hello"\n{"text": "you."}\n'


def test_times_that_are_no_numbers_count_as_unknown() -> None:
    source = '{"segments": [{"start": NaN, "end": 1.0, "text": "hello"}, {"start": 1.0, "end": 2.0, "text": "you"}]}'
    restored = restore_transcript(read_source(source, "json"), leave_alone)
    assert "NaN" in restored.source()
    assert restored.speeches[0].sentences[0].begins == 1.0


def test_sentences_end_where_another_speaks_and_name_the_speaker() -> None:
    segments = [
        {"start": n, "end": n + 1, "text": f" {text}", "speaker": speaker}
        for n, (text, speaker) in enumerate([("are you", "A"), ("there", "A"), ("yes", "B")])
    ]
    restored = restore_transcript(read_source(json.dumps({"segments": segments}), "json"), leave_alone)
    assert json.loads(restored.source())["sentences"] == [
        {"start": 0.0, "end": 2.0, "text": "are you there", "speaker": "A"},
        {"start": 2.0, "end": 3.0, "text": "yes", "speaker": "B"},
    ]


def test_sentences_of_several_recordings_have_their_names_in_a_table() -> None:
    restored = restore_transcript(read_source("a 1 0.0 0.5 hello\nb 1 0.0 0.5 you\n", "ctm"), leave_alone)
    assert write_as(restored, "tsv") == "start\tend\ttext\tname\n0\t500\thello\ta 1\n0\t500\tyou\tb 1\n"


@pytest.mark.parametrize("file_format", ["txt", "lines"])
def test_plain_text_restored_in_parts_is_the_same(
    tiny_pipeline: Any, monkeypatch: pytest.MonkeyPatch, file_format: str
) -> None:
    source = "\ufeffhello you  are the\nsaya awak 大家好我们今天 hello\r\n\n you are \n" * 9
    transcript = read_source(source, file_format)
    monkeypatch.setattr(restoring, "LONG", 20)
    monkeypatch.setattr(restoration_pipeline, "STREAM_BLOCK", 60)
    parts = list(restored_parts(transcript, tiny_pipeline))
    assert "".join(parts) == restore_transcript(transcript, tiny_pipeline).source() != source
    assert len(parts) > 5
    with pytest.raises(ValueError, match="Expected plain text"):
        next(restored_parts(read_source("a b 1 2 c", "ctm"), tiny_pipeline))


def leave_alone(texts: Iterable[str], **options: Any) -> Iterator[dict[str, Any]]:
    for text in texts:
        words = [{"start": m.start(), "end": m.end()} for m in re.finditer(r"\w+", text)]
        yield {"text": text, "edits": [], "words": words}
