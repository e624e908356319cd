"""What a value says, by the names of its keys: a text, when it was said, by whom, and lists of its parts.

    {"text": "hello you", "segments": [{"text": "hello you", "start": 0.0, "end": 1.0, "speaker": "A"}]}
      a text               a list        a text               times                     who speaks

A part is a transcript, a segment or a word. `start`, `startTime`, `begin_time` and `from` are names of one thing; what
names cannot tell, a caller says in `keys`. Single programs are named only where their shape is special.
"""

import dataclasses
import functools
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from numbers import Real
from typing import Any

from ..pipeline.unspoken import Layout
from .speech import Time

MOST_SECONDS = 1e15  # more is a mistake, and cannot be counted in milliseconds
FIELDS = ("text", "start", "end", "speaker")  # what `keys` may name
# Names of texts, in small letters and without signs; the first that is there is read.
TEXTS = (
    "predtext",  # NeMo's manifests, whose "text" is the reference
    "punctuatedword", "word",
    "lexical",  # Azure's text without marks
    "text", "segment", "sentence", "transcript", "transcription", "fulltranscript", "value",
    "content", "utf8", "finalsentence", "body",
)  # fmt: skip
WORD_LISTS = ("word", "token", "element", "segs", "chunks", "items")
READINGS = ("alternatives", "nbest")  # of the same words: the first one is read
STARTS = {"start", "begin", "begins", "from"}
ENDS = {"end", "ends", "stop", "to"}
LENGTHS = {"duration", "dur"}
BARE = {"offset", "offsets", "ts", "time", "timestamp", "timestamps"}
UNITS = {"ms": 0.001, "millis": 0.001, "milliseconds": 0.001, "ticks": 1e-7}
BESIDE_TIMES = {*BARE, *UNITS, "t", "d", "in", "at", "s", "sec", "seconds"}
ROLES = (("start", STARTS), ("end", ENDS), ("length", LENGTHS), ("bare", {""}))
# They count frames (NeMo), or from the start of their segment (YouTube, Tencent).
OTHER_TIMES = {"start_offset", "end_offset", "tOffsetMs", "OffsetStartMs", "OffsetEndMs"}
SPEAKERS = {"speaker", "spk", "talker", "participant"}
BESIDE_SPEAKERS = {"label", "id", "tag", "name"}
DEEPEST = 5  # dictionaries in dictionaries in which a text is looked for
LOOKED_AT = 20  # entries of a list that show whether it says something
COMPLETE = 0.9  # of the letters of the longest list
_NAME = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_CLOCK = re.compile(r"(?:(?:(\d+):)?(\d+):)?(\d+(?:[.,]\d+)?)[sS]?")  # 1:02:03.5, 0.5s
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_DURATION = re.compile(r"PT(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:[.,]\d+)?)S)?")  # ISO 8601
Way = tuple[str | int, ...]  # keys, attributes and numbers that lead to a value


@functools.lru_cache(maxsize=4096)
def plain(key: Any) -> str:
    """A key in small letters, without signs."""
    return "".join(filter(str.isalnum, str(key).lower()))


@functools.lru_cache(maxsize=4096)
def _names(key: Any) -> frozenset[str]:
    """The words of a key: "start" and "time" of `startTime`."""
    return frozenset(map(str.lower, _NAME.findall(str(key))))


@functools.lru_cache(maxsize=4096)
def time_role(key: Any) -> tuple[str, float] | None:
    """What a key tells of a time, "start", "end", "length" or "bare", and its unit in seconds; None for other keys."""
    names = _names(key)
    core = names - BESIDE_TIMES or ({""} if names & BARE else set())
    role = next((role for role, known in ROLES if len(core) == 1 and core <= known), None)
    if role is None or key in OTHER_TIMES:
        return None
    return role, next((UNITS[name] for name in names if name in UNITS), 1.0)


@functools.lru_cache(maxsize=4096)
def looks_like_time(key: Any) -> bool:
    """Whether a key that is not known may yet tell a time."""
    is_known = key in OTHER_TIMES or time_role(key) is not None
    return not is_known and bool(_names(key) & (STARTS | ENDS | BARE))


@functools.lru_cache(maxsize=4096)
def tells_speaker(key: Any) -> bool:
    """Whether a key tells who speaks."""
    names = _names(key)
    return bool(names & SPEAKERS) and names <= SPEAKERS | BESIDE_SPEAKERS


def are_our_sentences(rows: Any) -> bool:
    """Whether a file's "sentences" are what was written here before, so that new ones take their place."""
    return all(
        isinstance(row, Mapping) and {"text"} <= row.keys() <= {"text", "start", "end", "speaker"}
        for row in (rows if isinstance(rows, list) else [rows])
    )


@dataclass(frozen=True, slots=True)
class PartList:
    """Parts that follow one another, and the key that holds them."""

    parts: "list[Part]"
    key: str = ""

    @property
    def are_words(self) -> bool:
        """Whether these are single words, by the name of the list or of their texts."""
        is_named = any(name in plain(self.key) for name in WORD_LISTS)
        first = self.parts[0] if self.parts else None
        return is_named or (
            first is not None and (isinstance(first.value, str) or "word" in first.members())
        )

    @property
    def layout(self) -> Layout:
        return "word" if self.are_words else "line"

    def told(self) -> "list[tuple[Part, Part]]":
        """The parts that have a text, with it."""
        return [(part, text) for part in self.parts if (text := part.text())]

    def letters(self) -> str:
        """What is said in it, without blanks and signs."""
        said: list[str] = []
        for part in self.parts:
            text = part.text()
            said += [letters(text.value)] if text else [one.letters() for one in part.lists()[:1]]
        return "".join(said)

    def is_within(self, text: "Part") -> bool:
        """Whether these are words, and a text says no less than they do."""
        return self.are_words and len(self.letters()) <= len(letters(text.value))

    @property
    def are_ours(self) -> bool:
        """Whether these are sentences that were written here."""
        return self.key == "sentences" and are_our_sentences([part.value for part in self.parts])

    def rank(self, n_most: int) -> tuple[bool, bool, bool, int]:
        """The list to read is the smallest: complete, with times, with lists in it, of few parts."""
        first = next((part for part in self.parts if part.says()), self.parts[0])
        inner = first.lists()
        timed = [first, *(part for one in inner for part in one.parts[:2])]
        return (
            len(self.letters()) < COMPLETE * n_most,
            all(part.moments() is None for part in timed),
            not inner,
            len(self.parts),
        )


@dataclass(frozen=True, slots=True)
class Part:
    """A transcript, a segment or a word, or what holds it; and the way to it."""

    value: Any
    way: Way = ()
    keys: Mapping[str, str] = field(default_factory=dict)  # one of FIELDS -> the path to it

    def inner(self, step: str | int, value: Any) -> "Part":
        return Part(value, (*self.way, step), self.keys)

    def entries(self) -> "list[Part] | None":
        """The entries of a list; None for another value, and for an array of numbers."""
        kind = getattr(getattr(self.value, "dtype", None), "kind", "O")
        values = as_list(self.value) if kind in "OU" else None
        return values if values is None else [self.inner(n, one) for n, one in enumerate(values)]

    def members(self) -> Mapping[Any, Any]:
        """What a dictionary or an object holds, by name."""
        value = self.value
        if isinstance(value, Mapping):
            return value
        if hasattr(value, "_asdict"):
            members: dict[str, Any] = value._asdict()
            return members
        if dataclasses.is_dataclass(value):
            names = [one.name for one in dataclasses.fields(value)]
        else:
            names = [name for name in getattr(value, "__dict__", ()) if not name.startswith("_")]
        if isinstance(getattr(type(value), "text", None), property):  # computed, perhaps from words
            names.append("text")
        return {name: getattr(value, name, None) for name in names}

    def at(self, path: str) -> "Part | None":
        """What stands under a path of keys, as `participant.name`; None where there is nothing."""
        part = self
        for step in path.split("."):
            value = part.members().get(step)
            if value is None:
                return None
            part = part.inner(step, value)
        return part

    def holders(self, depth: int = 0) -> "Iterator[Part]":
        """It itself, and the dictionaries and objects in it; of several readings the first."""
        yield self
        for key, value in self.members().items() if depth < DEEPEST else ():
            inner = self.inner(key, value)
            if plain(key) in READINGS and as_list(value):
                yield from inner.inner(0, value[0]).holders(depth + 1)
            elif isinstance(value, Mapping) or hasattr(value, "__dict__"):
                yield from inner.holders(depth + 1)

    def texts(self) -> "Iterator[Part]":
        """The strings under these names, in their order; those of what it holds come after its own."""
        if isinstance(self.value, str):
            yield self
            return
        for holder in self.holders():
            told = holder.at(self.keys["text"]) if "text" in self.keys else None
            members = holder.members()
            own = {plain(key): key for key in members}
            by_name = (holder.inner(own[name], members[own[name]]) for name in TEXTS if name in own)
            yield from (one for one in (told, *by_name) if one and isinstance(one.value, str))

    def text(self) -> "Part | None":
        """The text of a segment or a word; None where nothing is said."""
        return next((text for text in self.texts() if text.value.strip()), None)

    def says(self) -> bool:
        """Whether it is no bare string, and has a text or lists of parts that have one."""
        if isinstance(self.value, str):
            return False
        return next(self.texts(), None) is not None or bool(self.lists())

    def lists(self) -> list[PartList]:
        """The lists of its parts, that to be read first; the words of our own results are none."""
        lists: list[PartList] = []
        for holder in self.holders():
            for key, value in holder.members().items():
                parts = None if plain(key) in READINGS else holder.inner(key, value).entries()
                shown = [
                    part for part in (parts or [])[:LOOKED_AT] if key == "words" or part.says()
                ]
                if parts and shown and "mark" not in shown[0].members():
                    lists.append(PartList(parts, str(key)))
        if len(lists) > 1:
            n_most = max(len(one.letters()) for one in lists)
            lists.sort(key=lambda one: one.rank(n_most))
        return lists

    def speaker(self) -> str | int | float | None:
        """Who speaks, by name if there is one; None where nobody tells."""
        if path := self.keys.get("speaker"):
            told = self.at(path)
            values = [told.value] if told else []
        else:
            members = self.members()
            keys = sorted(filter(tells_speaker, members), key=lambda key: "name" not in _names(key))
            values = [members[key] for key in keys]
        for value in values:
            if isinstance(value, Mapping):
                value = next((value[key] for key in ("name", "label", "id") if key in value), None)
            if isinstance(value, str | int | float) and str(value).strip():
                return value
        return None

    def moments(self) -> tuple[Time, Time] | None:
        """When it was said: start and end, None where one is not known; None where it has no times.

        They are seconds where the names of keys, or times as text, tell so; else of the unit that `in_seconds` finds.
        """
        told: dict[str, tuple[Any, float]] = {}
        for key, value in self.members().items():
            role = time_role(key)
            is_date = isinstance(value, str) and _DATE.match(value)
            if role and value is not None and not is_date:
                told.setdefault(role[0], (value, role[1]))
        for name in ("start", "end"):
            if found := self.at(self.keys[name]) if name in self.keys else None:
                told[name] = found.value, 1.0
        bare, unit = told.get("bare", (None, 1.0))
        if "start" not in told and bare is not None:
            pair = as_list(bare)
            if isinstance(bare, Mapping):
                return Part(bare, self.way).moments()
            if pair is not None:
                is_pair = len(pair) == 2 and as_list(pair[0]) is None
                told = {"start": (pair[0], unit), "end": (pair[1], unit)} if is_pair else {}
            elif told.keys() & {"end", "length"} or (
                isinstance(bare, str) and not bare.strip().isdecimal()
            ):
                told["start"] = bare, unit  # a number alone may count characters
        begins, ends, length = (self._seconds(*told.get(n, (None, 1.0))) for n in _MOMENTS)
        if ends is None and begins is not None and length is not None:
            ends = round(begins + length, 6)
        return None if begins is None and ends is None else (begins, ends)

    def _seconds(self, value: Any, unit: float) -> Time:
        try:
            return seconds(value, unit)
        except ValueError as error:
            raise self.fault(str(error)) from error

    def fault(self, problem: str) -> ValueError:
        """The error that names the place of a value."""
        steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.way)
        place = "".join(steps).lstrip(".")
        return ValueError(f"{place}: {problem}" if place else problem)


_MOMENTS = ("start", "end", "length")


def letters(text: str) -> str:
    """The letters and digits of a text, small."""
    return "".join(filter(str.isalnum, text.lower()))


def as_list(values: Any) -> Any:
    """A list or a tuple as it is, an array as a list; None for another value."""
    if isinstance(values, list) or type(values) is tuple:
        return values
    inner = values.tolist() if hasattr(values, "tolist") else None
    return inner if isinstance(inner, list) else None


def seconds(value: Any, unit: float = 1.0) -> Time:
    """A number of any kind, or a time as text, in seconds; None where it is unknown, a ValueError for all else."""
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, str):
        value = value.strip()
        found = _DURATION.fullmatch(value) or _CLOCK.fullmatch(value)
        if value.isdecimal():
            value = int(value)
        elif found:
            parts = [float((part or "0").replace(",", ".")) for part in found.groups()]
            is_clock = found.re is _DURATION or found[2]
            return round(parts[0] * 3600 + parts[1] * 60 + parts[2] * (1 if is_clock else unit), 6)
    if value is None:
        return None
    if not isinstance(value, Real | Decimal) or isinstance(value, bool):
        raise ValueError(
            f"Expected times as numbers of seconds, got {value!r:.60}. Is the format right?"
        )
    number: Any = value
    if number != number or abs(number) == math.inf:
        return None
    if abs(number) > MOST_SECONDS:
        raise ValueError(f"Expected times below {MOST_SECONDS:.0e} seconds, got a greater number.")
    is_whole = isinstance(number, int) and unit == 1
    return number if is_whole else round(float(number) * unit, 6)
