"""Takes what a speech recogniser gives, Python values, gives its speech with all copies of it, and writes edits back.

Whisper says everything three times: in `text`, in the segments, and in their words; all of them get the marks. The
richest list that has something in it is read, and the others are its copies. Values are dictionaries, objects with such
attributes, lists and arrays of these, from a call or from a JSON file; `layouts.py` knows their keys.
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
    AFTER_SEGMENT,
    ALIGNED,
    KNOWN_KEYS,
    LOOK_LIKE,
    NAMES,
    ROOTS,
    Listed,
    Part,
)
from .speech import Line, Said, Span, Speech, SpeechBuilder, lacks_signs

SLOWEST = 20  # seconds for a letter; whole numbers that would make speech slower are milliseconds
_TOKENS = (r"\S+", r"[\u3400-\u9fff]|[^\W_\u3400-\u9fff]+(?:['’][^\W_]+)*")
Way = tuple[str | int, ...]  # keys, attributes and numbers that lead to a value


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


def _rebuilt(value: Any, tree: Mapping[str | int, Any]) -> Any:
    """The value again, with the strings of the tree, which has its shape.

    A dictionary comes back as a new one. An object comes back as one of its class, or as itself where nothing changed.
    """
    if isinstance(tree, str):
        return tree
    if isinstance(value, Mapping):
        return {key: _rebuilt(inner, tree.get(key, {})) for key, inner in value.items()}
    if (values := as_list(value)) is not None and (tree or isinstance(value, list | tuple)):
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
    for name, inner in sorted(
        new.items(), key=lambda item: isinstance(item[1], str)
    ):  # texts may follow from lists
        with contextlib.suppress(
            AttributeError
        ):  # perhaps it is computed from what was written already
            setattr(changed, name, inner)
        if getattr(changed, name) != inner:
            raise ValueError(
                f"Expected an object whose {name!r} can be written, got a {type(value).__name__}, which computes it. "
                "Pass the dictionary in it (`.to_dict()`, `.model_dump()`)."
            )
    return changed


def opens_transcript(value: Any) -> bool:
    """Whether this is a word or a segment of a recogniser, so that a list which begins with it is one transcript."""
    part = Part(value)
    return part.at("word") is not None or (part.begins() and any(part.strings(["text"])))


def is_pair(value: Any) -> bool:
    """Whether this is what faster-whisper's `transcribe` returns: its segments, and an object about the recording."""
    is_of_two = isinstance(value, tuple) and len(value) == 2
    return (
        is_of_two
        and isinstance(value[0], list | tuple | Iterator)
        and hasattr(value[1], "language")
    )


def read_transcripts(value: Any) -> list[Recognised] | Recognised:
    """What a recogniser or a JSON file gives: one transcript, or a list of several; texts in a list are its words."""
    if isinstance(value, Iterator):
        value = list(value)
    values = None if is_pair(value) else as_list(value)
    if not values or all(isinstance(one, str) for one in values):
        return read_recognised(value)
    if any(map(opens_transcript, values)) or _are_vosk(values):
        return read_recognised(value)
    return [read_recognised(one, (n,)) for n, one in enumerate(values)]


def read_recognised(given: Any, way: Way = ()) -> Recognised:
    """Read one transcript: a dictionary or an object, a list of words or segments, or such a list and its info.

    A ValueError says what has another shape, and where; `way` is where the transcript stands among others.
    """
    if is_pair(given):
        given = (list(given[0]), given[1])
    elif isinstance(given, Iterator):
        given = list(given)
    elif not isinstance(given, str) and as_list(given) is None and not Part(given).says():
        raise Part(given, way).fault(
            f"Expected a recogniser's output (words, segments, a transcript), got {given!r:.60}. "
            "Pass of another object the dictionary in it that has them (`.model_dump()`, `.to_dict()`)."
        )
    return _Reader(given, way).read()


def _are_vosk(values: Sequence[Any]) -> bool:
    """Vosk prints one object after each pause. Bare {"text"} objects alone may as well be separate texts."""
    bare = {"text"}, {"partial"}
    kinds = [
        isinstance(value, Mapping) and (value.keys() in bare or "result" in value)
        for value in values
    ]
    return all(kinds) and any(isinstance(value.get("result"), list) for value in values)


def _are_spaced(words: Sequence[Part]) -> bool:
    """Whether words have the blanks before them, as Whisper's: ` 3`, `.5`, ` percent`."""
    return any(
        text.value[:1].isspace() and text.value.strip() for word in words if (text := word.said())
    )


def _joined(parts: Sequence[Part]) -> str:
    """What parts say, without blanks."""
    return "".join(said for part in parts if (text := part.said()) for said in text.value.split())


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.lower()))


class _Reader:
    """Reads one transcript; collects its strings, and warnings, as it goes."""

    def __init__(self, given: Any, way: Way) -> None:
        self.given, self.way = given, way
        self.heard = Part(given[0], (*way, 0)) if is_pair(given) else Part(given, way)
        names = map(given.get, NAMES) if isinstance(given, Mapping) else ()
        self.builder = SpeechBuilder(
            next((str(name) for name in names if isinstance(name, str | int)), None)
        )
        self.strings: list[tuple[Way, str]] = []
        self.length = 0  # of all strings
        self.said: list[Said] = []  # segments, or words where there are none
        self.names = Names()
        self.are_spaced = False  # whether a word that no blank begins continues the one before
        self.warnings: list[str] = []
        self.read_kinds: set[str] = set()  # of "times" and "speakers"
        self.other_keys: set[str] = set()  # of what has no times

    def read(self) -> Recognised:
        parts = self.heard.parts()
        if isinstance(self.heard.value, str):
            self._say(self.heard, "text")
        elif parts is None:
            self._read_transcript(self.heard)
        elif _are_vosk([part.value for part in parts]):
            for part in parts:
                self._read_transcript(part)
        else:
            are_words = any(isinstance(part.value, str) or part.at("word") for part in parts[:1])
            self._read_parts(parts, Listed("", "words" if are_words else "segments"))
        for kind, looks in LOOK_LIKE.items():
            words = {
                key: re.findall("[a-z]+", re.sub("([A-Z])", r"_\1", key).lower())
                for key in self.other_keys
            }
            keys = ", ".join(
                repr(key) for key in sorted(self.other_keys - KNOWN_KEYS) if looks & set(words[key])
            )
            if keys and kind not in self.read_kinds:
                self._warn(
                    self.heard,
                    f"the keys {keys} look like {kind} and are not known; they are not read",
                )
        self._check_pace()
        self._check_all_is_read()
        return Recognised(self.given, self.strings, self.builder.build(), self.warnings)

    def _read_transcript(self, value: Part) -> None:
        """A transcript, or those of the channels of a recording, one after the other."""
        found = (
            [one for one in value.all(path) if one.lists() or any(one.strings())] for path in ROOTS
        )
        roots = next(filter(None, found), [value])
        for n, root in enumerate(roots, start=1):
            if len(roots) > 1:
                self.builder.introduce(f"channel {n}", f"channel {n}")
            self._read_root(root, value)

    def _read_root(self, root: Part, value: Part) -> None:
        """What holds a transcript: its richest list, and everything else as its copies."""
        lists, texts = root.lists(), list(root.strings())
        if not lists and not texts:
            if value.at("partial") or value.heard_nothing():
                return
            got = (
                f"the keys {sorted(map(str, value.value))}"
                if isinstance(value.value, Mapping)
                else repr(value.value)
            )
            wanted = "a recogniser's output (segments, words, result, text), or a dictionary with 'text' or 'words'"
            raise value.fault(f"Expected {wanted}, got {got:.90}. Name the text's key 'text'.")
        self.said, begins_at = [], self.builder.length
        if lists:
            (row, parts), *others = lists
            # OpenAI: the text alone has marks.
            if (
                row.holds == "words"
                and all(map(Part.said, parts))
                and lacks_signs(_joined(parts), _joined(texts[:1]))
            ):
                self._read_text(texts.pop(0), parts, root, row.unit, "text")
            else:
                self._introduce(root if parts[0].speaker() is None else parts[0])
                self._read_parts(parts, row)
            for other, copies in others:
                self._read_copies(copies, other)
        else:
            self._read_text(texts.pop(0), [], root, 1.0, "text")
            self._note_keys(root)
        if not self.builder.speech.spans:
            self._read_aligned(root)
        if (
            not self.builder.speech.spans
            and root.begins()
            and None not in (root.moments(1.0) or [None])
        ):
            self._time(root, (begins_at, self.builder.length), 1.0)
        for text in texts:
            problem = f"the {text.way[-1]!r} does not spell the words; it gets"
            self._repeat([self._line(text, "text")], text, problem, self.said)

    def _read_parts(self, parts: Sequence[Part], row: Listed) -> None:
        if row.holds == "segments":
            shown = (text.value for part in parts if (text := part.said()))
            self.names = find_names(shown, are_cues=True)
        else:
            self.are_spaced = _are_spaced(parts)
        before = parts[:-1]
        # Google with speakers: the last entry has all words again.
        again = parts[-1].inner_words() if before and not parts[-1].said() else []
        if again and _letters(_joined(before)) == _letters(_joined(again)):
            parts = before
        for part in parts:
            if not part.says() and not (row.holds == "words" and isinstance(part.value, str)):
                raise part.fault(
                    f"Expected an object with a text, got {part.value!r:.60}. Leave it out of the list."
                )
            self._read_part(part, row)
        if parts is before:
            self._read_copies(again, row._replace(path="words", holds="words"))

    def _read_part(self, part: Part, row: Listed) -> None:
        text, words = part.said(), part.inner_words()
        n_timed, begins_at = len(self.builder.speech.spans), self.builder.length
        if text is None and not words:
            if part.is_silent():
                return
            raise part.fault(
                f"Expected a text, or a list of words, got {part.value!r:.60}. Is the format right?"
            )
        if text and not text.value.strip():
            text = None
        elif row.holds == "words" and not words:
            text, words = None, [part]
        if text:
            self._read_text(text, words, part, row.unit)
        else:
            if not words or words[0].speaker() is None:
                self._introduce(part)
            is_alone = words[:1] == [part]
            are_spaced = self.are_spaced if is_alone else _are_spaced(words)
            for n, word in enumerate(words):
                self._introduce(word)
                continues = (
                    are_spaced
                    and (n > 0 or is_alone)
                    and not (word.said() or word).value[:1].isspace()
                )
                self._time(word, self._say(word, "word", continues).place, row.unit, part)
        if len(self.builder.speech.spans) == n_timed:
            self._time(part, (begins_at, self.builder.length), row.unit)

    def _read_text(
        self, text: Part, words: list[Part], owner: Part, unit: float, layout: Layout = "line"
    ) -> None:
        """A text and its words, which tell times and speakers where they spell it."""
        are_told = self._tell_speakers(words, text)
        self._introduce(words[0] if are_told else owner)
        said = self._say(text, layout)
        lines = [self._line(word, "word") for word in words]
        ranges = self._repeat(
            lines, owner, "the words of a segment do not spell its text; they get", [said]
        )
        for word, place in zip(words, ranges or (), strict=False):
            if are_told and place[0] < place[1]:
                self._introduce(word, place[0])
            self._time(word, place, unit, owner)

    def _tell_speakers(self, words: Sequence[Part], text: Part) -> bool:
        """Whether the words of a segment say who speaks: they spell its text, which shows no names and no dashes."""
        if not words or words[0].speaker() is None:
            return False
        shown = find_hidden(text.value, "line", self.names)
        return _letters(_joined(words)) == _letters(text.value) and not any(
            one.begins_turn for one in shown
        )

    def _introduce(self, part: Part, at: int | None = None) -> None:
        """Note who says a part, which begins at this offset of the text, or else comes next."""
        if (speaker := part.speaker()) is not None:
            self.read_kinds.add("speakers")
            self.builder.introduce(
                speaker, f"speaker {speaker}" if str(speaker).isdigit() else str(speaker), at
            )

    def _read_copies(self, parts: list[Part], row: Listed) -> None:
        """Another list of the same; its times count where those of segments are all there is."""
        lines = [
            self._line(part, "line" if row.holds == "segments" else "word")
            for part in parts
            if part.said()
        ]
        problem = f"the {row.path.split('.')[-1]!r} does not spell the words; it gets"
        ranges = self._repeat(lines, Part(None, self.way), problem, self.said)
        if ranges and len(parts) == len(ranges) > len(self.builder.speech.spans):
            old, self.builder.speech.spans = self.builder.speech.spans, []
            for part, place in zip(parts, ranges, strict=True):
                self._time(part, place, row.unit)
            self.builder.speech.spans = self.builder.speech.spans or old

    def _read_aligned(self, root: Part) -> None:
        """Times in a list of their own, one for each token of the text."""
        said = " ".join(
            one.line.text[start:end] for one in self.said for start, end, _ in one.parts
        )
        for row in ALIGNED:
            found, given = root.at(row.times), row.tokens and root.at(row.tokens)
            times = found.parts() if found else None
            if not times or (row.tokens and not given):
                continue
            tokens = [[str(token.value) for token in given.parts() or []]] if given else []
            for texts in tokens or [re.findall(pattern, said) for pattern in _TOKENS]:
                lines = [Line(text.replace("▁", " ")) for text in texts]
                ranges = self.builder.repeat(lines, self.said) if len(lines) == len(times) else None
                for place, time in zip(ranges or (), times, strict=False):
                    pair = [time.at("0"), time.at("1")] if time.parts() else [time, None]
                    self.builder.time(place, *(root.seconds(moment, row.unit) for moment in pair))
                if ranges:
                    self.read_kinds.add("times")
                    return
            self._warn(root, f"the {len(times)} times are not one for each word; they are not used")

    def _say(self, part: Part, layout: Layout, continues: bool = False) -> Said:
        self.said.append(self.builder.say(self._line(part, layout), layout == "word", continues))
        return self.said[-1]

    def _line(self, part: Part, layout: Layout) -> Line:
        """The text of a part, and what in it is not said. A word with blanks in it is read like a line."""
        text = part.said() or part
        start, self.length = self.length, self.length + len(text.value) + 1
        self.strings.append((text.way[len(self.way) :], text.value))
        layout = "line" if layout == "word" and " " in text.value.strip() else layout
        return Line.of(
            text.value,
            start,
            find_hidden(text.value, layout, None if layout == "text" else self.names),
        )

    def _repeat(
        self, lines: list[Line], owner: Part, problem: str, originals: list[Said]
    ) -> list[Span] | None:
        """The ranges of these copies in the text."""
        if not any(line.text.strip() for line in lines) or not originals:
            return None
        ranges = self.builder.repeat(lines, originals)
        if ranges is None:
            self._warn(owner, f"{problem} no marks")
        return ranges

    def _time(self, part: Part, place: Span, unit: float, segment: Part | None = None) -> None:
        """Note when a part was said; WhisperX has no times for numerals."""
        if isinstance(part.value, str):
            return
        after = next((row for key, row in AFTER_SEGMENT.items() if segment and part.at(key)), None)
        own = segment.moments(unit) if segment and after else None
        if after is None or own is None or own[0] is None:
            times = part.moments(unit)
        else:
            begins, ends = (
                part.seconds(part.at(path) if path else None, after.unit) for path in after[:2]
            )
            times = own[0] + (begins or 0), None if ends is None else own[0] + ends
        if times is None:
            self._note_keys(part)
            return
        self.read_kinds.add("times")
        begins, ends = times
        if ends is not None and ends < max(0, begins or 0):
            self._warn(
                part,
                f"it ends ({ends}) before it or the recording begins ({begins}); its times are not used",
            )
            begins = ends = None
        self.builder.time(place, None if begins is None else max(0, begins), ends)

    def _note_keys(self, part: Part) -> None:
        self.other_keys |= set(map(str, part.value)) if isinstance(part.value, Mapping) else set()

    def _check_pace(self) -> None:
        """Whole numbers that would make speech far too slow are milliseconds."""
        spans: list[Any] = self.builder.speech.spans
        least = SLOWEST * sum(end - start for start, end, _ in spans)
        are_whole = all(isinstance(moment, int) for span in spans for moment in span.time)
        if are_whole and sum(ends - begins for *_, (begins, ends) in spans) > least:
            spans[:] = [
                TimedSpan(start, end, (begins / 1000, ends / 1000))
                for start, end, (begins, ends) in spans
            ]
            self._warn(
                self.heard,
                "its times are read as milliseconds: in seconds it would be spoken far too slowly",
            )

    def _check_all_is_read(self) -> None:
        """Name what looks like speech and was not read."""
        read = {way for way, _ in self.strings}
        ways = {text.way[len(self.way) :] for text in self.heard.texts()} - read
        left = {
            ".".join("*" if isinstance(step, int) else str(step) for step in way) for way in ways
        }
        if left:
            names = ", ".join(sorted(left))
            self._warn(
                Part(None, self.way), f"the texts under {names} are not read: they get no marks"
            )

    def _warn(self, part: Part, problem: str) -> None:
        self.warnings.append(str(part.fault(problem)))
