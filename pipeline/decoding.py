"""Slot scores -> labels: the most probable one, within the marks and thresholds that the caller allows.

Takes probabilities, gives a label and its probability for each word. It knows labels by name and number, not how a
mark looks.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .conventions import PAIRS, SENTENCE_ENDS

LEAST_THRESHOLD = 1e-9  # what a probability is divided by where the threshold is 0


@dataclass(frozen=True, slots=True)
class Choice:
    """Which labels may be chosen."""

    goes_to: np.ndarray  # (M,) the label that gets a label's probability: itself, if it may be chosen
    thresholds: np.ndarray  # (M,) the probability from which a label is chosen; infinite: it must be the most probable

    def shared(self, probabilities: Any) -> np.ndarray:
        """Probabilities (W, M) in which labels that may not be chosen have given theirs away."""
        n_labels = len(self.goes_to)
        return np.array(probabilities, dtype=np.float64).reshape(-1, n_labels) @ np.eye(n_labels)[self.goes_to]


def calibrated(probabilities: Any, temperature: float) -> np.ndarray:
    """Probabilities (W, M) as the logits give them when divided by a temperature (Guo et al. 2017, section 4.2)."""
    powers = np.asarray(probabilities, dtype=np.float64) ** (1 / temperature)
    return powers / powers.sum(axis=1, keepdims=True)


def make_choice(
    config: Any, marks: str | Sequence[str] = "basic", thresholds: Mapping[str, float] | None = None
) -> Choice:
    """Read the caller's wishes.

    Args:
        config: the model's configuration: its labels, and the basic one of `, . ?` that each of them means.
        marks: `"basic"` (the labels of `, . ?`), `"all"`, `"sentence-ends"` (labels that write a sign of the table
            `SENTENCE_ENDS`), or names of labels. The first three have with each closing sign the one that opens (`¿`).
        thresholds: for some labels the probability from which they are chosen, 0 to 1. Above a half it makes a mark
            rarer, below more frequent; only where several marks share the probability may none reach theirs.

    Raises:
        ValueError: for an unknown name or a threshold outside 0 to 1.
    """
    names, basic = config.label_names, config.basic_labels
    ends = [label["name"] for label in config.labels if is_sentence_end(label)]
    sets = {"basic": [names[index] for index in basic], "all": names, "sentence-ends": ends}
    wanted = sets.get(marks, [marks]) if isinstance(marks, str) else list(marks)
    if set(wanted) - set(names):
        known = f"'basic', 'all', 'sentence-ends' or labels among {names}"
        raise ValueError(f"Expected marks to be {known}, got {marks!r}. Correct it.")
    if isinstance(marks, str) and marks in sets:
        signs = {label["after"] for label in config.labels if label["name"] in wanted}
        wanted = [*wanted, *(label["name"] for label in config.labels if PAIRS.get(label["before"]) in signs)]
    goes_to = [next((n for n in (index, basic[index]) if names[n] in wanted), 0) for index in range(len(names))]
    config.check_thresholds(thresholds or {})
    limits = [(thresholds or {}).get(name, np.inf) for name in names]
    return Choice(np.array(goes_to), np.array(limits))


def end_sentences(probabilities: np.ndarray, words: Sequence[int], config: Any) -> np.ndarray:
    """Probabilities (W, M), each row summing to 1, in which only marks that end a sentence may follow some words.

    Which of these marks it is, the model says. If none of its labels ends a sentence, nothing changes.
    """
    if not words or not any(is_end := [is_sentence_end(label) for label in config.labels]):
        return probabilities
    changed = np.array(probabilities, dtype=np.float64)
    changed[words] *= is_end
    changed[words] /= np.maximum(changed[words].sum(axis=1, keepdims=True), np.finfo(float).tiny)
    return changed


def is_sentence_end(label: Mapping[str, str]) -> bool:
    """Whether what a label writes after a word ends a sentence."""
    return any(sign in SENTENCE_ENDS for sign in label["after"])


def decode(probabilities: Any, choice: Choice) -> tuple[np.ndarray, np.ndarray]:
    """Choose a label for each word.

    A label with a threshold is chosen when its probability reaches that, however probable "no mark" is; of several
    such labels the one that is the most times its threshold, so that thresholds also settle which of two marks is
    written. A label without one must be the most probable of all. What a label that is not allowed would have got goes
    to its basic label (that of `!` to the period), or to "no mark" where that is not allowed either.

    Takes probabilities (W, M), each row summing to 1; gives (W,) label ids and (W,) probabilities of these labels.
    """
    scores = choice.shared(probabilities)
    ratios = scores / np.maximum(choice.thresholds, LEAST_THRESHOLD)  # (W, M); 0 for labels without a threshold
    ratios[ratios < 1] = 0.0
    reached = ratios.argmax(axis=1)  # the first label, "no mark", where none reaches its threshold
    has_none = np.isinf(choice.thresholds)
    likeliest = np.where(has_none | (ratios > 0), scores, -1.0).argmax(axis=1)
    # A mark without a threshold that is the most probable stays, whatever else reaches its own.
    labels = np.where((reached == 0) | (has_none[likeliest] & (likeliest > 0)), likeliest, reached)
    return labels, scores[np.arange(len(labels)), labels]
