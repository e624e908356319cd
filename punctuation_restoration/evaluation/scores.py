"""Counts what was predicted against the reference, and turns counts into scores.

Takes labels, one a word; gives counts that can be added, precision, recall and F1 as fractions from 0 to 1, bootstrap
intervals, and the calibration error. Knows nothing about texts, models or files.

    reference   COMMA   O      O       PERIOD        one label a word (or Han character)
    predicted   COMMA   COMMA  O       O
    counted     hit     insertion      deletion      a wrong mark in the right place is a substitution

Counts are arrays (blocks, 2, M, M) of whole numbers, by block of words, and by reference and predicted label, the
no-mark label first: of every word but the last of each text; and of the last words, where a stop is easy to guess.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from punctuation_restoration.modeling.modeling_punctuation import NOT_SCORED

N_SAMPLES, SEED = 2000, 2026  # of the bootstrap
BLOCK_WORDS = 200
MIN_DOCUMENTS = 5  # with fewer documents, blocks of words are drawn
RATES = ("precision", "recall", "f1")
N_BINS = 15  # of calibration, as in Guo et al. 2017, section 5
Scores = dict[str, Any]  # as results hold them
Metrics = dict[str, float | int | None]
Array = np.ndarray
Names = Sequence[str]  # of labels, the no-mark label first
Labels = Sequence[int | str]  # names, or indices into them
NumbersOfUnits = Sequence[Sequence[int]]


def count_labels(
    reference: Labels,
    predicted: Labels,
    label_names: Names,
    *,
    ends_text: bool = False,
) -> Array:
    """Counts (blocks, 2, M, M) over one text, or over words whose borders of text do not matter.

    A block has `BLOCK_WORDS` words, the last one what is left. A `ValueError` says that the lists differ in length, or
    which label is unknown.

    Args:
        reference, predicted: one label a word, as a name or as an index into `label_names`. Words whose reference is
            -100 are left out.
        label_names: all labels, the no-mark label first.
        ends_text: whether the last scored word ends a text, and is counted apart.
    """
    if len(reference) != len(predicted):
        raise ValueError(
            f"Expected one predicted label per word: {len(reference)} words, {len(predicted)} predicted labels. "
            "Was the text segmented twice?"
        )
    index_of = {label: index for index, name in enumerate(label_names) for label in (index, name)}
    pairs = [pair for pair in zip(reference, predicted, strict=True) if pair[0] != NOT_SCORED]
    n_blocks = math.ceil(len(pairs) / BLOCK_WORDS)
    counts = np.zeros((n_blocks, 2, len(label_names), len(label_names)), dtype=np.int64)
    try:
        for index, (wanted, label) in enumerate(pairs):
            is_last = ends_text and index == len(pairs) - 1
            counts[index // BLOCK_WORDS, int(is_last), index_of[wanted], index_of[label]] += 1
    except KeyError as error:
        raise ValueError(
            f"Expected labels among {list(label_names)}, got {error}. Were they made with other label names?"
        ) from error
    return counts


def score(counts: Array, label_names: Names) -> Scores:
    """All scores that follow from counts (blocks, 2, M, M), as results hold them; no-mark is never averaged in.

    Returns:
        `"n_words"` (in Han text: characters), each counted once.
        `"micro"`: `mark_score` of all marks together, the first figure of this project; `"marks"`: of each, by name.
        `"macro"`: the mean of precision, recall and F1 over the marks that the reference uses; `"weighted"`: that by
        each mark's number in the reference ("support-weighted" in the MLM-Punct paper).
        `"mid_text"` and `"end_text"`: `mark_score` of all words but the last of each text, and of the last words: Li &
        Lin 2020 score them apart, since a stop at the end of a text is easy.
        `"slot_error_rate"`: (substitutions + deletions + insertions) / marks in the reference (Makhoul et al. 1999). It
        may exceed 1, and is None where the reference has no mark.
    """
    mid_text, end_text = counts.sum(axis=0)
    pairs = mid_text + end_text
    numbers = mark_numbers(pairs)
    overall, *marks = map(mark_score, numbers)
    n_marks, *n_of_each = numbers[:, 1].tolist()
    return {
        "n_words": int(pairs.sum()),
        "micro": overall,
        "macro": _mean(marks, [n > 0 for n in n_of_each]),
        "weighted": _mean(marks, n_of_each),
        "marks": dict(zip(label_names[1:], marks, strict=True)),
        "mid_text": mark_score(mark_numbers(mid_text)[0]),
        "end_text": mark_score(mark_numbers(end_text)[0]),
        "slot_error_rate": int(pairs.sum() - pairs.trace()) / n_marks if n_marks else None,
    }


def _mean(marks: Sequence[Scores], weights: Sequence[int]) -> dict[str, float]:
    """The weighted mean of each rate over marks; 0 of none."""
    n = max(sum(weights), 1)
    return {rate: float(np.dot(weights, [mark[rate] for mark in marks]) / n) for rate in RATES}


def mark_numbers(pairs: Array) -> Array:
    """How many marks are right, in the reference, and predicted, of counts (..., M, M).

    Gives an array (..., M, 3): first all marks together, in the place of the no-mark label, then each.
    """
    right = pairs.diagonal(axis1=-2, axis2=-1)
    numbers = np.stack([right, pairs.sum(axis=-1), pairs.sum(axis=-2)], axis=-1)
    numbers[..., 0, :] = numbers[..., 1:, :].sum(axis=-2)
    return numbers


def mark_score(numbers: Array) -> Scores:
    """Precision, recall and F1 (0 to 1), and the numbers (3,) of marks they follow from; 0 for a division by 0."""
    n_correct, n_reference, n_predicted = numbers.tolist()
    return {
        "precision": n_correct / max(n_predicted, 1),
        "recall": n_correct / max(n_reference, 1),
        "f1": 2 * n_correct / max(n_predicted + n_reference, 1),
        "n_reference": n_reference,
        "n_predicted": n_predicted,
        "n_correct": n_correct,
    }


def metrics(
    references: Iterable[Labels],
    predictions: Iterable[Labels],
    label_names: Names,
) -> Metrics:
    """The scores of texts in one flat dictionary: what the metric module and a Trainer report.

    Takes, and refuses, for each text what `count_labels` does. Gives fractions from 0 to 1: `micro_precision`,
    `micro_recall`, `micro_f1`, the same of every mark (`comma_f1`) and of `macro`, `weighted`, `mid_text` and
    `end_text`; and `slot_error_rate`, `n_words`.
    """
    texts = [([], []), *zip(references, predictions, strict=True)]
    counts = [count_labels(*text, label_names, ends_text=True) for text in texts]
    scores = score(np.concatenate(counts), label_names)
    flat: Metrics = {key: scores.pop(key) for key in ("slot_error_rate", "n_words")}
    for name, rates in (scores.pop("marks") | scores).items():
        flat |= {f"{name.lower()}_{rate}": rates[rate] for rate in RATES}
    return flat


def compute_metrics(label_names: Names) -> Callable[[Any], Metrics]:
    """What a `transformers.Trainer` takes as `compute_metrics` for a model of ours.

        trainer = Trainer(model, ..., compute_metrics=compute_metrics(model.config.label_names))
        trainer.evaluate()["eval_micro_f1"]

    The function takes an `EvalPrediction`: `predictions` are logits (texts, W, M), of several outputs the first, and
    `label_ids` (texts, W) are labels, -100 where none is scored. It decides by the highest logit, without the
    thresholds that the pipeline applies.
    """

    def compute(evaluated: Any) -> Metrics:
        logits = evaluated.predictions
        logits = logits[0] if isinstance(logits, tuple) else logits
        return metrics(evaluated.label_ids.tolist(), logits.argmax(axis=-1).tolist(), label_names)

    return compute


def evaluated(
    label_names: Names, documents: Sequence[Array], calibration: Mapping[str, Array]
) -> Scores:
    """What results hold of one benchmark: scores, intervals, calibration, and the counts behind them.

    Args:
        label_names: those scored, the no-mark label first.
        documents: of each the counts (blocks, 2, M, M) of its blocks of words.
        calibration: bins (3, `N_BINS`) of `"all_words"`, and of `"marks"` that are written.
    """
    counts = np.concatenate(documents)
    unit, numbers = units_of(documents)
    overall, *marks = bootstrap(numbers).tolist()
    intervals = {"micro": overall, "marks": dict(zip(label_names[1:], marks, strict=True))}
    return {
        "label_names": list(label_names),
        "n_documents": len(documents),
        "scores": score(counts, label_names),
        "intervals_95": {"unit": unit, "n_units": len(numbers), **intervals},
        # Bins by score: how many decisions, how many of them right, the sum of their scores; and the error of all.
        "calibration": {
            decisions: {
                "n": bins[0].astype(int).tolist(),
                "n_right": bins[1].astype(int).tolist(),
                "score_sums": bins[2].round(6).tolist(),
                "expected_calibration_error": calibration_error(bins),
            }
            for decisions, bins in calibration.items()
        },
        "casing": {},
        "confusion": counts.sum(axis=(0, 1)).tolist(),  # rows: reference, columns: predicted
        # Of every unit of the intervals how many marks are right, in the reference, and predicted.
        "units": numbers[:, 0].tolist(),
    }


def units_of(documents: Sequence[Array]) -> tuple[str, Array]:
    """What a bootstrap draws, from the counts (blocks, 2, M, M) of each document: what it is called, and its numbers.

    These are whole documents, since the words of one text depend on each other. A test that is one stream, or has few
    documents, is drawn in blocks of words. The numbers are those of `mark_numbers` (units, M, 3).
    """
    if len(documents) < MIN_DOCUMENTS:
        unit, counts = f"blocks of {BLOCK_WORDS} words", np.concatenate(documents)
    else:
        unit, counts = "documents", np.stack([document.sum(axis=0) for document in documents])
    return unit, mark_numbers(counts.sum(axis=1))


def bootstrap(numbers: Array) -> Array:
    """The 95 % intervals (M, 2) of F1, of all marks and of each, by a percentile bootstrap over units (units, M, 3).

    See Efron & Tibshirani 1993, chapter 13. There must be one unit or more.
    """
    return np.percentile(_sampled_f1(numbers), [2.5, 97.5], axis=0).T


def paired_bootstrap(new: NumbersOfUnits, earlier: NumbersOfUnits) -> Scores:
    """How much better one system is than another on the same units, each sample drawn for both alike (Koehn 2004).

    Takes of each unit how many marks are right, in the reference, and predicted. Gives `"micro"`, the difference of
    micro-F1 as a fraction, its `"interval_95"` [low, high], and `"share_above_0"`, the share of samples in which the
    new one is better.
    """
    numbers = np.stack([new, earlier], axis=1)  # (units, 2, 3)
    new_f1, earlier_f1 = [mark_score(total)["f1"] for total in numbers.sum(axis=0)]
    gains = np.subtract(*_sampled_f1(numbers).T)
    return {
        "micro": new_f1 - earlier_f1,
        "interval_95": np.percentile(gains, [2.5, 97.5]).tolist(),
        "share_above_0": float((gains > 0).mean()),
    }


def _sampled_f1(numbers: Array) -> Array:
    """F1 of each sample (samples, ...), of units (units, ..., 3); always the same draws."""
    share = np.full(len(numbers), 1 / len(numbers))
    # How often each unit is drawn in each sample: (samples, units).
    drawn = np.random.default_rng(SEED).multinomial(len(numbers), share, size=N_SAMPLES)
    n_correct, n_reference, n_predicted = np.moveaxis(np.tensordot(drawn, numbers, axes=1), -1, 0)
    return 2 * n_correct / np.maximum(n_reference + n_predicted, 1)


def count_reliability(scores: Array, right: Array) -> Array:
    """How many decisions have a score in each bin, how many of these are right, and the sum of their scores.

    Takes the scores (n,), and whether (n,) each decision is right; gives an array (3, `N_BINS`). The arrays of two
    halves of a test add up.
    """
    # Rounding in fp32 may leave a probability slightly above 1.
    bins = np.clip(scores * N_BINS, 0, N_BINS - 1).astype(int)
    rows = (np.ones_like(scores), right, scores)
    return np.stack([np.bincount(bins, row, N_BINS) for row in rows], dtype=float)


def calibration_error(bins: Array) -> float | None:
    """Mean distance between score and share of right decisions, by bin (Naeini et al. 2015); None if empty."""
    n, n_right, score_sums = bins
    return float(abs(n_right - score_sums).sum() / n.sum()) if n.any() else None
