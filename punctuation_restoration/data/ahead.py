"""Work done ahead of who reads its results, in order and in bounded memory. Knows nothing of what is done."""

import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def mapped_ahead(pool: Executor, function: Callable[[T], R], items: Iterable[T], n_ahead: int) -> Iterator[R]:
    """What a function gives for each item, in order; a pool computes `n_ahead` items ahead of who reads."""
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
