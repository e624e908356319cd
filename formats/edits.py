"""Takes a text and the same text restored, gives the edits between them, and writes edits into a file's own text.

It knows no model: any restorer will do that leaves the words alone. It is linear in the text.
"""

import heapq
import itertools
import json
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from .places import Run, Runs
from .transcripts import Speech, Transcript

_STRIDE = 16  # characters compared at once: marks stand further apart than that


@dataclass(frozen=True, slots=True)
class Edit:
    """`text[start:end]` becomes `written`. A mark put in has start == end; `opens` if it belongs to the next word."""

    start: int
    end: int
    written: str
    opens: bool = False
    score: float | None = None


def find_edits(text: str, restored: str) -> list[Edit]:
    """What changed from `text` to `restored`: marks put in or taken out, blanks taken out, letters in another case.

    Raises:
        ValueError: anything else changed, that is, the restorer touched a word.
    """
    edits: list[Edit] = []
    i = j = 0
    n_text, n_restored = len(text), len(restored)
    while i < n_text or j < n_restored:
        if i + _STRIDE <= n_text and text[i : i + _STRIDE] == restored[j : j + _STRIDE]:
            i, j = i + _STRIDE, j + _STRIDE
            continue
        old = text[i] if i < n_text else ""
        new = restored[j] if j < n_restored else ""
        if old == new:
            i, j = i + 1, j + 1
        elif old and new and old.lower() == new.lower():
            edits.append(Edit(i, i + 1, new))
            i, j = i + 1, j + 1
        elif new and _is_mark(new):
            _put_in(edits, i, new)
            j += 1
        elif old and (_is_mark(old) or old.isspace()):
            edits.append(Edit(i, i + 1, ""))
            i += 1
        else:
            raise ValueError(
                f"Expected the same words with other marks, got {restored[j : j + 20]!r} where the text has "
                f"{text[i : i + 20]!r} (character {i}). A restorer must not change words."
            )
    return edits


def _put_in(edits: list[Edit], at: int, mark: str) -> None:
    """Marks that stand together, such as `?!`, are one edit."""
    opens = _opens(mark)
    last = edits[-1] if edits else None
    if last and last.start == last.end == at and last.opens == opens:
        edits[-1] = Edit(at, at, last.written + mark, opens)
    else:
        edits.append(Edit(at, at, mark, opens))


def _is_mark(character: str) -> bool:
    return unicodedata.category(character)[0] == "P"


def _opens(mark: str) -> bool:
    return mark in "¿¡" or unicodedata.category(mark) in ("Ps", "Pi")


def apply_to_text(text: str, edits: Sequence[Edit]) -> str:
    """The restored text again."""
    parts: list[str] = []
    done = 0
    for edit in edits:
        parts += [text[done : edit.start], edit.written]
        done = edit.end
    return "".join([*parts, text[done:]])


@dataclass(frozen=True, slots=True)
class SourceEdit:
    """`source[start:end]` becomes `written`; `edit` is what it came from, None for sentences that are added."""

    start: int
    end: int
    written: str
    edit: Edit | None = None


def apply_to_source(
    transcript: Transcript,
    edits: Sequence[Sequence[Edit]],
    additions: Iterable[SourceEdit] = (),
    paint: Callable[[SourceEdit], str] | None = None,
) -> str:
    """The file with its speeches' edits (one list a speech) written into every copy of the speech.

    `paint` may dress up what is written, for a terminal; it gets each change and returns what to show.
    """
    tracks = [
        _in_track(speech, n, speech_edits)
        for speech, speech_edits in zip(transcript.speeches, edits, strict=True)
        for n in range(len(speech.tracks))
    ]
    changes = heapq.merge(additions, *tracks, key=lambda change: (change.start, change.end))
    return "".join(_in_bulk(_changed(transcript, changes, paint)))


def _changed(
    transcript: Transcript, changes: Iterable[SourceEdit], paint: Callable[[SourceEdit], str] | None
) -> Iterator[str]:
    done = 0
    for change in changes:
        if change.start > done:
            yield transcript.source[done : change.start]
        change = _escaped(change, transcript.escape) if change.edit else change
        yield paint(change) if paint else change.written
        done = max(done, change.end)
    yield transcript.source[done:]


def _in_bulk(parts: Iterable[str]) -> Iterator[str]:
    """Parts joined some thousand at a time: each small string has an overhead of its own."""
    parts = iter(parts)
    while bulk := list(itertools.islice(parts, 4096)):
        yield "".join(bulk)


def _escaped(change: SourceEdit, escape: str) -> SourceEdit:
    if escape != "json" or not change.written:
        return change
    return SourceEdit(change.start, change.end, json.dumps(change.written)[1:-1], change.edit)


def _in_track(speech: Speech, n_track: int, edits: Sequence[Edit]) -> Iterator[SourceEdit]:
    """The edits where they stand in one track, in the order of the file."""
    track = speech.tracks[n_track]
    if not track:
        return
    first = bisect_left(edits, track[0].start, key=_start_of)
    last = bisect_left(edits, track[-1].end + 1, key=_start_of)
    finder = _PlaceFinder(track, speech.text, is_copy=n_track > 0)
    for n in range(first, last):
        yield from finder.place(edits[n])


def _start_of(edit: Edit) -> int:
    return edit.start


class _PlaceFinder:
    """Finds where edits, asked for in order, stand in one track."""

    def __init__(self, track: Runs, text: str, is_copy: bool):
        self.track = track
        self.text = text
        self.is_copy = is_copy
        self.at = 0  # runs before this one end before anything still to come

    def place(self, edit: Edit) -> Iterable[SourceEdit]:
        if edit.start == edit.end:
            position = self._mark_position(edit)
            if position is not None:
                yield SourceEdit(position, position, edit.written, edit)
            return
        run = self._holding(edit.start)
        if run is not None:  # a blank between two cues stands nowhere, so nothing can be taken out there
            yield SourceEdit(*_of_character(run, edit.start), edit.written, edit)

    def _mark_position(self, edit: Edit) -> int | None:
        if edit.opens:
            run = self._holding(edit.start)
            return None if run is None else _of_character(run, edit.start)[0]
        before = edit.start - 1
        while before > 0 and self.text[before].isspace() and not self.is_copy:
            before -= 1
        run = self._holding(before) if before >= 0 else None
        if run is not None:
            return _of_character(run, before)[1]
        run = self._holding(edit.start) if before < 0 else None
        return None if run is None else _of_character(run, edit.start)[0]

    def _holding(self, offset: int) -> Run | None:
        """The run with the character at `offset`. Goes back a little, since an edit may ask for what stands before."""
        track = self.track
        while self.at > 0 and track[self.at].start > offset:
            self.at -= 1
        run = track[self.at]
        while self.at + 1 < len(track) and run.end <= offset:
            self.at += 1
            run = track[self.at]
        return run if run.start <= offset < run.end else None


def _of_character(run: Run, offset: int) -> tuple[int, int]:
    """Where one character of the text stands in the file."""
    if not run.is_one_to_one:
        return run.source_start, run.source_end
    start = run.source_start + offset - run.start
    return start, start + 1
