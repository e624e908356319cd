"""Takes the edits of a transcript's speeches, as the pipeline gives them, and writes them into its file's own text.

An edit is a dictionary: from `start` on, `removed` becomes `inserted`; `score` is how sure the model was, or None.
"""

import heapq
import io
import json
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import itemgetter
from typing import NamedTuple

from ..pipeline.edits import Edit, follows
from .places import Runs
from .transcript import Transcript


class SourceEdit(NamedTuple):
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
        _in_track(track, speech_edits)
        for speech, speech_edits in zip(transcript.speeches, edits, strict=True)
        for track in speech.tracks
    ]
    written, done, is_ascii_json = io.StringIO(), 0, transcript.is_ascii_json
    for change in heapq.merge(additions, *tracks, key=itemgetter(0, 1)):
        written.write(transcript.source[done : change.start])
        if change.edit and is_ascii_json:
            change = change._replace(written=json.dumps(change.written)[1:-1])
        written.write(paint(change) if paint else change.written)
        done = max(done, change.end)
    written.write(transcript.source[done:])
    return written.getvalue()


def _in_track(track: Runs, edits: Sequence[Edit]) -> Iterator[SourceEdit]:
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
            yield SourceEdit(start, end, edit["inserted"], edit)
