"""For every recogniser's output that hypothesis finds: nothing but marks changes, in whatever way it was written."""

import json
import re
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from restorers import ANY_WORD, SIGN, mark_everything, source_without_sentences

from punctuation_restoration.transcripts import FormatError, Transcript, read_source, restore_transcript

SPOKEN = st.one_of(
    st.sampled_from(
        ["hello", "it's", "3.5", "大家", "好", "saya", "naïve", "🙂", "\U00020000", "a\\b", 'say "hi"', "</s>", "\x07"]
    ),
    st.text(alphabet='ab好é🙂\\"/\t ', min_size=1, max_size=6),
)
SECONDS = st.floats(0, 1000, allow_nan=False).map(lambda x: round(x, 2))


@st.composite
def written(draw: st.DrawFn, values: st.SearchStrategy[Any]) -> str:
    """A value as different programs write it."""
    return json.dumps(
        draw(values),
        ensure_ascii=draw(st.booleans()),
        indent=draw(st.sampled_from([None, 1, 4])),
        separators=draw(st.sampled_from([None, (",", ":"), (" , ", " : ")])),
    ) + draw(st.sampled_from(["", "\n"]))


def timed_word(word: str, begins: float, key: str = "word") -> dict[str, Any]:
    return {key: word, "start": begins, "end": begins + 0.5, "probability": 0.5}


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
NEMO = WORDS.map(
    lambda words: {"text": " ".join(w for w, _ in words), "timestamp": {"word": [timed_word(w, t) for w, t in words]}}
)
LIST = WORDS.map(lambda words: [timed_word(w, t) for w, t in words])
ANY_JSON = st.one_of(WHISPER, VOSK, NEMO, LIST, st.lists(SPOKEN, max_size=8))


def marked(transcript: Transcript) -> str:
    return source_without_sentences(restore_transcript(transcript, mark_everything))


def without_signs(source: str) -> str:
    return source.replace(SIGN, "").replace("\\u2021", "")


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(written(ANY_JSON))
def test_json_changes_only_by_marks_and_sentences(source: str) -> None:
    original = json.loads(source)
    restored = restore_transcript(read_source(source, "json"), mark_everything)
    result, value = source_without_sentences(restored), json.loads(restored.source())
    assert json.loads(without_signs(result)) == original
    assert list(json.loads(result)) == list(original) or not isinstance(original, dict)
    if original:
        assert has_marks(json.loads(result)) == bool(ANY_WORD.search(" ".join(spoken_in(original))))
    for sentence in value.pop("sentences", []) if isinstance(value, dict) else []:
        assert sentence["start"] <= sentence["end"]
    assert json.loads(without_signs(json.dumps(value))) == original


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.one_of(written(ANY_JSON), written(SPOKEN.map(lambda t: {"text": t, "id": 1}))), max_size=5))
def test_jsonl_changes_only_by_marks(lines: list[str]) -> None:
    source = "\r\n".join(json.dumps(json.loads(line)) for line in lines)
    result = without_signs(marked(read_source(source, "jsonl")))
    assert [json.loads(line) for line in result.splitlines()] == [json.loads(line) for line in lines]


FIELD = st.text(alphabet="ab 好é,.\"'", max_size=8)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.integers(0, 9999), FIELD), max_size=6), st.sampled_from(["\n", "\r\n"]))
def test_tsv_changes_only_by_marks(rows: list[tuple[int, str]], line_end: str) -> None:
    source = line_end.join(["start\tend\ttext", *(f"{n}\t{n + 10}\t{text}" for n, text in rows), ""])
    assert without_signs(marked(read_source(source, "tsv"))) == source


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(alphabet='[]{}",:\\ u0123abtruefalsenull\n', max_size=40))
def test_any_json_like_text_is_read_or_refused(source: str) -> None:
    for file_format in ("json", "jsonl"):
        try:
            changed = without_signs(marked(read_source(source, file_format)))
        except FormatError as error:
            assert str(error).startswith(("line", "Expected"))  # noqa: PT017 (either is right here)
            continue
        assert re.sub(r"\s", "", changed) == re.sub(r"\s", "", source) or json.loads(changed) == json.loads(source)


SPEECH_KEYS = ("text", "words", "word", "segments", "result", "timestamp")


def spoken_in(value: Any) -> list[str]:
    if isinstance(value, dict):
        value = [inner for key, inner in value.items() if key in SPEECH_KEYS]
    if isinstance(value, list):
        return [text for inner in value for text in spoken_in(inner)]
    return [value] if isinstance(value, str) else []


def has_marks(value: Any) -> bool:
    return any(SIGN in text for text in spoken_in(value))
