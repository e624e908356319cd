"""Runs the pipeline over the examples of one benchmark: its words -> one predicted label a unit of the reference.

Takes a pipeline as users get it and examples, gives scores of marks and capitals, as results hold them.
Knows nothing about files or tables.

A word's mark belongs to the unit in which the word ends. The other units of a word have no mark and no score, since
nothing was decided there. A word changes its letters where its lower case is something else:

    reference   Monday   came   NASA   called  Mary      3 words change
    restored    Monday   came   Nasa   Called  Mary      4 change, 2 of them as in the reference
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from tqdm import tqdm

from punctuation_restoration.evaluation.examples import Example, LabelSet
from punctuation_restoration.evaluation.scores import (
    Scores,
    count_labels,
    count_reliability,
    evaluated,
    mark_score,
)
from punctuation_restoration.modeling.configuration_punctuation import DEFAULT_LABELS
from punctuation_restoration.pipeline.edits import edited


def evaluate_examples(
    restore: Any,
    examples: Sequence[Example],
    label_set: LabelSet,
    title: str = "",
    *,
    with_marks: bool = False,
    **settings: Any,
) -> Scores:
    """Run the pipeline over the texts and compare with the reference, in the labels of a set.

    `title` names the progress bar; `settings` are keywords for the pipeline, such as `marks` or `truecase`. With
    `with_marks` it is told the label of every word, and writes the marks of the reference.

    Gives `evaluated`, and in `"casing"` `mark_score` of the words whose letters change, each right if all its letters
    are, with `"n_words"`, the number of words whose letters the reference tells.
    """
    documents = []
    decided = []  # of the units the scores, whether their labels are right, and whether these are marks
    letters = np.zeros(4, dtype=np.int64)
    items: Iterable[Any] = (example.text for example in examples)
    if with_marks:
        items = (known_marks(restore, example) for example in examples)
    results = zip(examples, restore(items, **settings), strict=True)
    bar = tqdm(results, title, len(examples), unit=" documents", disable=None, leave=False)
    for example, result in bar:
        predicted, scores = align(example, result["words"], label_set)
        counts = count_labels(
            example.labels, predicted, label_set.names, ends_text=example.ends_text
        )
        documents.append(counts)
        labels = np.array(predicted)
        decided.append((scores, labels == example.labels, labels != label_set.names[0]))
        capitals = [edit for edit in result["edits"] if edit["source"] == "truecase"]
        text = edited(example.text, capitals)  # letter for letter: units are where they were
        for (lower, _, _, cased), (start, end) in zip(example.units, example.spans, strict=True):
            if cased is not None:
                written = text[start:end]
                letters += (written == cased != lower, cased != lower, written != lower, True)
    scores, is_right, is_mark = map(np.concatenate, zip(*decided, strict=True))
    has_score = ~np.isnan(scores)
    calibration = {
        decisions: count_reliability(scores[kept], is_right[kept])
        for decisions, kept in (("all_words", has_score), ("marks", has_score & is_mark))
    }
    casing = {"n_words": int(letters[3]), **mark_score(letters[:3])}
    return {**evaluated(label_set.names, documents, calibration), "casing": casing}


def known_marks(restore: Any, example: Example) -> dict[str, Any]:
    """An item in which the label of each of the pipeline's words is known: that of the unit in which it ends.

    The reference is in the four labels of the literature, each of which a model may call otherwise.
    """
    config = restore.model.config
    label_of = {label["name"]: config.mark_labels.get(label["after"]) for label in DEFAULT_LABELS}
    ends = (end for _, end in example.spans)
    labels = dict(zip(ends, map(label_of.get, example.labels), strict=True))
    words = enumerate(restore.find_words(example.text))
    known = {index: labels.get(word.end) or config.label_names[0] for index, word in words}
    return {"text": example.text, "known": known}


def align(
    example: Example, words: Sequence[Mapping[str, Any]], label_set: LabelSet
) -> tuple[list[str], np.ndarray]:
    """The label predicted for each unit, and its score (units,), NaN where no word of the pipeline ends.

    Takes the words of the pipeline (`end`, `label`, `score`, `source`). A mark inside a unit, if the unit has not had
    it before, counts as one behind it where there is no other: it is wrong unless one belongs there.
    """
    ends, no_mark = [end for _, end in example.spans], label_set.names[0]
    labels = [no_mark] * len(ends)
    scores = np.full(len(ends), np.nan)
    for word in words:
        unit, label = bisect_left(ends, word["end"]), label_set.renamed[word["label"]]
        is_own = word["end"] < ends[unit] and word["source"] != "model"  # of 3:1, for example
        if not is_own and (label != no_mark or labels[unit] == no_mark):
            labels[unit], scores[unit] = label, word["score"]
    return labels, scores
