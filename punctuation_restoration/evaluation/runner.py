"""Runs the pipeline over the examples of one benchmark: its words -> one predicted label a unit of the reference.

Takes a pipeline as users get it and examples, gives counts of marks by block, calibration, and scores of capitals.
Knows nothing about files or tables.

A word's mark belongs to the unit in which the word ends. The other units of a word have no mark and no score, since
nothing was decided there. A word changes its letters where its lower case is something else:

    reference   Monday   came   NASA   called  Mary      3 words change
    restored    Monday   came   Nasa   Called  Mary      4 change, 2 of them as in the reference
"""

import itertools
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from tqdm import tqdm

from punctuation_restoration.evaluation.examples import Example, LabelSet
from punctuation_restoration.evaluation.scores import (
    N_BINS,
    count_labels,
    count_reliability,
    mark_score,
)
from punctuation_restoration.pipeline.edits import edited


@dataclass(frozen=True)
class Evaluation:
    """What one benchmark showed."""

    label_names: Sequence[str]  # the labels scored, the no-mark label first
    documents: Sequence[np.ndarray]  # of each the counts (blocks, 3, M, M) of its blocks of words
    # Bins (3, 15) of the scores of "all_words", and of "marks" that are written.
    calibration: Mapping[str, np.ndarray]

    @property
    def counts(self) -> np.ndarray:
        """Those (blocks, 3, M, M) of all documents."""
        return np.concatenate(self.documents)


def evaluate_examples(
    restore: Any, examples: Sequence[Example], label_set: LabelSet, title: str = "", **settings: Any
) -> Evaluation:
    """Run the pipeline over the texts and compare with the reference, in the labels of a set.

    `title` names the progress bar; `settings` are keywords for the pipeline, such as `marks` or `thresholds`.
    """
    names = label_set.names
    documents = []
    calibration = {"all_words": np.zeros((3, N_BINS)), "marks": np.zeros((3, N_BINS))}
    texts = (example.text for example in examples)
    for example, result in _restored(restore, examples, texts, title, **settings):
        found = align(example, result["words"], label_set)
        documents.append(
            count_labels(
                example.labels,
                found.labels,
                names,
                ends_text=example.ends_text,
                inside=found.inside,
            )
        )
        labels = np.array(found.labels)
        is_right = labels == np.array(example.labels)
        is_decided = ~np.isnan(found.scores)
        is_mark = is_decided & (labels != names[0])
        for decisions, chosen in (("all_words", is_decided), ("marks", is_mark)):
            calibration[decisions] += count_reliability(found.scores[chosen], is_right[chosen])
    return Evaluation(names, documents, calibration)


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
    n_words = 0
    numbers = np.zeros(3, dtype=np.int64)
    items: Iterable[Any] = (example.text for example in examples)
    if with_marks:
        items = (known_marks(restore, example, label_set) for example in examples)
    settings |= {"truecase": True, "return_words": False}
    for example, result in _restored(restore, examples, items, title, **settings):
        capitals = [edit for edit in result["edits"] if edit["source"] == "truecase"]
        text = edited(example.text, capitals)  # letter for letter: units are where they were
        for (start, end), wanted in zip(example.spans, example.cased, strict=True):
            if wanted is not None:
                n_words += 1
                lower, written = example.text[start:end], text[start:end]
                numbers += (written == wanted != lower, wanted != lower, written != lower)
    return {"n_words": n_words, **mark_score(numbers)}


def known_marks(restore: Any, example: Example, label_set: LabelSet) -> dict[str, Any]:
    """An item in which the label of each of the pipeline's words is known: that of the unit in which it ends."""
    config = restore.model.config
    # Of labels that mean one mark of the reference, such as `,` and `、`, the basic one: it comes last.
    basic = [config.label_names[index] for index in config.basic_labels]
    label_of = {label_set.renamed[name]: name for name in (*config.label_names, *basic)}
    marks = {
        end: label_of[label] for (_, end), label in zip(example.spans, example.labels, strict=True)
    }
    words = restore.find_words(example.text)
    known = [marks.get(word.end, config.label_names[0]) for word in words]
    return {"text": example.text, "known": dict(enumerate(known))}


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
    scores: np.ndarray  # (units,) the probability of that label; NaN where no word ends
    inside: list[tuple[int, str]]  # (unit, label) of every mark inside a unit, before its end


def align(example: Example, words: Sequence[Mapping[str, Any]], label_set: LabelSet) -> Prediction:
    """One predicted label a unit from the words of the pipeline (`start`, `end`, `label`, `score`, `source`)."""
    ends = [end for _, end in example.spans]
    no_mark = label_set.names[0]
    prediction = Prediction([no_mark] * len(ends), np.full(len(ends), np.nan), [])
    for word, following in itertools.zip_longest(words, words[1:]):
        unit = bisect_left(ends, word["end"])
        label = label_set.renamed[word["label"]]
        if not following or following["start"] >= ends[unit]:
            prediction.labels[unit] = label
            prediction.scores[unit] = word["score"]
        elif label != no_mark and word["source"] == "model":  # inside a unit: no mark belongs there
            prediction.inside.append((unit, label))
    return prediction
