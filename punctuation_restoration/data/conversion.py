"""Documents -> packed documents, with the stages that serving uses, in several processes; says why one was left out.

text ── words, marks ──> spoken words, label names ── slots ──> piece ids, piece counts, label ids
"""

import functools
import itertools
import re
import signal
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any

import numpy as np

from punctuation_restoration.data.casings import casing_targets, sentence_begins, written_casings
from punctuation_restoration.data.leaks import LeakCheck
from punctuation_restoration.data.normalisation import NumberSpeller
from punctuation_restoration.data.readers import CLITICS, SourceDocument, hash_id
from punctuation_restoration.data.recipe import Filters, Recipe, Source
from punctuation_restoration.data.shards import Array, PackedDocument, hash_words, make_words
from punctuation_restoration.pipeline.casing import CAPITAL, MIXED, UPPER, stem_of
from punctuation_restoration.pipeline.conventions import stop_labels
from punctuation_restoration.pipeline.items import join_words, offsets_of
from punctuation_restoration.pipeline.marks import strip_marks
from punctuation_restoration.pipeline.slots import SlotEncoder
from punctuation_restoration.pipeline.words import WordFinder

N_AHEAD = 64  # documents sent before the first comes back
_BEFORE_CLITIC = re.compile(rf"(?<=\S)\n? (?=(?:{'|'.join(CLITICS)})(?!\S))", re.IGNORECASE)
Job = tuple[SourceDocument, Source]
speller = functools.cache(NumberSpeller)  # by language and shares


Convert = Callable[[Iterable[Job]], Iterator[PackedDocument]]


@dataclass
class Converter:
    """Turns documents into packed documents."""

    tokenizer: Any  # the encoder's
    config: Any  # a `PunctuationRestorationConfig`: its labels, marks and casing
    recipe: Recipe

    def __post_init__(self) -> None:
        self.leak_check = LeakCheck(self.recipe.leak_check) if self.recipe.leak_check else None
        self.finder = WordFinder(self.config.mark_labels)
        self.slots = SlotEncoder(self.tokenizer, self.config)
        self.is_stop = np.array(stop_labels(self.config.labels))
        self.piece_kind = np.uint16 if len(self.tokenizer) <= 1 << 16 else np.int32

    def convert(self, document: SourceDocument, source: Source) -> PackedDocument:
        """Convert one document of a source, or say why not."""
        text_hash = hash_id("".join(document.text.split()).lower())
        packed = PackedDocument(hash_id(document.id), text_hash=text_hash)
        if self.leak_check and (leak := self.leak_check.found_in(document.text)):
            return packed._replace(reason=leak)
        spoken, labels = self.words_and_labels(document, source.language)
        if reason := self.reason_to_skip(labels, source.filters):
            return packed._replace(reason=reason)
        begins = sentence_begins(self.is_stop[labels])
        casings = casing_targets(spoken, begins, written_casings(spoken, begins))
        has_capitals = np.flatnonzero(np.isin(casings, (CAPITAL, UPPER, MIXED)))
        pieces = self.slots.pieces(spoken)
        counts = np.fromiter(map(len, pieces), dtype=np.uint8)  # far below 255
        ids = np.fromiter(itertools.chain.from_iterable(pieces), dtype=self.piece_kind)
        return packed._replace(
            words=make_words(ids, counts, labels, casings),
            word_hash=hash_words(spoken),
            capitalised=frozenset(stem_of(spoken[index]) for index in has_capitals),
        )

    def words_and_labels(self, document: SourceDocument, language: str) -> tuple[list[str], Array]:
        """Spoken words of a document and their label ids, (n_words,) uint8."""
        if document.words:
            document.check_labels(self.config.label_names)
            spoken, names = self.labelled(document)
        else:
            text = document.text
            if self.recipe.spoken_forms:
                text = speller(language, self.recipe.spoken_forms)(text, hash_id(document.id))
            marks = self.config.mark_labels
            spoken, names = strip_marks(text, self.finder(text), marks, self.config.label_names)
        return spoken, np.array([self.config.label2id[name] for name in names], dtype=np.uint8)

    def labelled(self, document: SourceDocument) -> tuple[list[str], list[str]]:
        """The words of a label file, found as in any text, without marks, and the label of the last token of each."""
        no_mark, tokens = self.config.label_names[0], document.words
        # A line end after a mark: no Han word reaches over one.
        named = zip(tokens, document.labels, strict=True)
        lines = [token + "\n" * (name != no_mark) for token, name in named]
        text = _BEFORE_CLITIC.sub("", join_words(lines))
        words = self.finder(text)
        ends = [word.end for word in words]
        labels = [no_mark] * len(words)
        for token, name, start in zip(
            tokens, document.labels, offsets_of(tokens, text), strict=True
        ):
            last = bisect_right(ends, start + len(token)) - 1  # the last word that ends by then
            if last < 0:
                continue
            is_sign = not any(map(str.isalnum, token))  # its mark stands behind the word before it
            if ends[last] > start or (is_sign and labels[last] == no_mark):
                labels[last] = name
        return [word.spoken for word in words], labels

    def reason_to_skip(self, labels: Array, filters: Filters) -> str | None:
        """The first filter that a document with these label ids fails, or None."""
        if not len(labels):
            return "too few words"
        density = np.count_nonzero(labels) / len(labels)
        if not density:
            return "no marks"
        if self.is_stop[labels].sum() < filters.min_sentences:
            return "too few sentences"
        if density < filters.min_marks_per_word:
            return "too few marks a word"
        return "too many marks a word" if density > filters.max_marks_per_word else None


_convert: Callable[[SourceDocument, Source], PackedDocument]  # one a worker process


def _start(converter: Converter) -> None:
    global _convert
    _convert = converter.convert
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the first process, which ends these


def _converted(job: Job) -> PackedDocument:
    return _convert(*job)


@contextmanager
def start_workers(converter: Converter, n_processes: int) -> Iterator[Convert]:
    """A function that converts documents of sources in order, in a number of processes; 1 is this process."""
    if n_processes <= 1:
        yield functools.partial(itertools.starmap, converter.convert)
        return
    # Spawned: a forked tokenizer with threads can hang.
    context = get_context("spawn")
    with ProcessPoolExecutor(n_processes, context, _start, (converter,)) as pool:
        yield lambda jobs: mapped_ahead(pool, _converted, jobs, N_AHEAD)


def mapped_ahead(
    pool: Executor, function: Callable[..., Any], items: Iterable[Any], n_ahead: int
) -> Iterator[Any]:
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
