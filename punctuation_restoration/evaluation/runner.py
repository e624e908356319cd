"""Runs the pipeline over the examples of one benchmark: its words -> one predicted label a unit of the reference.

Takes a pipeline as users get it and examples, gives counts of marks by block, calibration, and scores of capitals.
Knows nothing about files or tables.

A word's mark belongs to the unit in which the word ends. The other units of a word have no mark and no score, since
nothing was decided there. A word changes its letters where its lower case is something else:

    reference   Monday   came   NASA   called  Mary      3 words change
    restored    Monday   came   Nasa   Called  Mary      4 change, 2 of them as in the reference
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
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
from punctuation_restoration.modeling.configuration_punctuation import DEFAULT_LABELS
from punctuation_restoration.pipeline.edits import edited


@dataclass(frozen=True)
class Evaluation:
    """What one benchmark showed."""

    label_names: Sequence[str]  # the labels scored, the no-mark label first
    documents: Sequence[np.ndarray]  # of each the counts (blocks, 3, M, M) of its blocks of words
    # Bins (3, 15) of the scores of "all_words", and of "marks" that are written.
    calibration: Mapping[str, np.ndarray]
    # `mark_score` of the words whose letters change, each right if all its letters are, and `"n_words"`, the number of
    # words whose letters the reference tells.
    casing: Mapping[str, Any]

    @property
    def counts(self) -> np.ndarray:
        """Those (blocks, 3, M, M) of all documents."""
        return np.concatenate(self.documents)


def evaluate_examples(
    restore: Any,
    examples: Sequence[Example],
    label_set: LabelSet,
    title: str = "",
    *,
    with_marks: bool = False,
    **settings: Any,
) -> Evaluation:
    """Run the pipeline over the texts and compare with the reference, in the labels of a set.

    `title` names the progress bar; `settings` are keywords for the pipeline, such as `marks` or `truecase`. With
    `with_marks` it is told the label of every word, and writes the marks of the reference.
    """
    names = label_set.names
    documents = []
    calibration = {"all_words": np.zeros((3, N_BINS)), "marks": np.zeros((3, N_BINS))}
    letters = np.zeros(4, dtype=np.int64)
    items = (known_marks(restore, one) if with_marks else one.text for one in examples)
    results = zip(examples, restore(items, **settings), strict=True)
    size = {"total": len(examples), "unit": " documents"}
    for example, result in tqdm(results, title, **size, disable=None, leave=False):
        predicted, scores, inside = align(example, result["words"], label_set)
        is_last = example.ends_text
        counts = count_labels(example.labels, predicted, names, ends_text=is_last, inside=inside)
        documents.append(counts)
        labels = np.array(predicted)
        is_right = labels == np.array(example.labels)
        is_decided = ~np.isnan(scores)
        is_mark = is_decided & (labels != names[0])
        for decisions, chosen in (("all_words", is_decided), ("marks", is_mark)):
            calibration[decisions] += count_reliability(scores[chosen], is_right[chosen])
        capitals = [edit for edit in result["edits"] if edit["source"] == "truecase"]
        text = edited(example.text, capitals)  # letter for letter: units are where they were
        for (lower, _, _, cased), (start, end) in zip(example.units, example.spans, strict=True):
            if cased is not None:
                written = text[start:end]
                letters += (written == cased != lower, cased != lower, written != lower, True)
    casing = {"n_words": int(letters[3]), **mark_score(letters[:3])}
    return Evaluation(names, documents, calibration, casing)


def known_marks(restore: Any, example: Example) -> dict[str, Any]:
    """An item in which the label of each of the pipeline's words is known: that of the unit in which it ends.

    The reference is in the four labels of the literature, each of which a model may call otherwise.
    """
    config = restore.model.config
    label_of = {label["name"]: config.mark_labels.get(label["after"]) for label in DEFAULT_LABELS}
    labels = {
        end: label_of[label] for (_, end), label in zip(example.spans, example.labels, strict=True)
    }
    words = restore.find_words(example.text)
    known = [labels.get(word.end) or config.label_names[0] for word in words]
    return {"text": example.text, "known": dict(enumerate(known))}


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
    for unit, group in groupby(words, key=lambda word: bisect_left(ends, word["end"])):
        *inner, last = group
        prediction.labels[unit] = label_set.renamed[last["label"]]
        prediction.scores[unit] = last["score"]
        # Marks that the unit has itself, such as that of 3:1, are no predictions.
        labels = [label_set.renamed[word["label"]] for word in inner if word["source"] == "model"]
        prediction.inside.extend((unit, label) for label in labels if label != no_mark)
    return prediction
