"""Results, as written to JSON -> tables for the terminal, in plain text."""

from collections.abc import Sequence
from typing import Any

RATES = ("precision", "recall", "f1")
NUMBERS = ("n_reference", "n_predicted", "n_correct")


def overview(results: Sequence[dict[str, Any]]) -> str:
    """One line a benchmark: micro-F1 with its interval first, then the other kinds of "overall".

    SER is the slot error rate, ECE the expected calibration error. The last column has the gain in micro-F1 over an
    earlier result, in points, where results were compared with one.
    """
    head = ["benchmark", "micro", "95 %", "macro", "weighted", "SER", "ECE", "against (95 %)"]
    rows = []
    for result in results:
        scores = result["scores"]
        micro, macro, weighted = (scores[kind]["f1"] for kind in ("micro", "macro", "weighted"))
        error = result["calibration"]["all_words"]["expected_calibration_error"]
        shares = map(percent, (macro, weighted, scores["slot_error_rate"], error))
        interval = _interval(result["intervals_95"]["micro"])
        gained = ""
        if gain := result.get("against"):
            points = [100 * share for share in (gain["micro"], *gain["interval_95"])]
            gained = "{:+.2f} ({:+.2f} to {:+.2f})".format(*points)
        rows.append([result["benchmark"], percent(micro), interval, *shares, gained])
    return text_table("F1 (%), micro first", head, rows)


def details(result: dict[str, Any]) -> str:
    """The table of one benchmark: each mark, the kinds of "overall", places in the text, and capitals."""
    scores = result["scores"]
    shown = {
        **scores["marks"],
        "micro": scores["micro"],
        "macro": scores["macro"],
        "weighted": scores["weighted"],
        "mid-text": scores["mid_text"],
        "end of text": scores["end_text"],
    }
    for whose, casing in result["casing"].items():
        shown[f"capitals, marks of the {whose}"] = casing
    intervals = result["intervals_95"]
    ends = {**intervals["marks"], "micro": intervals["micro"]}
    rows = []
    for name, score in shown.items():
        rates = [percent(score[rate]) for rate in RATES]
        numbers = [f"{score[number]:,}" if number in score else "" for number in NUMBERS]
        rows.append([name, *rates, _interval(ends.get(name, ())), *numbers])
    title = (
        f"{result['benchmark']}: {scores['n_words']:,} units in {result['n_documents']:,} documents; "
        f"intervals over {intervals['n_units']:,} {intervals['unit']}"
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
        name, *numbers = map(str.rjust, row, widths)
        lines.append("  ".join([row[0].ljust(len(name)), *numbers]).rstrip())
    return "\n".join([*lines, ""])
