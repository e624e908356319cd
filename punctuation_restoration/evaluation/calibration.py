"""Calibration: is a score of 0.9 right nine times in ten?

Takes scores of decisions and whether each was right, gives additive bins, a reliability curve and the expected
calibration error. Knows nothing about marks or texts.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

N_BINS = 15  # of equal width, as in Guo et al. 2017, section 5


@dataclass(frozen=True, eq=False)
class Reliability:
    """Additive bins of equal width over scores from 0 to 1.

    `bins` (3, 15) holds for each bin how many decisions fell into it, how many of them were right, and the sum of
    their scores.
    """

    bins: np.ndarray = field(default_factory=lambda: np.zeros((3, N_BINS)))

    def __add__(self, other: "Reliability") -> "Reliability":
        return Reliability(self.bins + other.bins)

    @property
    def expected_calibration_error(self) -> float | None:
        """Mean distance between score and share of right decisions, by bin (Naeini et al. 2015); None if empty."""
        n, n_right, score_sums = self.bins
        return float(abs(n_right - score_sums).sum() / n.sum()) if n.any() else None

    def curve(self) -> np.ndarray:
        """(mean score, share right) of every bin that is not empty, (n, 2)."""
        n, n_right, score_sums = self.bins[:, self.bins[0] > 0]
        return np.stack([score_sums / n, n_right / n], axis=1)

    def to_dict(self) -> dict[str, Any]:
        """Bins and error as JSON can hold them."""
        n, n_right, score_sums = self.bins
        return {
            "n": n.astype(int).tolist(),
            "n_right": n_right.astype(int).tolist(),
            "score_sums": score_sums.round(6).tolist(),
            "expected_calibration_error": self.expected_calibration_error,
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> "Reliability":
        """The bins that `to_dict` wrote."""
        return cls(np.array([content["n"], content["n_right"], content["score_sums"]]))


def count_reliability(decisions: Sequence[tuple[float, bool]]) -> Reliability:
    """Bins of (score, right) pairs.

    Raises:
        ValueError: if a score lies outside 0 to 1.
    """
    scores, right = np.array(decisions, dtype=float).reshape(-1, 2).T
    wrong = scores[(scores < -1e-3) | (scores > 1.001)]  # rounding in fp32 may leave a probability slightly above 1
    if len(wrong):
        raise ValueError(f"Expected a score from 0 to 1, got {wrong[0]}. Give probabilities, not logits.")
    places = np.clip((scores * N_BINS).astype(int), 0, N_BINS - 1)
    return Reliability(np.stack([np.bincount(places, rows, N_BINS) for rows in (np.ones_like(scores), right, scores)]))
