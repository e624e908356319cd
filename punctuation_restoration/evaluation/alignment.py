"""The pipeline's words -> one predicted label a unit of the reference, counted, and the wrong ones shown.

Takes an example and the words that the pipeline gave for its text, gives labels and scores in the order of the units.
A word's mark belongs to the unit in which the word ends. The other units of a word have no mark and no score, since
nothing was decided there. Knows nothing about files or models.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from punctuation_restoration.evaluation.counts import count_labels
from punctuation_restoration.evaluation.examples import Example
from punctuation_restoration.evaluation.intervals import BLOCK_WORDS, Block
from punctuation_restoration.evaluation.labels import LabelSet
from punctuation_restoration.modeling.configuration_punctuation import NO_MARK

N_AROUND = 8  # units shown on each side of a mistake
SIGNS = {NO_MARK: "", "COMMA": ",", "PERIOD": ".", "QUESTION": "?"}  # other labels are shown by name


@dataclass(frozen=True, slots=True)
class Prediction:
    """What was predicted for an example.

    Attributes:
        labels: one name a unit.
        scores: the probability of that label, one a unit; None where no word ends.
        stray: (unit, label) of every mark that was put inside a unit, before its end.
    """

    labels: tuple[str, ...]
    scores: tuple[float | None, ...]
    stray: tuple[tuple[int, str], ...]


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


@dataclass(frozen=True, slots=True)
class Mistake:
    """One wrong decision.

    Attributes:
        score: probability that the model gave to the wrong label.
        reference_text, predicted_text: the text around with the marks of either; the wrong place is in brackets.
    """

    score: float
    reference_text: str
    predicted_text: str


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
