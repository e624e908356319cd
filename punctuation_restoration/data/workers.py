"""Converting a stream of documents in several processes, in order and in bounded memory.

Takes documents, gives conversions. Knows nothing of files.
"""

from __future__ import annotations

import functools
import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from typing import TypeVar

from punctuation_restoration.data.conversion import Conversion, Converter
from punctuation_restoration.data.readers import SourceDocument
from punctuation_restoration.data.recipe import Source

BATCH_CHARACTERS = 100_000  # text sent to a worker at a time: about a second of its work
N_AHEAD = 6  # batches sent before the first comes back
T = TypeVar("T")
R = TypeVar("R")

_converter: Converter | None = None  # one a worker process


def start_workers(converter: Converter, n_processes: int) -> Executor:
    """A pool of `n_processes` processes with a copy of the converter each, or of one thread in this process for 1."""
    if n_processes <= 1:
        return ThreadPoolExecutor(1, initializer=_start, initargs=(converter,))
    # Spawned: a forked tokenizer with threads can hang.
    return ProcessPoolExecutor(n_processes, get_context("spawn"), initializer=_start, initargs=(converter,))


def converted(pool: Executor, documents: Iterable[SourceDocument], source: Source) -> Iterator[Conversion]:
    """Convert the documents of a source in a pool of `start_workers`, in order."""
    convert = functools.partial(_convert, source=source)
    for conversions in mapped_ahead(pool, convert, document_batches(documents), N_AHEAD):
        yield from conversions


def mapped_ahead(pool: Executor, function: Callable[[T], R], items: Iterable[T], n_ahead: int) -> Iterator[R]:
    """What a function gives for each item, in order; a pool computes `n_ahead` items ahead of who reads."""
    waiting = iter(items)
    running = deque(pool.submit(function, item) for item in itertools.islice(waiting, n_ahead))
    try:
        while running:
            result = running.popleft().result()
            running.extend(pool.submit(function, item) for item in itertools.islice(waiting, 1))
            yield result
    finally:  # the caller may stop early
        for future in running:
            future.cancel()


def document_batches(documents: Iterable[SourceDocument]) -> Iterator[list[SourceDocument]]:
    """Group documents into batches of about `BATCH_CHARACTERS` characters."""
    batch: list[SourceDocument] = []
    size = 0
    for document in documents:
        batch.append(document)
        size += len(document.text) + 8 * len(document.words)
        if size >= BATCH_CHARACTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _start(converter: Converter) -> None:
    global _converter
    _converter = converter


def _convert(documents: list[SourceDocument], source: Source) -> list[Conversion]:
    assert _converter is not None
    return [_converter.convert(document, source) for document in documents]
