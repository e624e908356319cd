"""Runs the pipeline over the examples of one benchmark: its words -> one predicted label a unit of the reference.

Takes a pipeline as users get it and examples, gives an `Evaluation`: counts by block, calibration and mistakes.
Knows nothing about files, tables or pictures.

A word's mark belongs to the unit in which the word ends. The other units of a word have no mark and no score, since
nothing was decided there.
"""

import heapq
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from punctuation_restoration.data.progress import ProgressBar
from punctuation_restoration.evaluation.examples import Example, LabelSet
from punctuation_restoration.evaluation.scores import BLOCK_WORDS, Block, count_labels, count_reliability
from punctuation_restoration.modeling.configuration_punctuation import NO_MARK

Restore = Callable[..., Iterator[dict[str, Any]]]  # the pipeline
N_AROUND = 8  # units shown on each side of a mistake
SIGNS = {NO_MARK: "", "COMMA": ",", "PERIOD": ".", "QUESTION": "?"}  # other labels are shown by name


@dataclass(frozen=True)
class Evaluation:
    """What one benchmark showed."""

    label_names: tuple[str, ...]  # the labels scored, the no-mark label first
    blocks: list[Block]  # counts of every block of every document
    calibration: Mapping[str, np.ndarray]  # bins (3, 15) of the scores of "all_words", and of "marks" that are written
    mistakes: Sequence[tuple[float, str]]  # those of which the model was most certain: score, and both readings

    @property
    def counts(self) -> np.ndarray:
        """The sum (3, M, M) over all blocks."""
        return sum((block.counts for block in self.blocks), count_labels([], [], self.label_names))


class Prediction(NamedTuple):
    """What was predicted for an example."""

    labels: list[str]  # one a unit
    scores: list[float | None]  # the probability of that label, one a unit; None where no word ends
    stray: list[tuple[int, str]]  # (unit, label) of every mark that was put inside a unit, before its end


def evaluate_examples(
    restore: Restore,
    examples: Sequence[Example],
    label_set: LabelSet,
    title: str = "",
    n_mistakes: int = 0,
    **settings: Any,
) -> Evaluation:
    """Run the pipeline over the texts and compare with the reference, in the labels of a set.

    `title` names the progress bar; `settings` are keywords for the pipeline, such as `window` or `thresholds`.
    """
    blocks: list[Block] = []
    calibration = {name: count_reliability([]) for name in ("all_words", "marks")}
    mistakes: list[tuple[float, str]] = []
    for example, result in restored(restore, examples, (example.text for example in examples), title, **settings):
        found = align(example, result["words"], label_set)
        blocks += count_blocks(example, found, label_set.names)
        rows = zip(example.labels, found.labels, found.scores, strict=True)
        decided = [(score, label == own, label) for own, label, score in rows if score is not None]
        calibration["all_words"] += count_reliability([row[:2] for row in decided])
        calibration["marks"] += count_reliability([row[:2] for row in decided if row[2] != NO_MARK])
        mistakes = heapq.nlargest(n_mistakes, mistakes + find_mistakes(example, found))
    return Evaluation(label_set.names, blocks, calibration, mistakes)


def restored(
    restore: Restore, examples: Sequence[Example], items: Iterator[Any], title: str, **settings: Any
) -> Iterator[tuple[Example, dict[str, Any]]]:
    """Examples with what the pipeline gives for their items, one at a time, so that no more are in memory."""
    with ProgressBar(title, sum(len(example.spans) for example in examples)) as bar:
        for example, result in zip(examples, restore(items, **settings), strict=True):
            yield example, result
            bar.count_more(len(example.spans), unit="units")


def align(example: Example, words: Sequence[Mapping[str, Any]], label_set: LabelSet) -> Prediction:
    """One predicted label a unit from the words of the pipeline (`start`, `end`, `label`, `score`, `source`)."""
    units = [index for index, (start, end) in enumerate(example.spans) if end > start]
    starts = [example.spans[index][0] for index in units]
    found = Prediction([NO_MARK] * len(example.spans), [None] * len(example.spans), [])
    next_starts = [*(word["start"] for word in words[1:]), len(example.text)]
    for word, next_start in zip(words, next_starts, strict=False):
        unit = units[bisect_right(starts, word["end"] - 1) - 1]
        label = label_set.renamed[word["label"]]
        if next_start >= example.spans[unit][1]:
            found.labels[unit], found.scores[unit] = label, word["score"]
        elif label != NO_MARK and word["source"] == "model":  # within a unit, where the reference has no mark
            found.stray.append((unit, label))
    return found


def count_blocks(example: Example, prediction: Prediction, label_names: Sequence[str]) -> list[Block]:
    """Counts of an example in blocks of fixed length; the last block has what is left."""
    n_units = len(example.labels)
    blocks = []
    for first in range(0, n_units, BLOCK_WORDS):
        end = min(first + BLOCK_WORDS, n_units)
        labels = example.labels[first:end], prediction.labels[first:end]
        stray = [label for unit, label in prediction.stray if first <= unit < end]
        counts = count_labels(*labels, label_names, ends_text=example.ends_text and end == n_units, stray=stray)
        blocks.append(Block(example.id, counts))
    return blocks


def find_mistakes(example: Example, prediction: Prediction) -> list[tuple[float, str]]:
    """Wrong decisions of one example: the score of the wrong label, and the text around with the marks of either side.

    Places inside a word of the model, where none was made, are left out.
    """
    found = []
    for unit, score in enumerate(prediction.scores):
        if score is not None and example.labels[unit] != prediction.labels[unit]:
            readings = (around(example, labels, unit) for labels in (example.labels, prediction.labels))
            found.append((score, "{}\n      restored   {}".format(*readings)))
    return found


def around(example: Example, labels: Sequence[str], unit: int) -> str:
    """The text around a unit with its marks, the one after `unit` in brackets: `went home[,] and then`."""
    first, text = max(unit - N_AROUND, 0), ""
    start = example.spans[first][0]
    for index in range(first, min(unit + N_AROUND + 1, len(labels))):
        sign, end = SIGNS.get(labels[index], f" {labels[index]}"), example.spans[index][1]
        text += example.text[start:end] + (f"[{sign}]" if index == unit else sign)
        start = end
    return text
