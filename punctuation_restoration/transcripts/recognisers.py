"""Takes what a speech recogniser gives, gives its speech with all copies of it, and writes edits back.

Whisper says everything three times, in three layers; all of them get the marks:

    text  segments[*].text  segments[*].words[*].word

One layer is read, and tells the order. All others are copies of it, which may tell times and speakers more finely.
Values are dictionaries, objects, lists and arrays of these, from a call or from a JSON file; `layouts.py` knows what
their keys tell.
"""

import contextlib
import copy
import functools
import itertools
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Any

from ..pipeline.edits import Edit
from ..pipeline.items import Times, seconds
from ..pipeline.unspoken import Layout, Names, find_hidden, find_names
from .layouts import (
    CHANNEL,
    FIELDS,
    TEXTS,
    Keys,
    Members,
    are_our_sentences,
    as_list,
    is_interim,
    kinds_of,
    looks_like_time,
    members_of,
    plain,
    speaker_in,
    times_in,
    value_at,
)
from .speech import Line, Speech, SpeechBuilder, TimedSpan, letters, spliced

Speaker = str | int | float | None
Way = tuple[str | int, ...]  # keys, attributes and numbers that lead to a value
ANY = "*"  # in a layer, in the place of the numbers
WORD_LISTS = ("word", "token", "element", "segs", "chunks", "items")
READINGS = ("alternatives", "nbest", "hypotheses")  # of the same words: the first one is read
CHANNELS = ("channels", "transcripts")
NAMES = ("id", "audio_filepath", "name", "key")  # of a recording
NOTHING: tuple[Any, ...] = (None, "", [], [{}])
DEEPEST = 5  # dictionaries in one another in which a text is looked for
COMPLETE = 0.9  # of the letters of the longest layer
OURS = ("sentences", ANY, "text")
# Seconds for a letter: whole numbers that would make speech slower count something smaller.
SLOWEST = 20
UNITS = (1.0, 0.001, 1e-7)  # seconds, milliseconds, Azure's ticks
# A word, or a Han character.
_TOKEN = re.compile(r"[\u3400-\u9fff]|[^\W_\u3400-\u9fff]+(?:['’-][^\W_]+)*")


@dataclass(frozen=True, slots=True)
class Recognised:
    """What a recogniser gave: one transcript."""

    value: Any
    strings: list[tuple[int, Way, str]]  # what is read of it: start in the source, way, string
    speech: Speech  # its source: these strings, each with a sign after it
    warnings: list[str]

    def restored(self, edits: Sequence[Edit]) -> Any:
        """The same, new, with the edits in every copy of its speech; a ValueError where an object cannot be written."""
        tree: dict[Any, Any] = {}  # the strings that change, at their ways
        changes = self.speech.source_edits(edits)
        for n, inside in itertools.groupby(
            changes, lambda one: bisect_right(self.strings, one[0], key=itemgetter(0))
        ):
            start, way, string = self.strings[n - 1]
            *above, last = ("", *way)
            branch = tree
            for step in above:
                branch = branch.setdefault(step, {})
            branch[last] = spliced(string, inside, start)
        return _rebuilt(self.value, tree.get("", {}))


Transcripts = list[Any] | Recognised  # one, or a list of these
# Of each transcript its edits, and its sentences as rows if it has times.
Told = Iterator[tuple[Sequence[Edit], Sequence[Members] | None]]


def each_of(recognised: Transcripts) -> list[Recognised]:
    """All that were recognised, in order."""
    if isinstance(recognised, list):
        return [one for row in recognised for one in each_of(row)]
    return [recognised]


def restored_value(recognised: Transcripts, told: Told) -> Any:
    """A value again, restored. A dictionary gets the sentences under "sentences", unless it has others there."""
    if isinstance(recognised, list):
        return [restored_value(one, told) for one in recognised]
    edits, sentences = next(told)
    value = recognised.restored(edits)
    is_told = sentences is not None and isinstance(value, dict)
    if is_told and are_our_sentences(value.get("sentences", [])):
        return {**value, "sentences": sentences}
    return value


def _rebuilt(value: Any, tree: Members) -> Any:
    """The value again, with the strings of the tree, which has its shape.

    Dictionaries and lists come back as new ones; an object as one of its class, or as itself where nothing changed.
    """
    if isinstance(tree, str):
        return tree
    if isinstance(value, Mapping):
        return {key: _rebuilt(inner, tree.get(key, {})) for key, inner in value.items()}
    values = as_list(value)
    if values is not None and (tree or isinstance(value, list | tuple)):
        inner = [_rebuilt(one, tree.get(n, {})) for n, one in enumerate(values)]
        return tuple(inner) if isinstance(value, tuple) else inner
    if not tree:
        return value
    new = {name: _rebuilt(getattr(value, name), branch) for name, branch in tree.items()}
    if hasattr(value, "_replace"):
        return value._replace(**new)
    changed = copy.copy(value)
    # Lists before texts, which may be computed from them and then are right already.
    for name, inner in sorted(new.items(), key=lambda item: isinstance(item[1], str)):
        with contextlib.suppress(AttributeError):
            object.__setattr__(changed, name, inner)  # of frozen dataclasses, too
        if getattr(changed, name) != inner:
            raise ValueError(
                f"Expected an object whose {name!r} can be written, got a {type(value).__name__}, which computes it. "
                "Pass the dictionary in it (`.to_dict()`, `.model_dump()`)."
            )
    return changed


def read_transcripts(value: Any, keys: Keys | None = None) -> Transcripts:
    """What a recogniser or a JSON file gives: one transcript, or a list of several; texts in a list are its words.

    Args:
        keys: the names of the value's own keys: `{"text": "content", "start": "from", "speaker": "participant.name"}`.

    Raises:
        ValueError: what has another shape, and where.
    """
    keys = keys or {}
    if not keys.keys() <= set(FIELDS):
        raise ValueError(
            f"Expected keys for {', '.join(FIELDS)}, got {sorted(keys)}. Correct them."
        )
    value = _held(value)
    entries = () if _is_pair(value) else as_list(value) or ()
    is_one = all(isinstance(entry, str) for entry in entries)
    parts = (Part(members_of(entry), (n,), keys) for n, entry in enumerate(entries))
    if is_one or any(part.is_one_of_several for part in parts):
        return _Reader(keys).read(value)
    transcripts = []
    for n, entry in enumerate(entries):
        try:
            one = _Reader(keys).read(_held(entry))
        except ValueError as error:
            raise ValueError(f"[{n}]: {error}") from error
        transcripts.append(replace(one, warnings=[f"[{n}]: {text}" for text in one.warnings]))
    return transcripts


def _is_pair(value: Any) -> bool:
    """Whether faster-whisper's `transcribe` gave it: segments, and what is known of the recording."""
    return type(value) is tuple and len(value) == 2 and hasattr(value[1], "language")


def _held(value: Any) -> Any:
    """What is generated, also in a pair, as a list."""
    if _is_pair(value):
        return _held(value[0]), value[1]
    return list(value) if isinstance(value, Iterator) else value


@dataclass(eq=False)
class Part:
    """A dictionary or an object: a transcript, a segment or a word, or what holds it."""

    members: Members
    way: Way
    keys: Keys
    above: "Part | None" = None  # what holds it
    is_whole: bool = False  # whether it is in no list

    def texts(self) -> dict[Way, str]:
        """The strings under names of texts, by the way to each; the first is to be read."""
        names = {plain(key): key for key in self.members}
        ways = [tuple(self.keys["text"].split("."))] if "text" in self.keys else []
        ways += [(names[name],) for name in TEXTS if name in names]
        values = {way: value_at(self.members, way) for way in ways}
        return {way: value for way, value in values.items() if isinstance(value, str)}

    @functools.cached_property
    def times(self) -> Times | None:
        """Its own times. A whole recording's start tells nothing."""
        try:
            times = times_in(self.members, self.keys)
        except ValueError as error:
            raise fault(self.way, str(error)) from error
        return None if times and self.is_whole and None in times else times

    @property
    def is_one_of_several(self) -> bool:
        """Whether it is a segment or a word of a transcript, or what Vosk prints after each pause."""
        is_timed = bool(self.texts()) and self.times is not None
        parts = self.members.get("result") or self.members.get("alternatives")
        return is_timed or "word" in self.members or isinstance(parts, list)

    @functools.cached_property
    def timed(self) -> "Part | None":
        """The smallest part with times in which this is."""
        above = self.above.timed if self.above else None
        return self if self.times else above

    @functools.cached_property
    def speaker(self) -> Speaker:
        """Who speaks in it, told by itself or by what holds it."""
        speaker = speaker_in(self.members, self.keys.get("speaker"))
        return self.above.speaker if speaker is None and self.above else speaker


@dataclass(slots=True)
class Text:
    """A string in which something may be said."""

    string: str
    way: Way
    part: Part
    line: Any = None  # once it was said


@dataclass
class Layer:
    """Texts whose ways are the same but for numbers."""

    pattern: Way  # `("segments", "*", "text")`
    texts: list[Text] = field(default_factory=list)

    @property
    def n_above(self) -> int:
        """Steps of the pattern up to the innermost list; -1 where there is none."""
        return max((n for n, step in enumerate(self.pattern) if step == ANY), default=-1)

    @functools.cached_property
    def layout(self) -> Layout:
        """Words are known by the name of the list or of the texts, or say so."""
        if self.n_above < 0:
            return "text"
        above = "".join(map(plain, self.pattern[: self.n_above][-1:]))
        last = plain(self.pattern[-1])
        is_word = last == "" or last.endswith("word") or any(name in above for name in WORD_LISTS)
        first = self.texts[0].part.above
        says_so = first is not None and first.members.get("type") == "word"  # Speechmatics
        return "word" if is_word or says_so else "line"

    @property
    def is_timed(self) -> bool:
        return any(text.part.timed for text in self.texts)

    @functools.cached_property
    def n_letters(self) -> int:
        return sum(len(letters(text.string)) for text in self.texts)


class _Reader:
    """Reads one transcript: collects its layers, says one of them, and finds it again in the others."""

    def __init__(self, keys: Keys) -> None:
        self.keys = keys
        self.layers: dict[Way, Layer] = {}
        self.second: set[Way] = set()  # layers of what parts say under another key, too
        self.without_text: list[tuple[Way, Part, Any]] = []  # entries of lists
        self.builder = SpeechBuilder()
        self.speech = self.builder.speech
        self.strings: list[tuple[int, Way, str]] = []
        self.length = 0  # of all strings
        self.said: list[Text] = []
        self.speakers: list[tuple[int, Speaker]] = []  # from which offsets they speak
        self.names = Names()
        self.warnings: dict[str, None] = {}

    def read(self, value: Any) -> Recognised:
        whole = Part({}, (), self.keys)
        for pattern, text in self._texts(value, (), (), whole):
            self.layers.setdefault(pattern, Layer(pattern)).texts.append(text)
        layers = self._to_read()
        said = value[0] if _is_pair(value) else value
        if not self.layers and as_list(said) != []:
            _check_is_silent(said, whole)
        elif layers:
            for pattern, part, entry in self.without_text:
                if layers[0].pattern[: len(pattern)] == pattern:
                    _check_is_silent(entry, part)
            self._say(layers[0])
            for layer in layers[1:]:
                self._find_again(layer, layers[0])
        speech = self.builder.build(self.speakers)
        speech.spans = speech.spans or self._times_of_words(speech.text)
        if self.said and not speech.spans:
            self._name_unknown()
        unit = unit_of(speech.spans)
        speech.spans = [one._replace(time=in_seconds(one.time, unit)) for one in speech.spans]
        speech.sounds = [one._replace(time=in_seconds(one.time, unit)) for one in speech.sounds]
        members = value if isinstance(value, Mapping) else {}
        names = map(members.get, NAMES)
        speech.name = next((str(name) for name in names if isinstance(name, str | int)), None)
        speech.goes_on = members.get("speech_final") is False  # Deepgram
        return Recognised(value, self.strings, speech, list(self.warnings))

    def _texts(
        self, value: Any, way: Way, pattern: Way, above: Part, n_deep: int = 0
    ) -> Iterator[tuple[Way, Text]]:
        """The texts in a value, each with the pattern of its layer."""
        key = plain(pattern[-1]) if pattern else "words"
        if isinstance(value, str | int | float | None):
            if isinstance(value, str) and not pattern:
                yield pattern, Text(value, way, above)
            return
        match as_list(value):
            case None:
                members = members_of(value)
                if n_deep > DEEPEST or {"word", "mark"} <= members.keys():
                    return  # our own results, whose words count characters
                part = Part(members, way, self.keys, above, is_whole=ANY not in pattern)
                if is_interim(members):
                    yield pattern, Text("", way, part)
                    return
                for n, (inner, string) in enumerate(part.texts().items()):
                    if n:
                        self.second.add((*pattern, *inner))
                    yield (*pattern, *inner), Text(string, (*way, *inner), part)
                for name, held in members.items():
                    if not plain(name).startswith("translat"):  # it was not said in these words
                        yield from self._texts(
                            held, (*way, name), (*pattern, name), part, n_deep + 1
                        )
            case [str(word), int() | float() as begins, int() | float() as ends]:  # Watson's words
                part = Part({"start": begins, "end": ends}, way, {}, above)
                yield (*pattern, "word"), Text(word, (*way, 0), part)
            case [int() | float(), *_]:
                pass  # numbers, such as Whisper's tokens
            case entries if key in READINGS or _is_pair(value):
                for first in entries[:1]:
                    yield from self._texts(first, (*way, 0), (*pattern, 0), above)
            case entries:
                are_words = key == "words" and all(isinstance(entry, str) for entry in entries)
                are_channels = key in CHANNELS and len(entries) > 1
                pattern = (*pattern, ANY)
                for n, entry in enumerate(entries):
                    members = {"speaker": f"{CHANNEL}{n + 1}"} if are_channels else {}
                    part = Part(members, (*way, n), {}, above)
                    found = [(pattern, Text(entry, part.way, part))]
                    if not are_words:
                        found = list(self._texts(entry, part.way, pattern, part))
                    yield from found
                    if not found:
                        self.without_text.append((pattern, part, entry))

    def _to_read(self) -> list[Layer]:
        """The layers in which something is said, first the one to be read: the smallest that is complete."""
        layers = [
            one for one in self.layers.values() if any(text.string.strip() for text in one.texts)
        ]
        # New sentences take the place of those that were written here, where times are told elsewhere.
        ours = self.layers.get(OURS)
        if ours and are_our_sentences([text.part.members for text in ours.texts]):
            others = [layer for layer in layers if layer is not ours]
            if any(
                layer.n_above >= 0 or layer.is_timed or "timestamp" in layer.texts[0].part.members
                for layer in others
            ):
                layers = others
        n_told = max((one.n_letters / (1 + (one.layout == "word")) for one in layers), default=0)

        def rank(layer: Layer) -> tuple[Any, ...]:
            return (
                layer.pattern in self.second,
                layer.n_letters < COMPLETE * n_told,
                layer.layout == "word",
                not layer.is_timed,
                layer.layout == "text",
                len(layer.texts),
            )

        return sorted(layers, key=rank)

    def _say(self, layer: Layer) -> None:
        texts = [text for text in layer.texts if text.string.strip()]
        is_word = layer.layout == "word"
        # Whisper's words have the blanks before them: ` 3`, `.5`, ` percent`.
        are_spaced = is_word and any(text.string[0].isspace() for text in texts)
        if layer.layout == "line":
            self.names = find_names((text.string for text in texts), are_cues=True)
        above: Way | None = None
        for text in texts:
            goes_on = are_spaced and text.way[: layer.n_above] == above and text.string[0] != " "
            above = text.way[: layer.n_above]
            timed = text.part.timed
            time = (timed and timed.times) or (None, None)
            text.line = self._line(text, layer.layout)
            self.builder.say(text.line, is_word, goes_on, time)
        self.said = texts
        lines = [text.line for text in texts]
        self._tell(texts, lines, lines)

    def _line(self, text: Text, layout: Layout) -> Line:
        """A text, and what in it is not said. A word with blanks in it is read like a line."""
        start = self.length
        self.length += len(text.string) + 1
        self.strings.append((start, text.way, text.string))
        layout = "line" if layout == "word" and " " in text.string.strip() else layout
        names = None if layout == "text" else self.names
        return Line.of(text.string, start, find_hidden(text.string, layout, names))

    def _find_again(self, layer: Layer, first: Layer) -> None:
        """Find the copies of what was said, each in the smallest part that holds both."""
        n_steps = 0
        for n, (step, other) in enumerate(zip(layer.pattern, first.pattern, strict=False), 1):
            if step != other:
                break
            n_steps = n if step == ANY else n_steps

        def place(text: Text) -> Way:
            return text.way[:n_steps]

        said = {way: list(texts) for way, texts in itertools.groupby(self.said, key=place)}
        for way, group in itertools.groupby(layer.texts, key=place):
            texts = list(group)
            originals = [text.line for text in said.get(way, self.said)]
            lines = [self._line(text, layer.layout) for text in texts]
            if self.builder.repeat(lines, originals):
                self._tell(texts, lines, originals)
            elif layer.pattern not in self.second and any(text.string.strip() for text in texts):
                self._warn(
                    texts[0].way[: layer.n_above + 1 or None],
                    "it does not spell what is said elsewhere; it gets no marks",
                )

    def _tell(self, texts: list[Text], lines: list[Line], originals: list[Line]) -> None:
        """Note times and speakers of texts, said in these lines, where they tell more than what was read."""
        told = [(text.part, line) for text, line in zip(texts, lines, strict=True) if line.said]
        said = [line for line in originals if line.said]
        if not said:
            return
        start, end = said[0].start, said[-1].span[1]
        _refine(self.speech.spans, self._spans(told), start, end)
        shows_turns = any(one.begins_turn for line in originals for one in line.hidden)
        names = {str(part.speaker) for part, _ in told}
        # One channel alone tells nothing.
        is_alone = len(names) == 1 and names.pop().startswith(CHANNEL)
        if is_alone or (shows_turns and lines is not originals):
            return
        named = [(line.start, part.speaker) for part, line in told if part.speaker is not None]
        changes = [next(group) for _, group in itertools.groupby(named, key=itemgetter(1))]
        _refine(self.speakers, changes, start, end)

    def _spans(self, told: list[tuple[Part, Line]]) -> list[TimedSpan]:
        """When these lines were said. WhisperX has no times for numerals."""
        timed = [(part.timed, line.span) for part, line in told]
        above = {part.above.timed for part, _ in timed if part and part.above}
        spans = []
        for part, group in itertools.groupby(timed, key=itemgetter(0)):
            places = [span for _, span in group]
            if part is None or part in above:
                continue
            begins, ends = part.times
            begins = None if begins is None else max(0.0, begins)
            if ends is not None and ends < (begins or 0):
                self._warn(
                    part.way,
                    f"it ends ({ends:.10g}) before it or the recording begins ({begins or 0:.10g}); its times are not "
                    "used",
                )
                begins = ends = None
            spans.append(TimedSpan(places[0][0], places[-1][1], (begins, ends)))
        return spans

    def _times_of_words(self, spoken: str) -> list[TimedSpan]:
        """FunASR has times in a list of their own, a pair for each word or Han character."""
        spans = []
        for text in self.said:
            times = as_list(text.part.members.get("timestamp")) or ()
            places = [word.span() for word in _TOKEN.finditer(spoken, *text.line.span)]
            for place, time in zip(places, times, strict=True) if len(places) == len(times) else ():
                begins, ends = map(seconds, as_list(time) or (time, None))
                spans.append(TimedSpan(*place, (begins, ends)))
        return spans

    def _name_unknown(self) -> None:
        parts = [text.part for layer in self.layers.values() for text in layer.texts]
        unknown = {
            str(key)
            for part in parts
            for key, value in part.members.items()
            if looks_like_time(key) or (key == "timestamp" and as_list(value))
        }
        if unknown:
            names = ", ".join(map(repr, sorted(unknown)))
            self._warn((), f"{names} may tell times and are not read; name them in `keys`")

    def _warn(self, way: Way, problem: str) -> None:
        self.warnings[str(fault(way, problem))] = None


def unit_of(spans: list[TimedSpan]) -> float:
    """The unit of these times in seconds: whole numbers that make speech far too slow are milliseconds, or ticks."""
    if any(moment and moment % 1 for span in spans for moment in span.time):
        return 1.0
    timed = [span for span in spans if None not in span.time]
    lasts = sum((ends or 0) - (begins or 0) for _, _, (begins, ends) in timed)
    slowest = SLOWEST * sum(span.end - span.start for span in timed)
    return next((unit for unit in UNITS if lasts * unit <= slowest), UNITS[-1])


def in_seconds(time: Times, unit: float) -> Times:
    """A start and an end that count this unit, in seconds."""
    begins, ends = (moment and round(moment * unit, 6) for moment in time)
    return begins, ends


def _check_is_silent(value: Any, part: Part) -> None:
    """Nothing was heard if a text or a list is empty, or of a message about the stream; all else is a ValueError."""
    members = members_of(value)
    inside = list(members.values())
    inside += [held for one in inside if isinstance(one, Mapping) for held in one.values()]
    says = any(isinstance(one, str) and " " in one.strip() for one in members.values())
    is_empty = any(one in NOTHING for one in inside) or "alternatives" in members
    if members and not says and (is_empty or kinds_of(members) or times_in(members, part.keys)):
        return
    got = f"{value!r:.60}"
    what_to_do = "Pass its text, or the dictionary in it (`.model_dump()`, `.to_dict()`)"
    if members:
        seen = list(members)
        for key, one in members.items():
            seen += [
                f"{key}.{name}" for first in (as_list(one) or [])[:1] for name in members_of(first)
            ]
        got = f"the keys {', '.join(map(str, seen[:12]))}"
        what_to_do = "Name the text's: `keys={'text': NAME}`, or --keys text=NAME"
    raise fault(
        part.way,
        f"Expected a recogniser's output (a text, words, segments), got {got}. {what_to_do}.",
    )


def _refine(rows: list[Any], finer: list[Any], start: int, end: int) -> None:
    """Put what tells more into the place of the rows that begin between these characters."""
    first, last = (bisect_left(rows, offset, key=itemgetter(0)) for offset in (start, end))
    if len(finer) > last - first:
        rows[first:last] = finer


def fault(way: Way, problem: str) -> ValueError:
    """The error that names the place of a value."""
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in way)
    place = "".join(steps).lstrip(".")
    return ValueError(f"{place}: {problem}" if place else problem)
