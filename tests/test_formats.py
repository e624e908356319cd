"""Files of every format: read, marked in place or written in another format, refused where they are broken."""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from restorers import ANY_WORD, RECORDED, SIGN, mark_everything, marking, marks_alone, patient, restored_source, srt

from punctuation_restoration.pipeline import restoration_pipeline
from punctuation_restoration.pipeline.edits import make_edit
from punctuation_restoration.transcripts import (
    CueLimits,
    FormatError,
    read_bytes,
    read_source,
    restore_file,
    restored_parts,
    restoring,
    write_as,
)

SAID = [{"text": "hello", "start": 0.0, "end": 0.5}, {"text": "you", "start": 0.5, "end": 1.0}]
FILES = sorted(path for path in RECORDED.rglob("*") if path.is_file() and path.suffix != ".md")


def without_signs(source: str) -> str:
    return source.replace(SIGN, "").replace("\\u2021", "")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
@pytest.mark.parametrize("sign", ["", SIGN])
def test_restoring_adds_marks_and_sentences_and_nothing_else(path: Path, sign: str) -> None:
    transcript, encoding = read_bytes(path.read_bytes(), name=path.name)
    source = marks_alone(restore_file(marking({"*": sign}), transcript))
    if sign:
        assert source.count(SIGN) + source.count("\\u2021") >= 2
    bare = without_signs(source)
    if transcript.document is None:
        assert encoding.encode(bare) == path.read_bytes()
    else:  # values and their order; blanks and zeros behind a point may differ
        zeros = re.compile(r"(\.\d+?)0+(?=[,}\s])")
        assert "".join(zeros.sub(r"\1", bare).split()) == "".join(zeros.sub(r"\1", transcript.source).split())


def test_whisper_gets_the_marks_in_its_text_its_segments_and_their_words() -> None:
    value = json.loads(restored_source("whisper.json", {"coming": ".", "trip": "?", "long": ",", "sea": "."}))
    assert value["text"].startswith(" hello everyone thanks for coming. how was your trip? it was long, but")
    assert value["segments"][0]["text"] == " hello everyone thanks for coming. how was"
    assert [w["word"] for w in value["segments"][1]["words"][:2]] == [" your", " trip?"]
    assert value["sentences"] == [
        {"start": 0.0, "end": 2.2, "text": "hello everyone thanks for coming."},
        {"start": 2.7, "end": 3.84, "text": "how was your trip?"},
        {"start": 4.3, "end": 6.8, "text": "it was long, but we saw the sea."},
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
    assert value["segments"][0]["words"][-1] == {"word": "250."} == value["word_segments"][7]
    assert value["word_segments"][-1]["word"] == "there?"
    assert value["sentences"][0]["start"] == 0.454
    assert value["sentences"][0]["end"] == 2.3


def test_half_a_character_comes_back_as_its_escape() -> None:
    transcript = read_source('["大家", "a\\ud83d"]', "json")
    restored = restore_file(marking({}), transcript)
    assert restored.source() == '["大家", "a\\ud83d"]'
    for target in ("json", "jsonl"):
        assert json.loads(write_as(restored, target).encode())["text"] == "大家 a\ud83d"


def test_vosk_results_are_one_transcript_and_stay_several() -> None:
    source = restored_source("vosk.json", {"it": "?", "almost": ",", "noon": "."})
    assert all(part in source for part in ('"text": "what time is it?"', '"word": "noon."', '"conf": 0.9812'))
    (speech,) = read_source(source, "json").speeches
    assert speech.text == "what time is it? almost, noon."


@pytest.mark.parametrize(
    ("file_format", "source"),
    [
        ("json", '"hello there"'), ("json", '["hello","there"]'), ("json", '{"words": ["hello", "there"]}'),
        ("json", '[{"text": "hello", "end": 1}, {"text": "there"}]'),
        ("json", '[{"word": "hello"}, {"word": "there"}]'), ("jsonl", '"hello"\n{"text": "there"}\n'),
    ],
)  # fmt: skip
def test_bare_texts_and_words_are_json_too(file_format: str, source: str) -> None:
    restored = restore_file(marking({"hello": ",", "there": "."}), read_source(source, file_format)).source()
    assert restored == source.replace("hello", "hello,").replace("there", "there.")


@pytest.mark.parametrize(
    ("file_format", "source", "message"),
    [
        ("json", '{"text": "hello", "segments": [{"text": "hel', r"talk:1: Expected the rest of the JSON"),
        ("json", '{"text": "hello",\n "segments": [', r"talk:2: Expected the rest of the JSON"),
        ("json", '{"text":\n\n hello}', r"talk:3: Expected JSON, got 'hello}' in column 2"),
        ("json", "3", r"talk:1: Expected a recogniser's output .*, got 3"),
        ("json", " \n", r"talk:1: Expected JSON, got an empty file"),
        ("jsonl", '"a"\n\n3\n', r"talk:3: Expected a recogniser's output .*, got 3"),
        (
            "json",
            '{"segments": [\n{"start": 1}]}',
            r"talk:1: Expected .* got the keys segments, segments\.start\. Name the text's",
        ),
        ("json", '{"segments": [{"text": "a", "start": "x"}]}', r"segments\[0\]: Expected times as numbers"),
        ("json", '[{"word": "a"},\n {"wort": "b"}]', r"\[1\]: Expected .* got the keys wort\. Name the text's"),
        ("json", '{"a": 1}', "Expected a recogniser's output"),
        ("jsonl", '{"text": "a"}\n{"text": "b"\n', r"talk:2: Expected the rest of the JSON"),
        ("jsonl", '{"text": "a"}\n{"text": 3}\n', r"talk:2: Expected"),
        ("jsonl", '{"text": "a"} {"text": "b"}\n', r"talk:1: Expected one JSON value a line"),
        (None, '{"data": {"speech": "hello you"}}', "Expected a recogniser's output"),
        (None, '{"text": "hello", "segments": [{"text": "hel', "Expected the rest of the JSON"),
        ("json", '{"text": "a",\n"text": "b"}', r"talk:1: Expected each key of an object once, got 'text' twice"),
        ("json", '{"text": "a", "score": 1e400}', r"talk:1: Expected numbers of JSON, got 1e400"),
        ("jsonl", '"a"\n{"text": "a", "score": Infinity}', r"talk:2: Expected numbers of JSON, got Infinity"),
        ("json", '{"text": "a", "deep": ' + "[" * 600 + "]" * 600 + "}", r"talk:1: Expected JSON nested at most 100"),
        ("json", "[" * 99_999, r"talk:1: Expected JSON nested at most 100"),
        ("json", f'[{{"word": "a", "start": 1{"0" * 400}}}]', r"talk:1: \[0\]: Expected times below 1e\+15 seconds"),
    ],
)
def test_bad_files_are_refused_with_the_line(file_format: str | None, source: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read_bytes(source.encode(), file_format, name="talk")


@pytest.mark.parametrize("file_format", ["txt", "srt", "vtt", "jsonl"])
@pytest.mark.parametrize("source", ["", "\ufeff", "\n"])
def test_an_empty_file_is_no_fault_but_for_json(file_format: str, source: str) -> None:
    assert restore_file(marking({}), read_source(source, file_format)).source() == source


SPOKEN = st.one_of(
    st.sampled_from(
        ["hello", "it's", "3.5", "大家", "好", "saya", "naïve", "🙂", "\U00020000", "a\\b", 'say "hi"', "</s>", "\x07"]
    ),
    st.text(alphabet='ab好é🙂\\"/\t ', min_size=1, max_size=6),
)
SECONDS = st.floats(0, 1000, allow_nan=False).map(lambda x: round(x, 2))


@st.composite
def written(draw: st.DrawFn, values: st.SearchStrategy[Any], indents: tuple[int | None, ...] = (None, 1, 4)) -> str:
    """A value as different programs write it."""
    return json.dumps(
        draw(values),
        ensure_ascii=draw(st.booleans()),
        indent=draw(st.sampled_from(indents)),
        separators=draw(st.sampled_from([None, (",", ":"), (" , ", " : ")])),
    )


def timed_word(word: str, begins: float) -> dict[str, Any]:
    return {"word": word, "start": begins, "end": begins + 0.5, "probability": 0.5}


WORDS = st.lists(st.tuples(SPOKEN, SECONDS), max_size=8)
SEGMENT = WORDS.map(
    lambda words: {
        "id": 0, "start": 1.0, "end": 2.0, "text": "".join(" " + word for word, _ in words), "tokens": [1, 2],
        "words": [timed_word(" " + word, begins) for word, begins in words],
    }
)  # fmt: skip
WHISPER = st.lists(SEGMENT, max_size=4).map(
    lambda segments: {"text": "".join(s["text"] for s in segments), "segments": segments, "language": "en"}
)
VOSK = WORDS.map(lambda words: {"result": [timed_word(w, t) for w, t in words], "text": " ".join(w for w, _ in words)})
NEMO = VOSK.map(lambda vosk: {"text": vosk["text"], "timestamp": {"word": vosk["result"]}})
ANY_JSON = st.one_of(WHISPER, VOSK, NEMO, VOSK.map(lambda vosk: vosk["result"]), st.lists(SPOKEN, max_size=8))


@patient
@given(written(ANY_JSON))
def test_json_changes_only_by_marks_and_sentences(source: str) -> None:
    original = json.loads(source)
    restored = restore_file(mark_everything, read_source(source, "json"))
    result, value = marks_alone(restored), json.loads(restored.source())
    assert json.loads(without_signs(result)) == original
    assert list(json.loads(result)) == list(original) or not isinstance(original, dict)
    if original:
        has_marks = any(SIGN in text for text in spoken_in(json.loads(result)))
        assert has_marks == bool(ANY_WORD.search(" ".join(spoken_in(original))))
    for sentence in value.pop("sentences", []) if isinstance(value, dict) else []:
        assert sentence["start"] <= sentence["end"]
    assert json.loads(without_signs(json.dumps(value))) == original


def spoken_in(value: Any) -> list[str]:
    if isinstance(value, dict):
        keys = ("text", "words", "word", "segments", "result", "timestamp")
        value = [inner for key, inner in value.items() if key in keys]
    if isinstance(value, list):
        return [text for inner in value for text in spoken_in(inner)]
    return [value] if isinstance(value, str) else []


ONE_LINE = written(st.one_of(ANY_JSON, SPOKEN.map(lambda text: {"text": text, "id": 1})), (None,))


@patient
@given(st.lists(ONE_LINE, max_size=5))
def test_json_lines_change_only_by_marks(lines: list[str]) -> None:
    transcript = read_source("\r\n".join(lines), "jsonl")
    result = without_signs(marks_alone(restore_file(mark_everything, transcript)))
    assert [json.loads(line) for line in result.splitlines()] == [json.loads(line) for line in lines]


@patient
@given(st.text(alphabet='[]{}",:\\ u0123abtruefalsenull\n', max_size=40), st.sampled_from(["json", "jsonl"]))
def test_any_json_like_text_is_read_or_refused(source: str, file_format: str) -> None:
    try:
        transcript = read_source(source, file_format)
    except FormatError as error:
        assert str(error).startswith(("line", "Expected"))  # noqa: PT017 (either is right here)
        return
    changed = without_signs(marks_alone(restore_file(mark_everything, transcript)))
    assert re.sub(r"\s", "", changed) == re.sub(r"\s", "", source) or json.loads(changed) == json.loads(source)


def restored_json(value: Any, after: dict[str, str]) -> Any:
    return restore_file(marking(after), read_source(json.dumps(value), "json"))


def test_a_capital_that_is_longer_in_small_letters_shifts_no_mark_of_a_copy() -> None:
    restored = restored_json({"text": "İyi günler dostum", "words": ["i\u0307yi", "günler", "dostum"]}, {"günler": ","})
    assert json.loads(restored.source())["words"] == ["i\u0307yi", "günler,", "dostum"]


@pytest.mark.parametrize(
    ("first", "second"), [("ሰላም ነው።", "ደህና ነኝ።"), ("बारिश हो रही है।", "घर चलो।"), ("Բարև ձեզ։", "Ես գնում եմ։")]
)
def test_a_sentence_ends_as_its_script_ends_sentences(first: str, second: str) -> None:
    transcript, _ = read_bytes(f"{first} {second}\n".encode(), name="talk.txt")
    restored = restore_file(marking({}), transcript)
    assert [sentence.text for sentence in restored.speeches[0].sentences] == [first, second]
    assert len(restore_file(marking({}), read_source("we came; we saw", "txt")).speeches[0].sentences) == 1


def test_sentences_end_where_another_speaks_and_name_the_speaker_in_every_format() -> None:
    told = [("SPEAKER_00", "hello there"), ("SPEAKER_00", "again"), ("SPEAKER_01", "yes hi")]
    segments = [{"start": n, "end": n + 1, "text": text, "speaker": name} for n, (name, text) in enumerate(told)]
    words = [{"word": text, "start": n, "end": n + 1, "speaker": name} for n, (name, text) in enumerate(told)]
    for value in (segments, words, {"words": words}):
        restored = restored_json(value, {"again": "."})
        assert [sentence.row() for sentence in restored.speeches[0].sentences] == [
            {"start": 0.0, "end": 2.0, "text": "hello there again.", "speaker": "SPEAKER_00"},
            {"start": 2.0, "end": 3.0, "text": "yes hi", "speaker": "SPEAKER_01"},
        ]
        assert write_as(restored, "txt") == "SPEAKER_00: hello there again.\nSPEAKER_01: yes hi\n"
        again = read_source(write_as(restored, "srt"), "srt").speeches[0]
        assert again.text.split() == "hello there again. yes hi".split()
        assert [name for _, name in again.speakers] == ["SPEAKER_00", "SPEAKER_01"]
    inner = {**segments[0], "text": "hello there yes hi", "words": [*words[:1], {**words[2], "word": " yes hi"}]}
    restored = restored_json({"segments": [inner]}, {})  # of WhisperX, whose segment has the speaker of most words
    assert write_as(restored, "txt") == "SPEAKER_00: hello there\nSPEAKER_01: yes hi\n"
    shown = {**inner, "text": "hello there\nANNA: yes hi"}  # the text says it itself
    assert write_as(restored_json({"segments": [shown]}, {}), "txt") == "SPEAKER_00: hello there\nANNA: yes hi\n"
    numbered = [{"word": "hello", "start": 0, "end": 1, "speaker": 0}]  # as Deepgram has them
    assert write_as(restored_json(numbered, {}), "txt") == "SPEAKER 0: hello\n"


@pytest.mark.parametrize("target", ["srt", "vtt"])
def test_every_new_cue_is_shown_for_a_while(target: str) -> None:
    times = [(29.0, 29.98), *[(29.98, 29.98)] * 2, (29.98, 31.0), (40.0, 40.0)]
    segments = [
        {"start": start, "end": end, "text": f"text {n}", "words": [{"word": f"text {n}", "start": start, "end": end}]}
        for n, (start, end) in enumerate(times)
    ]
    restored = restored_json({"segments": segments}, {str(n): "." for n in range(5)})
    cues = re.findall(r"([\d:.,]+) --> ([\d:.,]+)", write_as(restored, target))
    assert len(cues) > 3
    assert all(begins < ends for begins, ends in cues)


def test_signs_that_open_what_follows_go_to_its_cue_and_sentence() -> None:
    said = ["I was going to...", "...the market. Are you", "there? - Yes", "so — <i>- I", "am ok -"]
    restored = restore_file(marking({"to": "", "there": "", "*": ""}), read_source(srt(*said), "srt"))
    shown = write_as(restored, "txt").splitlines()
    assert shown[:3] == ["I was going to...", "...the market.", "Are you there?"]
    assert shown[3].startswith("- Yes")
    assert "".join("".join(shown).split()) == "".join(re.sub("<i>", "", "".join(said)).split())


def test_sentences_that_a_file_has_stay_unless_they_were_written_here() -> None:
    row, mine = {"text": "hello you", "start": 250, "end": 1200, "confidence": 0.9}, {"id": 7, "note": "mine"}
    for own, kept in (
        ({"audio_duration": 2, "sentences": [row]}, {**row, "text": "hello you?"}),
        ({"segments": SAID, "sentences": [mine]}, mine),
    ):
        assert json.loads(restored_json(own, {"you": "?"}).source())["sentences"] == [kept]
    once = restored_json({"segments": SAID}, {"hello": "."}).source()
    assert len(json.loads(restored_json(json.loads(once), {"you": "?"}).source())["sentences"]) == 2


def test_times_that_are_no_numbers_count_as_unknown() -> None:
    source = '{"segments": [{"start": NaN, "end": 1.0, "text": "hello"}, {"start": 1.0, "end": 2.0, "text": "you"}]}'
    restored = restore_file(marking({}), read_source(source, "json"))
    assert "NaN" in restored.source()
    assert restored.transcript.warnings == ["NaN is no number of JSON; as a time it is unknown"]
    assert restored.speeches[0].sentences[0].begins == 1.0


@pytest.mark.parametrize("name", ["whisper.json", "talk.srt", "talk.vtt", "words.json"])
@pytest.mark.parametrize("target", ["srt", "vtt", "txt", "json", "jsonl"])
def test_what_is_written_in_another_format_can_be_read_again(name: str, target: str) -> None:
    transcript, _ = read_bytes((RECORDED / name).read_bytes(), name=name)
    restored = restore_file(marking({"coming": ".", "changed": ".", "late": ",", "why": "?"}), transcript)
    (again,) = read_source(write_as(restored, target), target).speeches
    assert "".join(again.text.split()) == "".join(restored.speeches[0].text.split())


@pytest.mark.parametrize(
    "given",
    [
        {"result": {"language": "en"}, "transcription": []}, {"results": []}, {"monologues": []}, {"events": []},
        {"recognizedPhrases": []}, {"ResultDetail": []}, {"Result": {"Sentences": []}}, {"id": 2, "text": None},
    ],
)  # fmt: skip
def test_in_every_recognisers_words_nothing_may_be_heard(given: Any) -> None:
    assert read_source(json.dumps(given), "json").speeches[0].text == ""
    with pytest.raises(FormatError, match=r"got the keys text, speech\. Name the text's"):
        read_source('{"text": null, "speech": "hello you"}', "json")


def test_a_silent_recording_becomes_an_empty_file_and_plain_text_no_subtitles() -> None:
    silent = restored_json({"text": "", "segments": []}, {})
    assert [write_as(silent, name) for name in ("srt", "vtt")] == ["", "WEBVTT\n"]
    restored = restore_file(marking({}), read_source("hello there", "txt"))
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


def test_nothing_is_shown_long_before_it_is_said() -> None:
    times = [0.0, 0.5, 61.0, 61.5]
    told = [{"word": f"word{n}", "start": begins, "end": begins + 0.4} for n, begins in enumerate(times)]
    blocks = write_as(restored_json(told, {}), "srt").strip().split("\n\n")
    assert [block.splitlines()[1:] for block in blocks] == [
        ["00:00:00,000 --> 00:00:00,900", "word0 word1"], ["00:01:01,000 --> 00:01:01,900", "word2 word3"],
    ]  # fmt: skip


def test_a_cue_stays_longer_where_reading_takes_longer_and_there_is_room() -> None:
    told = [("incomprehensibilities", 0.0), ("stop", 0.3), ("next", 4.0)]
    restored = restored_json([{"word": word, "start": n, "end": n + 0.2} for word, n in told], {"stop": "."})
    assert write_as(restored, "srt").splitlines()[1] == "00:00:00,000 --> 00:00:01,350"


@pytest.mark.parametrize(
    ("options", "more"),
    [({}, []), ({"existing": "replace"}, ["removal"]), ({"truecase": True}, ["truecase"])],
)
def test_a_long_text_is_streamed_and_its_edits_are_those_of_the_whole(
    tiny_pipeline: Any, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], more: list[str]
) -> None:
    spoken = "hello you, are the saya awak 大家好 我们今天 the end?".split() * 30
    words = [{"word": word, "start": n * 0.5, "end": n * 0.5 + 0.4} for n, word in enumerate(spoken)]
    transcript = read_source(json.dumps(words), "json")
    text = transcript.speeches[0].text
    whole = restore_file(tiny_pipeline, transcript, **options)
    monkeypatch.setattr(restoring, "LONG", 700)
    monkeypatch.setattr(restoration_pipeline, "STREAM_BLOCK", 200)
    done: list[int] = []
    restored = restore_file(tiny_pipeline, transcript, on_progress=done.append, **options)
    assert len(done) > 5
    assert sum(done) == len(text)
    speech = restored.speeches[0]
    if "truecase" not in options:  # capitals need to know the marks before: these are shown to the model
        assert speech.text == whole.speeches[0].text
    assert [word["word"] for word in speech.words] == [word.text for word in tiny_pipeline.find_words(text)]
    value = json.loads(restored.source())
    assert "".join("".join(word["word"] for word in value).split()) == "".join(speech.text.split())
    assert {edit["source"] for edit in speech.edits} == {"model", *more}


def test_plain_text_restored_in_parts_is_the_same(tiny_pipeline: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    source = "\ufeffhello you  are the\nsaya awak 大家好我们今天 hello\r\n\n you are \n" * 9
    transcript = read_source(source, "txt")
    monkeypatch.setattr(restoring, "LONG", 20)
    monkeypatch.setattr(restoration_pipeline, "STREAM_BLOCK", 60)
    parts = list(restored_parts(tiny_pipeline, transcript))
    assert "".join(parts) == restore_file(tiny_pipeline, transcript).source() != source
    assert len(parts) > 5
    for source, file_format in (("- a\n- b", "txt"), ('["a"]', "json")):
        transcript = read_source(source, file_format)
        whole = restore_file(tiny_pipeline, transcript).source()
        assert list(restored_parts(tiny_pipeline, transcript)) == [whole]


def test_opening_marks_and_capitals_stand_before_their_word_across_cues() -> None:
    source = "1\n00:00:01,000 --> 00:00:02,000\n<i>hola</i>\n\n2\n00:00:02,000 --> 00:00:03,000\n<i>como estas</i>\n"
    edits = [(4, "", "."), (5, "", "¿"), (5, "c", "C"), (15, "", "?")]

    def restore(items: Iterable[Any], **options: Any) -> Iterator[dict[str, Any]]:
        for item in items:
            matches = zip(re.finditer(r"\w+", item.text), (".", "", "?"), strict=True)
            told = {"label": "", "source": "model"}
            words = [{"start": match.start(), "end": match.end(), "mark": mark, **told} for match, mark in matches]
            changes = [make_edit(*edit, "model") for edit in edits]
            yield {"text": "hola. ¿Como estas?", "words": words, "edits": changes}

    restored = restore_file(restore, read_source(source, "srt"))
    assert restored.source() == source.replace("hola", "hola.").replace("como estas", "¿Como estas?")
    assert restored.speeches[0].text == "hola. ¿Como estas?"
    assert [sentence.text for sentence in restored.speeches[0].sentences] == ["hola.", "¿Como estas?"]
