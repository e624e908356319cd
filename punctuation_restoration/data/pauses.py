"""Pauses drawn for text that nobody timed: how long a speaker might be silent after each word, going by its mark.

Takes labels and a recipe's `pauses`, gives seconds. What it draws is a model of read and prepared speech:

* lengths are log-normal (Campione & Véronis 2002, 6,000 pauses in five languages: most from 0.2 to 1 s);
* readers are silent after nearly every sentence, fast ones 0.2 to 1 s and slow ones 0.3 to 1.4 s on average
  (Kazlauskienė & Kalašinskaitė 2020, 48 recordings), and within sentences where they choose, about half as long (the
  same, "The Duration of Pauses in Non-Spontaneous Lithuanian Speech");
* of the pauses within sentences 61 % stand where no mark does (Seara et al. 2005, 17 hours of one reader): where 13
  words without a mark come to each comma, as in our English, silence at 60 % of these goes with 7.5 % of those;
* recognisers stretch a word over the silence behind it: some pauses do not show in their times, some words have none.

That 60 % of the marks within sentences are heard, and how much recognisers lose, are choices of ours.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

NOISE = 0.03  # seconds: gaps that recognisers leave between words that are said in one breath


@dataclass(frozen=True, slots=True)
class Pauses:
    """How pauses are drawn. Shares are of words, lengths medians in seconds."""

    windows: float = 0.0  # share of windows that have times; a model that is also to read text wants about half
    unknown: float = 0.1  # share of their words without a time
    lost: float = 0.2  # share of silences that the times do not show
    sentence_ends: float = 0.95  # share of words with a silence after them, by their marks
    other_marks: float = 0.6
    no_marks: float = 0.075
    sentence_end_length: float = 0.6
    other_length: float = 0.3
    spread: float = 0.5  # standard deviation of the logarithm of a length


@dataclass
class PauseSimulator:
    """Draws pauses as a recipe's `pauses` says."""

    settings: Pauses
    labels: Sequence[Mapping[str, str]]  # the first for no mark
    stop_ids: Sequence[int]  # labels that end a sentence
    edges: list[float]  # of the model's buckets

    def __post_init__(self) -> None:
        settings, label_ids = self.settings, np.arange(len(self.labels))
        is_end = np.isin(label_ids, self.stop_ids)
        marks = np.where(label_ids > 0, settings.other_marks, settings.no_marks)
        self._shares = (1 - settings.lost) * np.where(is_end, settings.sentence_ends, marks)  # (M,)
        self._medians = np.where(is_end, settings.sentence_end_length, settings.other_length)

    def __call__(self, labels: np.ndarray, seed: Sequence[int]) -> np.ndarray:
        """Seconds (W,) of silence after each word of a window with these labels.

        NaN where it is unknown, as after the last one.
        """
        generator, n_words = np.random.default_rng((*seed, 3)), len(labels)
        if generator.random() >= self.settings.windows:
            return np.full(n_words, np.nan)
        is_silent = generator.random(n_words) < self._shares[labels]
        lengths = self._medians[labels] * np.exp(self.settings.spread * generator.standard_normal(n_words))
        lengths = np.where(is_silent, lengths, NOISE * generator.random(n_words))
        lengths[generator.random(n_words) < self.settings.unknown] = np.nan
        lengths[-1] = np.nan
        return lengths
