"""What other systems report, beside our results on the same or the nearest test, as a Markdown table.

The figures are those of the papers (`published.tsv`), ours those of `results/`. Papers average over the marks in
different ways, so each is compared with the same average of ours.
"""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from punctuation_restoration.data.summary import markdown_table

BEGIN, END = "<!-- published -->", "<!-- /published -->"
NEAREST = ("<!-- nearest -->", "<!-- /nearest -->")
PUBLISHED = Path(__file__).with_name("published.tsv")
OURS = "**ours**"


def published_table(results: Sequence[dict[str, Any]], weights: str, path: Path = PUBLISHED) -> str:
    """Rows by test, the best first; a test that we have no result of shows the published figures alone.

    Args:
        results: as `evaluate.py` writes them.
        weights: how many our model has, as the table shall say it.
        path: a table of published figures, in percent.
    """
    papers = _read(path)
    scores = {one["benchmark"]: one["scores"] for one in results}
    rows = []
    for name in dict.fromkeys(row["benchmark"] for row in papers):
        there = [row for row in papers if row["benchmark"] == name]
        found = [(float(row["f1"]), row["system"], row["average"], row["differs"], row["weights"]) for row in there]
        for average in dict.fromkeys(row["average"] for row in there) if name in scores else ():
            found.append((100 * scores[name][average]["f1"], OURS, average, "", weights))
        rows += [[f"`{name}`", *cells, f"{f1:.1f}"] for f1, *cells in sorted(found, key=lambda row: -row[0])]
    return markdown_table(["test", "system", "average", "what differs", "weights", "F1"], rows, n_left=4)


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
