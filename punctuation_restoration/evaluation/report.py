"""Results -> tables for the terminal.

Takes results as written to JSON, gives rich tables.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from punctuation_restoration.evaluation.mistakes import Mistake
from punctuation_restoration.evaluation.result_files import by_document


def overview(results: Sequence[dict[str, Any]]) -> Table:
    """One line a benchmark: micro-F1 with its interval first, then F1 by mark and the other kinds of "overall"."""
    names = dict.fromkeys(name for result in results for name in result["scores"]["marks"])
    table = _table("F1 (%), micro first", "benchmark")
    for column in ("micro", "95 %", *(name.lower() for name in names), "macro", "weighted", "SER", "ECE", "words/s"):
        table.add_column(column, justify="right", no_wrap=True)
    for result in results:
        scores = result["scores"]
        low, high = result["intervals_95"]["micro"]
        table.add_row(
            result["benchmark"],
            Text(percent(scores["micro"]["f1"]), style="bold"),
            f"{percent(low)}–{percent(high)}",
            *(percent(scores["marks"].get(name, {}).get("f1")) for name in names),
            percent(scores["macro"]["f1"]),
            percent(scores["weighted"]["f1"]),
            percent(scores["slot_error_rate"]),
            percent(result["calibration"]["all_words"]["expected_calibration_error"]),
            f"{result['speed']['words_per_second'] or 0:,.0f}",
        )
    return table


def details(result: dict[str, Any]) -> Iterator[Table]:
    """The tables of one benchmark: per mark, merged classes and places in the text, and per source or document."""
    yield _marks(result)
    yield _other_readings(result)
    for groups, title in ((result["by_source"], "source"), (by_document(result), "document")):
        if len(groups) > 1:
            yield _groups(groups, title)


def mistakes_table(mistakes: Sequence[Mistake]) -> Table:
    """The worst mistakes, reference and prediction side by side."""
    table = Table(title="Most certain mistakes", title_justify="left", show_lines=True)
    table.add_column("score", justify="right")
    table.add_column("reference", ratio=1)
    table.add_column("restored", ratio=1)
    for mistake in mistakes:
        # As Text: brackets would otherwise be read as markup.
        table.add_row(f"{mistake.score:.2f}", Text(mistake.reference_text), Text(mistake.predicted_text))
    return table


def percent(share: float | None) -> str:
    """A share as percent with one decimal place; a dash for None."""
    return "–" if share is None else f"{100 * share:.1f}"


def _table(title: str, first: str) -> Table:
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column(first, overflow="fold")
    return table


def _marks(result: dict[str, Any]) -> Table:
    scores, intervals = result["scores"], result["intervals_95"]
    title = (
        f"{result['benchmark']}: {scores['n_words']:,} units in {result['n_documents']:,} documents; intervals over "
        f"{intervals['n_units']:,} {intervals['unit']}"
    )
    table = _table(title, "mark")
    for column in ("precision", "recall", "F1", "95 %", "in reference", "predicted", "right"):
        table.add_column(column, justify="right")
    rows = [(name, mark, intervals["marks"][name]) for name, mark in scores["marks"].items()]
    rows.append(("micro", scores["micro"], intervals["micro"]))
    for name, mark, (low, high) in rows:
        table.add_row(
            name,
            percent(mark["precision"]),
            percent(mark["recall"]),
            percent(mark["f1"]),
            f"{percent(low)}–{percent(high)}",
            *(f"{mark[key]:,}" for key in ("n_reference", "n_predicted", "n_correct")),
            end_section=name == rows[-2][0],
        )
    for name in ("macro", "weighted"):
        table.add_row(name, *(percent(scores[name][key]) for key in ("precision", "recall", "f1")))
    return table


def _other_readings(result: dict[str, Any]) -> Table:
    scores = result["scores"]
    table = _table("the same counts read otherwise (micro)", "")
    for column in ("precision", "recall", "F1", "in reference"):
        table.add_column(column, justify="right")
    rows = [(f"{n_classes} classes", merged) for n_classes, merged in scores["merged"].items()]
    rows += [("mid-text", scores["mid_text"]), ("end of text", scores["end_text"])]
    for name, mark in rows:
        table.add_row(name, *(percent(mark[key]) for key in ("precision", "recall", "f1")), f"{mark['n_reference']:,}")
    return table


def _groups(groups: dict[str, dict[str, Any]], title: str, n_shown: int = 20) -> Table:
    rows = sorted(groups.items(), key=lambda item: item[1]["f1"])
    note = f", the {n_shown} lowest of {len(rows):,}" if len(rows) > n_shown else ""
    table = _table(f"by {title}{note}", title)
    for column in ("F1", "units", "marks"):
        table.add_column(column, justify="right")
    for name, group in rows[:n_shown]:
        table.add_row(name, percent(group["f1"]), f"{group['n_words']:,}", f"{group['n_marks']:,}")
    return table
