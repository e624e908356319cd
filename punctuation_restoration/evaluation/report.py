"""Results, as written to JSON -> tables for the terminal, in plain text."""

from collections.abc import Iterable, Sequence
from typing import Any

AVERAGES = ("micro", "macro", "weighted")
RATES = ("precision", "recall", "f1")
NUMBERS = ("n_reference", "n_predicted", "n_correct")


def overview(results: Sequence[dict[str, Any]]) -> str:
    """One line a benchmark: micro-F1 with its interval first, then F1 by mark and the other kinds of "overall".

    SER is the slot error rate, ECE the expected calibration error. The last column has the gain in micro-F1 over an
    earlier result, in points, where results were compared with one.
    """
    marks: dict[str, None] = {}  # a set that keeps the order
    for result in results:
        marks |= dict.fromkeys(result["scores"]["marks"])
    head = ["benchmark", "micro", "95 %", *map(str.lower, marks), "macro", "weighted", "SER", "ECE"]
    if "against" in results[0]:
        head.append("against (95 %)")
    return text_table("F1 (%), micro first", head, [_row(result, marks) for result in results])


def _row(result: dict[str, Any], marks: Iterable[str]) -> list[str]:
    """The line of one benchmark in `overview`."""
    scores = result["scores"]
    calibration = result["calibration"]["all_words"]
    interval = result["intervals_95"]["micro"]
    shares = []
    for mark in marks:
        score = scores["marks"].get(mark, {})
        shares.append(score.get("f1"))
    for average in ("macro", "weighted"):
        shares.append(scores[average]["f1"])
    shares.append(scores["slot_error_rate"])
    shares.append(calibration["expected_calibration_error"])
    cells = [
        result["benchmark"],
        percent(scores["micro"]["f1"]),
        _interval(interval),
        *map(percent, shares),
    ]
    if gain := result.get("against"):
        low, high = gain["interval_95"]
        points = [100 * share for share in (gain["micro"], low, high)]
        cells.append("{:+.2f} ({:+.2f} to {:+.2f})".format(*points))
    return cells


def details(result: dict[str, Any]) -> str:
    """The table of one benchmark: each mark, the kinds of "overall", places in the text, and capitals."""
    scores = result["scores"]
    shown = dict(scores["marks"])
    shown |= {kind: scores[kind] for kind in AVERAGES}
    shown |= {"mid-text": scores["mid_text"], "end of text": scores["end_text"]}
    for whose, casing in result["casing"].items():
        shown[f"capitals, marks of the {whose}"] = casing
    intervals = result["intervals_95"]
    ends = {**intervals["marks"], "micro": intervals["micro"]}
    rows = []
    for name, score in shown.items():
        cells = [name]
        for rate in RATES:
            cells.append(percent(score[rate]))
        cells.append(_interval(ends.get(name, ())))
        for number in NUMBERS:
            cells.append(f"{score[number]:,}" if number in score else "")
        rows.append(cells)
    n_words = scores["n_words"]
    n_documents = result["n_documents"]
    n_units = intervals["n_units"]
    title = (
        f"{result['benchmark']}: {n_words:,} units in {n_documents:,} documents; "
        f"intervals over {n_units:,} {intervals['unit']}"
    )
    head = ["", "precision", "recall", "F1", "95 %", "in reference", "predicted", "right"]
    return text_table(title, head, rows)


def percent(share: float | None) -> str:
    """A share as percent with one decimal place; a dash for None."""
    return "–" if share is None else f"{100 * share:.1f}"


def _interval(ends: Sequence[float]) -> str:
    return "–".join(map(percent, ends))


def text_table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A title and aligned columns, the first one to the left; the others hold numbers."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = [title, ""]
    for row in (head, ["-" * width for width in widths], *rows):
        cells = [cell.rjust(width) for cell, width in zip(row, widths, strict=True)]
        cells[0] = row[0].ljust(widths[0])
        lines.append("  ".join(cells).rstrip())
    return "\n".join([*lines, ""])
