"""Takes what a speech recogniser gives, Python values, gives its speech with all copies of it, and writes it back.

Whisper says everything three times: in `text`, in the segments, and in their words; all of them get the marks. The
richest list that has something in it is read, and the others are its copies. The tables below say under which keys
programs keep what was said, when, and by whom; to teach another program, add its keys. Values are dictionaries, objects
with such attributes, lists and arrays of these, from a call or from a JSON file.
It knows nothing of models or marks.
"""

import contextlib
import copy
import dataclasses
import logging
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from numbers import Real
from operator import itemgetter
from typing import Any

from .edits import Edit
from .speech import Chunk, Runs, Speech, SpeechBuilder, in_track
from .unspoken import Hidden, Layout, find_hidden, names_speakers

logger = logging.getLogger(__name__)

# Where the transcript is, if it is not the value itself: Deepgram, AWS and Gladia, Speechmatics.
ROOTS = ("results.channels.0.alternatives.0", "results", "result.transcription", "result", "transcription")
# Lists of what was said, richest first -> how many seconds the numbers of their times count.
SEGMENTS = {
    "segments": 1.0,  # Whisper, WhisperX, faster-whisper, OpenAI, SenseVoice
    "transcription": 1.0,  # whisper.cpp
    "sentence_info": 0.001,  # FunASR
    "utterances": 1.0,  # Deepgram, Gladia
    "monologues": 1.0,  # Rev
    "recognizedPhrases": 1e-7,  # Azure, in ticks
    "results": 1.0,  # Google
}
WORDS = {
    "chunks": 1.0,  # transformers
    "timestamp.word": 1.0,  # NeMo
    "timestep.word": 1.0,
    "result": 1.0,  # Vosk
    "words": 1.0,
    "word_segments": 1.0,  # WhisperX
    "items": 1.0,  # AWS
}
COPIES = {"timestamp.segment": 1.0, "timestep.segment": 1.0}  # NeMo: never richer than its words
INNER_WORDS = ("words", "tokens", "elements", "alternatives.0.words", "nBest.0.words")
TEXTS = ("pred_text", "text", "sentence", "transcript", "transcription", "transcripts.0.transcript", "full_transcript")
PART_TEXTS = (
    "word", "text", "segment", "sentence", "transcript", "value", "content", "alternatives.0.transcript",
    "alternatives.0.content", "nBest.0.lexical",
)  # fmt: skip
TIMES = (
    ("start", "end", 1.0),
    ("start_time", "end_time", 1.0),  # NeMo, AWS, Speechmatics
    ("startTime", "endTime", 1.0),  # Google
    ("timestamp.0", "timestamp.1", 1.0),  # transformers
    ("offsets.from", "offsets.to", 0.001),  # whisper.cpp
    ("timestamps.from", "timestamps.to", 1.0),
    ("begins", "ends", 1.0),  # our own
    ("begin", "end", 1.0),
    ("ts", "end_ts", 1.0),  # Rev
    ("start_ms", "end_ms", 0.001),
)
SPEAKERS = ("speaker", "speaker_label", "speaker_id", "speakerTag", "speaker_tag", "spk")
NAMES = ("id", "audio_filepath", "name", "key")
# Keys that say more of what is read already, or another thing than it seems.
NOT_MISSED = {"start_offset", "end_offset", "end_of_turn", "timestamp", "timestep", "timestamps", "offsets", "offset"}
KNOWN_KEYS = {name.split(".")[0] for row in TIMES for name in row[:2]} | set(SPEAKERS) | NOT_MISSED
LOOK_LIKE = {
    "times": {"start", "begin", "end", "stop", "time", "times", "timestamp", "timestamps", "offset", "offsets"},
    "speakers": {"speaker", "spk", "talker"},
}
_CLOCK = re.compile(r"(?:(\d+):)?(\d+):(\d+(?:[.,]\d+)?)|(\d+(?:\.\d+)?)s?")
ATTRIBUTES = ("text", "segments", "word", "words", "transcript")  # any of these makes an object a part of what was said


@dataclass(frozen=True, slots=True)
class Part:
    """A value inside what a recogniser gave, and the way to it."""

    value: Any
    way: tuple[str | int, ...] = ()

    def at(self, path: str) -> "Part | None":
        """What stands under keys, attributes or numbers such as `timestamp.word`; None where there is nothing."""
        part = self
        for name in path.split("."):
            step: str | int = int(name) if name.isdigit() else name
            inner = _inner(part.value, step)
            if inner is None:
                return None
            part = Part(inner, (*part.way, step))
        return part

    def text(self, path: str) -> "Part | None":
        """As `at`, for a string only."""
        found = self.at(path)
        return found if found is not None and isinstance(found.value, str) else None

    def parts(self) -> "list[Part] | None":
        """The parts of a list or an array; None for another value."""
        values = _listed(self.value)
        return None if values is None else [Part(value, (*self.way, n)) for n, value in enumerate(values)]

    def __str__(self) -> str:
        return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.way).lstrip(".")


@dataclass(frozen=True, slots=True)
class Recognised:
    """What a recogniser gave: one transcript."""

    given: Any
    strings: list[tuple[tuple[str | int, ...], str]]  # what is read of it: the way to each string, and the string
    speech: Speech  # in a source in which these strings stand one after another
    warnings: list[str] = field(default_factory=list)

    def restored(self, edits: Sequence[Edit]) -> Any:
        """The same, with the edits of its speech in every copy of it; what was given is not touched.

        Raises:
            ValueError: an object that cannot be written.
        """
        tracks = (change for track in self.speech.tracks for change in in_track(track, edits))
        changes = sorted(tracks, key=itemgetter(0, 1))
        tree: dict[str | int, Any] = {}
        begins, n = 0, 0
        for way, string in self.strings:
            parts, done, ends = [], begins, begins + len(string)
            while n < len(changes) and changes[n].start <= ends:
                start, end, written = changes[n]
                parts += [string[done - begins : start - begins], written]
                done, n = max(done, end), n + 1
            if parts:
                branch = tree
                for step in way[:-1]:
                    branch = branch.setdefault(step, {})
                branch[way[-1] if way else ""] = "".join([*parts, string[done - begins :]])
            begins = ends + 1
        return tree[""] if "" in tree else _rebuilt(self.given, tree)


def has(value: Any, *names: str) -> bool:
    """Whether a dictionary has these keys, or an object these attributes."""
    return all(name in value if isinstance(value, Mapping) else hasattr(value, name) for name in names)


def opens_transcript(value: Any) -> bool:
    """Whether this is a word or a segment of a recogniser, so that a list which begins with it is one transcript."""
    if isinstance(value, str):
        return False
    part = Part(value)
    return has(value, "word") or (part.text("text") is not None and _is_timed(part))


def is_pair(value: Any) -> bool:
    """Whether this is what faster-whisper's `transcribe` returns: its segments, and an object about the recording."""
    is_of_two = isinstance(value, tuple) and len(value) == 2
    return is_of_two and isinstance(value[0], list | tuple | Iterator) and hasattr(value[1], "language")


def read_recognised(given: Any) -> Recognised:
    """Read one transcript: a dictionary or an object, a list of words or segments, or such a list and its info.

    Raises:
        ValueError: values of another shape, and where; or words of which none has a start.
    """
    spoken = given[0] if is_pair(given) else given
    values = spoken if isinstance(spoken, list) else []
    kind = "word" if values and has(values[0], "word") else "text"
    timed = [_is_timed(Part(value)) for value in values]
    for index, value in enumerate(values):
        is_string = isinstance(value, str)
        if is_string or not has(value, kind) or not (timed[index] or (any(timed) and not has(value, "end"))):
            raise ValueError(
                f"Expected a list of objects or dictionaries with {kind!r}, 'start' and 'end', perhaps some without "
                f"times, got {value!r:.60} at [{index}]. Correct it."
            )
    found = _Reader().read(given)
    for warning in found.warnings:
        logger.warning(warning)
    return found


def read_transcripts(values: Any) -> list[Recognised] | Recognised:
    """What a JSON file holds: one transcript, or a list of several; a text or a list of texts is one, too.

    Raises:
        ValueError: values of another shape, and where.
    """
    listed = values if isinstance(values, list) else None
    if listed is None or not listed or all(isinstance(value, str) for value in listed):
        return _Reader().read(values)
    if not all(isinstance(value, Mapping) for value in listed):
        wrong = next(value for value in listed if not isinstance(value, Mapping))
        raise ValueError(f"Expected a list of words, segments or transcripts, got {wrong!r:.60}. Is the format right?")
    is_segment = isinstance(listed[0].get("text"), str) and ("words" in listed[0] or _is_timed(Part(listed[0])))
    if "word" in listed[0] or is_segment or _are_vosk(listed):
        return _Reader().read(values)
    return [_Reader((n,)).read(value) for n, value in enumerate(listed)]


def _are_vosk(values: Sequence[Mapping[str, Any]]) -> bool:
    """Vosk prints one object after each pause. Bare {"text"} objects alone may as well be separate texts."""
    kinds = [isinstance(value.get("result"), list) for value in values]
    return any(kinds) and all(is_one or value.keys() == {"text"} for is_one, value in zip(kinds, values, strict=True))


class _Reader:
    """Reads one transcript; collects its strings, and warnings, as it goes."""

    def __init__(self, way: tuple[str | int, ...] = ()) -> None:
        self.top = way  # where the transcript stands among others; for messages only
        self.strings: list[tuple[tuple[str | int, ...], str]] = []
        self.length = 0
        self.warnings: list[str] = []
        self.missed: dict[str, set[str]] = {kind: set() for kind in LOOK_LIKE}
        self.read_kinds: set[str] = set()
        self.are_named = False

    def read(self, given: Any) -> Recognised:
        top = Part(given)
        heard = Part(given[0], (0,)) if is_pair(given) else top
        names = [heard.at(name) for name in NAMES] if isinstance(given, Mapping) else []
        name = next((str(one.value) for one in names if one and isinstance(one.value, str | int)), None)
        builder = SpeechBuilder(name)
        if isinstance(heard.value, str):
            builder.say_line(*self._line(heard, "text"))
        elif (parts := heard.parts()) is not None:
            if parts and _are_vosk([part.value if isinstance(part.value, Mapping) else {} for part in parts]):
                for part in parts:
                    builder.part()
                    self._say(builder, part)
            else:
                is_word = any(isinstance(part.value, str) or has(part.value, "word") for part in parts[:1])
                self._say_parts(builder, parts, 1.0, is_word)
        else:
            self._say(builder, heard)
        for kind in sorted(set(self.missed) - self.read_kinds):
            if keys := sorted(self.missed[kind]):
                self._warn(top, f"the keys {', '.join(keys)} look like {kind} and are not known; they are not read")
        return Recognised(given, self.strings, builder.build(), self.warnings)

    def _say(self, builder: SpeechBuilder, value: Part) -> None:
        """A transcript: its richest list, and everything else as its copies."""
        begins_at = builder.length
        root = next((at for at in (value, *filter(None, map(value.at, ROOTS))) if self._rows(at) or _texts(at)), value)
        rows, texts = self._rows(root), _texts(root)
        if not rows and not texts:
            if any((at := root.at(key)) and at.parts() == [] for key in (*SEGMENTS, *WORDS)):
                return
            got = f"the keys {sorted(map(str, value.value))}" if isinstance(value.value, Mapping) else repr(value.value)
            raise self._fault(
                value,
                "Expected a recogniser's output (segments, words, result, text), or a dictionary with 'text' or "
                f"'words', got {got:.90}. Correct it.",
            )
        if not rows:
            first, *texts = texts
            builder.say_line(*self._line(first, "text"))
            self._time_tokens(builder, root, begins_at)
        else:
            (key, parts, unit), *others = rows
            if texts and all(isinstance(word.value, Mapping) and "mark" in word.value for word in parts):
                self._say_own_output(builder, texts[0], parts)
                return
            self._say_parts(builder, parts, unit, is_word=key in WORDS)
            for other, copies, other_unit in others:
                self._copy_parts(builder, other, copies, other_unit, begins_at)
        for text in texts:
            self._copy(builder, [(text, "text")], str(text.way[-1]), begins_at)

    def _rows(self, value: Part) -> list[tuple[str, list[Part], float]]:
        """The lists of a transcript that have something in them, richest first."""
        rows: list[tuple[str, list[Part], float]] = []
        for key, unit in (SEGMENTS | WORDS | COPIES).items():
            listed = value.at(key)
            parts = listed.parts() if listed is not None else None
            is_ours = key not in ("items", "results", "result") or bool(parts and _is_part(parts[0]))
            if parts and is_ours and (key not in COPIES or rows):
                rows.append((key, parts, unit))
        return rows

    def _say_parts(self, builder: SpeechBuilder, parts: Sequence[Part], unit: float, is_word: bool) -> None:
        if not is_word:
            shown = [text.value for part in parts[:200] if (text := _text_of(part)) is not None]
            self.are_named = names_speakers((line for text in shown for line in text.splitlines()), are_cues=True)
        for index, part in enumerate(parts):
            if not _is_part(part) and not isinstance(part.value, str):
                owner = Part(None, part.way[:-2]) if len(part.way) > 1 else Part(None)
                listed = f"under {part.way[-2]!r}, " if len(part.way) > 1 else ""
                raise self._fault(owner, f"Expected objects {listed}got {part.value!r:.60} at [{index}]. Correct it.")
            if isinstance(part.value, str) and not is_word:
                raise self._fault(
                    Part(None),
                    f"Expected objects under {part.way[-2]!r}, got {part.value!r:.60} at [{index}]. Correct it.",
                )
            self._say_part(builder, part, unit, is_word)

    def _say_part(self, builder: SpeechBuilder, part: Part, unit: float, is_word: bool) -> None:
        """A word, or a segment with its words."""
        self._turn(builder, part)
        text, words = _text_of(part), self._inner_words(part)
        if text is None and not words:
            if is_word:
                raise self._wrong(part, 'a word: a string, or an object with "word"', part.value)
            given = part.at("words")
            raise self._wrong(part, "a list under 'words'", given.value if given else part.value)
        if text is not None and is_word and not words:
            chunk, hidden = self._line(text, "line" if " " in text.value.strip() else "word")
            place = builder.say_line(chunk, hidden, builder.say_word)
            self._time(builder, part, place, unit)
            return
        builder.part()
        if text is None or not text.value.strip():
            self._say_parts(builder, words, unit, is_word=True)
            return
        said = builder.say_line(*self._line(text, "line"))
        ranges = None
        if words:
            ranges = builder.repeat([self._line(word, "word") for word in map(_needed, words)], *said)
            if ranges is None:
                self._warn(part, "the words of a segment do not spell its text; only the text gets marks")
        for word, place in [(part, said)] if ranges is None else zip(words, ranges, strict=True):
            self._time(builder, word, place, unit)

    def _inner_words(self, part: Part) -> list[Part]:
        """The words of a segment; numbers of tokens are none."""
        for key in INNER_WORDS:
            found = part.at(key)
            if found is None or not found.value:
                continue
            words = found.parts()
            if words and key != "words" and not all(_is_part(word) and _text_of(word) for word in words):
                continue
            if words is None:
                raise self._wrong(part, f"a list under {key!r}", found.value)
            for index, word in enumerate(words):
                if not (isinstance(word.value, str) or _is_part(word)):
                    problem = f"Expected objects under {key!r}, got {word.value!r:.60} at [{index}]. Correct it."
                    raise self._fault(part, problem)
                if _text_of(word) is None:
                    raise self._wrong(word, 'a word: a string, or an object with "word"', word.value)
            return words
        return []

    def _say_own_output(self, builder: SpeechBuilder, text: Part, words: Sequence[Part]) -> None:
        """Restored before: the marks are in the text only, and the times of words are called begins and ends."""
        at, _ = builder.say_line(*self._line(text, "text"))
        said = builder.said()
        for word in words:
            spelled = _needed(word).value
            at = max(at, said.find(spelled, at))
            times = (self._seconds(word.at(key), word, 1.0) for key in ("begins", "ends"))
            builder.time(at, at + len(spelled), *times)
            at += len(spelled)

    def _copy_parts(self, builder: SpeechBuilder, key: str, parts: list[Part], unit: float, start: int) -> None:
        """Another list of the same; its times count where those of segments are all there is."""
        texts = [_text_of(part) for part in parts]
        if any(text is None for text in texts):
            raise self._wrong(parts[texts.index(None)], 'a word: a string, or an object with "word"', key)
        layout: Layout = "word" if key in WORDS else "line"
        ranges = self._copy(builder, [(text, layout) for text in texts if text], key.split(".")[-1], start)
        if ranges and len(ranges) > len(builder.speech.spans):
            old, builder.speech.spans = builder.speech.spans, []
            for part, place in zip(parts, ranges, strict=True):
                self._time(builder, part, place, unit)
            builder.speech.spans = builder.speech.spans or old

    def _copy(
        self, builder: SpeechBuilder, texts: Sequence[tuple[Part, Layout]], key: str, start: int
    ) -> list[tuple[int, int]] | None:
        if not any(text.value.strip() for text, _ in texts) or builder.length == start:
            return None
        ranges = builder.repeat([self._line(text, layout) for text, layout in texts], start, builder.length)
        if ranges is None:
            self._warn(
                texts[0][0] if len(texts) == 1 else Part(None),
                f"the {key!r} does not spell the words; it gets no marks",
            )
        return ranges

    def _line(self, text: Part, layout: Layout) -> tuple[Chunk, list[Hidden]]:
        """A string as a chunk of speech, and what in it is not said."""
        start = self.length
        self.strings.append((text.way, text.value))
        self.length += len(text.value) + 1
        runs = Runs()
        runs.add(0, len(text.value), start, start + len(text.value))
        return Chunk(text.value, runs), find_hidden(text.value, layout, None if layout == "text" else self.are_named)

    def _turn(self, builder: SpeechBuilder, part: Part) -> None:
        """Another speaker, if a segment or word names one; text and subtitles made of it show the name in capitals."""
        speaker = next((found.value for found in map(part.at, SPEAKERS) if found is not None), None)
        if speaker is not None and isinstance(speaker, str | int | Real):
            self.read_kinds.add("speakers")
            builder.introduce(speaker, f"speaker {speaker}" if str(speaker).isdigit() else str(speaker))

    def _time(self, builder: SpeechBuilder, part: Part, place: tuple[int, int], unit: float) -> None:
        """Note when `text[start:end]` was said, in seconds; WhisperX has no times for numerals."""
        if isinstance(part.value, str):
            return
        for first, last, own_unit in TIMES:
            start, end = part.at(first), part.at(last)
            if start is None and end is None:
                continue
            self.read_kinds.add("times")
            begins, ends = (self._seconds(time, part, unit * own_unit) for time in (start, end))
            if begins is not None and ends is not None and ends < begins:
                self._warn(part, f"it ends ({ends}) before it begins ({begins}); its times are not used")
                begins = ends = None
            builder.time(*place, begins, ends)
            return
        pair = part.at("timestamp")
        if pair is not None and not isinstance(pair.value, Mapping):
            raise self._wrong(part, 'a "timestamp": [start, end]', pair.value)
        builder.time(*place, None, None)
        self._look_for_others(part)

    def _look_for_others(self, part: Part) -> None:
        """Keys that look like times or speakers, and are none that we know."""
        for key in part.value if isinstance(part.value, Mapping) else ():
            words = set(re.findall("[a-z]+", re.sub("([A-Z])", r"_\1", str(key)).lower()))
            for kind, looks in LOOK_LIKE.items():
                if words & looks and key not in KNOWN_KEYS:
                    self.missed[kind].add(repr(key))

    def _time_tokens(self, builder: SpeechBuilder, root: Part, start: int) -> None:
        """FunASR has a time in milliseconds for each token of its text: words between blanks, or Han characters."""
        listed = root.at("timestamp") or root.at("timestamps")
        pairs = listed.parts() if listed is not None else None
        if not pairs or not all(len(_listed(pair.value) or ()) == 2 for pair in pairs):
            self._look_for_others(root)
            return
        text = builder.said()[start:]
        for pattern in (r"\S+", r"[\u3400-\u9fff]|[^\W_\u3400-\u9fff]+(?:['’][^\W_]+)*"):
            tokens = [match.span() for match in re.finditer(pattern, text)]
            if len(tokens) == len(pairs):
                self.read_kinds.add("times")
                for (first, last), pair in zip(tokens, pairs, strict=True):
                    begins, ends = (self._seconds(pair.at(step), root, 0.001) for step in "01")
                    builder.time(start + first, start + last, begins, ends)
                return
        self._warn(root, f"the {len(pairs)} times are not one for each word; they are not used")

    def _seconds(self, time: Part | None, owner: Part, unit: float) -> float | None:
        """A number of any kind, or a time as text, in seconds; None where it is unknown."""
        value: Any = None if time is None else time.value
        value = value.item() if hasattr(value, "item") else value
        if value is None:
            return None
        if isinstance(value, str) and (clock := _CLOCK.fullmatch(value.strip())):
            hours, minutes, seconds, plain = clock.groups()
            return (
                float(plain) * unit
                if plain
                else int(hours or 0) * 3600 + int(minutes) * 60 + float(seconds.replace(",", "."))
            )
        if not isinstance(value, Real | Decimal) or isinstance(value, bool):
            raise self._wrong(owner, "times as numbers of seconds", value)
        number = float(value)
        if not math.isfinite(number):  # WhisperX writes NaN where it could not align
            return None
        return value if unit == 1 and isinstance(value, int | float) else round(number * unit, 6)

    def _warn(self, part: Part, problem: str) -> None:
        self.warnings.append(str(self._fault(part, problem)))

    def _fault(self, part: Part, problem: str) -> ValueError:
        """The error that names the place of a value."""
        place = str(Part(None, (*self.top, *part.way)))
        return ValueError(f"{place}: {problem}" if place else problem)

    def _wrong(self, part: Part, expected: str, got: Any) -> ValueError:
        return self._fault(part, f"Expected {expected}, got {got!r:.60}. Is the format right?")


def _texts(value: Part) -> list[Part]:
    """The texts of a transcript."""
    return [text for key in TEXTS if (text := value.text(key)) is not None]


def _text_of(part: Part) -> Part | None:
    """The text of a segment or word."""
    if isinstance(part.value, str):
        return part
    return next((text for key in PART_TEXTS if (text := part.text(key)) is not None), None)


def _needed(part: Part) -> Part:
    text = _text_of(part)
    assert text is not None  # `_inner_words` has looked
    return text


def _is_part(part: Part) -> bool:
    """Whether it is a dictionary, or an object of which something was said."""
    return isinstance(part.value, Mapping) or any(has(part.value, name) for name in ATTRIBUTES)


def _is_timed(part: Part) -> bool:
    """Whether a segment or word has a start, be it None."""
    if has(part.value, "start"):
        return True
    return _is_part(part) and any(_is_moment(part.at(first)) for first, _, _ in TIMES)


def _is_moment(part: Part | None) -> bool:
    value = None if part is None else part.value
    return isinstance(value, Real | Decimal | str) or hasattr(value, "item")


def _inner(value: Any, step: str | int) -> Any:
    """What stands under a key, an attribute or a number; None where there is nothing."""
    if isinstance(value, str | bytes) or value is None:
        return None
    if isinstance(step, int):
        values = _listed(value)
        return values[step] if values is not None and step < len(values) else None
    if isinstance(value, Mapping):
        return value.get(step)
    found = getattr(value, step, None)
    return None if callable(found) else found


def _listed(value: Any) -> list[Any] | tuple[Any, ...] | None:
    """The values of a list, a tuple or an array."""
    if isinstance(value, list) or type(value) is tuple:
        return value
    if hasattr(value, "tolist") and not isinstance(value, str | bytes):
        values = value.tolist()
        return values if isinstance(values, list) else None
    return None


def _rebuilt(value: Any, tree: Mapping[str | int, Any]) -> Any:
    """The value again, with the strings of the tree, which has its shape.

    A dictionary comes back as a new one. An object comes back as one of its class, or as itself where nothing changed.
    """
    if isinstance(tree, str):
        return tree
    if isinstance(value, Mapping):
        return {key: _rebuilt(inner, tree.get(key, {})) for key, inner in value.items()}
    if (values := _listed(value)) is not None and (tree or isinstance(value, list | tuple)):
        inner = [_rebuilt(one, tree.get(n, {})) for n, one in enumerate(values)]
        return tuple(inner) if isinstance(value, tuple) else inner
    return _rebuilt_object(value, tree) if tree else value


def _rebuilt_object(value: Any, tree: Mapping[str | int, Any]) -> Any:
    new = {str(name): _rebuilt(getattr(value, str(name)), branch) for name, branch in tree.items()}
    if hasattr(value, "_replace"):
        return value._replace(**new)
    fields = dataclasses.fields(value) if dataclasses.is_dataclass(value) else ()
    if new.keys() <= {one.name for one in fields if one.init}:
        return dataclasses.replace(value, **new)
    changed = copy.copy(value)
    for name, inner in sorted(new.items(), key=lambda item: isinstance(item[1], str)):  # texts may follow from lists
        with contextlib.suppress(AttributeError):  # perhaps it is computed from what was written already
            setattr(changed, name, inner)
        if getattr(changed, name) != inner:
            raise ValueError(
                f"Expected an object whose {name!r} can be written, got a {type(value).__name__}, which computes it. "
                "Pass the dictionary in it (`.to_dict()`, `.model_dump()`)."
            )
    return changed
