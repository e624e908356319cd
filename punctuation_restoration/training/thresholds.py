"""Which thresholds score best on validation text: one after the other is moved as long as F1 grows.

A model that is unsure writes too few marks, since "no mark" is the likeliest answer in most places. Thresholds found
on a test make its score worthless. A run finds them on its validation windows: those of `, . ?` as `marks="basic"`
decides, which is what users get; those of further labels beside them.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from punctuation_restoration.pipeline.decoding import make_choice
from punctuation_restoration.training.validation import Validation

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


def tuned_thresholds(config: Any, validation: Validation, reading: np.ndarray) -> dict[str, float] | None:
    """Thresholds with which the mean F1 of all languages is highest; None where none pays, or no text is held out.

    `reading` is what `validation.read` gave for the model of this configuration.
    """

    def f1_with(marks: str, thresholds: Mapping[str, float]) -> dict[str, float]:
        counts = validation.counts(reading, make_choice(config, marks, thresholds))
        return {name: row["f1"] / 100 for name, row in validation.scores(counts)["languages"].items()}

    if not f1_with("basic", {}):
        return None
    basic = [name for index, name in enumerate(config.label_names) if index and index in config.basic_labels]
    thresholds, _ = tune(basic, lambda given: f1_with("basic", given))
    others = [name for name in config.label_names[1:] if name not in basic]
    if others:
        thresholds, _ = tune(others, lambda given: f1_with("all", given), thresholds)
    return thresholds or None
