"""Results -> pictures: the confusion matrix and the reliability curve. Needs matplotlib; computes nothing."""

from pathlib import Path
from typing import Any

import numpy as np

from punctuation_restoration.evaluation.calibration import ROWS, calibration_error, reliability_curve
from punctuation_restoration.evaluation.counts import add_counts
from punctuation_restoration.evaluation.result_files import file_name, unpack_blocks


def save_pictures(result: dict[str, Any], folder: Path) -> list[Path]:
    """Write `<benchmark>-confusion.png` and `<benchmark>-reliability.png`.

    Raises:
        ImportError: if matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            "Expected matplotlib for pictures, it is not installed. Run `pip install matplotlib`, or leave out "
            "--pictures."
        ) from error
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for kind, draw in (("confusion", draw_confusion), ("reliability", draw_reliability)):
        # Figure alone, without pyplot: no display and no state shared between pictures.
        figure = Figure(figsize=(6, 5.2), layout="constrained")
        draw(result, figure.add_subplot())
        paths.append(folder / f"{file_name(result['benchmark'])}-{kind}.png")
        figure.savefig(paths[-1], dpi=120)
    return paths


def draw_confusion(result: dict[str, Any], axes: Any) -> None:
    """Rows: reference, columns: predicted; each cell with its number and its share of the row, which is its shade."""
    names = result["label_names"]
    numbers = add_counts(names, [block.counts for block in unpack_blocks(result["blocks"], names)]).pairs
    shares = numbers / numbers.sum(axis=1, keepdims=True).clip(1)
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    for (y, x), number in np.ndenumerate(numbers):
        shade = "white" if shares[y, x] > 0.5 else "black"
        axes.text(x, y, f"{number:,}\n{100 * shares[y, x]:.1f} %", ha="center", va="center", color=shade)
    shown = [name.lower() if name != "O" else "no mark" for name in names]
    axes.set_xticks(range(len(names)), shown)
    axes.set_yticks(range(len(names)), shown)
    axes.set(xlabel="predicted", ylabel="reference", title=result["benchmark"])


def draw_reliability(result: dict[str, Any], axes: Any) -> None:
    """Share of right decisions against their mean score, over all words and over those that got a mark."""
    axes.plot([0, 1], [0, 1], color="grey", linestyle=":", label="perfectly calibrated")
    for key, shown in (("all_words", "all words"), ("marks", "words that got a mark")):
        bins = np.array([result["calibration"][key][row] for row in ROWS])
        error = calibration_error(bins)
        if error is not None:
            axes.plot(*reliability_curve(bins).T, marker="o", label=f"{shown} (ECE {100 * error:.1f} %)")
    axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="score", ylabel="share right", title=result["benchmark"])
    axes.legend(loc="upper left")
