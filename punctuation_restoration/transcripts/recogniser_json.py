"""Takes the JSON of a speech recogniser, gives its speeches, each with all the copies of it that the file holds.

Whisper's JSON says everything three times: in `text`, in the segments, and in their words; all of them get the marks.
Shapes, after the documentation of each program:

    whisper, whisperx, faster-whisper   {"text", "segments": [{"start", "end", "text", "words": [{"word", ...}]}]}
                                        or the bare list of segments; whisperx adds "word_segments"
    chunks (transformers)               {"text", "chunks": [{"text", "timestamp": [start, end]}]}
    nemo                                {"text", "timestamp": {"word": [{"word", "start", "end"}], "segment": [...]}}
    vosk                                {"result": [{"word", "start", "end", "conf"}], "text"}, one or several
    words                               [{"word", "start", "end"}], ["word", ...] or {"words": [...]}
    text                                {"text"}

It knows these shapes, and nothing of models or marks.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .errors import FormatError, line_of
from .placed_json import PlacedArray, PlacedObject, PlacedString, chunk_of, read_values
from .transcript import Addition, Chunk, Speech, SpeechBuilder, Transcript

SENTENCES_KEY = "sentences"


def read_json(source: str, text_key: str | None = None) -> Transcript:
    """Read one or more JSON values of the shapes above; `text_key` names the key of the text in other objects.

    Raises:
        FormatError: broken or cut off JSON, or values of another shape; with the line.
    """
    reader = JsonReader(source, text_key)
    values = list(read_values(source))
    if not values:
        raise FormatError("Expected JSON, got an empty file.", line=1)
    if len(values) == 1:
        speeches = reader.read(values[0])
    elif all(isinstance(value, dict) for value in values):
        speeches = reader.read_list(values)
    else:
        raise FormatError("Expected one JSON value or several objects, got several values.", line=1)
    return Transcript(source, "json", speeches, reader.warnings)


class JsonReader:
    """Reads values of one file; collects warnings as it goes."""

    def __init__(self, source: str, text_key: str | None = None):
        self.source = source
        self.text_key = text_key
        self.warnings: list[str] = []

    def read(self, value: Any, line: int = 1) -> list[Speech]:
        """The speeches of one top-level value, which stands on that line."""
        if isinstance(value, PlacedObject):
            return [self.read_object(value)]
        if isinstance(value, PlacedArray | PlacedString):
            return self.read_list([value] if isinstance(value, PlacedString) else value)
        raise FormatError(f"Expected a JSON object, list or text, got {value!r:.40}.", line=line)

    def read_list(self, values: Sequence[Any]) -> list[Speech]:
        """A list of words, of segments, of results that make one transcript (Vosk), or of separate transcripts."""
        if not values:
            return []
        first = values[0] if isinstance(values[0], dict) else {}
        builder = SpeechBuilder()
        if isinstance(first.get("word"), str) or all(isinstance(value, PlacedString) for value in values):
            self._say_words(builder, values)
        elif isinstance(first.get("text"), str) and ("words" in first or "start" in first):
            for segment in values:
                self._say_segment(builder, segment)
        elif not all(isinstance(value, PlacedObject) for value in values):
            raise self._wrong(values, "a list of words, segments or transcripts", values[0])
        elif self.text_key is None and _is_vosk_stream(values):
            for value in values:
                self._say_vosk(builder, value)
        else:
            return [self.read_object(value) for value in values]
        return [builder.build()]

    def read_object(self, value: PlacedObject) -> Speech:
        """One transcript."""
        builder = SpeechBuilder(_name_of(value))
        say = JsonReader._say_text if self.text_key else _SAY.get(_key_of(value), JsonReader._say_text)
        say(self, builder, value)
        speech = builder.build()
        if speech.timings:
            speech.addition = self._addition(value)
        return speech

    def _say_segments(self, builder: SpeechBuilder, value: PlacedObject) -> None:
        for segment in self._list(value, "segments"):
            self._say_segment(builder, segment)
        self._copy_text(builder, value, "text")
        words = value.get("word_segments")
        if isinstance(words, PlacedArray) and words:
            self._copy(builder, words, "word_segments", [self._word_chunk(word) for word in words])

    def _say_segment(self, builder: SpeechBuilder, segment: Any) -> None:
        if not isinstance(segment, PlacedObject):
            raise self._wrong(segment, "a segment with text or words", segment)
        builder.turn_to(segment.get("speaker"))
        builder.part()
        text, words = segment.get("text"), segment.get("words") or []
        if not isinstance(text, PlacedString):
            self._say_words(builder, self._list(segment, "words"))
            return
        start, end = builder.say(chunk_of(self.source, text))
        chunks = [self._word_chunk(word) for word in words]
        ranges = builder.repeat(chunks, start, end) if chunks else None
        if ranges is None:
            if chunks:
                self._warn(segment, "the words of a segment do not spell its text; only the text gets marks")
            builder.time(start, end, *self._times(segment))
            return
        for word, place in zip(words, ranges, strict=True):
            builder.time(*place, *self._times(word))

    def _say_chunks(self, builder: SpeechBuilder, value: PlacedObject) -> None:
        for item in self._list(value, "chunks"):
            times = item.get("timestamp") if isinstance(item, PlacedObject) else None
            if not isinstance(times, list) or len(times) != 2:
                raise self._wrong(item, 'a chunk with "text" and "timestamp": [start, end]', item)
            begins, ends = (self._number(time, item) for time in times)
            builder.time(*builder.say_word(self._word_chunk(item)), begins, ends)
        self._copy_text(builder, value, "text")

    def _say_nemo(self, builder: SpeechBuilder, value: PlacedObject) -> None:
        times: Any = value.get("timestamp", value.get("timestep"))
        self._say_words(builder, self._list(times, "word"))
        for key in ("text", "pred_text"):
            self._copy_text(builder, value, key)
        segments = times.get("segment") or []
        chunks = [chunk_of(self.source, s["segment"]) for s in segments if isinstance(s.get("segment"), PlacedString)]
        if chunks:
            self._copy(builder, value, "segment", chunks)

    def _say_vosk(self, builder: SpeechBuilder, value: PlacedObject) -> None:
        builder.part()
        if value.get("result") is None:
            self._say_text(builder, value)
            return
        start = builder.length
        self._say_words(builder, self._list(value, "result"))
        self._copy_text(builder, value, "text", start)

    def _say_list(self, builder: SpeechBuilder, value: PlacedObject) -> None:
        words = self._list(value, "words")
        text = value.get("text")
        if isinstance(text, PlacedString) and words and all(isinstance(w, dict) and "mark" in w for w in words):
            self._say_own_output(builder, text, words)
            return
        self._say_words(builder, words)
        self._copy_text(builder, value, "text")

    def _say_own_output(self, builder: SpeechBuilder, text: PlacedString, words: Sequence[PlacedObject]) -> None:
        """Restored before: the marks are in the text only, and the times of words are called begins and ends."""
        builder.say(chunk_of(self.source, text))
        at = 0
        for word in words:
            spelled = self._word_chunk(word).text
            at = max(at, text.find(spelled, at))
            builder.time(at, at + len(spelled), *(self._number(word.get(key), word) for key in ("begins", "ends")))
            at += len(spelled)

    def _say_text(self, builder: SpeechBuilder, value: PlacedObject) -> None:
        key = self.text_key or _text_key(value)
        if key is None:
            raise self._wrong(value, "a recogniser's output (segments, words, result, text)", dict(value))
        if not isinstance(text := value.get(key), PlacedString):
            raise self._wrong(value, f"a text under {key!r}", text)
        builder.say(chunk_of(self.source, text))

    def _say_words(self, builder: SpeechBuilder, words: Iterable[Any]) -> None:
        for word in words:
            place = builder.say_word(self._word_chunk(word))
            if isinstance(word, PlacedObject):
                builder.time(*place, *self._times(word))

    def _word_chunk(self, word: Any) -> Chunk:
        spelled = (word.get("word"), word.get("text")) if isinstance(word, PlacedObject) else (word,)
        for text in spelled:
            if isinstance(text, PlacedString):
                return chunk_of(self.source, text)
        raise self._wrong(word, 'a word: a string, or an object with "word"', word)

    def _times(self, value: PlacedObject) -> tuple[float | None, float | None]:
        """Start and end in seconds; None where they are not given, as WhisperX does for numerals."""
        begins, ends = self._number(value.get("start"), value), self._number(value.get("end"), value)
        if begins is not None and ends is not None and ends < begins:
            self._warn(value, f"it ends ({ends}) before it begins ({begins}); its times are not used")
            return None, None
        return begins, ends

    def _number(self, time: Any, owner: PlacedObject) -> float | None:
        if time is None:
            return None
        if not isinstance(time, int | float) or isinstance(time, bool):
            raise self._wrong(owner, "times as numbers of seconds", time)
        return time if math.isfinite(time) else None  # WhisperX writes NaN where it could not align

    def _list(self, value: Any, key: str) -> PlacedArray:
        if not isinstance(value, PlacedObject) or not isinstance(value.get(key), PlacedArray):
            raise self._wrong(value, f"a list under {key!r}", value.get(key) if isinstance(value, dict) else value)
        return value[key]

    def _copy_text(self, builder: SpeechBuilder, value: PlacedObject, key: str, start: int = 0) -> None:
        """The whole text once more; it gets the same marks if it has the same letters."""
        text = value.get(key)
        if isinstance(text, PlacedString):
            self._copy(builder, text, key, [chunk_of(self.source, text)], start)

    def _copy(self, builder: SpeechBuilder, value: Any, key: str, chunks: list[Chunk], start: int = 0) -> None:
        if builder.repeat(chunks, start, builder.length) is None:
            self._warn(value, f"the {key!r} does not spell the words; it gets no marks")

    def _addition(self, value: PlacedObject) -> Addition:
        """Where sentences go: over older ones, or behind the last value, laid out as the file is."""
        if isinstance(older := value.get(SENTENCES_KEY), PlacedArray):
            return Addition(older.start, older.end, "")
        inside = self.source[value.start + 1 : value.end - 1]
        end = value.start + 1 + len(inside.rstrip())
        indent = inside[: len(inside) - len(inside.lstrip())]
        is_spaced = not self.source.startswith('{"', value.start) or ", " in inside[:4096]
        lead = indent if "\n" in indent else " " if is_spaced else ""
        colon = ": " if '": ' in inside[:4096] else ":"
        return Addition(end, end, f',{lead}"{SENTENCES_KEY}"{colon}')

    def _warn(self, value: Any, problem: str) -> None:
        self.warnings.append(f"line {line_of(self.source, value.start)}: {problem}")

    def _wrong(self, value: Any, expected: str, got: Any) -> FormatError:
        line = line_of(self.source, value.start) if hasattr(value, "start") else None
        return FormatError(f"Expected {expected}, got {got!r:.60}. Is the format right?", line=line)


def _is_vosk_stream(values: Sequence[PlacedObject]) -> bool:
    """Vosk prints one object after each pause. Bare {"text"} objects alone may as well be separate texts."""
    return all(_key_of(value) == "result" for value in values) and any("result" in value for value in values)


def _name_of(value: PlacedObject) -> str | None:
    names = (value.get(key) for key in ("id", "audio_filepath", "name"))
    return next((str(name) for name in names if isinstance(name, str | int)), None)


def _text_key(value: PlacedObject) -> str | None:
    known = ("pred_text", "text", "sentence", "transcript")
    return next((key for key in known if isinstance(value.get(key), str)), None)


def _key_of(value: PlacedObject) -> str:
    """The key that tells whose output an object is; a text alone is Vosk's, too."""
    if value.keys() == {"text"}:
        return "result"
    return next((key for key in _SAY if isinstance(value.get(key), dict if "time" in key else list)), "")


_SAY: dict[str, Callable[[JsonReader, SpeechBuilder, PlacedObject], None]] = {
    "segments": JsonReader._say_segments,
    "chunks": JsonReader._say_chunks,
    "timestamp": JsonReader._say_nemo,
    "timestep": JsonReader._say_nemo,
    "result": JsonReader._say_vosk,
    "words": JsonReader._say_list,
}
