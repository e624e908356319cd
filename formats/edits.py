"""Takes a text and the same text restored, gives the edits between them, and writes edits into a file's own text.

It knows no model: any restorer will do that leaves the words alone. It is linear in the text.
"""

import json
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from .transcripts import Run, Speech, Transcript


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
    changes = list(additions)
    for speech, speech_edits in zip(transcript.speeches, edits, strict=True):
        changes.extend(_in_source(speech, speech_edits))
    changes.sort(key=lambda change: (change.start, change.end))
    parts: list[str] = []
    done = 0
    for change in changes:
        if change.start > done:
            parts.append(transcript.source[done : change.start])
        change = _escaped(change, transcript.escape) if change.edit else change
        parts.append(paint(change) if paint else change.written)
        done = max(done, change.end)
    parts.append(transcript.source[done:])
    return "".join(parts)


def _escaped(change: SourceEdit, escape: str) -> SourceEdit:
    if escape != "json" or not change.written:
        return change
    return SourceEdit(change.start, change.end, json.dumps(change.written)[1:-1], change.edit)


def _in_source(speech: Speech, edits: Sequence[Edit]) -> Iterable[SourceEdit]:
    starts = [edit.start for edit in edits]
    for n_track, track in enumerate(speech.tracks):
        if not track:
            continue
        first = bisect_left(starts, track[0].start)
        last = bisect_left(starts, track[-1].end + 1)
        finder = _PlaceFinder(track, speech.text, is_copy=n_track > 0)
        for edit in edits[first:last]:
            yield from finder.place(edit)


class _PlaceFinder:
    """Finds where edits, asked for in order, stand in one track."""

    def __init__(self, track: list[Run], text: str, is_copy: bool):
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
        while self.at + 1 < len(track) and track[self.at].end <= offset:
            self.at += 1
        run = track[self.at]
        return run if run.start <= offset < run.end else None


def _of_character(run: Run, offset: int) -> tuple[int, int]:
    """Where one character of the text stands in the file."""
    if run.end - run.start != run.source_end - run.source_start:
        return run.source_start, run.source_end
    start = run.source_start + offset - run.start
    return start, start + 1
