"""Results -> tables for the terminal, and pictures: the confusion matrix and the reliability curve.

Takes results as written to JSON, gives tables as plain text, and PNG files, for which it needs matplotlib.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from punctuation_restoration.evaluation.calibration import ROWS, calibration_error, reliability_curve
from punctuation_restoration.evaluation.counts import add_counts
from punctuation_restoration.evaluation.result_files import brief_scores, file_name, unpack_blocks
from punctuation_restoration.evaluation.runner import Mistake

KINDS = ("precision", "recall", "f1")
N_GROUPS = 20  # sources or documents shown, the lowest first


def overview(results: Sequence[dict[str, Any]]) -> str:
    """One line a benchmark: micro-F1 with its interval first, then F1 by mark and the other kinds of "overall"."""
    names = dict.fromkeys(name for result in results for name in result["scores"]["marks"])
    rows = []
    for result in results:
        scores = result["scores"]
        rows.append(
            [
                result["benchmark"],
                percent(scores["micro"]["f1"]),
                _interval(result["intervals_95"]["micro"]),
                *(percent(scores["marks"].get(name, {}).get("f1")) for name in names),
                percent(scores["macro"]["f1"]),
                percent(scores["weighted"]["f1"]),
                percent(scores["slot_error_rate"]),
                percent(result["calibration"]["all_words"]["expected_calibration_error"]),
                f"{result['speed']['words_per_second'] or 0:,.0f}",
            ]
        )
    columns = ["micro", "95 %", *(name.lower() for name in names), "macro", "weighted", "SER", "ECE", "words/s"]
    return text_table("F1 (%), micro first", ["benchmark", *columns], rows)


def details(result: dict[str, Any]) -> Iterator[str]:
    """The tables of one benchmark: per mark, merged classes and places in the text, and per source or document."""
    scores, intervals = result["scores"], result["intervals_95"]
    rows = []
    for name, mark in {**scores["marks"], "micro": scores["micro"]}.items():
        interval = intervals["micro"] if name == "micro" else intervals["marks"][name]
        numbers = (f"{mark[key]:,}" for key in ("n_reference", "n_predicted", "n_correct"))
        rows.append([name, *_percents(mark), _interval(interval), *numbers])
    rows += [[name, *_percents(scores[name]), "", "", "", ""] for name in ("macro", "weighted")]
    yield text_table(
        f"{result['benchmark']}: {scores['n_words']:,} units in {result['n_documents']:,} documents; intervals over "
        f"{intervals['n_units']:,} {intervals['unit']}",
        ["mark", "precision", "recall", "F1", "95 %", "in reference", "predicted", "right"],
        rows,
    )
    rows = [[f"{n} classes", *_percents(mark), f"{mark['n_reference']:,}"] for n, mark in scores["merged"].items()]
    for name, key in (("mid-text", "mid_text"), ("end of text", "end_text")):
        for mark, row in {"": scores[key], **scores[f"{key}_marks"]}.items():
            if not mark or row["n_reference"]:
                rows.append([f"{name} {mark}".strip(), *_percents(row), f"{row['n_reference']:,}"])
    head = ["", "precision", "recall", "F1", "in reference"]
    yield text_table("the same counts read otherwise (micro)", head, rows)
    blocks = unpack_blocks(result["blocks"], result["label_names"])
    for title in ("source", "document"):
        groups = brief_scores(blocks, title)
        if len(groups) > 1:
            lowest = sorted(groups.items(), key=lambda item: item[1]["f1"])[:N_GROUPS]
            note = f", the {N_GROUPS} lowest of {len(groups):,}" if len(groups) > N_GROUPS else ""
            rows = [[name, percent(one["f1"]), f"{one['n_words']:,}", f"{one['n_marks']:,}"] for name, one in lowest]
            yield text_table(f"by {title}{note}", [title, "F1", "units", "marks"], rows)


def casing_table(result: dict[str, Any]) -> str:
    """Words whose letters change, with the reference's marks and with the model's."""
    n_words = next(iter(result["casing"].values()))["n_words"]
    rows = []
    for marks, found in result["casing"].items():
        for name, row in found.items():
            if name != "n_words" and (row["n_reference"] or row["n_predicted"]):
                numbers = (f"{row[key]:,}" for key in ("n_reference", "n_predicted", "n_correct"))
                rows.append([marks, name, *_percents(row), *numbers])
    head = ["marks", "words", "precision", "recall", "F1", "in reference", "restored", "right"]
    title = f"{result['benchmark']}: words whose letters change, of {n_words:,}"
    return text_table(title, head, rows)


def mistakes_text(mistakes: Sequence[Mistake]) -> str:
    """The worst mistakes, the score before the reference and below it the prediction."""
    lines = [
        f"{one.score:.2f}  reference  {one.reference_text}\n      restored   {one.predicted_text}" for one in mistakes
    ]
    return "\n".join(["Most certain mistakes", "", *lines, ""])


def against_line(result: dict[str, Any]) -> str:
    """How much better a result is than the earlier one that it was compared with."""
    found = result["against"]
    low, high = (f"{100 * end:+.2f}" for end in found["interval_95"])
    return (
        f"{result['benchmark']} against {found['model']}: micro-F1 {100 * found['micro']:+.2f} points, 95 % {low} to "
        f"{high}; above 0 in {found['share_above_0']:.1%} of the samples ({found['n_units']:,} {found['unit']})"
    )


def save_pictures(result: dict[str, Any], folder: Path) -> list[Path]:
    """Write `<benchmark>-confusion.png` and `<benchmark>-reliability.png`.

    Raises:
        ImportError: if matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("Expected matplotlib for --pictures, it is missing. Run `pip install matplotlib`.") from error
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


def percent(share: float | None) -> str:
    """A share as percent with one decimal place; a dash for None."""
    return "–" if share is None else f"{100 * share:.1f}"


def _percents(mark: dict[str, Any]) -> list[str]:
    return [percent(mark[kind]) for kind in KINDS]


def _interval(ends: Sequence[float]) -> str:
    return "–".join(map(percent, ends))


def text_table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A title and aligned columns, the first one to the left; the others hold numbers."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = []
    for row in (head, ["-" * width for width in widths], *rows):
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        lines.append("  ".join(cells))
    return "\n".join([title, "", *(line.rstrip() for line in lines), ""])
