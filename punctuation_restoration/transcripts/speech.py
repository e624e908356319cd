"""What every reader gives: the speech in a file, or in what a recogniser gives, and where each stretch of it stands.

    source   1\\n00:00:01,000 --> 00:00:02,000\\n<i>hello there</i>\\n\\n2\\n...\\nhow are you\\n
    text     hello there how are you             <- one text for the whole transcript
    runs     [0:11 -> 35:46] [12:23 -> ...]      <- the blank between cues stands nowhere in the file

A file is never rebuilt from parts: marks are written into its own text at these places, so all else stays as it was.
This module knows nothing about formats or models.
"""

import itertools
import operator
import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import attrgetter, itemgetter
from typing import NamedTuple

from ..pipeline.conventions import CLOSERS, known_marks
from ..pipeline.edits import Edit, edited_between, follows
from ..pipeline.unspoken import Hidden, audible

Span = tuple[int, int]  # start and end, in characters
Time = float | None  # seconds; None where nobody tells

# Han, kana, and the wide marks written with them. (The inside of a set.)
UNSPACED_SIGNS = "\u3001-\u30ff\u3400-\u9fff\uf900-\ufaff\uff01-\uff60\U00020000-\U0003ffff"
_HANG_ON = CLOSERS | {
    *".,!?;:%…،؟।"
}  # words of a recogniser that begin so belong to the one before
_MARKS = known_marks(",.?!;:…、")
_UNPARTED = re.compile(f"[{UNSPACED_SIGNS}]{{2}}")  # by a blank


class TimedSpan(NamedTuple):
    """A stretch of the text, in characters, and when it was said: start and end in seconds."""

    start: int
    end: int
    time: tuple[Time, Time]


class Run(NamedTuple):
    """`text[start:end]` is `source[source_start:source_end]`.

    The two are equally long, or the run is one character that the file writes as several (`&amp;`), or the source is
    empty: the place for the marks of this stretch in a copy that lacks them.
    """

    start: int
    end: int
    source_start: int
    source_end: int

    @property
    def is_plain(self) -> bool:
        return self.end - self.start == self.source_end - self.source_start


class Aside(NamedTuple):
    """What a cue shows besides speech: `JOHN:`, a dash, `(laughs)`. It goes with the next word or with the last one."""

    offset: int
    text: str
    leads: bool


@dataclass(frozen=True, slots=True)
class Line:
    """A line, a segment, a word or a whole text as it is shown, where it stands in the file, and what is not said.

    The runs, in order, cover the text, and count from its first character. Without them, nothing is written into it.
    """

    text: str
    runs: Sequence[Run] = ()
    hidden: Sequence[Hidden] = ()

    @classmethod
    def of(cls, text: str, source_start: int, hidden: Sequence[Hidden] = ()) -> "Line":
        """A text that stands in the source as it is read."""
        return cls(text, [Run(0, len(text), source_start, source_start + len(text))], hidden)

    def cut(self, start: int, end: int, at: int = 0) -> Iterator[Run]:
        """The runs of `text[start:end]`, for a text in which this stretch begins at `at`."""
        shift = at - start
        for n in range(bisect_right(self.runs, start, key=itemgetter(1)), len(self.runs)):
            run = self.runs[n]
            if run.start >= end:
                return
            first, last = max(run.start, start), min(run.end, end)
            source_at = run.source_start + first - run.start if run.is_plain else run.source_start
            yield Run(
                first + shift,
                last + shift,
                source_at,
                source_at + last - first if run.is_plain else run.source_end,
            )

    def parted(self, at: int) -> tuple["Line", "Line"]:
        """The line up to a character that is not inside what is hidden, and the rest."""
        before = [one for one in self.hidden if one.end <= at]
        after = [one.moved(-at) for one in self.hidden[len(before) :]]
        n = len(self.text)
        return (
            Line(self.text[:at], list(self.cut(0, at)), before),
            Line(self.text[at:], list(self.cut(at, n)), after),
        )

    @property
    def spoken(self) -> str:
        """The text with blanks in the place of what is not said."""
        return audible(self.text, self.hidden)

    def letters(self, with_hidden: bool) -> list[int]:
        """Where its letters and signs stand: all of them, or those that are said."""
        return [
            n
            for n, sign in enumerate(self.text if with_hidden else self.spoken)
            if not sign.isspace()
        ]


class Said(NamedTuple):
    """A line in the text of the speech, and its parts between what is hidden: start and end, start in the text."""

    line: Line
    parts: list[tuple[int, int, int]]

    @property
    def span(self) -> Span:
        """From where to where in the text; empty where nothing is said."""
        if not self.parts:
            return 0, 0
        start, end, at = self.parts[-1]
        return self.parts[0][2], at + end - start

    def grown(self, rest: "Said") -> "Said":
        """The line with another one behind it."""
        n = len(self.line.text)
        hidden = [*self.line.hidden, *(one.moved(n) for one in rest.line.hidden)]
        parts = [(start + n, end + n, at) for start, end, at in rest.parts]
        return Said(Line(self.line.text + rest.line.text, (), hidden), [*self.parts, *parts])

    def letters(self, with_hidden: bool) -> list[tuple[str, int | None]]:
        """Its letters and signs, and where they stand in the text; what is hidden stands nowhere."""
        offsets: list[int | None] = [None] * len(self.line.text)
        for start, end, at in self.parts:
            offsets[start:end] = range(at, at + end - start)
        return [(self.line.text[n].casefold(), offsets[n]) for n in self.line.letters(with_hidden)]


@dataclass(slots=True)
class Speech:
    """One text to restore: a whole transcript, or one row of a file that holds many."""

    text: str = ""
    name: str | None = None
    runs: "array[int]" = field(
        default_factory=lambda: array("q")
    )  # a file of 100 MB has millions; copies have theirs
    spans: list[TimedSpan] = field(default_factory=list)  # in the order of the text
    turns: list[int] = field(
        default_factory=list
    )  # offsets in the text where another speaker begins
    speakers: list[tuple[int, str]] = field(
        default_factory=list
    )  # from which offset on who speaks, by name
    asides: list[Aside] = field(default_factory=list)  # in the order of the text
    sounds: list[tuple[float, float, str]] = field(
        default_factory=list
    )  # cues in which nothing is said, in seconds

    def part_lines(self) -> None:
        """Take each line for an utterance of its own: its last word ends a sentence."""
        begins = (match.end() for match in re.finditer(r"[\r\n]\s*", self.text))
        self.turns = sorted({*self.turns, *begins})

    def add_runs(self, runs: Iterable[Run]) -> None:
        """Append runs; one that goes on where the last one ended becomes part of it."""
        for run in runs:
            start, end, source_start, source_end = self.runs[-4:] or (0, 0, -1, -1)
            is_plain = run.is_plain and end - start == source_end - source_start
            if is_plain and (end, source_end) == (run.start, run.source_start):
                self.runs[-3], self.runs[-1] = run.end, run.source_end
            else:
                self.runs.extend(run)

    def source_edits(self, edits: Sequence[Edit]) -> list[tuple[int, int, str]]:
        """(start, end, what is written there) in the file, of each edit in each copy; blanks between cues have none."""
        found = []
        for at in range(0, len(self.runs), 4):
            run = Run(*self.runs[at : at + 4])
            if run.source_start == run.source_end:
                behind = re.split(
                    r"\s", edited_between(self.text, edits, run.start, run.end), maxsplit=1
                )[0]
                found.append(
                    (run.source_start, run.source_end, "".join(filter(_MARKS.__contains__, behind)))
                )
                continue
            first = bisect_left(edits, run.start, key=itemgetter("start"))
            for edit in edits[
                first : bisect_right(edits, run.end, lo=first, key=itemgetter("start"))
            ]:
                is_behind = follows(edit) and edit["start"] > 0
                offset = edit["start"] - is_behind
                if run.start <= offset < run.end:
                    source_at = run.source_start + offset - run.start
                    start, end = (
                        (source_at, source_at + 1)
                        if run.is_plain
                        else (run.source_start, run.source_end)
                    )
                    if not edit["removed"]:
                        start = end = end if is_behind else start
                    found.append((start, end, edit["inserted"]))
        return sorted(found, key=itemgetter(0, 1))


def spliced(source: str, changes: Iterable[tuple[int, int, str]], begins: int = 0) -> str:
    """A source with what is written at some of its places, in order; `begins` is the place of its first character."""
    parts: list[str] = []
    done = 0
    for start, end, written in changes:
        parts += [source[done : start - begins], written]
        done = end - begins
    return "".join([*parts, source[done:]])


class SpeechBuilder:
    """Puts a speech together from lines, in the order in which they were said."""

    def __init__(self, name: str | None = None):
        self.speech = Speech(name=name)
        self.length = 0
        self._parts: list[str] = []
        self._last = ""  # character
        self._speaker: object = None

    def say(self, line: Line, is_word: bool = False, continues: bool = False) -> Said:
        """Append what is said in a line, apart from what was said before; what is hidden in it is noted.

        Words apart as well, but for Han and kana, which are written without blanks, signs that close, and what
        `continues` the word before it.
        """
        parts: list[tuple[int, int, int]] = []
        done = 0
        unsaid = [one for one in line.hidden if not one.read]
        for one in [*unsaid, Hidden(len(line.text), len(line.text), "")]:
            text = line.text[done : one.start]
            if text and not (text.isspace() and one.start < len(line.text)):
                lead = ""
                hangs = continues or (
                    is_word
                    and self.length not in self.speech.turns[-1:]
                    and text[0] in _HANG_ON
                    and not any(map(str.isalnum, text))
                )
                if self._last and not (self._last.isspace() or text[0].isspace() or hangs):
                    # Words of Han text are found across a blank, but not across a line end.
                    lead = ("" if is_word else "\n") if are_unspaced(self._last + text[0]) else " "
                at = self.length + len(lead)
                parts.append((done, one.start, at))
                self.speech.add_runs(line.cut(done, one.start, at))
                self._parts += [lead, text]
                self.length, self._last = at + len(text), text[-1]
            if one.begins_turn:
                self.introduce(one.speaker, one.name or "")
            if one.kind in ("dash", "sound"):
                shown = line.text[one.start : one.end].strip()
                self.speech.asides.append(
                    Aside(self.length, shown, leads=one.begins_turn or not parts)
                )
            done = max(done, one.end)
        return Said(line, parts)

    def time(self, span: Span, begins: Time, ends: Time) -> None:
        """Note when `text[start:end]` was said."""
        if span[0] < span[1]:
            self.speech.spans.append(TimedSpan(*span, (begins, ends)))

    def introduce(self, speaker: object, name: str = "", at: int | None = None) -> None:
        """Record a change of speaker. The same speaker twice is ignored; None always counts as a change.

        It takes effect at the offset `at`, by default at the next word. The name is written in capitals, so that it is
        recognised when the file is read again.
        """
        if speaker is not None and speaker == self._speaker:
            return
        self._speaker = speaker
        offset = self.length if at is None else at
        if offset and offset not in self.speech.turns[-1:]:
            self.speech.turns.append(offset)
        if speaker is not None:
            self.speech.speakers.append((offset, str(speaker)))
            self.speech.asides.append(Aside(offset, f"{name.upper()}:", leads=True))

    def repeat(self, copies: Sequence[Line], originals: Sequence[Said]) -> list[Span] | None:
        """Say that these lines are a copy of some that were said, blanks aside, which gets the same marks.

        Either what is said in both is the same, or all that is written; copies may lack signs, and get the marks that
        follow them. Returns each copy's range in the text; None, and nothing is noted, where the letters differ.
        """
        lines = [said.line for said in originals]
        ways = itertools.product((operator.eq, lacks_signs), (False, True))
        fits = (way for way in ways if way[0](_spelled(copies, way[1]), _spelled(lines, way[1])))
        compare, with_hidden = next(fits, (None, False))
        if compare is None:
            return None
        own = (letter for said in originals for letter in said.letters(with_hidden))
        ranges: list[Span] = []
        for line in copies:
            signs = ((n, line.text[n].casefold()) for n in line.letters(with_hidden))
            pairs = (
                (n, next(offset for other, offset in own if other == sign)) for n, sign in signs
            )
            found = [(n, offset) for n, offset in pairs if offset is not None]
            for _, group in itertools.groupby(found, key=lambda pair: pair[1] - pair[0]):
                stretch = list(group)
                first, at = stretch[0]
                self.speech.add_runs(line.cut(first, stretch[-1][0] + 1, at))
            ranges.append((found[0][1], found[-1][1] + 1) if found else (0, 0))
        following = [*(start for start, _ in ranges[1:]), originals[-1].span[1]]
        for line, (_, end), until in zip(copies, ranges, following, strict=True):
            if compare is lacks_signs and line.runs and 0 < end < until:
                source_at = line.runs[-1].source_end - len(line.text) + len(line.text.rstrip())
                self.speech.runs.extend((end, until, source_at, source_at))
        return ranges

    def build(self) -> Speech:
        """The speech, complete."""
        self.speech.text = "".join(self._parts)
        self.speech.spans.sort(key=attrgetter("start"))
        return self.speech


def are_unspaced(signs: str) -> bool:
    """Whether these two signs are written without a blank between them."""
    return _UNPARTED.match(signs) is not None


def lacks_signs(copy: str, original: str) -> bool:
    """Whether the copy is another text: the letters of the original, in any case, and some of its signs."""
    own = map(str.casefold, original)
    is_whole = sum(map(str.isalnum, copy)) == sum(map(str.isalnum, original))
    return copy != original and is_whole and all(sign in own for sign in map(str.casefold, copy))


def _spelled(lines: Iterable[Line], with_hidden: bool) -> str:
    return "".join(
        part for line in lines for part in (line.text if with_hidden else line.spoken).split()
    )
