"""Takes a speech's edits, as the pipeline gives them, and writes them into its text and into its file's own text.

An edit is a dictionary: from `start` on, `removed` becomes `inserted`; `score` is how sure the model was, or None.
"""

import heapq
import itertools
import json
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from .places import Run, Runs
from .transcript import Speech, Transcript


def stands_behind(edit: Mapping[str, Any], text: str) -> bool:
    """Whether it is a mark that belongs to the character before it; behind a blank it belongs to what follows (`¿`)."""
    return not edit["removed"] and edit["start"] > 0 and not text[edit["start"] - 1].isspace()


def apply_to_text(text: str, edits: Iterable[Mapping[str, Any]]) -> str:
    """The restored text."""
    parts: list[str] = []
    done = 0
    for edit in edits:
        parts += [text[done : edit["start"]], edit["inserted"]]
        done = edit["start"] + len(edit["removed"])
    return "".join([*parts, text[done:]])


@dataclass(frozen=True, slots=True)
class SourceEdit:
    """`source[start:end]` becomes `written`; `edit` is what it came from, None for sentences that are added."""

    start: int
    end: int
    written: str
    edit: Mapping[str, Any] | None = None


def apply_to_source(
    transcript: Transcript,
    edits: Sequence[Sequence[Mapping[str, Any]]],
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


def _in_track(speech: Speech, n_track: int, edits: Sequence[Mapping[str, Any]]) -> Iterator[SourceEdit]:
    """The edits where they stand in one track, in the order of the file."""
    track = speech.tracks[n_track]
    if not track:
        return
    first = bisect_left(edits, track[0].start, key=itemgetter("start"))
    last = bisect_left(edits, track[-1].end + 1, key=itemgetter("start"))
    finder = _PlaceFinder(track)
    for n in range(first, last):
        place = finder.place(edits[n], speech.text)
        if place is not None:
            yield SourceEdit(*place, edits[n]["inserted"], edits[n])


class _PlaceFinder:
    """Finds where edits, asked for in order, stand in one track."""

    def __init__(self, track: Runs):
        self.track = track
        self.at = 0  # runs before this one end before anything still to come

    def place(self, edit: Mapping[str, Any], text: str) -> tuple[int, int] | None:
        """Start and end in the file; None where it stands nowhere, as the blank between two cues."""
        is_behind = stands_behind(edit, text)
        offset = edit["start"] - is_behind
        run = self._holding(offset)
        if run is None:
            return None
        start, end = _of_character(run, offset)
        return (start, end) if edit["removed"] else (end, end) if is_behind else (start, start)

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
