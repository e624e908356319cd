"""What other systems report, beside our results on the same or the nearest test, as Markdown tables.

The figures are those of the papers (`published.tsv`), ours those of `results/`. Papers average over the marks in
different ways, so each is compared with the same average of ours.
"""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tools.documents import markdown_table

PUBLISHED = Path(__file__).with_name("published.tsv")


def published_table(results: Sequence[dict[str, Any]], weights: str, path: Path = PUBLISHED) -> str:
    """Rows by test, the best first; a test that we have no result of shows the published figures alone.

    Args:
        results: as `evaluate.py` writes them.
        weights: how many our model has, as the table shall say it.
        path: a table of published figures, in percent.
    """
    scores = {one["benchmark"]: one["scores"] for one in results}
    rows: dict[str, list[dict[str, str]]] = {}
    for row in _read(path):
        own = rows.setdefault(row["benchmark"], [])
        own.append(row)
        average = row["average"]
        if row["benchmark"] in scores and ("**ours**", average) not in [(one["system"], one["average"]) for one in own]:
            f1 = f"{100 * scores[row['benchmark']][average]['f1']:.1f}"
            own.append({"system": "**ours**", "average": average, "differs": "", "weights": weights, "f1": f1})
    lines = []
    for name, own in rows.items():
        for row in sorted(own, key=lambda row: -float(row["f1"])):
            lines.append([f"`{name}`", *(row[key] for key in ("system", "average", "differs", "weights", "f1"))])
    return markdown_table(["test", "system", "average", "what differs", "weights", "F1"], lines, n_left=4)


def nearest_table(results: Sequence[dict[str, Any]], weights: str, path: Path = PUBLISHED) -> str:
    """One row a test: our F1 beside the nearest published system's, the first of its test in the file."""
    nearest = {row["benchmark"]: row for row in reversed(_read(path))}
    rows = []
    for one in results:
        if row := nearest.get(one["benchmark"]):
            ours = f"**{100 * one['scores'][row['average']]['f1']:.1f}**"
            system = f"{row['system']}{', ' * bool(row['weights'])}{row['weights']}"
            rows.append([f"`{one['benchmark']}`: {one['about']}", system, row["average"], ours, row["f1"]])
    head = ["test", "nearest published system", "average", f"F1, ours ({weights})", "F1, theirs"]
    return markdown_table(head, rows, n_left=3)


def _read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines, delimiter="\t"))
