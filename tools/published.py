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
PUBLISHED = Path(__file__).with_name("published.tsv")
OURS = "**ours**"


def published_table(results: Sequence[dict[str, Any]], weights: str, path: Path = PUBLISHED) -> str:
    """Rows by test, the best first; a test that we have no result of shows the published figures alone.

    Args:
        results: as `evaluate.py` writes them.
        weights: how many our model has, as the table shall say it.
        path: a table of published figures, in percent.
    """
    with path.open(encoding="utf-8", newline="") as lines:
        papers = list(csv.DictReader(lines, delimiter="\t"))
    scores = {one["benchmark"]: one["scores"] for one in results}
    rows = []
    for name in dict.fromkeys(row["benchmark"] for row in papers):
        there = [row for row in papers if row["benchmark"] == name]
        found = [(float(row["f1"]), row["system"], row["average"], row["differs"], row["weights"]) for row in there]
        for average in dict.fromkeys(row["average"] for row in there) if name in scores else ():
            found.append((100 * scores[name][average]["f1"], OURS, average, "", weights))
        rows += [[f"`{name}`", *cells, f"{f1:.1f}"] for f1, *cells in sorted(found, key=lambda row: -row[0])]
    return markdown_table(["test", "system", "average", "what differs", "weights", "F1"], rows, n_left=4)
