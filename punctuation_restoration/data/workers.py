"""Converting a stream of documents in several processes, in order and in bounded memory.

Takes documents, gives conversions. Knows nothing of files.
"""

from __future__ import annotations

import functools
import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any, TypeVar

import numpy as np
from transformers import AutoTokenizer

from punctuation_restoration.data.conversion import Conversion, Converter
from punctuation_restoration.data.leaks import LeakCheck
from punctuation_restoration.data.readers import Document
from punctuation_restoration.data.recipe import Source
from punctuation_restoration.modeling.configuration_punctuation import PunctuationRestorationConfig

BATCH_CHARACTERS = 100_000  # text sent to a worker at a time: about a second of its work
T = TypeVar("T")
R = TypeVar("R")

N_AHEAD = 6  # batches sent before the first comes back


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """What each worker builds its converter from."""

    tokenizer: str
    config_fields: dict[str, Any]
    spell_numbers: bool = False
    leak_hashes: np.ndarray | None = None
    max_leak: float = 0.02


class DocumentConverter:
    """Converts documents in `n_processes` processes, or in this one for 1; a context manager."""

    def __init__(self, settings: WorkerSettings, n_processes: int):
        self._pool: Executor | None = None
        if n_processes > 1:
            # Spawned: a forked tokenizer with threads can hang.
            self._pool = ProcessPoolExecutor(
                n_processes, mp_context=get_context("spawn"), initializer=_start, initargs=(settings,)
            )
        else:
            self._converter = make_converter(settings)

    def __enter__(self) -> DocumentConverter:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool:
            self._pool.shutdown(cancel_futures=True)

    def convert(self, documents: Iterable[Document], source: Source) -> Iterator[Conversion]:
        """Convert the documents of a source, in order."""
        if self._pool is None:
            for document in documents:
                yield self._converter.convert(document, source)
            return
        convert = functools.partial(_convert, source=source)
        for conversions in mapped_ahead(self._pool, convert, in_batches(documents), N_AHEAD):
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


def worker_settings(tokenizer: str, config: PunctuationRestorationConfig, **options: Any) -> WorkerSettings:
    """Settings with the fields of a configuration that decide pieces and labels."""
    names = ("labels", "mark_labels", "lowercase", "words_alone")
    fields = {name: getattr(config, name) for name in names} | {"slot_style": "last-piece"}  # slots are made later
    return WorkerSettings(tokenizer, fields, **options)


def make_converter(settings: WorkerSettings) -> Converter:
    """A converter from settings."""
    return Converter(
        AutoTokenizer.from_pretrained(settings.tokenizer),
        PunctuationRestorationConfig(**settings.config_fields),
        settings.spell_numbers,
        LeakCheck(settings.leak_hashes) if settings.leak_hashes is not None else None,
        settings.max_leak,
    )


def in_batches(documents: Iterable[Document], n_characters: int = BATCH_CHARACTERS) -> Iterator[list[Document]]:
    """Group documents into batches of about `n_characters` characters."""
    batch: list[Document] = []
    size = 0
    for document in documents:
        batch.append(document)
        size += len(document.text) + 8 * len(document.words)
        if size >= n_characters:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


_converter: Converter | None = None  # one a worker process


def _start(settings: WorkerSettings) -> None:
    global _converter
    _converter = make_converter(settings)


def _convert(documents: list[Document], source: Source) -> list[Conversion]:
    assert _converter is not None
    return [_converter.convert(document, source) for document in documents]
