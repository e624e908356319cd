"""Where stretches of speech stand in a file and when they were said: one at a time as objects, all together in arrays.

A file of 100 MB has millions of them, and as objects they would take ten times its size. It knows nothing of formats.
"""

import math
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Run:
    """A stretch of speech and where it stands in the file: `text[start:end]` is `source[source_start:source_end]`.

    The two are equally long, or the run is one character that the file writes as several (`&amp;`, `\\u4f60`).
    """

    start: int
    end: int
    source_start: int
    source_end: int

    @property
    def is_one_to_one(self) -> bool:
        return self.end - self.start == self.source_end - self.source_start


@dataclass(frozen=True, slots=True)
class Timing:
    """When `text[start:end]` was said, in seconds; None where the file does not tell."""

    start: int
    end: int
    begins: float | None
    ends: float | None


class Runs(Sequence[Run]):
    """Runs in the order of the text; one that goes on where the last one ended becomes part of it."""

    __slots__ = ("_numbers",)

    def __init__(self, runs: Sequence[Run] = ()):
        self._numbers = array("q")
        for run in runs:
            self.add(run.start, run.end, run.source_start, run.source_end)

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
        """Which run holds the character at `offset` of the text, or is the first one behind it."""
        low, high = 0, len(self)
        while low < high:
            middle = (low + high) // 2
            if self._numbers[4 * middle + 1] <= offset:
                low = middle + 1
            else:
                high = middle
        return low

    def __len__(self) -> int:
        return len(self._numbers) // 4

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[n] for n in range(*index.indices(len(self)))]
        at = 4 * (index + len(self) if index < 0 else index)
        if not 0 <= at < len(self._numbers):
            raise IndexError(f"Expected one of {len(self)} runs, got {index}.")
        return Run(*self._numbers[at : at + 4])

    def __iter__(self) -> Iterator[Run]:
        return (Run(*self._numbers[at : at + 4]) for at in range(0, len(self._numbers), 4))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Runs) and self._numbers == other._numbers

    __hash__ = None  # type: ignore[assignment]  # it grows


class Timings(Sequence[Timing]):
    """Timings in the order in which they were noted."""

    __slots__ = ("_places", "_seconds")

    def __init__(self, timings: Sequence[Timing] = ()):
        self._places = array("q")
        self._seconds = array("d")  # not a number where it is not known
        for timing in timings:
            self.append(timing)

    def append(self, timing: Timing) -> None:
        self._places.extend((timing.start, timing.end))
        self._seconds.extend(math.nan if time is None else time for time in (timing.begins, timing.ends))

    def __len__(self) -> int:
        return len(self._places) // 2

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[n] for n in range(*index.indices(len(self)))]
        at = 2 * (index + len(self) if index < 0 else index)
        if not 0 <= at < len(self._places):
            raise IndexError(f"Expected one of {len(self)} timings, got {index}.")
        begins, ends = (None if math.isnan(time) else time for time in self._seconds[at : at + 2])
        return Timing(self._places[at], self._places[at + 1], begins, ends)

    def __iter__(self) -> Iterator[Timing]:
        return (self[n] for n in range(len(self)))
