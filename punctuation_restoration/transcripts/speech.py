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
from operator import itemgetter
from typing import Any, NamedTuple

from ..pipeline.conventions import CLOSERS, known_marks
from ..pipeline.edits import Edit, edited_between, follows
from ..pipeline.items import Times
from ..pipeline.unspoken import Hidden, audible

Signs = tuple[str, list[Any]]  # a letter and the signs that follow it, and where each of them is
Span = tuple[int, int]  # start and end, in characters
Change = tuple[int, int, str]  # start and end in the file, and what is written there

# Han, kana, and the wide marks written with them. (The inside of a set.)
UNSPACED_SIGNS = "\u3001-\u30ff\u3400-\u9fff\uf900-\ufaff\uff01-\uff60\U00020000-\U0003ffff"
# Words of a recogniser that begin so belong to the one before.
_HANG_ON = CLOSERS | {*".,!?;:%…،؟।"}
_MARKS = known_marks(",.?!;:…、")
_MARK_SIGNS = "".join(_MARKS)
_WORD_END = re.compile(r"[^\w\s]*(?=\s|\Z)")
_UNPARTED = re.compile(f"[{UNSPACED_SIGNS}]{{2}}")  # by a blank


class TimedSpan(NamedTuple):
    """A stretch of the text, in characters, and when it was said: start and end in seconds."""

    start: int
    end: int
    time: Times


class Sound(NamedTuple):
    """What is heard and not said, `[music]`: before the word at or after this offset of the text."""

    offset: int
    text: str
    time: Times  # of what shows it: a cue, a segment


class Run(NamedTuple):
    """`text[start:end]` is `source[source_start:source_end]`.

    The two are equally long, or the run is one character that the file writes as several (`&amp;`), or the source is
    empty: the place for the marks of this stretch in a copy that lacks them.
    """

    start: int
    end: int
    source_start: int
    source_end: int

    def source_span(self, start: int, end: int) -> Span:
        """Where `text[start:end]`, a part of the run, is in the source."""
        if self.end - self.start != self.source_end - self.source_start:
            return self.source_start, self.source_end
        shift = self.source_start - self.start
        return start + shift, end + shift


@dataclass(slots=True, eq=False)
class Line:
    """A line, a segment, a word or a whole text as it is shown.

    The runs, in order, cover the text, and say where it stands in the source, from its first character on.
    """

    text: str
    runs: Sequence[Run]
    hidden: Sequence[Hidden]  # what is not said
    # Once it is said, or known for a copy: runs from the text of the speech to this line, and where it begins in that
    # text, before the blank that parts it from what was said before.
    said: list[Run] = field(default_factory=list)
    start: int = 0

    @classmethod
    def of(cls, text: str, source_start: int, hidden: Sequence[Hidden]) -> "Line":
        """A text that stands in the source as it is read."""
        return cls(text, [Run(0, len(text), source_start, source_start + len(text))], hidden)

    @property
    def span(self) -> Span:
        """From where to where it is in the text of the speech; empty where nothing is said, or it is not there yet."""
        return (self.said[0].start, self.said[-1].end) if self.said else (0, 0)

    def cut(self, start: int, end: int, at: int = 0) -> Iterator[Run]:
        """The runs of `text[start:end]`, for a text in which this stretch begins at `at`."""
        shift = at - start
        begin = bisect_right(self.runs, start, key=itemgetter(1))
        stop = bisect_left(self.runs, end, key=itemgetter(0))
        for run in self.runs[begin:stop]:
            first, last = max(run.start, start), min(run.end, end)
            yield Run(first + shift, last + shift, *run.source_span(first, last))

    @property
    def spoken(self) -> str:
        """The text with blanks in the place of what is not said."""
        return audible(self.text, self.hidden)

    def small(self, with_hidden: bool) -> str:
        """The text, or what is said of it, in small letters, as long as it is."""
        return (self.text if with_hidden else self.spoken).replace("İ", "i").lower()

    def offsets(self) -> list[int | None]:
        """Of each character its offset in the text of the speech; None where it is not said."""
        offsets: list[int | None] = [None] * len(self.text)
        for start, end, first, last in self.said:
            offsets[first:last] = range(start, end)
        return offsets


@dataclass(slots=True)
class Speech:
    """One text to restore: a whole transcript, or one row of a file that holds many."""

    text: str = ""
    name: str | None = None
    # As four numbers each: a file of 100 MB has millions; copies have theirs.
    runs: "array[int]" = field(default_factory=lambda: array("q"))
    spans: list[TimedSpan] = field(default_factory=list)  # in the order of the text
    turns: list[int] = field(default_factory=list)  # offsets where another speaker begins
    speakers: list[tuple[int, str]] = field(default_factory=list)  # from which offset on who speaks
    sounds: list[Sound] = field(default_factory=list)
    goes_on: bool = False  # these words are final, their utterance is not over

    def part_lines(self) -> None:
        """Take each line for an utterance of its own: its last word ends a sentence."""
        begins = (match.end() for match in re.finditer(r"[\r\n]\s*", self.text))
        self.turns = sorted({*self.turns, *begins})

    def source_edits(self, edits: Sequence[Edit]) -> list[Change]:
        """What the edits change in the file, in each copy; blanks between cues have no place there."""
        changes = []
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
                    start, end = run.source_span(offset, offset + 1)
                    if not edit["removed"]:
                        start = end = end if is_after else start
                    changes.append((start, end, edit["inserted"]))
        return sorted(changes, key=itemgetter(0, 1))


def spliced(source: str, changes: Iterable[Change], begins: int = 0) -> str:
    """A source with what is written at some of its places, in order; `begins` is the place of its first character."""
    parts = []
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
        # The last character, but for marks: what was restored is put together in the same way.
        self._last = ""
        self._introductions: list[tuple[int, str | None]] = []

    def say(
        self,
        line: Line,
        is_word: bool = False,
        continues: bool = False,
        time: Times = (None, None),
    ) -> None:
        """Append what is said in a line, apart from what was said before; its names and sounds are noted.

        Words apart as well, but for Han and kana, which are written without blanks, signs that close, and what
        `continues` the word before it. `time` is that of the sounds.
        """
        done, line.start = 0, self.length
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
                self._place(line, done, one.start, self.length + len(lead))
                self._parts += [lead, text]
                self.length = line.span[1]
                self._last = text.rstrip(_MARK_SIGNS)[-1:].strip() or text[-1]
            if one.begins_turn:
                self._introductions.append((self.length, one.speaker))
            elif one.kind == "sound":
                shown = " ".join(line.text[one.start : one.end].split())
                self.speech.sounds.append(Sound(self.length, shown, time))
            done = max(done, one.end)

    def _place(self, line: Line, start: int, end: int, offset: int) -> None:
        """Note that `line.text[start:end]` is at this offset of the speech, or is a copy of what is there."""
        line.said.append(Run(offset, offset + end - start, start, end))
        self.speech.runs.extend(itertools.chain.from_iterable(line.cut(start, end, offset)))

    def repeat(
        self, copies: Sequence[Line], originals: Sequence[Line], is_start: bool = False
    ) -> bool:
        """Say that these lines are a copy of some that were said, which gets the same marks.

        Either what is said in both has the same letters, or all that is written; copies may lack signs, and get the
        marks that follow them. `is_start`: they may be the first letters only. False, and nothing is noted, where the
        letters differ.
        """
        for with_hidden in (False, True):
            own = "".join(line.small(with_hidden) for line in copies)
            said = "".join(line.small(with_hidden) for line in originals)
            n_own = len(letters(own)) if is_start else None
            if letters(own) == letters(said)[:n_own]:
                break
        else:
            return False
        places = ((line, index) for line in copies for index in range(len(line.text)))
        offsets = itertools.chain.from_iterable(line.offsets() for line in originals)
        pairs = self._paired(_by_letter(own, places), _by_letter(said, offsets))
        for (line, shift), group in itertools.groupby(
            pairs, lambda pair: (pair[0], pair[2] - pair[1])
        ):
            indices = [index for _, index, _ in group]
            self._place(line, indices[0], indices[-1] + 1, indices[0] + shift)
            line.start = line.span[0]
        return True

    def _paired(
        self, ours: Iterator[Signs], theirs: Iterator[Signs]
    ) -> Iterator[tuple[Line, int, int]]:
        """The same letters in both, with the signs after each where they are the same, too: copy, index, offset.

        Where others follow a letter, the place for the marks of the original is noted.
        """
        for (signs, own), (others, said) in zip(ours, theirs, strict=False):
            n_same = len(signs) if signs == others else signs[:1].isalnum()
            for (line, index), offset in zip(own[:n_same], said, strict=False):
                if offset is not None:
                    yield line, index, offset
            offsets = [offset for offset in said if offset is not None]
            if 0 < n_same < len(others) and len(offsets) > 1 and _MARKS.keys().isdisjoint(signs):
                line, index = own[0]
                if end := _WORD_END.match(line.text, index + 1):
                    (run,) = line.cut(index, index + 1)
                    source_at = run.source_end + len(end.group())
                    self.speech.runs.extend((offsets[0] + 1, offsets[-1] + 1, source_at, source_at))

    def build(self, speakers: Iterable[tuple[int, object]] = ()) -> Speech:
        """The speech, complete; `speakers`, from which offset on who speaks, are told beside what is said.

        The same speaker twice is no change; None, who has no name, always is.
        """
        speech, before = self.speech, None
        for offset, speaker in sorted([*speakers, *self._introductions], key=itemgetter(0)):
            if speaker is None or speaker != before:
                before = speaker
                if offset and offset not in speech.turns[-1:]:
                    speech.turns.append(offset)
                if speaker is not None:
                    speech.speakers.append((offset, str(speaker)))
        speech.text = "".join(self._parts)
        return speech


def letters(text: str) -> str:
    """The letters and digits of a text, small."""
    return "".join(filter(str.isalnum, text.lower()))


def are_unspaced(signs: str) -> bool:
    """Whether these two signs are written without a blank between them."""
    return _UNPARTED.match(signs) is not None


def _by_letter(text: str, places: Iterable[Any]) -> Iterator[Signs]:
    """Each letter of a text with the signs that follow it; first the signs before all letters."""
    signs, at = "", list[Any]()
    for sign, place in zip(text, places, strict=True):
        if sign.isalnum():
            yield signs, at
            signs, at = "", []
        if not sign.isspace():
            signs += sign
            at.append(place)
    yield signs, at
