"""Which thresholds score best: one after the other is moved as long as F1 grows. It knows neither model nor text.

A model that is unsure writes too few marks, since "no mark" is the likeliest answer in most places. Use validation data
only: thresholds found on a test make its score worthless.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

# Up to a half: a higher threshold would refuse a mark that is likelier than all other labels together.
GRID = tuple(round(0.2 + 0.025 * step, 3) for step in range(13))  # 0.2 to 0.5
N_ROUNDS = 3
# Of F1, 0 to 1. A smaller gain is chance: a threshold of 0.2 for questions gained 0.005 points on four validation sets,
# and made "boleh? saya tahu nama encik?" of the README's example.
LEAST_GAIN = 0.0005


def tune(
    names: Sequence[str],
    score: Callable[[Mapping[str, float]], Mapping[str, float]],
    given: Mapping[str, float] | None = None,
) -> tuple[dict[str, float], list[dict[str, Any]]]:
    """The best thresholds, and every step on the way: thresholds and F1 of each benchmark.

    A mark gets a threshold only where that gains `LEAST_GAIN` on the mean; without one, the likeliest label is chosen.
    A threshold that is there already is moved for any gain.

    Args:
        names: of the labels that may get one.
        score: gives the micro-F1, 0 to 1, of each benchmark (or language) with some thresholds.
        given: thresholds to start from.
    """

    def try_out(thresholds: Mapping[str, float]) -> dict[str, Any]:
        return {"thresholds": dict(thresholds), "micro_f1": score(thresholds)}

    def mean_f1(step: Mapping[str, Any]) -> float:
        return float(np.mean(list(step["micro_f1"].values())))

    steps = [try_out(given or {})]
    for label in [*names] * N_ROUNDS:
        step = max((try_out({**steps[-1]["thresholds"], label: limit}) for limit in GRID), key=mean_f1)
        gain = mean_f1(step) - mean_f1(steps[-1])
        if gain > 0 and (label in steps[-1]["thresholds"] or gain >= LEAST_GAIN):
            steps.append(step)
    return steps[-1]["thresholds"], steps
