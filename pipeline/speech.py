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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, NamedTuple

from .edits import Edit, follows
from .unspoken import Hidden

Span = tuple[int, int]  # start and end, in characters


class Run(NamedTuple):
    """A stretch of speech and where it stands in the file: `text[start:end]` is `source[source_start:source_end]`.

    The two are equally long, or the run is one character that the file writes as several (`&amp;`, `\\u4f60`).
    """

    start: int
    end: int
    source_start: int
    source_end: int

    def place_of(self, offset: int) -> tuple[int, int]:
        """Where one character of the text stands in the file."""
        if self.end - self.start != self.source_end - self.source_start:
            return self.source_start, self.source_end
        place = self.source_start + offset - self.start
        return place, place + 1


Time = float | None  # seconds; None where nobody tells


class TimedSpan(NamedTuple):
    """A stretch of the text, in characters, and when it was said: start and end in seconds."""

    start: int
    end: int
    time: tuple[Time, Time]


class Runs(Sequence[Run]):
    """Runs in the order of the text; one that goes on where the last one ended becomes part of it.

    A file of 100 MB has millions of them, so they are kept in an array.
    """

    def __init__(self) -> None:
        self._numbers = array("q")

    def add(self, start: int, end: int, source_start: int, source_end: int) -> None:
        """Append a run."""
        numbers = self._numbers
        if numbers and end - start == source_end - source_start:
            last_start, last_end, last_source_start, last_source_end = numbers[-4:]
            goes_on = last_end == start and last_source_end == source_start
            if goes_on and last_end - last_start == last_source_end - last_source_start:
                numbers[-3], numbers[-1] = end, source_end
                return
        numbers.extend((start, end, source_start, source_end))

    def index_at(self, offset: int) -> int:
        """How many runs end before the character at `offset`."""
        return bisect_right(range(len(self)), offset, key=lambda n: self._numbers[4 * n + 1])

    def at(self, offset: int) -> Run | None:
        """The run that holds the character at `offset` of the text."""
        n_before = self.index_at(offset)
        run = self[n_before] if n_before < len(self) else None
        return run if run and run.start <= offset else None

    def __iter__(self) -> Iterator[Run]:
        numbers = self._numbers
        return (Run(*numbers[at : at + 4]) for at in range(0, len(numbers), 4))

    def __len__(self) -> int:
        return len(self._numbers) // 4

    def __getitem__(self, index: Any) -> Any:
        at = 4 * range(len(self))[index]
        return Run(*self._numbers[at : at + 4])


class SourceEdit(NamedTuple):
    """`source[start:end]` becomes `written`."""

    start: int
    end: int
    written: str


class Aside(NamedTuple):
    """What a cue shows besides speech: `JOHN:`, a dash, `(laughs)`. It goes with the next word or with the last one."""

    offset: int
    text: str
    leads: bool


def shown_speaker(name: str) -> str:
    """How text and subtitles show who speaks: in capitals, by which a name is known again."""
    return f"{name.upper()}:"


class Sound(NamedTuple):
    """A cue in which nothing is said, such as `[music]`; in seconds."""

    begins: float
    ends: float
    text: str


@dataclass(slots=True)
class Speech:
    """One text to restore: a whole transcript, or one row of a file that holds many."""

    text: str
    # Each covers the text, or a part of it, once and in the order of text and file; copies have tracks of their own.
    tracks: list[Runs]
    spans: list[TimedSpan] = field(default_factory=list)  # in the order of the text
    turns: list[int] = field(default_factory=list)  # offsets in the text where another speaker begins
    speakers: list[tuple[int, str]] = field(default_factory=list)  # from which offset on who speaks, by name
    name: str | None = None
    asides: list[Aside] = field(default_factory=list)  # in the order of the text
    sounds: list[Sound] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some text and its runs; the runs count from the chunk's own first character."""

    text: str
    runs: Runs

    @classmethod
    def plain(cls, source: str, start: int, end: int) -> "Chunk":
        """A stretch of the source that stands there as it is read."""
        runs = Runs()
        if end > start:
            runs.add(0, end - start, start, end)
        return cls(source[start:end], runs)

    def cut(self, start: int, end: int) -> "Chunk":
        """`text[start:end]` as a chunk of its own."""
        if (start, end) == (0, len(self.text)):
            return self
        runs = Runs()
        for n in range(self.runs.index_at(start), len(self.runs)):
            run = self.runs[n]
            first, last = max(run.start, start), min(run.end, end)
            if first >= last:
                break
            runs.add(first - start, last - start, run.place_of(first)[0], run.place_of(last - 1)[1])
        return Chunk(self.text[start:end], runs)


@dataclass(slots=True)
class Transcript:
    """A file as read."""

    source: str
    format: str
    speeches: list[Speech]
    warnings: list[str] = field(default_factory=list)
    document: Any = None  # the values of JSON, which are written anew; other files are edited in place


class SpeechBuilder:
    """Puts a speech together from chunks, in the order in which they were said."""

    def __init__(self, name: str | None = None):
        self.speech = Speech("", [Runs()], name=name)  # its text comes last
        self.length = 0
        self._parts: list[str] = []
        self._last = ""
        self._parting = False
        self._speaker: object = None
        self._hidden: list[tuple[int, str]] = []  # where something is not said, and what, in the order of the text
        self._last_line: tuple[Span, Span] = (0, 0), (0, 0)  # its place, and what of `_hidden` is in it

    def say(self, chunk: Chunk) -> tuple[int, int]:
        """Append a chunk. Returns its range in the speech's text."""
        if self._parting and chunk.text:
            self._parting = False
            if not self._last.isspace() and not chunk.text[0].isspace():
                # Words of Han text are found across a blank, but not across a line end.
                self._append("\n" if is_unspaced(self._last) and is_unspaced(chunk.text[0]) else " ")
        start = self.length
        self._append(chunk.text)
        for run in chunk.runs:
            self.speech.tracks[0].add(run.start + start, run.end + start, run.source_start, run.source_end)
        return start, self.length

    def time(self, start: int, end: int, begins: Time, ends: Time) -> None:
        """Note when `text[start:end]`, without the blanks at its ends, was said."""
        said = self._said(start, end)
        if said.strip():
            first, last = start + len(said) - len(said.lstrip()), start + len(said.rstrip())
            self.speech.spans.append(TimedSpan(first, last, (begins, ends)))

    def part(self) -> None:
        """Keep what was said and what comes next apart, by a blank that stands nowhere in the file."""
        self._parting = bool(self._last)

    def say_word(self, chunk: Chunk) -> tuple[int, int]:
        """As `say`, apart from what was said before, but for Han and kana, which are written without blanks."""
        if chunk.text and not (is_unspaced(self._last) and is_unspaced(chunk.text.lstrip()[:1])):
            self.part()
        return self.say(chunk)

    def turn(self) -> None:
        """Keep apart as well, and note that another speaker begins here."""
        self.part()
        self._speaker = None
        if self._last and self.length not in self.speech.turns[-1:]:
            self.speech.turns.append(self.length)

    def turn_to(self, speaker: object) -> bool:
        """Note a turn if the speaker, as the file names them, is another one than before; returns whether so."""
        is_turn = speaker is not None and speaker != self._speaker
        if is_turn:
            self.turn()
            self._speaker = speaker
            self.speech.speakers.append((self.length, str(speaker)))
        return is_turn

    def introduce(self, speaker: object, name: str) -> None:
        """As `turn_to`, and note that a new speaker is shown by `name`."""
        if self.turn_to(speaker):
            self.speech.asides.append(Aside(self.length, shown_speaker(name), leads=True))

    def say_line(self, chunk: Chunk, hidden: Sequence[Hidden], say: Callable[[Chunk], Any] | None = None) -> Span:
        """Say a line, a segment or a whole text without what is hidden in it; that is noted. Returns its range."""
        say, begins_at, n_before, done = say or self.say, self.length, len(self._hidden), 0
        leads = True
        for start, end, kind, name in hidden:
            if chunk.text[done:start].strip():
                say(chunk.cut(done, start))
                leads = False
            shown = chunk.text[start:end].strip()
            self.part()
            if name is not None:
                self.introduce(name, name)
            elif kind == "dash":
                self.turn()
            if kind in ("dash", "sound"):
                self.speech.asides.append(Aside(self.length, shown, leads))
            self._hidden.append((self.length, shown))
            done = end
        if done < len(chunk.text):
            say(chunk.cut(done, len(chunk.text)))
        self._last_line = (begins_at, self.length), (n_before, len(self._hidden))
        return begins_at, self.length

    def repeat(self, lines: Sequence[tuple[Chunk, Sequence[Hidden]]], start: int, end: int) -> list[Span] | None:
        """Say that these lines are a copy of `text[start:end]`, blanks aside, which gets the same marks.

        Either what is said in both is the same, or all that is written. Returns each line's range in the text; None,
        and nothing is noted, where the letters differ.
        """
        said = [(start + n, sign) for n, sign in enumerate(self._said(start, end)) if not sign.isspace()]
        copied: list[tuple[int, int, str, bool]] = []  # number of the line, place in it, letter, whether it is hidden
        for number, (chunk, hidden) in enumerate(lines):
            unsaid = {place for one in hidden for place in range(one.start, one.end)}
            copied += [(number, n, sign, n in unsaid) for n, sign in enumerate(chunk.text) if not sign.isspace()]
        seen = [row for row in copied if not row[3]]
        if [sign for _, sign in said] != [row[2] for row in seen]:
            said, seen = self._with_hidden(said, start, end), copied
            if [sign for _, sign in said] != [row[2] for row in seen]:
                return None
        track = self._copy_track(start, [chunk for chunk, _ in lines])
        ranges: list[Span] = []
        edge = start
        pairs = zip(said, seen, strict=True)
        for number, group in itertools.groupby(pairs, key=lambda pair: pair[1][0]):
            while len(ranges) < number:
                ranges.append((edge, edge))
            runs, places = iter(lines[number][0].runs), []
            run = next(runs, None)
            for (place, _), (_, n, _, _) in group:
                while run is not None and run.end <= n:
                    run = next(runs, None)
                if place is not None and run is not None:
                    places.append(place)
                    track.add(place, place + 1, *run.place_of(n))
            begins, edge = (places[0], places[-1] + 1) if places else (edge, edge)
            ranges.append((begins, edge))
        return [*ranges, *[(edge, edge)] * (len(lines) - len(ranges))]

    def _with_hidden(self, said: Sequence[tuple[int | None, str]], start: int, end: int) -> list[Any]:
        """The letters that are said, and between them those that are not, without a place."""
        line, (first, last) = self._last_line
        if line != (start, end):
            first, last = (bisect_left(self._hidden, place, key=itemgetter(0)) for place in (start, end + 1))
        hidden = [
            (at - 0.5, None, sign) for at, text in self._hidden[first:last] for sign in text if not sign.isspace()
        ]
        return [
            (at, sign) for _, at, sign in sorted([*((at, at, sign) for at, sign in said), *hidden], key=itemgetter(0))
        ]

    def _copy_track(self, start: int, chunks: Sequence[Chunk]) -> Runs:
        """The last track of copies if these go on behind it, both in the text and in the file; else a new one."""
        first = next((chunk.runs[0] for chunk in chunks if chunk.runs), None)
        _, *copies = self.speech.tracks
        last = copies[-1][-1] if copies and copies[-1] else None
        if first is None or last is None or last.end > start or last.source_end > first.source_start:
            self.speech.tracks.append(Runs())
        return self.speech.tracks[-1]

    def build(self) -> Speech:
        """The speech, complete."""
        self.speech.text = "".join(self._parts)
        self.speech.spans.sort(key=itemgetter(0))
        return self.speech

    def said(self) -> str:
        """The text so far."""
        return "".join(self._parts)

    def _said(self, start: int, end: int) -> str:
        """`text[start:end]`, joined from the last parts only: a copy mostly follows directly after what it repeats."""
        parts: list[str] = []
        at = self.length
        for part in reversed(self._parts):
            if at <= start:
                break
            parts.append(part)
            at -= len(part)
        return "".join(reversed(parts))[start - at : end - at]

    def _append(self, text: str) -> None:
        if text:
            self._parts.append(text)
            self._last = text[-1]
            self.length += len(text)


def in_track(track: Runs, edits: Sequence[Edit]) -> Iterator[SourceEdit]:
    """The edits in the order of the file, where they stand in one track; some do not, as the blank between two cues."""
    if not track:
        return
    first, last = (bisect_left(edits, place, key=itemgetter("start")) for place in (track[0].start, track[-1].end + 1))
    for edit in edits[first:last]:
        is_behind = follows(edit) and edit["start"] > 0
        offset = edit["start"] - is_behind
        run = track.at(offset)
        if run is not None:
            start, end = run.place_of(offset)
            if not edit["removed"]:
                start = end = end if is_behind else start
            yield SourceEdit(start, end, edit["inserted"])


UNSPACED_SIGNS = "\u3001-\u30ff\u3400-\u9fff\uf900-\ufaff\uff01-\uff60\U00020000-\U0003ffff"
_UNSPACED = re.compile(f"[{UNSPACED_SIGNS}]")


def is_unspaced(character: str) -> bool:
    """Han, kana, and the wide marks written with them."""
    return _UNSPACED.match(character) is not None
