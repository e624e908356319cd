"""Capitals: F1 of words whose letters change, with the text's own marks given and with the model's.

Takes a pipeline and examples whose units say how they are written, gives counts. A word counts as right if all of its
letters are. It knows nothing about files.

    reference   Monday   came   NASA   called  Mary      a word changes where its lower case is something else
    restored    Monday   came   Nasa   Called  Mary      2 right of 3 in the reference and 4 restored
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from punctuation_restoration.evaluation.examples import STOPS, Example
from punctuation_restoration.evaluation.labels import LabelSet
from punctuation_restoration.evaluation.scores import MarkScore, mark_score
from punctuation_restoration.modeling.configuration_punctuation import CASINGS
from punctuation_restoration.pipeline.casing import casing_of
from punctuation_restoration.pipeline.edits import edited

PLACES = ("sentence start", "English I", "elsewhere")  # elsewhere are the names


@dataclass(frozen=True)
class CasingCounts:
    """Right, in the reference, restored: of all words whose letters change, by where they stand, and by casing."""

    n_words: int  # whose letters the reference tells
    numbers: Mapping[str, np.ndarray]  # (3,) each

    def scores(self) -> dict[str, MarkScore]:
        """Precision, recall and F1 of each; "all" is the one that counts."""
        return {name: mark_score(row) for name, row in self.numbers.items()}


def evaluate_casing(
    restore: Any,
    examples: Sequence[Example],
    label_set: LabelSet,
    *,
    with_marks: bool,
    on_document: Callable[[int], object] = lambda n_units: None,
    **settings: Any,
) -> CasingCounts:
    """Let the pipeline write the capitals of texts in lower case, whose units say how they are written.

    `with_marks`: whether it is told the label of every word, so that it writes the reference's marks. The other
    arguments are those of `runner.evaluate_examples`.
    """
    numbers = {name: np.zeros(3, dtype=np.int64) for name in ("all", *PLACES, *CASINGS[1:])}
    n_words = n_units = 0
    items = (known_marks(restore, one, label_set) if with_marks else {"text": one.text} for one in examples)
    results: Iterator[Mapping[str, Any]] = restore(items, truecase=True, return_words=False, **settings)
    for example, result in zip(examples, results, strict=True):
        capitals = [edit for edit in result["edits"] if edit["source"] == "truecase"]
        text = edited(example.text, capitals)  # letter for letter, so that units stand where they stood
        begins = True
        for (start, end), label, wanted in zip(example.spans, example.labels, example.cased, strict=True):
            if wanted is not None:
                n_words += 1
                count_word(numbers, example.text[start:end], wanted, text[start:end], begins)
            begins = label in STOPS if end > start else begins
        n_units += len(example.spans)
        on_document(n_units)
    return CasingCounts(n_words, numbers)


def count_word(numbers: Mapping[str, np.ndarray], given: str, wanted: str, restored: str, begins: bool) -> None:
    """Count one word, where its letters change."""
    place = PLACES[0] if begins else PLACES[1] if given == "i" or given.startswith("i'") else PLACES[2]
    for name in ("all", place):
        numbers[name] += (restored == wanted != given, wanted != given, restored != given)
    for column, written in ((1, wanted), (2, restored)):
        if written != given and (casing := casing_of(written)):
            numbers[CASINGS[casing]][column] += 1
            numbers[CASINGS[casing]][0] += column == 1 and restored == wanted


def known_marks(restore: Any, example: Example, label_set: LabelSet) -> dict[str, Any]:
    """An item in which the label of each of the pipeline's words is known: that of the unit in which it ends."""
    own = {label_set.renamed[name]: name for name in reversed(restore.model.config.label_names)}
    marks = dict(zip((end for _, end in example.spans), example.labels, strict=True))
    words = restore.find_words(example.text)
    labels = [marks.get(word.end, label_set.names[0]) for word in words]
    return {"text": example.text, "known": {n: own[label] for n, label in enumerate(labels)}}
