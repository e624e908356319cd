"""Bootstrap intervals: how much a score would vary if the test had other texts.

Takes the counts of the blocks of a test, gives the 95 % interval of micro-F1 and of every mark's F1; of two systems on
one test that of their difference, each sample being drawn for both alike (Koehn 2004). Whole documents are drawn again
with replacement, since the words of one text depend on each other. A test that is one stream without document borders,
or has few documents, is drawn in fixed blocks of words instead; the result says which.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from punctuation_restoration.evaluation.counts import Counts, add_counts
from punctuation_restoration.evaluation.scores import mark_numbers, micro

N_SAMPLES = 2000
BLOCK_WORDS = 200
MIN_DOCUMENTS = 5  # with fewer documents, blocks of words are drawn
SEED = 2026


@dataclass(frozen=True, slots=True)
class Block:
    """Counts of one block of one document."""

    document: str
    source: str
    block: int  # its number in the document, from 0
    counts: Counts


@dataclass(frozen=True, slots=True)
class Intervals:
    """95 % intervals (low, high) of F1 as fractions."""

    unit: str  # what was drawn: "documents" or "blocks of 200 words"
    n_units: int  # of the test
    micro: tuple[float, float]
    marks: dict[str, tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Difference:
    """Micro-F1 of one system minus that of another, as a fraction; `unit` and `n_units` are those of `Intervals`."""

    micro: float
    interval_95: tuple[float, float]  # low, high
    share_above_0: float  # of the samples: in how many the first system is better
    unit: str
    n_units: int


def by_key(blocks: Sequence[Block], key: str) -> dict[str, Counts]:
    """Counts added up by `"document"` or `"source"`, in order of first appearance."""
    groups: dict[str, list[Counts]] = {}
    for block in blocks:
        groups.setdefault(getattr(block, key), []).append(block.counts)
    return {name: add_counts(group[0].label_names, group) for name, group in groups.items()}


def bootstrap(blocks: Sequence[Block]) -> Intervals:
    """Percentile bootstrap (Efron & Tibshirani 1993, chapter 13) over documents, or over blocks of words.

    Raises:
        ValueError: if there is no block.
    """
    unit, n_units, f1 = _samples(blocks)
    overall, *ranges = [(low, high) for low, high in np.percentile(f1, [2.5, 97.5], axis=0).T.tolist()]
    return Intervals(unit, n_units, overall, dict(zip(blocks[0].counts.label_names[1:], ranges, strict=True)))


def paired_bootstrap(new: Sequence[Block], earlier: Sequence[Block]) -> Difference:
    """How much better `new` is than `earlier`, two systems scored on the same blocks.

    Raises:
        ValueError: if there is no block, or the blocks, their words or labels are not the same.
    """
    if list(map(_tested, new)) != list(map(_tested, earlier)):
        raise ValueError(
            f"Expected results of the same documents, blocks and labels, got {len(new)} blocks and {len(earlier)} that "
            "differ in them. Evaluate both models with the same --benchmark and --limit."
        )
    unit, n_units, f1 = _samples(new)
    gains = (f1 - _samples(earlier)[2])[:, 0]  # the same seed draws the same units for both
    names = new[0].counts.label_names
    whole = [micro(add_counts(names, (block.counts for block in blocks))).f1 for blocks in (new, earlier)]
    low, high = np.percentile(gains, [2.5, 97.5]).tolist()
    return Difference(whole[0] - whole[1], (low, high), float((gains > 0).mean()), unit, n_units)


def _tested(block: Block) -> tuple[Any, ...]:
    """What of a block does not depend on the system: its place, the labels, and how often the reference has each."""
    counts = block.counts
    return block.document, block.source, block.block, counts.label_names, *counts.pairs.sum(axis=1).tolist()


def _samples(blocks: Sequence[Block]) -> tuple[str, int, np.ndarray]:
    """What is drawn, how many there are, and F1 (samples, all and each mark) of each sample; always the same draws."""
    if not blocks:
        raise ValueError("Expected the counts of one block or more, got none. Is the test empty?")
    unit, units = "documents", list(by_key(blocks, "document").values())
    if len(units) < MIN_DOCUMENTS:
        unit, units = f"blocks of {BLOCK_WORDS} words", [block.counts for block in blocks]
    marks = mark_numbers(np.stack([one.pairs for one in units]), np.stack([one.stray for one in units]))
    numbers = np.concatenate([marks.sum(axis=1, keepdims=True), marks], axis=1)  # (units, all and each mark, 3)
    generator = np.random.default_rng(SEED)
    # How often each unit is drawn in each sample: (samples, units).
    drawn = generator.multinomial(len(units), np.full(len(units), 1 / len(units)), size=N_SAMPLES)
    n_correct, *others = np.moveaxis(np.tensordot(drawn, numbers, axes=1), -1, 0)  # (samples, all and each mark) each
    n_marks = sum(others)
    return unit, len(units), np.divide(2 * n_correct, n_marks, out=np.zeros(n_marks.shape), where=n_marks > 0)
