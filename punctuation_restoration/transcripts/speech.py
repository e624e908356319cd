"""What every reader gives: the speech in a file, or in what a recogniser gives, and where each stretch of it stands.

    source   1\\n00:00:01,000 --> 00:00:02,000\\n<i>hello there</i>\\n\\n2\\n...\\nhow are you\\n
    text     hello there how are you             <- one text for the whole transcript
    runs     [0:11 -> 35:46] [12:23 -> ...]      <- the blank between cues stands nowhere in the file

A file is never rebuilt from parts: marks are written into its own text at these places, so all else stays as it was.
This module knows nothing about formats or models.
"""

import itertools
import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import attrgetter, itemgetter
from typing import NamedTuple, TypeVar

from ..pipeline.conventions import CLOSERS, known_marks
from ..pipeline.edits import Edit, edited_between, follows
from ..pipeline.unspoken import Hidden, audible

Place = TypeVar("Place")
Span = tuple[int, int]  # start and end, in characters
Time = float | None  # seconds; None where nobody tells

# Han, kana, and the wide marks written with them. (The inside of a set.)
UNSPACED_SIGNS = "\u3001-\u30ff\u3400-\u9fff\uf900-\ufaff\uff01-\uff60\U00020000-\U0003ffff"
_HANG_ON = CLOSERS | {
    *".,!?;:%…،؟।"
}  # words of a recogniser that begin so belong to the one before
_MARKS = known_marks(",.?!;:…、")
_WORD_END = re.compile(r"[^\w\s]*(?=\s|\Z)")
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

    @property
    def spoken(self) -> str:
        """The text with blanks in the place of what is not said."""
        return audible(self.text, self.hidden)

    def spelled(self, with_hidden: bool) -> str:
        """Its letters and signs, small: all of them, or those that are said."""
        return "".join((self.text if with_hidden else self.spoken).lower().split())

    def signs(self, with_hidden: bool) -> Iterator[tuple[str, int]]:
        """The same one by one, as they are written, and where they are."""
        for index, sign in enumerate(self.text if with_hidden else self.spoken):
            if not sign.isspace():
                yield self.text[index], index


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

    def signs(self, with_hidden: bool) -> Iterator[tuple[str, int | None]]:
        """Its letters and signs, small, and where they are in the text; what is hidden is nowhere."""
        offsets: list[int | None] = [None] * len(self.line.text)
        for start, end, at in self.parts:
            offsets[start:end] = range(at, at + end - start)
        return ((sign, offsets[index]) for sign, index in self.line.signs(with_hidden))


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
        changes: list[tuple[int, int, str]] = []
        start_of = itemgetter("start")
        for n in range(0, len(self.runs), 4):
            run = Run(*self.runs[n : n + 4])
            if run.source_start == run.source_end:
                after = edited_between(self.text, edits, run.start, run.end)
                marks = filter(_MARKS.__contains__, re.split(r"\s", after, maxsplit=1)[0])
                changes.append((run.source_start, run.source_end, "".join(marks)))
                continue
            first = bisect_left(edits, run.start, key=start_of)
            for edit in edits[first : bisect_right(edits, run.end, lo=first, key=start_of)]:
                is_after = follows(edit) and edit["start"] > 0
                offset = edit["start"] - is_after
                if run.start <= offset < run.end:
                    ((*_, start, end),) = Line("", [run]).cut(offset, offset + 1)
                    if not edit["removed"]:
                        start = end = end if is_after else start
                    changes.append((start, end, edit["inserted"]))
        return sorted(changes, key=itemgetter(0, 1))


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

    def __init__(self) -> None:
        self.speech = Speech()
        self.length = 0
        self._parts: list[str] = []
        self._last = ""  # character
        self._introductions: list[tuple[int, bool, object]] = []

    def say(self, line: Line, is_word: bool = False, continues: bool = False) -> Said:
        """Append what is said in a line, apart from what was said before; who speaks in it is noted.

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
                hangs = is_word and text[0] in _HANG_ON and not any(map(str.isalnum, text))
                is_apart = not self._last or self._last.isspace() or text[0].isspace()
                if not (is_apart or hangs or continues):
                    # Words of Han text are found across a blank, but not across a line end.
                    lead = ("" if is_word else "\n") if are_unspaced(self._last + text[0]) else " "
                at = self.length + len(lead)
                parts.append((done, one.start, at))
                self.speech.add_runs(line.cut(done, one.start, at))
                self._parts += [lead, text]
                self.length, self._last = at + len(text), text[-1]
            if one.begins_turn:
                self.introduce(one.speaker)
            done = max(done, one.end)
        return Said(line, parts)

    def time(self, span: Span, begins: Time, ends: Time) -> None:
        """Note when `text[start:end]` was said."""
        if span[0] < span[1]:
            self.speech.spans.append(TimedSpan(*span, (begins, ends)))

    def introduce(self, speaker: object, at: int | None = None) -> None:
        """Record a change of speaker. The same speaker twice is ignored; None always counts as a change.

        It takes effect at the offset `at`, by default at the next word, where it counts more.
        """
        offset = self.length if at is None else at
        self._introductions.append((offset, at is None, speaker))

    def repeat(
        self, copies: Sequence[Line], originals: Sequence[Said], is_start: bool = False
    ) -> list[Span] | None:
        """Say that these lines are a copy of some that were said, which gets the same marks.

        Either what is said in both has the same letters, or all that is written; copies may lack signs, and get the
        marks that follow them. `is_start`: they may be the first letters only. Returns each copy's range in the text;
        None, and nothing is noted, where the letters differ.
        """
        for with_hidden in (False, True):
            own = "".join(line.spelled(with_hidden) for line in copies)
            said = "".join(one.line.spelled(with_hidden) for one in originals)
            own_letters, letters = ("".join(filter(str.isalnum, text)) for text in (own, said))
            if own_letters == letters or (is_start and letters.startswith(own_letters)):
                break
        else:
            return None
        theirs = (sign for one in originals for sign in one.signs(with_hidden))
        ours = (
            (sign, (n, index))
            for n, line in enumerate(copies)
            for sign, index in line.signs(with_hidden)
        )
        if own == said:
            places = zip(ours, theirs, strict=False)
            pairs: Iterable[tuple[int, int, int]] = (
                (*at, offset) for (_, at), (_, offset) in places if offset is not None
            )
        else:
            pairs = self._paired(_by_letter(ours), _by_letter(theirs), copies)
        ranges = [(0, 0)] * len(copies)
        for (n, _), group in itertools.groupby(pairs, lambda pair: (pair[0], pair[2] - pair[1])):
            stretch = list(group)
            (_, first, at), (_, last, end) = stretch[0], stretch[-1]
            self.speech.add_runs(copies[n].cut(first, last + 1, at))
            ranges[n] = (ranges[n][0] if ranges[n][1] else at, end + 1)
        return ranges

    def _paired(
        self,
        ours: Iterable[list[tuple[str, tuple[int, int]]]],
        theirs: Iterable[list[tuple[str, int | None]]],
        copies: Sequence[Line],
    ) -> Iterator[tuple[int, int, int]]:
        """Each sign of the copies: the number of the line, where it is in it, and where in the text."""
        for own, said in zip(ours, theirs, strict=False):
            are_same = [sign.lower() for sign, _ in own] == [sign.lower() for sign, _ in said]
            for (sign, (n, index)), (_, offset) in zip(own, said, strict=False):
                if offset is not None and (are_same or sign.isalnum()):
                    yield n, index, offset
            places = [offset for _, offset in said if offset is not None]
            is_marked = any(sign in _MARKS for sign, _ in own)
            if are_same or is_marked or len(places) < 2 or not own or not own[0][0].isalnum():
                continue
            n, index = own[0][1]
            if end := _WORD_END.match(copies[n].text, index + 1):
                (run,) = copies[n].cut(index, index + 1)
                source_at = run.source_end + end.end() - end.start()
                self.speech.runs.extend((places[0] + 1, places[-1] + 1, source_at, source_at))

    def build(self) -> Speech:
        """The speech, complete."""
        speech, before = self.speech, None
        for offset, _, speaker in sorted(self._introductions, key=itemgetter(0, 1)):
            if speaker is None or speaker != before:
                before = speaker
                if offset and offset not in speech.turns[-1:]:
                    speech.turns.append(offset)
                if speaker is not None:
                    speech.speakers.append((offset, str(speaker)))
        speech.text = "".join(self._parts)
        speech.spans.sort(key=attrgetter("start"))
        return speech


def are_unspaced(signs: str) -> bool:
    """Whether these two signs are written without a blank between them."""
    return _UNPARTED.match(signs) is not None


def _by_letter(signs: Iterable[tuple[str, Place]]) -> Iterator[list[tuple[str, Place]]]:
    """Each letter with the signs that follow it; first the signs before all letters."""
    group: list[tuple[str, Place]] = []
    for sign in signs:
        if sign[0].isalnum():
            yield group
            group = []
        group.append(sign)
    yield group
