"""The worst mistakes: reference and prediction side by side.

Takes an example and its prediction, gives the wrong decisions with their surroundings. The higher
the score of a wrong decision, the worse. Knows nothing about tables or files.
"""

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from punctuation_restoration.evaluation.alignment import Prediction
from punctuation_restoration.evaluation.counts import NO_MARK
from punctuation_restoration.evaluation.examples import Example

N_AROUND = 8  # units shown on each side
SIGNS = {"COMMA": ",", "PERIOD": ".", "QUESTION": "?"}  # other labels are shown by name


@dataclass(frozen=True, slots=True)
class Mistake:
    """One wrong decision.

    Attributes:
        document: id of the document; `unit`: which of its units.
        reference, predicted: the two labels.
        score: probability that the model gave to the wrong one.
        reference_text, predicted_text: the surroundings with the marks of either; the wrong place is in brackets.
    """

    document: str
    unit: int
    reference: str
    predicted: str
    score: float
    reference_text: str
    predicted_text: str


def find_mistakes(example: Example, prediction: Prediction) -> list[Mistake]:
    """All wrong decisions of one example; places inside a word of the model, where none was made, are left out."""
    found = []
    for unit, (reference, predicted, score) in enumerate(
        zip(example.labels, prediction.labels, prediction.scores, strict=True)
    ):
        if reference == predicted or score is None:
            continue
        found.append(
            Mistake(
                example.id,
                unit,
                reference,
                predicted,
                score,
                around(example, example.labels, unit),
                around(example, prediction.labels, unit),
            )
        )
    return found


def worst(mistakes: Iterable[Mistake], n: int) -> list[Mistake]:
    """The `n` mistakes with the highest scores, the worst first."""
    return heapq.nlargest(n, mistakes, key=lambda mistake: mistake.score)


def around(example: Example, labels: Sequence[str], unit: int) -> str:
    """The text around a unit with its marks, the one after `unit` in brackets: `went home[,] and then`."""
    first, end = max(unit - N_AROUND, 0), min(unit + N_AROUND + 1, len(labels))
    pieces = []
    for index in range(first, end):
        start = example.spans[index - 1][1] if index > first else example.spans[index][0]
        pieces.append(example.text[start : example.spans[index][1]])
        label = labels[index]
        sign = "" if label == NO_MARK else SIGNS.get(label, f" {label}")
        pieces.append(f"[{sign}]" if index == unit else sign)
    return "".join(pieces)
