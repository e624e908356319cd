"""Calibration: is a score of 0.9 right nine times in ten?

Takes scores of decisions and whether each was right, gives additive bins of equal width: an array (3, `N_BINS`) that
holds for each bin how many decisions fell into it, how many of them were right, and the sum of their scores. Knows
nothing about marks or texts.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

N_BINS = 15  # as in Guo et al. 2017, section 5
ROWS = ("n", "n_right", "score_sums")


def count_reliability(decisions: Sequence[tuple[float, bool]]) -> np.ndarray:
    """Bins (3, `N_BINS`) of (score, right) pairs.

    Raises:
        ValueError: if a score lies outside 0 to 1.
    """
    scores, right = np.array(decisions, dtype=float).reshape(-1, 2).T
    wrong = scores[(scores < -1e-3) | (scores > 1.001)]  # rounding in fp32 may leave a probability slightly above 1
    if len(wrong):
        raise ValueError(f"Expected a score from 0 to 1, got {wrong[0]}. Give probabilities, not logits.")
    places = np.clip((scores * N_BINS).astype(int), 0, N_BINS - 1)
    rows = (np.ones_like(scores), right, scores)
    return np.stack([np.bincount(places, row, N_BINS) for row in rows], dtype=float)


def calibration_error(bins: np.ndarray) -> float | None:
    """Mean distance between score and share of right decisions, by bin (Naeini et al. 2015); None if empty."""
    n, n_right, score_sums = bins
    return float(abs(n_right - score_sums).sum() / n.sum()) if n.any() else None


def reliability_curve(bins: np.ndarray) -> np.ndarray:
    """(mean score, share right) of every bin that is not empty, (n, 2)."""
    n, n_right, score_sums = bins[:, bins[0] > 0]
    return np.stack([score_sums / n, n_right / n], axis=1)


def bins_to_json(bins: np.ndarray) -> dict[str, Any]:
    """Bins, by the names of `ROWS`, and their error as JSON can hold them."""
    rows = [*bins[:2].astype(int).tolist(), bins[2].round(6).tolist()]
    return dict(zip(ROWS, rows, strict=True)) | {"expected_calibration_error": calibration_error(bins)}
