"""Counts what was predicted against what stands in the reference.

Takes two lists of labels over the same words, gives additive counts: those of two halves of a test, added, are those
of the whole. Knows nothing about texts, models or files.

    reference   COMMA   O      O       PERIOD        one label a word (or Han character)
    predicted   COMMA   COMMA  O       O
    counted     hit     insertion      deletion      a wrong mark in the right place is a substitution
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from punctuation_restoration.modeling.modeling_punctuation import NOT_SCORED


@dataclass(frozen=True, eq=False)
class Counts:
    """Additive counts of one or more texts, over M labels."""

    label_names: tuple[str, ...]  # the no-mark label first
    # Whole numbers (2 M + 1, M). The first M rows are a matrix of reference by predicted label over every word but the
    # last of each text, the next M the same over the last words, where a stop is easy to guess. The last row has the
    # marks predicted inside a word of the reference: insertions, but no word of their own.
    numbers: np.ndarray

    @property
    def mid_text(self) -> np.ndarray:
        """Words by reference and predicted label (M, M), but for the last word of each text."""
        return self.numbers[: len(self.label_names)]

    @property
    def end_text(self) -> np.ndarray:
        """Last words of the texts by reference and predicted label (M, M)."""
        return self.numbers[len(self.label_names) : -1]

    @property
    def stray(self) -> np.ndarray:
        """Marks inside words, by predicted label (M,)."""
        return self.numbers[-1]

    @property
    def pairs(self) -> np.ndarray:
        """All words by reference and predicted label (M, M)."""
        return self.mid_text + self.end_text

    @property
    def n_words(self) -> int:
        """Number of words scored: each once."""
        return int(self.pairs.sum())


def add_counts(label_names: Sequence[str], counts: Iterable[Counts]) -> Counts:
    """The sum of many counts over the same labels; zeros where there is none."""
    n_labels = len(label_names)
    zeros = np.zeros((2 * n_labels + 1, n_labels), dtype=np.int64)
    return Counts(tuple(label_names), sum((one.numbers for one in counts), zeros))


def count_labels(
    reference: Sequence[int | str],
    predicted: Sequence[int | str],
    label_names: Sequence[str],
    *,
    ends_text: bool = False,
    stray: Iterable[str] = (),
) -> Counts:
    """Counts over one text, or over words whose borders of text do not matter.

    Args:
        reference, predicted: one label a word, as a name or as an index into `label_names`. Words whose reference is
            -100 are left out.
        label_names: all labels, the no-mark label first.
        ends_text: whether the last word ends a text, and is counted apart.
        stray: labels of the marks predicted inside words.

    Raises:
        ValueError: if the lists differ in length, or a label is unknown.
    """
    if len(reference) != len(predicted):
        raise ValueError(
            f"Expected one predicted label per word: {len(reference)} words, {len(predicted)} predicted labels. "
            "Was the text segmented twice?"
        )
    counts = add_counts(label_names, ())
    rows: dict[Any, int] = {name: index for index, name in enumerate(label_names)}
    rows.update({index: index for index in rows.values()})
    n_mid = max(len(reference) - 1, 0) if ends_text else len(reference)
    try:
        # Counting first and naming after keeps the loop short for hundreds of thousands of words.
        for table, words in ((counts.mid_text, slice(n_mid)), (counts.end_text, slice(n_mid, None))):
            for (true, found), n in Counter(zip(reference[words], predicted[words], strict=True)).items():
                if true != NOT_SCORED:
                    table[rows[true], rows[found]] += n
        for label in stray:
            counts.stray[rows[label]] += 1
    except KeyError as error:
        raise ValueError(
            f"Expected labels among {list(label_names)}, got {error}. Were they made with other label names?"
        ) from error
    return counts
