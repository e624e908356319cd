"""Bootstrap intervals: how much a score would vary if the test had other texts.

Takes the counts of the parts of a test, gives the 95 % interval of micro-F1 and of every mark's F1. Whole documents
are drawn again with replacement, since the words of one text depend on each other. A test that is one stream without
document borders, or has few documents, is drawn in fixed blocks of words instead; the result says which.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from punctuation_restoration.evaluation.counts import NO_MARK, Counts
from punctuation_restoration.evaluation.scores import micro, score

N_SAMPLES = 2000
BLOCK_WORDS = 200
MIN_DOCUMENTS = 5  # with fewer documents, blocks of words are drawn
SEED = 2026


@dataclass(frozen=True, slots=True)
class Part:
    """Counts of one block of one document; `block` numbers the blocks of a document from 0."""

    document: str
    source: str
    block: int
    counts: Counts


@dataclass(frozen=True, slots=True)
class Intervals:
    """95 % intervals (low, high) of F1 as fractions.

    `unit` is what was drawn ("documents" or "blocks of 200 words"), `n_units` how many of them the test has.
    """

    unit: str
    n_units: int
    micro: tuple[float, float]
    marks: dict[str, tuple[float, float]]


def add_counts(label_names: Sequence[str], counts: Sequence[Counts]) -> Counts:
    """The sum of many counts; empty counts where there is none."""
    total = Counts(tuple(label_names))
    for one in counts:
        # In place: `+` would copy the sum for each of thousands of parts.
        total.mid_text.update(one.mid_text)
        total.end_text.update(one.end_text)
        total.stray.update(one.stray)
    return total


def by_key(parts: Sequence[Part], key: str) -> dict[str, Counts]:
    """Counts added up by `"document"` or `"source"`, in order of first appearance."""
    groups: dict[str, list[Counts]] = {}
    for part in parts:
        groups.setdefault(getattr(part, key), []).append(part.counts)
    return {name: add_counts(group[0].label_names, group) for name, group in groups.items()}


def bootstrap(parts: Sequence[Part], n_samples: int = N_SAMPLES, seed: int = SEED) -> Intervals:
    """Percentile bootstrap (Efron & Tibshirani 1993, chapter 13) over documents, or over blocks of words.

    Raises:
        ValueError: if there is no part.
    """
    if not parts:
        raise ValueError("Expected the counts of one part or more, got none. Is the test empty?")
    documents = by_key(parts, "document")
    if len(documents) >= MIN_DOCUMENTS:
        unit, units = "documents", list(documents.values())
    else:
        unit, units = f"blocks of {BLOCK_WORDS} words", [part.counts for part in parts]
    mark_names = [name for name in units[0].label_names if name != NO_MARK]
    numbers = np.array([_numbers(counts, mark_names) for counts in units], dtype=np.float64)  # (units, marks + 1, 2)
    generator = np.random.default_rng(seed)
    # How often each unit is drawn in each sample: (samples, units).
    drawn = generator.multinomial(len(units), np.full(len(units), 1 / len(units)), size=n_samples)
    totals = np.tensordot(drawn, numbers, axes=1)  # (samples, marks + 1, 2)
    f1 = np.divide(2 * totals[..., 0], totals[..., 1], out=np.zeros(totals.shape[:2]), where=totals[..., 1] > 0)
    low, high = np.percentile(f1, [2.5, 97.5], axis=0)
    ranges = [(float(a), float(b)) for a, b in zip(low, high, strict=True)]
    return Intervals(unit, len(units), ranges[0], dict(zip(mark_names, ranges[1:], strict=True)))


def _numbers(counts: Counts, mark_names: Sequence[str]) -> list[tuple[int, int]]:
    """(correct, predicted + reference) over all marks, then for each mark: F1 is twice the first by the second."""
    marks = score(counts).marks
    rows = [micro(counts), *(marks[name] for name in mark_names)]
    return [(row.n_correct, row.n_predicted + row.n_reference) for row in rows]
