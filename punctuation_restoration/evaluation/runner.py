"""Runs the pipeline over the examples of one benchmark: its words -> one predicted label a unit of the reference.

Takes a pipeline as users get it and examples, gives an `Evaluation`: counts by block, calibration, mistakes and
speed. Knows nothing about files, tables or pictures.

A word's mark belongs to the unit in which the word ends. The other units of a word have no mark and no score, since
nothing was decided there.
"""

import heapq
import itertools
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from punctuation_restoration.evaluation.calibration import count_reliability
from punctuation_restoration.evaluation.counts import Counts, add_counts, count_labels
from punctuation_restoration.evaluation.examples import Example
from punctuation_restoration.evaluation.intervals import BLOCK_WORDS, Block
from punctuation_restoration.evaluation.labels import LabelSet
from punctuation_restoration.modeling.configuration_punctuation import NO_MARK

N_AROUND = 8  # units shown on each side of a mistake
# A stretch of more units without a mark is held to lack marks: of those of the validation sets, one in 100 is longer.
BARE_UNITS = 40
SIGNS = {NO_MARK: "", "COMMA": ",", "PERIOD": ".", "QUESTION": "?"}  # other labels are shown by name


@dataclass(frozen=True, slots=True)
class Mistake:
    """One wrong decision, and the text around with the marks of either side; the wrong place is in brackets."""

    score: float  # probability that the model gave to the wrong label
    reference_text: str
    predicted_text: str


@dataclass(frozen=True)
class Evaluation:
    """What one benchmark showed."""

    label_names: tuple[str, ...]  # the labels scored, the no-mark label first
    blocks: list[Block]  # additive counts of every block of every document
    # Bins of scores, (3, 15): of "all_words"; of "marks", words that got one; of "marks_where_marked", those of them
    # that stand where the reference lacks no mark (`may_lack_mark`).
    calibration: Mapping[str, np.ndarray]
    mistakes: Sequence[Mistake]  # those of which the model was most certain
    seconds: float  # time in the pipeline
    n_words: int  # words that the pipeline decided on; in Mandarin fewer than the characters scored

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
    """Run the pipeline over the texts and compare with the reference, in the labels of a set.

    `on_document` is called after each document with the number of units so far; `settings` are keywords for the
    pipeline, such as `window` or `thresholds`.
    """
    blocks: list[Block] = []
    calibration = {name: count_reliability([]) for name in ("all_words", "marks", "marks_where_marked")}
    mistakes: list[Mistake] = []
    n_words = n_units = 0
    started = time.perf_counter()
    # A generator, so that only one document's result is in memory at a time.
    for example, result in zip(examples, restore((example.text for example in examples), **settings), strict=True):
        found = align(example, result["words"], label_set)
        n_words += len(result["words"])
        n_units += len(example.spans)
        blocks += count_blocks(example, found, label_set.names)
        rows = zip(example.labels, found.labels, found.scores, may_lack_mark(example), strict=True)
        decided = [(score, label == own, label, unsure) for own, label, score, unsure in rows if score is not None]
        marks = [row for row in decided if row[2] != NO_MARK]
        sure = [row for row in marks if not row[3]]
        for name, chosen in (("all_words", decided), ("marks", marks), ("marks_where_marked", sure)):
            calibration[name] += count_reliability([row[:2] for row in chosen])
        mistakes = heapq.nlargest(n_mistakes, mistakes + find_mistakes(example, found), key=lambda one: one.score)
        on_document(n_units)
    seconds = time.perf_counter() - started
    return Evaluation(label_set.names, blocks, calibration, mistakes, seconds, n_words)


def may_lack_mark(example: Example) -> list[bool]:
    """For each unit whether the reference may lack a mark there that a careful one would have.

    It may in a stretch of more than `BARE_UNITS`, up to a mark or the end, without any; and where captions have a blank
    between Han characters, which stands for a comma or for nothing.
    """
    ends = [index + 1 for index, label in enumerate(example.labels) if label != NO_MARK]
    stretches = itertools.pairwise(sorted({0, *ends, len(example.labels)}))
    return [end - first > BARE_UNITS or n in example.broken for first, end in stretches for n in range(first, end)]


@dataclass(frozen=True, slots=True)
class Prediction:
    """What was predicted for an example."""

    labels: tuple[str, ...]  # one name a unit
    scores: tuple[float | None, ...]  # the probability of that label, one a unit; None where no word ends
    stray: tuple[tuple[int, str], ...]  # (unit, label) of every mark that was put inside a unit, before its end


def align(example: Example, words: Sequence[Mapping[str, Any]], label_set: LabelSet) -> Prediction:
    """One predicted label a unit from the words of the pipeline (`start`, `end`, `label`, `score`, `source`).

    Raises:
        ValueError: if words lie outside the text or overlap, or a label is unknown.
    """
    units = [index for index, (start, end) in enumerate(example.spans) if end > start]
    starts = [example.spans[index][0] for index in units]
    labels = [NO_MARK] * len(example.spans)
    scores: list[float | None] = [None] * len(example.spans)
    stray: list[tuple[int, str]] = []
    reached = 0
    for index, word in enumerate(words):
        if not reached <= word["start"] < word["end"] <= len(example.text) or not units:
            raise ValueError(
                f"Expected words in order inside {example.id!r} ({len(example.text)} characters), got a word from "
                f"{word['start']} to {word['end']} after one that ends at {reached}. Is this the output for that text?"
            )
        reached = word["end"]
        unit = units[bisect_right(starts, word["end"] - 1) - 1]
        if word["label"] not in label_set.renamed:
            raise ValueError(
                f"Expected a label among {sorted(label_set.renamed)}, got {word['label']!r} in {example.id!r}. "
                "Was the model changed since its labels were read?"
            )
        label = label_set.renamed[word["label"]]
        next_start = words[index + 1]["start"] if index + 1 < len(words) else len(example.text)
        if next_start < example.spans[unit][1]:  # within a unit, where the reference has no mark
            if label != NO_MARK and word["source"] == "model":
                stray.append((unit, label))
            continue
        labels[unit], scores[unit] = label, word["score"]
    return Prediction(tuple(labels), tuple(scores), tuple(stray))


def count_blocks(example: Example, prediction: Prediction, label_names: Sequence[str]) -> list[Block]:
    """Counts of an example in blocks of fixed length; the last block has what is left."""
    n_units = len(example.labels)
    blocks = []
    for number, first in enumerate(range(0, n_units, BLOCK_WORDS)):
        end = min(first + BLOCK_WORDS, n_units)
        counts = count_labels(
            example.labels[first:end],
            prediction.labels[first:end],
            label_names,
            ends_text=example.ends_text and end == n_units,
            stray=[label for unit, label in prediction.stray if first <= unit < end],
        )
        blocks.append(Block(example.id, example.source, number, counts))
    return blocks


def find_mistakes(example: Example, prediction: Prediction) -> list[Mistake]:
    """All wrong decisions of one example; places inside a word of the model, where none was made, are left out."""
    decisions = zip(example.labels, prediction.labels, prediction.scores, strict=True)
    return [
        Mistake(score, around(example, example.labels, unit), around(example, prediction.labels, unit))
        for unit, (reference, predicted, score) in enumerate(decisions)
        if reference != predicted and score is not None
    ]


def around(example: Example, labels: Sequence[str], unit: int) -> str:
    """The text around a unit with its marks, the one after `unit` in brackets: `went home[,] and then`."""
    first, end = max(unit - N_AROUND, 0), min(unit + N_AROUND + 1, len(labels))
    pieces = []
    for index in range(first, end):
        start = example.spans[index - 1][1] if index > first else example.spans[index][0]
        sign = SIGNS.get(labels[index], f" {labels[index]}")
        pieces += [example.text[start : example.spans[index][1]], f"[{sign}]" if index == unit else sign]
    return "".join(pieces)
