"""Turns counts into scores.

Takes `Counts`, gives precision, recall and F1 per mark and over all marks in the ways that the literature calls
"overall". Scores are fractions from 0 to 1. Knows nothing about texts, models or files.

For the validation loop of a trainer, plain lists of labels are enough:

    >>> names = ["O", "COMMA", "PERIOD", "QUESTION"]
    >>> scores = score_labels([0, 1, 0, 2, -100], [0, 1, 1, 2, 0], names)   # -100: not scored
    >>> round(scores.micro.f1, 3), scores.n_words
    (0.8, 4)
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from punctuation_restoration.evaluation.counts import NO_MARK, Counts, Pairs, count_labels
from punctuation_restoration.pipeline.conventions import SENTENCE_ENDS

# `FULL_QUESTION` is the usual name of a label that writes a mark before its sentence, too.
SENTENCE_END_NAMES = {prefix + name for name in SENTENCE_ENDS.values() for prefix in ("", "FULL_")}


@dataclass(frozen=True, slots=True)
class MarkScore:
    """Precision, recall and F1 (0 to 1) with the numbers of marks behind them; 0 instead of a division by 0."""

    precision: float
    recall: float
    f1: float
    n_reference: int
    n_predicted: int
    n_correct: int


@dataclass(frozen=True, slots=True)
class MeanScore:
    """A mean over the marks of precision, recall and F1 (0 to 1), each averaged on its own."""

    precision: float
    recall: float
    f1: float


@dataclass(frozen=True)
class Scores:
    """All scores of one test.

    Attributes:
        n_words: words scored, each once (in Han text: characters).
        marks: the score of every mark, by label name. The no-mark label is never averaged in.
        micro: all marks counted together: the first figure of this project.
        macro: the mean over the marks that the reference uses.
        weighted: the mean weighted by each mark's number in the reference ("support-weighted" in the MLM-Punct paper).
        mid_text, end_text: micro over all words but the last of each text, and over the last words alone
            (Li & Lin 2020 score them apart, since a stop at the end of a text is easy).
        merged: micro by number of classes, no-mark included: all labels; sentence ends joined into one; any mark at
            all (after Alam et al. 2020).
        slot_error_rate: (substitutions + deletions + insertions) / marks in the reference (Makhoul et al. 1999);
            may exceed 1; None where the reference has no mark.
        counts: the counts themselves.
    """

    n_words: int
    marks: dict[str, MarkScore]
    micro: MarkScore
    macro: MeanScore
    weighted: MeanScore
    mid_text: MarkScore
    end_text: MarkScore
    merged: dict[str, MarkScore]
    slot_error_rate: float | None
    counts: Counts

    def to_dict(self) -> dict[str, Any]:
        """The scores as JSON can hold them, with the counts as nested dictionaries."""
        return {
            "n_words": self.n_words,
            "micro": asdict(self.micro),
            "macro": asdict(self.macro),
            "weighted": asdict(self.weighted),
            "marks": {name: asdict(mark) for name, mark in self.marks.items()},
            "mid_text": asdict(self.mid_text),
            "end_text": asdict(self.end_text),
            "merged": {n_classes: asdict(merged) for n_classes, merged in self.merged.items()},
            "slot_error_rate": self.slot_error_rate,
            "counts": self.counts.to_dict(),
        }


def score_labels(reference: Sequence[int | str], predicted: Sequence[int | str], label_names: Sequence[str]) -> Scores:
    """Scores of plain lists: one label a word, as a name or as an index into `label_names`, -100 for not scored.

    Raises:
        ValueError: if the lists differ in length, or a label is unknown.
    """
    return score(count_labels(reference, predicted, label_names))


def score(counts: Counts) -> Scores:
    """All scores that follow from the counts."""
    mark_names = [name for name in counts.label_names if name != NO_MARK]
    pairs = counts.pairs
    marks = {name: _mark_score([name], pairs, counts.stray) for name in mark_names}
    used = [mark for mark in marks.values() if mark.n_reference]
    return Scores(
        n_words=counts.n_words,
        marks=marks,
        micro=micro(counts),
        macro=_mean(used, [1] * len(used)),
        weighted=_mean(used, [mark.n_reference for mark in used]),
        mid_text=_mark_score(mark_names, counts.mid_text, counts.stray),
        end_text=_mark_score(mark_names, counts.end_text, {}),
        merged=_merged(counts),
        slot_error_rate=_slot_error_rate(counts),
        counts=counts,
    )


def micro(counts: Counts) -> MarkScore:
    """Precision, recall and F1 over all marks counted together; words without a mark on either side do not count."""
    return _mark_score([name for name in counts.label_names if name != NO_MARK], counts.pairs, counts.stray)


def _mark_score(names: Sequence[str], pairs: Pairs, stray: dict[str, int]) -> MarkScore:
    wanted = set(names)
    n_correct = sum(n for (reference, predicted), n in pairs.items() if reference == predicted in wanted)
    n_reference = sum(n for (reference, _), n in pairs.items() if reference in wanted)
    n_predicted = sum(n for (_, predicted), n in pairs.items() if predicted in wanted)
    n_predicted += sum(n for label, n in stray.items() if label in wanted)
    return MarkScore(
        precision=n_correct / n_predicted if n_predicted else 0.0,
        recall=n_correct / n_reference if n_reference else 0.0,
        f1=2 * n_correct / (n_predicted + n_reference) if n_predicted + n_reference else 0.0,
        n_reference=n_reference,
        n_predicted=n_predicted,
        n_correct=n_correct,
    )


def _mean(marks: Sequence[MarkScore], weights: Iterable[int]) -> MeanScore:
    weights = list(weights)
    total = sum(weights)
    if not total:
        return MeanScore(0.0, 0.0, 0.0)

    def mean(values: Iterable[float]) -> float:
        return sum(value * weight for value, weight in zip(values, weights, strict=True)) / total

    return MeanScore(
        mean(mark.precision for mark in marks), mean(mark.recall for mark in marks), mean(mark.f1 for mark in marks)
    )


def _merged(counts: Counts) -> dict[str, MarkScore]:
    mark_names = [name for name in counts.label_names if name != NO_MARK]
    groupings: list[dict[str, str]] = [
        {},
        {name: "SENTENCE_END" for name in mark_names if name in SENTENCE_END_NAMES},
        dict.fromkeys(mark_names, "MARK"),
    ]
    merged = [counts.merged(groups) for groups in groupings]
    return {str(len(joined.label_names)): micro(joined) for joined in merged}


def _slot_error_rate(counts: Counts) -> float | None:
    n_errors = sum(n for (reference, predicted), n in counts.pairs.items() if reference != predicted)
    n_marks = sum(n for (reference, _), n in counts.pairs.items() if reference != NO_MARK)
    return (n_errors + counts.stray.total()) / n_marks if n_marks else None
