"""Results -> pictures: the confusion matrix and the reliability curve. Needs matplotlib; computes nothing."""

from pathlib import Path
from typing import Any

import numpy as np

from punctuation_restoration.evaluation.calibration import Reliability
from punctuation_restoration.evaluation.counts import add_counts
from punctuation_restoration.evaluation.result_files import file_name, unpack_blocks


def save_pictures(result: dict[str, Any], folder: Path) -> list[Path]:
    """Write `<benchmark>-confusion.png` and `<benchmark>-reliability.png`.

    Raises:
        ImportError: if matplotlib is not installed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    name = file_name(result["benchmark"])
    paths = [folder / f"{name}-confusion.png", folder / f"{name}-reliability.png"]
    save_confusion(result, paths[0])
    save_reliability(result, paths[1])
    return paths


def save_confusion(result: dict[str, Any], path: Path) -> None:
    """Rows: reference, columns: predicted; each cell with its number and its share of the row, which is its shade."""
    names = result["label_names"]
    numbers = add_counts(names, [block.counts for block in unpack_blocks(result["blocks"], names)]).pairs
    shares = numbers / numbers.sum(axis=1, keepdims=True).clip(1)
    figure, axes = _figure()
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    for (y, x), number in np.ndenumerate(numbers):
        shade = "white" if shares[y, x] > 0.5 else "black"
        axes.text(x, y, f"{number:,}\n{100 * shares[y, x]:.1f} %", ha="center", va="center", color=shade)
    shown = [name.lower() if name != "O" else "no mark" for name in names]
    axes.set_xticks(range(len(names)), shown)
    axes.set_yticks(range(len(names)), shown)
    axes.set(xlabel="predicted", ylabel="reference", title=result["benchmark"])
    figure.savefig(path, dpi=120)


def save_reliability(result: dict[str, Any], path: Path) -> None:
    """Share of right decisions against their mean score, over all words and over those that got a mark."""
    figure, axes = _figure()
    axes.plot([0, 1], [0, 1], color="grey", linestyle=":", label="perfectly calibrated")
    for key, shown in (("all_words", "all words"), ("marks", "words that got a mark")):
        bins = Reliability.from_dict(result["calibration"][key])
        error = bins.expected_calibration_error
        if error is not None:
            axes.plot(*bins.curve().T, marker="o", label=f"{shown} (ECE {100 * error:.1f} %)")
    axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="score", ylabel="share right", title=result["benchmark"])
    axes.legend(loc="upper left")
    figure.savefig(path, dpi=120)


def _figure() -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            "Expected matplotlib for pictures, it is not installed. Run `pip install matplotlib`, or leave out "
            "--pictures."
        ) from error
    # Figure alone, without pyplot: no display and no state shared between pictures.
    figure = Figure(figsize=(6, 5.2), layout="constrained")
    return figure, figure.add_subplot()
