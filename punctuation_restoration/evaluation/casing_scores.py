"""Capitals: F1 of words whose letters change, with the text's own marks given and with the model's.

Takes a pipeline and examples whose units say how they are written, gives counts. A word counts as right if all of its
letters are. It knows nothing about files.

    reference   Monday   came   NASA   called  Mary      a word changes where its lower case is something else
    restored    Monday   came   Nasa   Called  Mary      2 right of 3 in the reference and 4 restored
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from punctuation_restoration.evaluation.examples import Example, LabelSet
from punctuation_restoration.evaluation.runner import restored
from punctuation_restoration.evaluation.scores import mark_score
from punctuation_restoration.pipeline.edits import edited


def evaluate_casing(
    restore: Any, examples: Sequence[Example], label_set: LabelSet, title: str, *, with_marks: bool, **settings: Any
) -> dict[str, Any]:
    """Let the pipeline write the capitals of texts in lower case, whose units say how they are written.

    `with_marks`: whether it is told the label of every word, so that it writes the reference's marks. The other
    arguments are those of `runner.evaluate_examples`. Gives precision, recall, F1 and the numbers behind them, with
    `"n_words"`, the number of words whose letters the reference tells.
    """
    numbers, n_words = np.zeros(3, dtype=np.int64), 0
    items = (known_marks(restore, one, label_set) if with_marks else {"text": one.text} for one in examples)
    settings |= {"truecase": True, "return_words": False}
    for example, result in restored(restore, examples, items, title, **settings):
        capitals = [edit for edit in result["edits"] if edit["source"] == "truecase"]
        text = edited(example.text, capitals)  # letter for letter, so that units stand where they stood
        for (start, end), wanted in zip(example.spans, example.cased, strict=True):
            if wanted is not None:
                n_words += 1
                given, written = example.text[start:end], text[start:end]
                numbers += (written == wanted != given, wanted != given, written != given)
    return {"n_words": n_words, **asdict(mark_score(numbers))}


def known_marks(restore: Any, example: Example, label_set: LabelSet) -> dict[str, Any]:
    """An item in which the label of each of the pipeline's words is known: that of the unit in which it ends."""
    own = {label_set.renamed[name]: name for name in reversed(restore.model.config.label_names)}
    marks = dict(zip((end for _, end in example.spans), example.labels, strict=True))
    words = restore.find_words(example.text)
    labels = [marks.get(word.end, label_set.names[0]) for word in words]
    return {"text": example.text, "known": {n: own[label] for n, label in enumerate(labels)}}
