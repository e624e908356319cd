"""Finds the temperature that calibrates a model on validation text, and then the thresholds with the best F1 there.

Training leaves a model too sure of its marks; one temperature for all labels and scripts mends most of that. A model
that is unsure writes too few marks, since "no mark" is the likeliest answer in most places: thresholds are moved one
after the other as long as F1 grows. A run finds both on its validation words; on a test they make its score worthless.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from punctuation_restoration.pipeline.decisions import calibrated, make_choice
from punctuation_restoration.training.validation import Reading, Validation

# Up to a half: a higher threshold would refuse a mark that is likelier than all other labels together.
GRID = tuple(round(0.2 + 0.025 * step, 3) for step in range(13))  # 0.2 to 0.5
N_ROUNDS = 3
# Of F1, 0 to 1. A smaller gain is chance: a threshold of 0.2 for questions gained 0.005 points on four validation sets,
# and made "boleh? saya tahu nama encik?" of the README's example.
LEAST_GAIN = 0.0005


def likelihood_slope(probabilities: np.ndarray, labels: np.ndarray, power: float) -> float:
    """How fast the log-likelihood of the labels (W,) grows with the power that probabilities (W, M) are raised to."""
    logs = np.log(np.maximum(probabilities, np.finfo(float).tiny))
    expected = (calibrated(probabilities, 1 / power) * logs).sum(axis=1)
    return float((logs[np.arange(len(labels)), labels] - expected).sum())


def best_temperature(slope: Callable[[float], float]) -> float:
    """The temperature of the highest likelihood, whose slope by `power = 1 / temperature` falls (it is concave in it).

    It lies between 1/4 and 4, and has three decimal places; 1 where the slope is 0, as it is without text.
    """
    if not slope(1.0):
        return 1.0
    least, most = 0.25, 4.0
    for _ in range(20):
        middle = (least + most) / 2
        least, most = (middle, most) if slope(middle) > 0 else (least, middle)
    return round(1 / middle, 3)


def tune(
    names: Sequence[str],
    score: Callable[[Mapping[str, float]], Mapping[str, float]],
    given: Mapping[str, float] | None = None,
) -> tuple[dict[str, float], list[dict[str, Any]]]:
    """The best thresholds, and every step on the way: thresholds and F1 of each benchmark.

    A mark gets a threshold only where that gains `LEAST_GAIN` on the mean; without one, the likeliest label is chosen.
    A threshold that is there already, at first those `given`, is moved for any gain. `names` are the labels that may
    get one; `score` gives the micro-F1, 0 to 1, of each benchmark (or language) with some thresholds.
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


def set_tuned(config: Any, validation: Validation, reading: Reading | None) -> None:
    """Give a configuration the temperature and the thresholds that suit what `validation.read` gave for its model.

    The thresholds are those with the highest mean F1 of all languages, None if none helps or nothing was read: first
    those of `, . ?` as `marks="basic"` decides, which is what users get, then those of further labels beside them.
    """
    config.calibration_temperature, config.thresholds = 1.0, None
    if reading is None:
        return
    config.calibration_temperature = best_temperature(
        lambda power: likelihood_slope(reading.probabilities, reading.labels, power)
    )
    read = reading._replace(probabilities=calibrated(reading.probabilities, config.calibration_temperature))

    def f1_with(marks: str, thresholds: Mapping[str, float]) -> dict[str, float]:
        scores = validation.scores(read, make_choice(config, marks, thresholds))
        return {name: row["f1"] / 100 for name, row in scores["languages"].items()}

    basic = [name for index, name in enumerate(config.label_names) if index and index in config.basic_labels]
    others = [name for name in config.label_names[1:] if name not in basic]
    thresholds, _ = tune(basic, lambda given: f1_with("basic", given))
    if others:
        thresholds, _ = tune(others, lambda given: f1_with("all", given), thresholds)
    config.thresholds = thresholds or None
