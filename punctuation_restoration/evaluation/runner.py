"""Runs the pipeline over the examples of one benchmark.

Takes a pipeline as users get it and examples, gives an `Evaluation`: counts by block, calibration, mistakes and
speed. Knows nothing about files, tables or pictures.
"""

import heapq
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from punctuation_restoration.evaluation.alignment import Mistake, align, count_blocks, find_mistakes
from punctuation_restoration.evaluation.calibration import count_reliability
from punctuation_restoration.evaluation.counts import Counts, add_counts
from punctuation_restoration.evaluation.examples import Example
from punctuation_restoration.evaluation.intervals import Block
from punctuation_restoration.evaluation.labels import LabelSet
from punctuation_restoration.modeling.configuration_punctuation import NO_MARK


@dataclass(frozen=True)
class Evaluation:
    """What one benchmark showed.

    Attributes:
        label_names: the labels scored, the no-mark label first.
        blocks: additive counts of every block of every document.
        calibration: bins of the scores, (3, 15), of `"all_words"` and of `"marks"`: the words that got a mark.
        mistakes: the mistakes of which the model was most certain.
        seconds: time in the pipeline.
        n_words: words that the pipeline decided on; in Mandarin fewer than the characters scored.
    """

    label_names: tuple[str, ...]
    blocks: list[Block]
    calibration: Mapping[str, np.ndarray]
    mistakes: Sequence[Mistake]
    seconds: float
    n_words: int

    @property
    def counts(self) -> Counts:
        """The sum over all blocks."""
        return add_counts(self.label_names, [block.counts for block in self.blocks])


def evaluate_examples(
    restore: Callable[..., Iterator[dict[str, Any]]],
    examples: Sequence[Example],
    label_set: LabelSet,
    *,
    n_mistakes: int = 50,
    on_document: Callable[[int], object] = lambda n_units: None,
    **settings: Any,
) -> Evaluation:
    """Run the pipeline over the texts and compare with the reference.

    Args:
        restore: the pipeline.
        examples: texts with references.
        label_set: the labels to score in.
        n_mistakes: how many mistakes to keep.
        on_document: called after each document with the number of units so far.
        settings: keywords for the pipeline, such as `window` or `thresholds`.
    """
    blocks: list[Block] = []
    calibration = {name: count_reliability([]) for name in ("all_words", "marks")}
    mistakes: list[Mistake] = []
    n_words = n_units = 0
    started = time.perf_counter()
    # A generator, so that only one document's result is in memory at a time.
    for example, result in zip(examples, restore((example.text for example in examples), **settings), strict=True):
        found = align(example, result["words"], label_set)
        n_words += len(result["words"])
        n_units += len(example.spans)
        blocks += count_blocks(example, found, label_set.names)
        decisions = [
            (label, (score, label == reference))
            for reference, label, score in zip(example.labels, found.labels, found.scores, strict=True)
            if score is not None
        ]
        calibration["all_words"] += count_reliability([decision for _, decision in decisions])
        calibration["marks"] += count_reliability([decision for label, decision in decisions if label != NO_MARK])
        mistakes = heapq.nlargest(n_mistakes, mistakes + find_mistakes(example, found), key=lambda one: one.score)
        on_document(n_units)
    seconds = time.perf_counter() - started
    return Evaluation(label_set.names, blocks, calibration, mistakes, seconds, n_words)
