"""Turns counts into scores.

Takes `Counts`, gives precision, recall and F1 per mark and over all marks in the ways that the literature calls
"overall". Scores are fractions from 0 to 1. Knows nothing about texts, models or files.

    >>> names = ["O", "COMMA", "PERIOD", "QUESTION"]
    >>> scores = score(count_labels([0, 1, 0, 2, -100], [0, 1, 1, 2, 0], names))   # -100: not scored
    >>> round(scores.micro.f1, 3), scores.n_words
    (0.8, 4)
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from punctuation_restoration.evaluation.counts import Counts, add_counts, count_labels
from punctuation_restoration.modeling.modeling_punctuation import NOT_SCORED
from punctuation_restoration.pipeline.conventions import SENTENCE_ENDS

# `FULL_QUESTION` is the usual name of a label that writes a mark before its sentence, too.
SENTENCE_END_NAMES = {prefix + name for name in SENTENCE_ENDS.values() for prefix in ("", "FULL_")}


@dataclass(frozen=True, slots=True)
class MeanScore:
    """Precision, recall and F1 (0 to 1): each a mean over the marks."""

    precision: float
    recall: float
    f1: float


@dataclass(frozen=True, slots=True)
class MarkScore(MeanScore):
    """Precision, recall and F1 (0 to 1) with the numbers of marks behind them; 0 instead of a division by 0."""

    n_reference: int
    n_predicted: int
    n_correct: int


@dataclass(frozen=True)
class Scores:
    """All scores of one test."""

    n_words: int  # scored, each once (in Han text: characters)
    micro: MarkScore  # all marks counted together: the first figure of this project
    macro: MeanScore  # the mean over the marks that the reference uses
    weighted: MeanScore  # by each mark's number in the reference ("support-weighted" in the MLM-Punct paper)
    marks: dict[str, MarkScore]  # by label name; the no-mark label is never averaged in
    # Micro over all words but the last of each text, and over the last words alone (Li & Lin 2020 score them apart,
    # since a stop at the end of a text is easy); and the same for every mark, by label name (their Tables 3 and 4).
    mid_text: MarkScore
    end_text: MarkScore
    mid_text_marks: dict[str, MarkScore]
    end_text_marks: dict[str, MarkScore]
    # Micro by number of classes, no-mark included: all labels; sentence ends joined into one; any mark at all (after
    # Alam et al. 2020).
    merged: dict[str, MarkScore]
    # (substitutions + deletions + insertions) / marks in the reference (Makhoul et al. 1999); may exceed 1; None where
    # the reference has no mark.
    slot_error_rate: float | None


def score(counts: Counts) -> Scores:
    """All scores that follow from the counts."""
    pairs, stray = counts.pairs, counts.stray
    mark_names = counts.label_names[1:]
    marks = _by_mark(mark_names, pairs, stray)
    used = [mark for mark in marks.values() if mark.n_reference]
    groupings = (
        counts.label_names,
        [*counts.label_names[:1], *("END" if name in SENTENCE_END_NAMES else name for name in mark_names)],
        [*counts.label_names[:1], *("MARK" for _ in mark_names)],
    )
    n_marks = int(pairs[1:].sum())
    n_errors = int(pairs.sum() - pairs.trace() + stray.sum())
    return Scores(
        n_words=counts.n_words,
        micro=micro(counts),
        macro=_mean(used, [1] * len(used)),
        weighted=_mean(used, [mark.n_reference for mark in used]),
        marks=marks,
        mid_text=_micro(counts.mid_text, stray),
        end_text=_micro(counts.end_text, 0 * stray),
        mid_text_marks=_by_mark(mark_names, counts.mid_text, stray),
        end_text_marks=_by_mark(mark_names, counts.end_text, 0 * stray),
        merged={str(len(set(names))): _merged(pairs, stray, names) for names in groupings},
        slot_error_rate=n_errors / n_marks if n_marks else None,
    )


def metrics(
    references: Iterable[Sequence[int | str]], predictions: Iterable[Sequence[int | str]], label_names: Sequence[str]
) -> dict[str, float | int | None]:
    """The scores of texts in one flat dictionary: what the metric module and a Trainer report.

    Args:
        references, predictions: for each text one label a word, as a name or as an index into `label_names`; words
            whose reference is -100 are left out.
        label_names: all labels, the no-mark label first.

    Returns:
        Fractions from 0 to 1: `micro_precision`, `micro_recall`, `micro_f1`, the same of every mark (`comma_f1`),
        `macro_f1`, `weighted_f1`, `mid_text_f1`, `end_text_f1`; and `slot_error_rate`, `n_words`.

    Raises:
        ValueError: if the labels of a text differ in number, or a label is unknown.
    """
    texts = zip(references, predictions, strict=True)
    scores = score(add_counts(label_names, (count_labels(*text, label_names, ends_text=True) for text in texts)))
    found: dict[str, Any] = {f"{name}_f1": getattr(scores, name).f1 for name in ("macro", "weighted")}
    found |= {f"{name}_f1": getattr(scores, name).f1 for name in ("mid_text", "end_text")}
    for name, mark in {"micro": scores.micro, **scores.marks}.items():
        found |= {f"{name.lower()}_{kind}": getattr(mark, kind) for kind in ("precision", "recall", "f1")}
    return {**found, "slot_error_rate": scores.slot_error_rate, "n_words": scores.n_words}


def compute_metrics(label_names: Sequence[str]) -> Callable[[Any], dict[str, float | int | None]]:
    """What a `transformers.Trainer` takes as `compute_metrics` for a model of ours.

        trainer = Trainer(model, ..., compute_metrics=compute_metrics(model.config.label_names))
        trainer.evaluate()["eval_micro_f1"]

    The function takes an `EvalPrediction`: `predictions` are logits (texts, W, M), of several outputs the first, and
    `label_ids` (texts, W) are labels, -100 where none is scored. It decides by the highest logit, without the
    thresholds that the pipeline applies.
    """

    def compute(evaluated: Any) -> dict[str, float | int | None]:
        logits = evaluated.predictions
        logits = logits[0] if isinstance(logits, (tuple, list)) else logits
        references = np.asarray(evaluated.label_ids)
        kept = references != NOT_SCORED
        chosen = np.asarray(logits).argmax(axis=-1)
        rows = [(one[own].tolist(), two[own].tolist()) for one, two, own in zip(references, chosen, kept, strict=True)]
        return metrics([one for one, _ in rows], [two for _, two in rows], label_names)

    return compute


def micro(counts: Counts) -> MarkScore:
    """Precision, recall and F1 over all marks counted together; words without a mark on either side do not count."""
    return _micro(counts.pairs, counts.stray)


def mark_numbers(pairs: np.ndarray, stray: np.ndarray) -> np.ndarray:
    """Of every mark how many are right, in the reference, and predicted: (..., M - 1, 3).

    Args:
        pairs: words by reference and predicted label (..., M, M), the no-mark label first.
        stray: further predictions (..., M).
    """
    right = np.diagonal(pairs, axis1=-2, axis2=-1)
    return np.stack([right, pairs.sum(-1), pairs.sum(-2) + stray], axis=-1)[..., 1:, :]


def _by_mark(mark_names: Sequence[str], pairs: np.ndarray, stray: np.ndarray) -> dict[str, MarkScore]:
    return {name: mark_score(row) for name, row in zip(mark_names, mark_numbers(pairs, stray), strict=True)}


def _micro(pairs: np.ndarray, stray: np.ndarray) -> MarkScore:
    return mark_score(mark_numbers(pairs, stray).sum(axis=0))


def mark_score(numbers: np.ndarray) -> MarkScore:
    """Precision, recall and F1 from the numbers (3,) that are right, in the reference, and predicted."""
    n_correct, n_reference, n_predicted = numbers.tolist()
    return MarkScore(
        precision=n_correct / n_predicted if n_predicted else 0.0,
        recall=n_correct / n_reference if n_reference else 0.0,
        f1=2 * n_correct / (n_predicted + n_reference) if n_predicted + n_reference else 0.0,
        n_reference=n_reference,
        n_predicted=n_predicted,
        n_correct=n_correct,
    )


def _mean(marks: Sequence[MarkScore], weights: Sequence[int]) -> MeanScore:
    if not marks:
        return MeanScore(0.0, 0.0, 0.0)
    rows = [(mark.precision, mark.recall, mark.f1) for mark in marks]
    return MeanScore(*np.average(rows, axis=0, weights=weights).tolist())


def _merged(pairs: np.ndarray, stray: np.ndarray, names: Sequence[str]) -> MarkScore:
    """Micro over the classes that labels of one name make."""
    classes = list(dict.fromkeys(names))
    belongs = np.array([[name == one for one in classes] for name in names], dtype=np.int64)  # (M, classes)
    return _micro(belongs.T @ pairs @ belongs, stray @ belongs)
