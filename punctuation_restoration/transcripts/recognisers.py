"""Takes what a speech recogniser gives, gives its speech with all copies of it, and writes edits back.

Whisper says everything three times: in `text`, in the segments, and in their words; all of them get the marks. The
text of each segment is read, its words tell when it was said, and all else is a copy. Values are dictionaries, objects,
lists and arrays of these, from a call or from a JSON file; `layouts.py` knows what their keys tell.
"""

import contextlib
import copy
import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..pipeline.edits import Edit
from ..pipeline.items import TimedSpan, as_list
from ..pipeline.unspoken import Layout, Names, find_hidden, find_names
from .layouts import (
    FIELDS,
    TEXTS,
    Part,
    PartList,
    Way,
    are_our_sentences,
    letters,
    looks_like_time,
    seconds,
)
from .speech import Line, Said, Span, Speech, SpeechBuilder

SLOWEST = (
    20  # seconds for a letter: whole numbers that would make speech slower count something smaller
)
UNITS = (1.0, 0.001, 1e-7)  # seconds, milliseconds, Azure's ticks
CHANNELS = ("channels", "transcripts")
# A word, or a Han character.
_TOKEN = re.compile(r"[\u3400-\u9fff]|[^\W_\u3400-\u9fff]+(?:['’-][^\W_]+)*")
NAMES = ("id", "audio_filepath", "name", "key")  # of a recording
SILENT = {"partial", "alternatives"}  # keys of entries in which nothing may be heard


@dataclass(frozen=True, slots=True)
class Recognised:
    """What a recogniser gave: one transcript."""

    given: Any
    strings: list[tuple[Way, str]]  # what is read of it: the way to each string, and the string
    speech: Speech  # in a source in which these strings stand one after another, each with a sign behind it
    warnings: list[str] = field(default_factory=list)

    def restored(self, edits: Sequence[Edit]) -> Any:
        """The same, new, with the edits in every copy of its speech; a ValueError where an object cannot be written."""
        changes = self.speech.source_edits(edits)
        tree: dict[str | int, Any] = {}  # the strings that change, at their ways
        begins, n = 0, 0
        for way, string in self.strings:
            parts, done = [], 0
            while n < len(changes) and changes[n][0] <= begins + len(string):
                start, end, written = changes[n]
                parts += [string[done : start - begins], written]
                done, n = end - begins, n + 1
            if parts:
                branch = tree
                for step in way[:-1]:
                    branch = branch.setdefault(step, {})
                branch[way[-1] if way else ""] = "".join([*parts, string[done:]])
            begins += len(string) + 1
        return tree.get("") or _rebuilt(self.given, tree)


def restored_value(
    found: list[Recognised] | Recognised,
    told: Iterator[tuple[Sequence[Edit], list[dict[str, Any]] | None]],
) -> Any:
    """A value again, restored; `told` has for each transcript its edits, and its sentences if it has times.

    A dictionary gets the sentences under "sentences", unless it has others there.
    """
    if isinstance(found, list):
        return [restored_value(one, told) for one in found]
    edits, sentences = next(told)
    value = found.restored(edits)
    if sentences is None or not isinstance(value, dict):
        return value
    return (
        {**value, "sentences": sentences}
        if are_our_sentences(value.get("sentences", []))
        else value
    )


def _rebuilt(value: Any, tree: Mapping[str | int, Any]) -> Any:
    """The value again, with the strings of the tree, which has its shape.

    A dictionary comes back as a new one. An object comes back as one of its class, or as itself where nothing changed.
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
    new = {str(name): _rebuilt(getattr(value, str(name)), branch) for name, branch in tree.items()}
    if hasattr(value, "_replace"):
        return value._replace(**new)
    fields = dataclasses.fields(value) if dataclasses.is_dataclass(value) else ()
    if new.keys() <= {one.name for one in fields if one.init}:
        return dataclasses.replace(value, **new)
    changed = copy.copy(value)
    # Lists before texts, which may be computed from them and then are right already.
    for name, inner in sorted(new.items(), key=lambda item: isinstance(item[1], str)):
        with contextlib.suppress(AttributeError):
            setattr(changed, name, inner)
        if getattr(changed, name) != inner:
            raise ValueError(
                f"Expected an object whose {name!r} can be written, got a {type(value).__name__}, which computes it. "
                "Pass the dictionary in it (`.to_dict()`, `.model_dump()`)."
            )
    return changed


def read_transcripts(
    value: Any, keys: Mapping[str, str] | None = None
) -> list[Recognised] | Recognised:
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
    if isinstance(value, Iterator):
        value = list(value)
    parts = None if _is_pair(value) else Part(value, (), keys).entries()
    if not parts or all(isinstance(part.value, str) for part in parts) or _are_parts(parts):
        return _read(value, (), keys)
    return [_read(part.value, part.way, keys) for part in parts]


def _are_parts(parts: Sequence[Part]) -> bool:
    """Whether these are segments or words of one transcript, or what Vosk prints after each pause."""
    for part in parts:
        members = part.members()
        text = part.text()
        is_segment = text is not None and text.way[:-1] == part.way and part.moments() is not None
        if is_segment or "word" in members or isinstance(members.get("result"), list):
            return True
    return False


def _is_pair(value: Any) -> bool:
    """Whether this is what faster-whisper's `transcribe` returns: its segments, and an object about the recording."""
    is_of_two = isinstance(value, tuple) and len(value) == 2
    return is_of_two and hasattr(value[1], "language") and not isinstance(value[0], str)


def _read(given: Any, way: Way, keys: Mapping[str, str]) -> Recognised:
    if _is_pair(given):
        given = (list(given[0]), given[1])
        part = Part(given[0], (*way, 0), keys)
    else:
        given = list(given) if isinstance(given, Iterator) else given
        part = Part(given, way, keys)
    return _Reader(part, len(way)).read(given)


def in_seconds(spans: Sequence[TimedSpan]) -> list[TimedSpan]:
    """Times in seconds: whole numbers by which speech would be far too slow are milliseconds, or ticks of 100 ns."""
    moments = [moment for span in spans for moment in span.time if moment is not None]
    pairs = [(end - start, time) for start, end, time in spans if None not in time]
    n_letters = sum(length for length, _ in pairs)
    lasts = sum(ends - begins for _, (begins, ends) in pairs)  # type: ignore[operator]
    slowest = SLOWEST * n_letters
    unit = next((unit for unit in UNITS if lasts * unit <= slowest), UNITS[-1])
    if unit == 1 or not all(float(moment).is_integer() for moment in moments):
        return list(spans)
    scaled = [
        [None if one is None else round(one * unit, 6) for one in span.time] for span in spans
    ]
    return [span._replace(time=tuple(time)) for span, time in zip(spans, scaled, strict=True)]


class _Reader:
    """Reads one transcript; collects its strings, and warnings, as it goes."""

    def __init__(self, part: Part, n_above: int) -> None:
        self.part = part
        self.n_above = n_above  # steps of its way that are no steps of the transcript's own
        names = map(part.members().get, NAMES) if isinstance(part.value, Mapping) else ()
        name = next((str(name) for name in names if isinstance(name, str | int)), None)
        self.builder = SpeechBuilder(name)
        self.speech = self.builder.speech
        self.strings: list[tuple[Way, str]] = []
        self.length = 0  # of all strings
        self.said: list[Said] = []
        self.names = Names()
        self.warnings: list[str] = []
        self.unknown: set[str] = set()  # keys that look like times, of what has none

    def read(self, given: Any) -> Recognised:
        parts = self.part.entries()
        if parts is None:
            self._read_part(self.part, "text")
        elif parts:
            self._read_list(PartList(parts))
        if self.unknown and not self.speech.spans:
            names = ", ".join(map(repr, sorted(self.unknown)))
            self._warn(self.part, f"{names} may tell times and are not read; name them in `keys`")
        self.speech.spans = in_seconds(self.speech.spans)
        return Recognised(given, self.strings, self.builder.build(), self.warnings)

    def _read_list(self, row: PartList) -> None:
        parts = row.parts
        texts = [text.value for _, text in row.told()]
        # Whisper's words have the blanks before them: ` 3`, `.5`, ` percent`.
        are_spaced = row.are_words and any(text[:1].isspace() for text in texts)
        if not row.are_words:
            self.names = find_names(texts, are_cues=True)
        # Google with speakers: the last entry has all words again.
        again = parts[-1].lists() if len(parts) > 1 and not parts[-1].text() else []
        before = PartList(parts[:-1], row.key)
        is_again = bool(again) and again[0].letters() == before.letters()
        n_said = len(self.said)
        for n, part in enumerate(before.parts if is_again else parts, start=1):
            if not part.members() and not (row.are_words and isinstance(part.value, str)):
                problem = f"Expected an object with a text, got {part.value!r:.60}."
                raise part.fault(f"{problem} Leave it out of the list.")
            if row.key in CHANNELS and len(parts) > 1:
                self.builder.introduce(f"channel {n}", f"channel {n}")
            self._read_part(part, row.layout, are_spaced and n > 1)
        if is_again:
            self._copy(again[0], self.said[n_said:])

    def _read_part(self, part: Part, layout: Layout, continues: bool = False) -> None:
        """A transcript, a segment or a word: what is said in it, and the copies of that."""
        n_said, n_spans = len(self.said), len(self.speech.spans)
        found = part.texts(TEXTS) if layout == "text" else filter(None, [part.text()])
        texts = [text for text in found if text.value.strip()]
        if len(texts) > 1:  # Azure's DisplayText has marks of its own
            texts = [text for text in texts if text.way[-1] != "DisplayText"]
        lists = [] if layout == "word" and texts else part.lists()
        if len(lists) > 1 or (lists and part.moments()):
            lists = [row for row in lists if not row.are_ours]  # new ones take their place
        if not texts and not lists:
            self._check_is_silent(part)
            return
        words = lists[0] if lists and lists[0].are_words else PartList([])
        if texts and (not lists or words.is_within(texts[0])):
            self._read_text(texts.pop(0), words, part, layout, continues)
            lists = lists[1:]
        else:
            row = lists.pop(0)
            if row.parts[0].speaker() is None:
                self._introduce(part)
            self._read_list(row)
        originals = self.said[n_said:]
        for row in lists:
            self._copy(row, originals)
        for text in texts:
            self._repeat([self._line(text, layout)], originals, text)
        if len(self.speech.spans) == n_spans and originals:
            place = originals[0].place[0], originals[-1].place[1]
            self._time(part, place, is_whole=layout == "text")

    def _read_text(
        self, text: Part, words: PartList, owner: Part, layout: Layout, continues: bool
    ) -> None:
        """A text and its words, which tell times, and speakers where they spell it and it shows none."""
        told = words.told()
        tells_speakers = bool(told) and told[0][0].speaker() is not None
        if tells_speakers:
            shown = find_hidden(text.value, "line", self.names)
            tells_speakers = words.letters() == letters(text.value)
            tells_speakers = tells_speakers and not any(one.begins_turn for one in shown)
        self._introduce(told[0][0] if tells_speakers else owner)
        line, is_word = self._line(text, layout), layout == "word"
        continues = continues and not text.value[:1].isspace()
        self.said.append(self.builder.say(line, is_word, continues))
        lines = [self._line(word, "word") for _, word in told]
        ranges = self._repeat(lines, self.said[-1:], told[0][0] if told else owner)
        for (word, _), place in zip(told, ranges or (), strict=False):
            if tells_speakers and place[0] < place[1]:
                self._introduce(word, place[0])
            self._time(word, place)

    def _copy(self, row: PartList, originals: list[Said]) -> None:
        """Another list of the same, and the lists in it; its times count where it has more of them."""
        told = row.told()
        ranges = self._repeat(
            [self._line(text, row.layout) for _, text in told], originals, row.parts[0]
        )
        if ranges and len(ranges) > len(self.speech.spans) and len(originals) == len(self.said):
            old, self.speech.spans = self.speech.spans, []
            for (part, _), place in zip(told, ranges, strict=True):
                self._time(part, place)
            self.speech.spans = self.speech.spans or old
        inner = [] if row.are_words else [one for part in row.parts for one in part.lists()[:1]]
        if inner:
            parts = [part for one in inner for part in one.parts]
            self._copy(PartList(parts, inner[0].key), originals)

    def _line(self, text: Part, layout: Layout) -> Line:
        """A text, and what in it is not said. A word with blanks in it is read like a line."""
        start, self.length = self.length, self.length + len(text.value) + 1
        self.strings.append((text.way[self.n_above :], text.value))
        layout = "line" if layout == "word" and " " in text.value.strip() else layout
        names = None if layout == "text" else self.names
        return Line.of(text.value, start, find_hidden(text.value, layout, names))

    def _repeat(self, lines: list[Line], originals: list[Said], first: Part) -> list[Span] | None:
        """The ranges of these copies in the text; None, with a warning, where they say something else."""
        if not any(line.text.strip() for line in lines) or not originals:
            return None
        ranges = self.builder.repeat(lines, originals)
        if ranges is None:
            self._warn(first, "it does not spell what is said elsewhere; it gets no marks")
        return ranges

    def _introduce(self, part: Part, at: int | None = None) -> None:
        """Note who says a part, which begins at this offset of the text, or else comes next."""
        speaker = part.speaker()
        if speaker is not None:
            name = f"speaker {speaker}" if str(speaker).isdigit() else str(speaker)
            self.builder.introduce(speaker, name, at)

    def _time(self, part: Part, place: Span, is_whole: bool = False) -> None:
        """Note when a part was said. WhisperX has no times for numerals; a whole recording's start tells nothing."""
        times = part.moments()
        if times is None or (is_whole and None in times):
            self._read_pairs(part)
            self.unknown |= {str(key) for key in part.members() if looks_like_time(key)}
            return
        begins, ends = times
        if ends is not None and ends < max(0, begins or 0):
            problem = f"it ends ({ends}) before it or the recording begins ({begins})"
            self._warn(part, f"{problem}; its times are not used")
            begins = ends = None
        self.builder.time(place, None if begins is None else max(0, begins), ends)

    def _read_pairs(self, part: Part) -> None:
        """FunASR has times in a list of their own, a pair for each word or Han character."""
        pairs = as_list(part.members().get("timestamp")) or ()
        places = [match.span() for said in self.said for match in _TOKEN.finditer(said.line.text)]
        if len(pairs) == len(places) and len(self.said) == 1 and all(map(as_list, pairs)):
            at = self.said[0].place[0]
            for (start, end), pair in zip(places, pairs, strict=True):
                self.builder.time((at + start, at + end), *map(seconds, pair))
        elif pairs and as_list(pairs[0]):
            self._warn(part, f"the {len(pairs)} times are not one for each word; they are not used")

    def _check_is_silent(self, part: Part) -> None:
        """Nothing was heard if a text or a list is empty, and in Vosk's partial results; all else is a ValueError."""
        if isinstance(part.value, str):
            return
        members = part.members()
        texts = (value for value in members.values() if isinstance(value, str))
        inside = (value for one in part.holders() for value in one.members().values())
        empty = (value for value in inside if value is None or isinstance(value, str | list))
        if members and not any(" " in text.strip() for text in texts):
            is_empty = any(not value or value == [{}] or str(value).isspace() for value in empty)
            if is_empty or members.keys() & SILENT or part.moments() is not None:
                return
        if not members:
            got, what_to_do = f"{part.value!r:.60}", "Pass its text, or leave it out"
        else:
            seen = [f"{key}" for key in members]
            for key, value in members.items():
                first = (part.inner(key, value).entries() or [part])[0]
                seen += [f"{key}.{inner}" for inner in first.members() if first is not part]
            got = f"the keys {', '.join(seen[:12])}"
            what_to_do = "Name the text's: `keys={'text': NAME}`, or --keys text=NAME"
            if not isinstance(part.value, Mapping):
                what_to_do += "; or pass the dictionary in it (`.model_dump()`, `.to_dict()`)"
        raise part.fault(
            f"Expected a recogniser's output (a text, words, segments), got {got}. {what_to_do}."
        )

    def _warn(self, part: Part, problem: str) -> None:
        self.warnings.append(str(part.fault(problem)))
