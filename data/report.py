"""What was prepared, for people: one line a source, and the table of words and marks. Takes rows of the index."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SPLITS = ("train", "validation")


def describe(row: Mapping[str, Any]) -> str:
    """One line about a prepared source: what is used, and what was skipped and why."""
    train, validation = row["splits"]["train"], row["splits"]["validation"]
    line = (
        f"{row['name']}: {train['n_documents']:,} documents, {train['n_words']:,} words; validation "
        f"{validation['n_documents']:,} documents, {validation['n_words']:,} words"
    )
    if row["skipped"]:
        line += "; skipped " + ", ".join(f"{n:,} ({why})" for why, n in sorted(row["skipped"].items()))
    return line


def table(index: Mapping[str, Any]) -> str:
    """Words and marks per source and split as a Markdown table, after the MLM-Punct paper's Table I."""
    names = [label["name"] for label in index["labels"][1:]]
    head = ["language", "source", "split", "documents", "words", *names, "marks per 100 words"]
    lines = [" | ".join(head), " | ".join("---" for _ in head)]
    totals: dict[tuple[str, str], list[int]] = {}
    for row in index["sources"]:
        for split in SPLITS:
            counts = row["splits"][split]
            n_labels = (counts["n_labels"] + [0] * (len(names) + 1))[1 : len(names) + 1]
            cells = [counts["n_documents"], counts["n_words"], *n_labels]
            sums = totals.setdefault((row["language"], split), [0] * len(cells))
            totals[row["language"], split] = [a + b for a, b in zip(sums, cells, strict=True)]
            lines.append(_line(row["language"], row["name"], split, cells))
    lines += [_line(language, "**all**", split, cells) for (language, split), cells in sorted(totals.items())]
    return "\n".join(f"| {line} |" for line in lines) + "\n"


def _line(language: str, source: str, split: str, cells: list[int]) -> str:
    density = f"{100 * sum(cells[2:]) / max(cells[1], 1):.1f}"
    return " | ".join([language, source, split, *(f"{cell:,}" for cell in cells), density])
