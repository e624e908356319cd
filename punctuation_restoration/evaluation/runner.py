"""Runs the pipeline over the examples of one benchmark: its words -> one predicted label a unit of the reference.

Takes a pipeline as users get it and examples, gives counts of marks by block, calibration, and scores of capitals.
Knows nothing about files or tables.

A word's mark belongs to the unit in which the word ends. The other units of a word have no mark and no score, since
nothing was decided there. A word changes its letters where its lower case is something else:

    reference   Monday   came   NASA   called  Mary      3 words change
    restored    Monday   came   Nasa   Called  Mary      4 change, 2 of them as in the reference
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from tqdm import tqdm

from punctuation_restoration.evaluation.examples import Example, LabelSet
from punctuation_restoration.evaluation.scores import (
    BLOCK_WORDS,
    count_labels,
    count_reliability,
    mark_score,
)
from punctuation_restoration.pipeline.edits import edited


@dataclass(frozen=True)
class Evaluation:
    """What one benchmark showed."""

    label_names: tuple[str, ...]  # the labels scored, the no-mark label first
    blocks: Mapping[
        str, Sequence[np.ndarray]
    ]  # counts (3, M, M) of every block of words, by document
    calibration: Mapping[
        str, np.ndarray
    ]  # bins (3, 15) of the scores of "all_words", and of "marks" that are written

    @property
    def counts(self) -> np.ndarray:
        """The sum (3, M, M) over all blocks."""
        return np.sum([block for own in self.blocks.values() for block in own], axis=0)


def evaluate_examples(
    restore: Any, examples: Sequence[Example], label_set: LabelSet, title: str = "", **settings: Any
) -> Evaluation:
    """Run the pipeline over the texts and compare with the reference, in the labels of a set.

    `title` names the progress bar; `settings` are keywords for the pipeline, such as `marks` or `thresholds`.
    """
    blocks: dict[str, list[np.ndarray]] = {}
    calibration = {name: count_reliability([]) for name in ("all_words", "marks")}
    for example, result in _restored(
        restore, examples, (example.text for example in examples), title, **settings
    ):
        found = align(example, result["words"], label_set)
        name = (
            example.id if example.id not in blocks else f"{example.id}, {len(blocks)}"
        )  # ids may repeat
        blocks[name] = count_blocks(example, found, label_set.names)
        rows = zip(example.labels, found.labels, found.scores, strict=True)
        decided = [(score, label == own, label) for own, label, score in rows if score is not None]
        calibration["all_words"] += count_reliability([row[:2] for row in decided])
        calibration["marks"] += count_reliability(
            [row[:2] for row in decided if row[2] != label_set.names[0]]
        )
    return Evaluation(label_set.names, blocks, calibration)


def evaluate_casing(
    restore: Any,
    examples: Sequence[Example],
    label_set: LabelSet,
    title: str,
    *,
    with_marks: bool,
    **settings: Any,
) -> dict[str, Any]:
    """Let the pipeline write the capitals of texts in lower case, whose units say how they are written.

    `with_marks`: whether it is told the label of every word, so that it writes the reference's marks. The other
    arguments are those of `evaluate_examples`. Gives `mark_score` of the words whose letters change, each right if all
    its letters are, with `"n_words"`, the number of words whose letters the reference tells.
    """
    numbers, n_words = np.zeros(3, dtype=np.int64), 0
    items = (
        known_marks(restore, one, label_set) if with_marks else {"text": one.text}
        for one in examples
    )
    settings |= {"truecase": True, "return_words": False}
    for example, result in _restored(restore, examples, items, title, **settings):
        capitals = [edit for edit in result["edits"] if edit["source"] == "truecase"]
        text = edited(
            example.text, capitals
        )  # letter for letter, so that units stand where they stood
        for (start, end), wanted in zip(example.spans, example.cased, strict=True):
            if wanted is not None:
                n_words += 1
                given, written = example.text[start:end], text[start:end]
                numbers += (written == wanted != given, wanted != given, written != given)
    return {"n_words": n_words, **mark_score(numbers)}


def known_marks(restore: Any, example: Example, label_set: LabelSet) -> dict[str, Any]:
    """An item in which the label of each of the pipeline's words is known: that of the unit in which it ends."""
    config = restore.model.config
    # Of labels that mean one mark of the reference, such as `,` and `、`, the basic one.
    names = [*config.label_names, *(config.label_names[index] for index in config.basic_labels)]
    own = {label_set.renamed[name]: name for name in names}
    marks = dict(zip((end for _, end in example.spans), example.labels, strict=True))
    labels = [marks.get(word.end, label_set.names[0]) for word in restore.find_words(example.text)]
    return {"text": example.text, "known": {n: own[label] for n, label in enumerate(labels)}}


def _restored(
    restore: Any, examples: Sequence[Example], items: Iterable[Any], title: str, **settings: Any
) -> Iterator[tuple[Example, dict[str, Any]]]:
    """Examples with what the pipeline gives for their items, one at a time, so that no more are in memory."""
    n_units = sum(len(example.spans) for example in examples)
    with tqdm(
        desc=title, total=n_units, unit=" units", unit_scale=True, disable=None, leave=False
    ) as bar:
        for example, result in zip(examples, restore(items, **settings), strict=True):
            yield example, result
            bar.update(len(example.spans))


class Prediction(NamedTuple):
    """What was predicted for an example."""

    labels: list[str]  # one a unit
    scores: list[float | None]  # the probability of that label, one a unit; None where no word ends
    stray: list[
        tuple[int, str]
    ]  # (unit, label) of every mark that was put inside a unit, before its end


def align(example: Example, words: Sequence[Mapping[str, Any]], label_set: LabelSet) -> Prediction:
    """One predicted label a unit from the words of the pipeline (`start`, `end`, `label`, `score`, `source`)."""
    units = [index for index, (start, end) in enumerate(example.spans) if end > start]
    starts = [example.spans[index][0] for index in units]
    found = Prediction([label_set.names[0]] * len(example.spans), [None] * len(example.spans), [])
    next_starts = [*(word["start"] for word in words[1:]), len(example.text)]
    for word, next_start in zip(words, next_starts, strict=False):
        unit = units[bisect_right(starts, word["end"] - 1) - 1]
        label = label_set.renamed[word["label"]]
        if next_start >= example.spans[unit][1]:
            found.labels[unit], found.scores[unit] = label, word["score"]
        elif (
            label != label_set.names[0] and word["source"] == "model"
        ):  # inside a unit, where no mark belongs
            found.stray.append((unit, label))
    return found


def count_blocks(
    example: Example, prediction: Prediction, label_names: Sequence[str]
) -> list[np.ndarray]:
    """Counts (3, M, M) of an example in blocks of fixed length; the last block has what is left."""
    n_units, blocks = len(example.labels), []
    for first in range(0, n_units, BLOCK_WORDS):
        end = min(first + BLOCK_WORDS, n_units)
        labels = example.labels[first:end], prediction.labels[first:end]
        stray = [label for unit, label in prediction.stray if first <= unit < end]
        counts = count_labels(*labels, label_names, ends_text=example.ends_text and end == n_units)
        counts[2] = count_labels([label_names[0]] * len(stray), stray, label_names)[0]
        blocks.append(counts)
    return blocks
