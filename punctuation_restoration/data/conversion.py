"""Documents → packed documents, with the stages that serving uses. Says why one was left out.

    text ── words, marks ──> spoken words, label names ── slots ──> piece ids, piece counts, label ids

Takes and gives no files. A stream of documents is converted in several processes, in order and in bounded memory;
each has a copy of the converter, with its tokenizer and word finder.
"""

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import Any

import numpy as np

from punctuation_restoration.data.ahead import mapped_ahead
from punctuation_restoration.data.casings import casing_targets, sentence_begins, written_casings
from punctuation_restoration.data.leaks import LeakCheck
from punctuation_restoration.data.openings import with_openings
from punctuation_restoration.data.readers import SourceDocument
from punctuation_restoration.data.recipe import Filters, Recipe, Source
from punctuation_restoration.data.shards import PackedDocument, hash_id, hash_words, make_words
from punctuation_restoration.pipeline.casing import CAPITAL, MIXED, UPPER, stem_of
from punctuation_restoration.pipeline.conventions import SENTENCE_ENDS
from punctuation_restoration.pipeline.marks import strip_marks
from punctuation_restoration.pipeline.slots import SlotEncoder
from punctuation_restoration.pipeline.words import Word, WordFinder

N_AHEAD = 64  # documents sent before the first comes back


@dataclass(frozen=True, slots=True)
class Conversion:
    """What became of a document: `packed`, or the `reason` why it is not used."""

    id: str
    packed: PackedDocument | None = None
    reason: str | None = None
    n_shared: int = 0  # stretches of text that a benchmark has too
    n_stretches: int = 0
    capitalised: frozenset[str] = frozenset()  # its words with capitals, as they are written


@dataclass
class Converter:
    """Turns documents into packed documents."""

    tokenizer: Any  # the encoder's
    config: Any  # a `PunctuationRestorationConfig`: its labels, marks and casing
    # How text is changed first, and how much of a benchmark a document may have.
    recipe: Recipe = field(default_factory=lambda: Recipe(name="default", sources=()))
    leak_check: LeakCheck | None = None  # benchmarks that documents may not repeat

    def __post_init__(self) -> None:
        self.mark_labels, self.label_names = self.config.mark_labels, self.config.label_names
        self.finder = WordFinder(self.mark_labels)
        self.slots = SlotEncoder(self.tokenizer, self.config)
        self.stop_ids = stop_label_ids(self.config.labels)
        self.piece_kind = np.uint16 if len(self.tokenizer) <= 1 << 16 else np.int32

    def convert(self, document: SourceDocument, source: Source) -> Conversion:
        """Convert one document of a source, or say why not."""
        n_shared, n_stretches = 0, 0
        if self.leak_check:
            sentence, n_shared, n_stretches = self.leak_check(document.text)
            if sentence:
                return Conversion(document.id, None, "holds a sentence of a benchmark")
            if n_shared > self.recipe.max_leak * n_stretches:
                return Conversion(document.id, None, "in a benchmark", n_shared, n_stretches)
        spoken, labels = self.words_and_labels(document, source.language)
        if source.labelled:
            reason = self.reason_to_skip(labels, source.filters)
        else:
            reason = "too few words" if len(labels) < max(source.filters.min_words, 1) else None
            labels = np.zeros_like(labels)
        if reason:
            return Conversion(document.id, None, reason, n_shared, n_stretches)
        begins = sentence_begins(np.isin(labels, self.stop_ids))
        has_casing = source.casing if source.labelled else False
        casings = casing_targets(spoken, begins, written_casings(spoken, begins, has_casing))
        has_capitals = np.isin(casings, (CAPITAL, UPPER, MIXED))
        capitalised = frozenset(stem_of(spoken[index]) for index in np.flatnonzero(has_capitals))
        packed = self.pack(document.id, spoken, labels, casings)
        return Conversion(document.id, packed, None, n_shared, n_stretches, capitalised)

    def words_and_labels(self, document: SourceDocument, language: str) -> tuple[list[str], np.ndarray]:
        """Spoken words of a document and their label ids, (n_words,) uint8."""
        if document.words:
            unknown = sorted(set(document.labels) - set(self.label_names))
            if unknown:
                raise ValueError(
                    f"Expected the labels {self.label_names} from {document.place} on, got {unknown}. Rename them."
                )
            spoken, names = list(document.words), list(document.labels)
        else:
            text = speller(language)(document.text) if self.recipe.spell_numbers else document.text
            words: Sequence[Word] = self.finder(text)
            if language in self.recipe.opening_signs:
                text, words = with_openings(text, words)
            spoken, names = strip_marks(text, words, self.mark_labels, self.label_names)
        return spoken, np.array([self.config.label2id[name] for name in names], dtype=np.uint8)

    def pack(
        self, document_id: str, spoken: Sequence[str], labels: np.ndarray, casings: np.ndarray | None = None
    ) -> PackedDocument:
        """Words and their label ids, (n_words,), as arrays of pieces."""
        pieces = self.slots.pieces(spoken)
        counts = np.fromiter(map(len, pieces), dtype=np.int64, count=len(pieces))
        ids = np.fromiter((piece for word in pieces for piece in word), self.piece_kind, int(counts.sum()))
        # The slot encoder cuts words far below 255 pieces.
        words = make_words(ids, counts.astype(np.uint8), labels, casings)
        return PackedDocument(hash_id(document_id), words, hash_words(spoken))

    def reason_to_skip(self, labels: np.ndarray, filters: Filters) -> str | None:
        """The first filter that a document with these label ids fails, or None."""
        n_words, n_marks = len(labels), np.count_nonzero(labels)
        density = n_marks / max(n_words, 1)
        failed = {
            "too few words": n_words < max(filters.min_words, 1),
            "no marks": not n_marks,
            "too few sentences": np.isin(labels, self.stop_ids).sum() < filters.min_sentences,
            "too few marks a word": density < filters.min_marks_per_word,
            "too many marks a word": density > filters.max_marks_per_word,
        }
        return next((reason for reason, is_failed in failed.items() if is_failed), None)


_converter: Converter | None = None  # one a worker process


@functools.cache
def speller(language: str) -> Callable[[str], str]:
    """What spells the numbers of a language."""
    from punctuation_restoration.data.normalisation import NumberSpeller  # here, because it needs num2words and Babel

    return NumberSpeller(language)


def start_workers(converter: Converter, n_processes: int) -> Executor:
    """A pool of `n_processes` processes with a copy of the converter each, or of one thread in this process for 1."""
    if n_processes <= 1:
        return ThreadPoolExecutor(1, initializer=_start, initargs=(converter,))
    # Spawned: a forked tokenizer with threads can hang.
    return ProcessPoolExecutor(n_processes, get_context("spawn"), initializer=_start, initargs=(converter,))


def converted(pool: Executor, documents: Iterable[SourceDocument], source: Source) -> Iterator[Conversion]:
    """Convert the documents of a source in a pool of `start_workers`, in order."""
    return mapped_ahead(pool, functools.partial(_convert, source=source), documents, N_AHEAD)


def _start(converter: Converter) -> None:
    global _converter
    _converter = converter


def _convert(document: SourceDocument, source: Source) -> Conversion:
    assert _converter is not None
    return _converter.convert(document, source)


def stop_label_ids(labels: Sequence[dict[str, str]]) -> list[int]:
    """Ids of the labels that end a sentence, questions last: those that write a sentence-ending sign after a word."""
    written = [{SENTENCE_ENDS[sign] for sign in label["after"] if sign in SENTENCE_ENDS} for label in labels]
    return sorted(
        (index for index, names in enumerate(written) if names), key=lambda index: "QUESTION" in written[index]
    )
