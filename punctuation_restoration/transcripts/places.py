"""Where stretches of speech stand in a file, and when they were said.

A file of 100 MB has millions of them, so the places are kept in an array. It knows nothing of formats.
"""

from array import array
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any, NamedTuple


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


class Timing(NamedTuple):
    """When `text[start:end]` was said, in seconds; None where the file does not tell."""

    start: int
    end: int
    begins: float | None
    ends: float | None


class Runs(Sequence[Run]):
    """Runs in the order of the text; one that goes on where the last one ended becomes part of it."""

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

    def at(self, offset: int) -> Run | None:
        """The run that holds the character at `offset` of the text."""
        n_before = bisect_right(range(len(self)), offset, key=lambda n: self._numbers[4 * n + 1])
        run = self[n_before] if n_before < len(self) else None
        return run if run and run.start <= offset else None

    def __len__(self) -> int:
        return len(self._numbers) // 4

    def __getitem__(self, index: Any) -> Any:
        at = 4 * range(len(self))[index]
        return Run(*self._numbers[at : at + 4])
