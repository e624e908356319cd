"""Results, as written to JSON -> tables for the terminal, in plain text."""

from collections.abc import Sequence
from typing import Any


def overview(results: Sequence[dict[str, Any]]) -> str:
    """One line a benchmark: micro-F1 with its interval first, then F1 by mark and the other kinds of "overall".

    The last column has the gain in micro-F1 over an earlier result, in points, where results were compared with one.
    """
    names = dict.fromkeys(name for result in results for name in result["scores"]["marks"])
    rows = []
    for result in results:
        scores = result["scores"]
        f1 = [scores["marks"].get(name, {}).get("f1") for name in names]
        f1 += [scores["macro"]["f1"], scores["weighted"]["f1"], scores["slot_error_rate"]]
        cells = [
            percent(scores["micro"]["f1"]),
            _interval(result["intervals_95"]["micro"]),
            *map(percent, f1),
        ]
        cells.append(percent(result["calibration"]["all_words"]["expected_calibration_error"]))
        if gain := result.get("against"):
            low, high = gain["interval_95"]
            cells.append(f"{100 * gain['micro']:+.2f} ({100 * low:+.2f} to {100 * high:+.2f})")
        rows.append([result["benchmark"], *cells])
    columns = [
        "micro",
        "95 %",
        *(name.lower() for name in names),
        "macro",
        "weighted",
        "SER",
        "ECE",
    ]
    against = ["against (95 %)"] if "against" in results[0] else []
    return text_table("F1 (%), micro first", ["benchmark", *columns, *against], rows)


def details(result: dict[str, Any]) -> str:
    """The table of one benchmark: each mark, the kinds of "overall", places in the text, and capitals."""
    scores, intervals = result["scores"], result["intervals_95"]
    shown = {**scores["marks"], **{kind: scores[kind] for kind in ("micro", "macro", "weighted")}}
    shown |= {"mid-text": scores["mid_text"], "end of text": scores["end_text"]}
    shown |= {f"capitals, marks of the {whose}": found for whose, found in result["casing"].items()}
    ends = {**intervals["marks"], "micro": intervals["micro"]}
    rows = []
    for name, mark in shown.items():
        numbers = [
            f"{mark[key]:,}" if key in mark else ""
            for key in ("n_reference", "n_predicted", "n_correct")
        ]
        cells = [percent(mark[kind]) for kind in ("precision", "recall", "f1")]
        rows.append([name, *cells, _interval(ends.get(name, ())), *numbers])
    title = f"{result['benchmark']}: {scores['n_words']:,} units in {result['n_documents']:,} documents; "
    title += f"intervals over {intervals['n_units']:,} {intervals['unit']}"
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
    lines = []
    for row in (head, ["-" * width for width in widths], *rows):
        cells = [
            row[0].ljust(widths[0]),
            *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)),
        ]
        lines.append("  ".join(cells))
    return "\n".join([title, "", *(line.rstrip() for line in lines), ""])
