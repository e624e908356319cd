"""Takes what a speech recogniser gives, gives its speech with all copies of it, and writes edits back.

Whisper says everything three times: in `text`, in the segments, and in their words; all of them get the marks. The
text of each segment is read, its words tell when it was said, and all else is a copy. Values are dictionaries, objects,
lists and arrays of these, from a call or from a JSON file; `layouts.py` knows what their keys tell.
"""

import contextlib
import copy
import dataclasses
import itertools
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

from ..pipeline.edits import Edit
from ..pipeline.unspoken import Layout, Names, find_hidden, find_names
from .layouts import (
    FIELDS,
    Part,
    PartList,
    Way,
    are_our_sentences,
    as_list,
    letters,
    looks_like_time,
    seconds,
)
from .speech import Line, Said, Span, Speech, SpeechBuilder, TimedSpan, spliced

# Seconds for a letter: whole numbers that would make speech slower count something smaller.
SLOWEST = 20
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
        tree: dict[str | int, Any] = {}  # the strings that change, at their ways
        begins = [0, *itertools.accumulate(len(string) + 1 for _, string in self.strings)]
        changes = self.speech.source_edits(edits)
        for n, own in itertools.groupby(changes, lambda one: bisect_right(begins, one[0]) - 1):
            way, string = self.strings[n]
            branch = tree
            for step in way[:-1]:
                branch = branch.setdefault(step, {})
            branch[way[-1] if way else ""] = spliced(string, own, begins[n])
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
    is_told = sentences is not None and isinstance(value, dict)
    if is_told and are_our_sentences(value.get("sentences", [])):
        value["sentences"] = sentences
    return value


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
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
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


def in_seconds(spans: list[TimedSpan]) -> list[TimedSpan]:
    """Times in seconds: whole numbers by which speech would be far too slow are milliseconds, or ticks of 100 ns."""
    timed = [span for span in spans if None not in span.time]
    lasts = sum((ends or 0) - (begins or 0) for _, _, (begins, ends) in timed)
    slowest = SLOWEST * sum(span.end - span.start for span in timed)
    unit = next((unit for unit in UNITS if lasts * unit <= slowest), UNITS[-1])
    moments = itertools.chain.from_iterable(span.time for span in spans)
    if unit == 1 or not all(float(moment or 0).is_integer() for moment in moments):
        return spans
    return [
        span._replace(time=(begins and round(begins * unit, 6), ends and round(ends * unit, 6)))
        for span in spans
        for begins, ends in [span.time]
    ]


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
        n_said = len(self.said)
        again = self._all_again(row)
        for n, part in enumerate(parts[:-1] if again else parts, start=1):
            if not part.members() and not (row.are_words and isinstance(part.value, str)):
                raise part.fault(
                    f"Expected an object with a text, got {part.value!r:.60}. Leave it out of the list."
                )
            if row.key in CHANNELS and len(parts) > 1:
                self.builder.introduce(f"channel {n}", f"channel {n}")
            self._read_part(part, row.layout, are_spaced and n > 1)
        if again and self.said[n_said:]:
            self._copy(again, self.said[n_said:], tells_speakers=True)

    @staticmethod
    def _all_again(row: PartList) -> PartList | None:
        """All words, if the last part repeats them, as Google's does where it tells speakers."""
        *before, last = row.parts
        lists = last.lists() if before and not last.text() else []
        is_all = bool(lists) and lists[0].letters() == PartList(before).letters()
        return lists[0] if is_all else None

    def _read_part(self, part: Part, layout: Layout, continues: bool = False) -> None:
        """A transcript, a segment or a word: what is said in it, and the copies of that."""
        n_said, n_spans = len(self.said), len(self.speech.spans)
        found = part.texts() if layout == "text" else filter(None, [part.text()])
        texts = [text for text in found if text.value.strip()]
        lists = [] if layout == "word" and texts else part.lists()
        if len(lists) > 1 or (lists and part.moments()):
            lists = [row for row in lists if not row.are_ours]  # new ones take their place
        if not texts and not lists:
            self._check_is_silent(part)
            return
        first = lists[0] if lists else PartList([])
        tells_speakers = False
        if texts and (not lists or first.is_within(texts[0])):
            text = texts.pop(0)
            line = self._line(text, layout)
            if lists and first.parts[0].speaker() is not None:
                shows_turns = any(one.begins_turn for one in line.hidden)
                tells_speakers = not shows_turns and first.letters() == letters(text.value)
            self._introduce(first.parts[0] if tells_speakers else part)
            continues = continues and not text.value[:1].isspace()
            self.said.append(self.builder.say(line, layout == "word", continues))
            if lists:
                self._copy(first, self.said[-1:], tells_speakers)
        else:
            if first.parts[0].speaker() is None:
                self._introduce(part)
            self._read_list(first)
        originals = self.said[n_said:]
        if not originals:
            return
        for row in lists[1:]:
            self._copy(row, originals)
        for text in texts:
            self._repeat([self._line(text, layout)], originals, text)
        if len(self.speech.spans) == n_spans:
            place = originals[0].span[0], originals[-1].span[1]
            self._time(part, place, is_whole=layout == "text")

    def _copy(self, row: PartList, originals: list[Said], tells_speakers: bool = False) -> None:
        """Another list of the same, and the lists in it; its times count where it has more of them."""
        told = row.told()
        lines = [self._line(text, row.layout) for _, text in told]
        ranges = self._repeat(lines, originals, row.parts[0])
        spans, self.speech.spans = self.speech.spans, []
        for (part, _), place in zip(told, ranges or (), strict=False):
            if tells_speakers and place[0] < place[1]:
                self._introduce(part, place[0])
            self._time(part, place)
        n_before = bisect_left(spans, originals[0].span[0], key=attrgetter("start"))
        if len(self.speech.spans) > len(spans) - n_before:
            spans[n_before:] = self.speech.spans
        self.speech.spans = spans
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
        if not any(line.text.strip() for line in lines):
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
        pairs = as_list(part.members().get("timestamp")) or (None,)
        if not all(map(as_list, pairs)):
            return
        said = self.said[0]
        places = [
            (at + word.start() - start, at + word.end() - start)
            for start, end, at in said.parts
            for word in _TOKEN.finditer(said.line.text, start, end)
        ]
        if len(pairs) == len(places) and len(self.said) == 1:
            for place, pair in zip(places, pairs, strict=True):
                self.builder.time(place, *map(seconds, pair))
        else:
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
