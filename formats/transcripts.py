"""What every reader gives: the file's text, the speech in it, and where each stretch of speech stands in the file.

    source   1\\n00:00:01,000 --> 00:00:02,000\\n<i>hello there</i>\\n\\n2\\n...\\nhow are you\\n
    text     hello there how are you             <- one text for the whole transcript
    runs     [0:11 -> 35:46] [12:23 -> ...]      <- the blank between cues stands nowhere in the file

A file is never rebuilt from parts: marks are written into its own text at these places, so all else stays as it was.
This module knows nothing about formats, models or marks.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Run:
    """A stretch of speech and where it stands in the file: `text[start:end]` is `source[source_start:source_end]`.

    The two are equally long, or the run is one character that the file writes as several (`&amp;`, `\\u4f60`).
    """

    start: int
    end: int
    source_start: int
    source_end: int


@dataclass(frozen=True, slots=True)
class Timing:
    """When `text[start:end]` was said, in seconds; None where the file does not tell."""

    start: int
    end: int
    begins: float | None
    ends: float | None


@dataclass(frozen=True, slots=True)
class Addition:
    """Where a list of sentences can be put: it replaces `source[start:end]`, with `lead` before it."""

    start: int
    end: int
    lead: str


@dataclass(slots=True)
class Speech:
    """One text to restore: a whole transcript, or one row of a file that holds many."""

    text: str
    tracks: list[list[Run]]  # each covers the text, or a part of it, once and in order; copies have tracks of their own
    timings: list[Timing] = field(default_factory=list)
    turns: list[int] = field(default_factory=list)  # offsets in the text where another speaker begins
    name: str | None = None
    addition: Addition | None = None


@dataclass(slots=True)
class Transcript:
    """A file as read. `escape` says how a mark must be written in it: "" as it is, "json" with ASCII escapes."""

    source: str
    format: str
    speeches: list[Speech]
    warnings: list[str] = field(default_factory=list)
    escape: str = ""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some visible text and its runs; the runs count from the chunk's own first character."""

    text: str
    runs: tuple[Run, ...]

    @classmethod
    def plain(cls, source: str, start: int, end: int) -> "Chunk":
        """A stretch of the file that is speech just as it stands."""
        return cls(source[start:end], (Run(0, end - start, start, end),) if end > start else ())


class SpeechBuilder:
    """Puts a speech together from chunks, in the order in which they were said."""

    def __init__(self, name: str | None = None):
        self.name = name
        self.length = 0
        self.timings: list[Timing] = []
        self.turns: list[int] = []
        self._parts: list[str] = []
        self._last = ""
        self._parting = False
        self._speaker: object = None
        self._main: list[Run] = []
        self._copies: list[list[Run]] = []

    def say(self, chunk: Chunk) -> tuple[int, int]:
        """Append a chunk. Returns its range in the speech's text."""
        if self._parting and chunk.text:
            self._parting = False
            if not self._last.isspace() and not chunk.text[0].isspace():
                # Words of Han text are found across a blank, but not across a line end.
                self._append("\n" if _is_unspaced(self._last) and _is_unspaced(chunk.text[0]) else " ")
        start = self.length
        self._append(chunk.text)
        self._main.extend(Run(r.start + start, r.end + start, r.source_start, r.source_end) for r in chunk.runs)
        return start, self.length

    def time(self, start: int, end: int, begins: float | None, ends: float | None) -> None:
        """Note when `text[start:end]`, without the blanks at its ends, was said."""
        said = self._said(start, end)
        if said.strip():
            self.timings.append(
                Timing(start + len(said) - len(said.lstrip()), start + len(said.rstrip()), begins, ends)
            )

    def part(self) -> None:
        """Keep what was said and what comes next apart, by a blank that stands nowhere in the file."""
        self._parting = bool(self._last)

    def part_unless_han(self, following: str) -> None:
        """As `part`, but Han and kana are written without blanks, so recognised words of them are joined."""
        if following and not (_is_unspaced(self._last) and _is_unspaced(following.lstrip()[:1])):
            self.part()

    def turn(self) -> None:
        """Keep apart as well, and note that another speaker begins here."""
        self.part()
        if self._last and (not self.turns or self.turns[-1] != self.length):
            self.turns.append(self.length)

    def turn_to(self, speaker: object) -> None:
        """Note a turn if the speaker, as the file names them, is another one than before."""
        if speaker is not None and speaker != self._speaker:
            self.turn()
            self._speaker = speaker

    def repeat(self, chunks: list[Chunk], start: int, end: int) -> list[tuple[int, int]] | None:
        """Say that these chunks are a copy of `text[start:end]`, blanks aside, which gets the same marks.

        Returns each chunk's range in the text; None, and nothing is noted, when the letters differ.
        """
        said = self._said(start, end)
        wanted = [i for i, character in enumerate(said, start) if not character.isspace()]
        seen = [(n, i) for n, chunk in enumerate(chunks) for i, c in enumerate(chunk.text) if not c.isspace()]
        if len(wanted) != len(seen) or any(
            said[at - start] != chunks[n].text[i] for at, (n, i) in zip(wanted, seen, strict=True)
        ):
            return None
        targets: list[dict[int, int]] = [{} for _ in chunks]
        for at, (n, i) in zip(wanted, seen, strict=True):
            targets[n][i] = at
        track: list[Run] = []
        ranges: list[tuple[int, int]] = []
        for chunk, target in zip(chunks, targets, strict=True):
            track.extend(_moved(chunk, target))
            edge = ranges[-1][1] if ranges else start
            ranges.append((min(target.values()), max(target.values()) + 1) if target else (edge, edge))
        if track:
            self._copies.append(track)
        return ranges

    def build(self, addition: Addition | None = None) -> Speech:
        return Speech("".join(self._parts), [self._main, *self._copies], self.timings, self.turns, self.name, addition)

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


_UNSPACED = (
    ("\u3001", "\u30ff"),
    ("\u3400", "\u9fff"),
    ("\uf900", "\ufaff"),
    ("\uff01", "\uff60"),
    ("\U00020000", "\U0003ffff"),
)


def _is_unspaced(character: str) -> bool:
    """Han, kana, and the wide marks written with them."""
    return any(first <= character <= last for first, last in _UNSPACED) if character else False


def _moved(chunk: Chunk, target: dict[int, int]) -> list[Run]:
    """The chunk's runs with the offsets of the text they copy; blanks belong to no run, so runs may fall apart."""
    moved: list[Run] = []
    for run in chunk.runs:
        if run.end - run.start != run.source_end - run.source_start:
            if run.start in target:
                moved.append(Run(target[run.start], target[run.start] + 1, run.source_start, run.source_end))
            continue
        for i in range(run.start, run.end):
            if i not in target:
                continue
            at, source = target[i], run.source_start + i - run.start
            last = moved[-1] if moved else None
            if (
                last
                and last.end == at
                and last.source_end == source
                and last.end - last.start == source - last.source_start
            ):
                moved[-1] = Run(last.start, at + 1, last.source_start, source + 1)
            else:
                moved.append(Run(at, at + 1, source, source + 1))
    return moved
