"""Long work: results that a pool computes ahead of their reader, and a bar that shows how far the work is."""

import itertools
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor
from typing import Any, TypeVar

from tqdm import tqdm

T = TypeVar("T")
R = TypeVar("R")


def mapped_ahead(pool: Executor, function: Callable[[T], R], items: Iterable[T], n_ahead: int) -> Iterator[R]:
    """What a function gives for each item, in order; a pool computes `n_ahead` items ahead of the reader."""
    waiting = (pool.submit(function, item) for item in items)
    running = deque(itertools.islice(waiting, n_ahead))
    try:
        while running:
            result = running.popleft().result()
            running.extend(itertools.islice(waiting, 1))
            yield result
    finally:  # the caller may stop early
        for future in running:
            future.cancel()


class ProgressBar(tqdm):  # type: ignore[type-arg]
    """A bar that counts, up to `total` where that is known; a context manager. It is shown on terminals only."""

    def __init__(self, title: str, total: int | None = None, is_shown: bool = True) -> None:
        is_hidden: Any = None if is_shown else True  # None: hidden where the output is no terminal
        super().__init__(desc=title, total=total, disable=is_hidden, leave=False, dynamic_ncols=True, unit_scale=True)

    def count(self, completed: int, unit: str = "", note: str = "") -> None:
        """Say how much has been done."""
        self.set_postfix_str(note, refresh=False)
        self.count_more(completed - self.n, unit)

    def count_more(self, n_more: int, unit: str = "") -> None:
        """Say how much more has been done."""
        self.unit = f" {unit}"
        self.update(n_more)

    def tell(self, line: str) -> None:
        """Print a line above the bar."""
        self.write(line)
        sys.stdout.flush()
