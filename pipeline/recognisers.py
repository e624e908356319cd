"""Takes what a speech recogniser gives, its strings placed, and gives its speeches, each with all copies of it.

Whisper says everything three times: in `text`, in the segments, and in their words; all of them get the marks.
Shapes, after the documentation of each program:

    whisper, whisperx, faster-whisper   {"text", "segments": [{"start", "end", "text", "words": [{"word", ...}]}]}
                                        or the bare list of segments, or (segments, info); whisperx adds
                                        "word_segments", OpenAI's service "words"
    chunks (transformers)               {"text", "chunks": [{"text", "timestamp": [start, end]}]}
    nemo                                {"text", "timestamp": {"word": [{"word", "start", "end"}], "segment": [...]}}
    vosk                                {"result": [{"word", "start", "end", "conf"}], "text"}, one or several
    words                               [{"word", "start", "end"}], ["word", ...] or {"words": [...]}
    text                                {"text"}

Each may be an object with such attributes, too, as the packages of services give them.
It knows these shapes, and nothing of models or marks.
"""

import io
import logging
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

from .edits import Edit
from .placed_values import PlacedArray, PlacedObject, PlacedString, has, place, rebuild
from .speech import Chunk, Speech, SpeechBuilder, in_track

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Recognised:
    """What a recogniser gave in Python: one transcript."""

    given: Any
    placed: Any
    source: str  # in which the strings of `placed` have their places
    speech: Speech

    def restored(self, edits: Sequence[Edit]) -> Any:
        """The same, with the edits of its speech in every copy of it."""
        changes = (change for track in self.speech.tracks for change in in_track(track, edits))
        placed = (edit | {"start": start} for start, _, _, edit in changes if edit)
        return rebuild(self.given, self.placed, self.source, sorted(placed, key=itemgetter("start")))


def opens_transcript(value: Any) -> bool:
    """Whether this is a word or a segment of a recogniser, so that a list which begins with it is one transcript."""
    return has(value, "word") or has(value, "text", "start", "end")


def is_pair(value: Any) -> bool:
    """Whether this is what faster-whisper's `transcribe` returns: its segments, and an object about the recording."""
    is_of_two = isinstance(value, tuple) and len(value) == 2
    return is_of_two and isinstance(value[0], list | tuple | Iterator) and hasattr(value[1], "language")


def is_recognised(item: Mapping[str, Any]) -> bool:
    """Whether a dictionary is of one of the shapes above that have more than strings and chunks."""
    key = _key_of(item)
    if key == "words":
        return not all(isinstance(word, str) for word in item[key][:1])
    return "segments" in item or (key in item and key != "chunks")


def read_recognised(given: Any) -> Recognised:
    """Read a dictionary or an object of the shapes above, a list of words or segments, or such a list and its info.

    Raises:
        ValueError: values of another shape, and where; or words of which none has a start.
    """
    spoken = given[0] if is_pair(given) else given
    values = spoken if isinstance(spoken, list) else []
    kind = "word" if values and has(values[0], "word") else "text"
    has_times = any(has(value, "start") for value in values)
    for index, value in enumerate(values):
        if not has(value, kind) or not (has(value, "start") or (has_times and not has(value, "end"))):
            raise ValueError(
                f"Expected a list of objects or dictionaries with {kind!r}, 'start' and 'end', perhaps some without "
                f"times, got {value!r:.60} at [{index}]. Correct it."
            )
    strings = io.StringIO()
    placed = place(given, strings)
    reader = RecogniserReader(strings.getvalue())
    heard = placed[0] if is_pair(given) else placed
    speeches = [reader.read_object(heard)] if isinstance(heard, PlacedObject) else reader.read_list(heard)
    for warning in reader.warnings:
        logger.warning(warning)
    return Recognised(given, placed, reader.source, speeches[0] if speeches else Speech("", []))


@dataclass
class RecogniserReader:
    """Reads the values of one source; collects warnings as it goes."""

    source: str
    text_key: str | None = None  # the only key under which an object has its text
    warnings: list[str] = field(default_factory=list)

    def chunk(self, text: PlacedString) -> Chunk:
        """A string as a chunk of speech."""
        return Chunk.plain(self.source, text.start, text.end)

    def fault(self, value: Any, problem: str) -> ValueError:
        """The error that names the place of a value."""
        path = "" if isinstance(value, str) else getattr(value, "start", "")
        return ValueError(f"{path}: {problem}" if path else problem)

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
        # Vosk prints one object after each pause. Bare {"text"} objects alone may as well be separate texts.
        elif not self.text_key and {*map(_key_of, values)} == {"result"} and any("result" in value for value in values):
            for value in values:
                builder.part()
                self._say(builder, value)
        else:
            return [self.read_object(value) for value in values]
        return [builder.build()]

    def read_object(self, value: PlacedObject) -> Speech:
        """One transcript."""
        names = (value.get(key) for key in ("id", "audio_filepath", "name"))
        builder = SpeechBuilder(next((str(name) for name in names if isinstance(name, str | int)), None))
        self._say(builder, value)
        return builder.build()

    def _say(self, builder: SpeechBuilder, value: PlacedObject) -> None:
        key = _key_of(value)
        if self.text_key or value.get(key) is None:
            self._say_text(builder, value)
        elif key == "segments":
            self._say_segments(builder, value)
        elif key in ("timestamp", "timestep"):
            self._say_nemo(builder, value)
        else:
            self._say_list(builder, value, key)

    def _say_segments(self, builder: SpeechBuilder, value: PlacedObject) -> None:
        for segment in self._list(value, "segments", PlacedObject):
            self._say_segment(builder, segment)
        self._copy_text(builder, value, "text")
        for key in ("word_segments", "words"):
            if value.get(key):
                self._copy(builder, value, key, [self._word_chunk(word) for word in self._list(value, key)])

    def _say_segment(self, builder: SpeechBuilder, segment: Any) -> None:
        if not isinstance(segment, PlacedObject):
            raise self._wrong(segment, "a segment with text or words", segment)
        self._turn(builder, segment)
        builder.part()
        text, words = segment.get("text"), self._list(segment, "words") if segment.get("words") else []
        if not isinstance(text, PlacedString):
            self._say_words(builder, self._list(segment, "words"))
            return
        start, end = builder.say(self.chunk(text))
        chunks = [self._word_chunk(word) for word in words]
        ranges = builder.repeat(chunks, start, end) if chunks else None
        if chunks and ranges is None:
            self._warn(segment, "the words of a segment do not spell its text; only the text gets marks")
        for word, spoken in [(segment, (start, end))] if ranges is None else zip(words, ranges, strict=True):
            builder.time(*spoken, *self._times(word))

    def _say_nemo(self, builder: SpeechBuilder, value: PlacedObject) -> None:
        times: Any = value.get("timestamp", value.get("timestep"))
        self._say_words(builder, self._list(times, "word"))
        for key in ("text", "pred_text"):
            self._copy_text(builder, value, key)
        segments = times.get("segment") or []
        chunks = [self.chunk(s["segment"]) for s in segments if isinstance(s.get("segment"), PlacedString)]
        if chunks:
            self._copy(builder, value, "segment", chunks)

    def _say_list(self, builder: SpeechBuilder, value: PlacedObject, key: str) -> None:
        """Words or chunks, and perhaps their text once more."""
        words, text = self._list(value, key), value.get("text")
        if isinstance(text, PlacedString) and words and all(isinstance(w, dict) and "mark" in w for w in words):
            self._say_own_output(builder, text, words)
            return
        start = builder.length
        self._say_words(builder, words)
        self._copy_text(builder, value, "text", start)

    def _say_own_output(self, builder: SpeechBuilder, text: PlacedString, words: Sequence[PlacedObject]) -> None:
        """Restored before: the marks are in the text only, and the times of words are called begins and ends."""
        builder.say(self.chunk(text))
        at = 0
        for word in words:
            spelled = self._word_chunk(word).text
            at = max(at, text.find(spelled, at))
            builder.time(at, at + len(spelled), *(self._number(word.get(key), word) for key in ("begins", "ends")))
            at += len(spelled)

    def _say_text(self, builder: SpeechBuilder, value: PlacedObject) -> None:
        for key in [self.text_key] if self.text_key else ("pred_text", "text", "sentence", "transcript"):
            if isinstance(text := value.get(key), PlacedString):
                builder.say(self.chunk(text))
                return
        if self.text_key:
            raise self._wrong(value, f"a text under {self.text_key!r}", value.get(self.text_key))
        raise self._wrong(value, "a recogniser's output (segments, words, result, text)", dict(value))

    def _say_words(self, builder: SpeechBuilder, words: Iterable[Any]) -> None:
        for word in words:
            self._turn(builder, word)
            place = builder.say_word(self._word_chunk(word))
            if isinstance(word, PlacedObject):
                builder.time(*place, *self._times(word))

    def _turn(self, builder: SpeechBuilder, value: Any) -> None:
        """Another speaker, if a segment or word names one; text and subtitles made of it show the name in capitals."""
        speaker = value.get("speaker") if isinstance(value, PlacedObject) else None
        builder.introduce(speaker, f"speaker {speaker}" if str(speaker).isdigit() else str(speaker))

    def _word_chunk(self, word: Any) -> Chunk:
        spelled = (word.get("word"), word.get("text")) if isinstance(word, PlacedObject) else (word,)
        for text in spelled:
            if isinstance(text, PlacedString):
                return self.chunk(text)
        raise self._wrong(word, 'a word: a string, or an object with "word"', word)

    def _times(self, value: PlacedObject) -> tuple[float | None, float | None]:
        """Start and end in seconds; None where they are not given, as WhisperX does for numerals."""
        times = value.get("timestamp", [value.get("start"), value.get("end")])  # the former in chunks
        if not isinstance(times, list) or len(times) != 2:
            raise self._wrong(value, 'a "timestamp": [start, end]', times)
        begins, ends = (self._number(time, value) for time in times)
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

    def _list(self, value: Any, key: str, kinds: Any = PlacedObject | PlacedString) -> Sequence[Any]:
        if not isinstance(value, PlacedObject) or not isinstance(value.get(key), PlacedArray):
            raise self._wrong(value, f"a list under {key!r}", value.get(key) if isinstance(value, dict) else value)
        for index, inner in enumerate(value[key]):
            if not isinstance(inner, kinds):
                raise self.fault(value, f"Expected objects under {key!r}, got {inner!r:.60} at [{index}]. Correct it.")
        return value[key]

    def _copy_text(self, builder: SpeechBuilder, value: PlacedObject, key: str, start: int = 0) -> None:
        """The whole text once more; it gets the same marks if it has the same letters."""
        text = value.get(key)
        if isinstance(text, PlacedString):
            self._copy(builder, text, key, [self.chunk(text)], start)

    def _copy(self, builder: SpeechBuilder, value: Any, key: str, chunks: list[Chunk], start: int = 0) -> None:
        if builder.repeat(chunks, start, builder.length) is None:
            self._warn(value, f"the {key!r} does not spell the words; it gets no marks")

    def _warn(self, value: Any, problem: str) -> None:
        self.warnings.append(str(self.fault(value, problem)))

    def _wrong(self, value: Any, expected: str, got: Any) -> ValueError:
        return self.fault(value, f"Expected {expected}, got {got!r:.60}. Is the format right?")


def _key_of(value: Mapping[str, Any]) -> str:
    """The key that tells whose output an object is; a text alone is Vosk's, too."""
    if value.keys() == {"text"}:
        return "result"
    keys = ("segments", "chunks", "timestamp", "timestep", "result", "words")
    return next((key for key in keys if isinstance(value.get(key), Mapping if "time" in key else list | tuple)), "")
