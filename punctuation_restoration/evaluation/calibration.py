"""Calibration: is a score of 0.9 right nine times in ten?

Takes scores of decisions and whether each was right, gives additive bins, a reliability curve and the expected
calibration error. Knows nothing about marks or texts.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

N_BINS = 15  # of equal width, as in Guo et al. 2017, section 5


@dataclass(frozen=True, slots=True)
class Reliability:
    """Additive bins of equal width over scores from 0 to 1.

    Attributes:
        n: decisions in each bin.
        n_right: decisions in each bin that were right.
        score_sums: sum of the scores in each bin.
    """

    n: tuple[int, ...] = (0,) * N_BINS
    n_right: tuple[int, ...] = (0,) * N_BINS
    score_sums: tuple[float, ...] = (0.0,) * N_BINS

    def __add__(self, other: "Reliability") -> "Reliability":
        if len(self.n) != len(other.n):
            raise ValueError(
                f"Expected equally many bins, got {len(self.n)} and {len(other.n)}. Evaluate both with one version."
            )
        return Reliability(
            tuple(a + b for a, b in zip(self.n, other.n, strict=True)),
            tuple(a + b for a, b in zip(self.n_right, other.n_right, strict=True)),
            tuple(a + b for a, b in zip(self.score_sums, other.score_sums, strict=True)),
        )

    @property
    def expected_calibration_error(self) -> float | None:
        """Mean distance between score and share of right decisions, by bin (Naeini et al. 2015); None if empty."""
        total = sum(self.n)
        if not total:
            return None
        return sum(abs(right - score) for right, score in zip(self.n_right, self.score_sums, strict=True)) / total

    def curve(self) -> list[tuple[float, float, int]]:
        """(mean score, share right, decisions) of every bin that is not empty."""
        return [
            (score / n, right / n, n)
            for n, right, score in zip(self.n, self.n_right, self.score_sums, strict=True)
            if n
        ]

    def to_dict(self) -> dict[str, Any]:
        """Bins, curve and error as JSON can hold them."""
        return {
            "n": list(self.n),
            "n_right": list(self.n_right),
            "score_sums": [round(value, 6) for value in self.score_sums],
            "expected_calibration_error": self.expected_calibration_error,
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> "Reliability":
        """The bins that `to_dict` wrote."""
        return cls(tuple(content["n"]), tuple(content["n_right"]), tuple(content["score_sums"]))


def count_reliability(decisions: Iterable[tuple[float, bool]]) -> Reliability:
    """Bins of (score, right) pairs.

    Raises:
        ValueError: if a score lies outside 0 to 1.
    """
    n, n_right, score_sums = [0] * N_BINS, [0] * N_BINS, [0.0] * N_BINS
    for score, right in decisions:
        # Rounding in fp32 may leave a probability slightly above 1.
        if not -1e-3 <= score <= 1.001:
            raise ValueError(f"Expected a score from 0 to 1, got {score}. Give probabilities, not logits.")
        index = min(max(int(score * N_BINS), 0), N_BINS - 1)
        n[index] += 1
        n_right[index] += right
        score_sums[index] += score
    return Reliability(tuple(n), tuple(n_right), tuple(score_sums))
