"""Mistakes: reference and prediction side by side.

Takes an example and its prediction, gives the wrong decisions with the text around them. The higher the score of a
wrong decision, the worse. Knows nothing about tables or files.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from punctuation_restoration.evaluation.alignment import Prediction
from punctuation_restoration.evaluation.counts import NO_MARK
from punctuation_restoration.evaluation.examples import Example

N_AROUND = 8  # units shown on each side
SIGNS = {NO_MARK: "", "COMMA": ",", "PERIOD": ".", "QUESTION": "?"}  # other labels are shown by name


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
