"""What was prepared, for people: one line a source, and the table of words and marks. Takes rows of the index."""

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
    """Words and marks per source as a Markdown table, after the MLM-Punct paper's Table I.

    Documents, words and marks are those to train on; the last column has the words that are held out. A row for each
    language adds its sources up.
    """
    names = [label["name"] for label in index["labels"][1:]]
    head = ["language", "source", "documents", "words", *names, "marks per 100 words", "held-out words"]
    lines = [" | ".join(head), " | ".join(["---"] * 2 + ["---:"] * (len(head) - 2))]
    totals: dict[str, list[int]] = {}
    for row in index["sources"]:
        train, validation = (row["splits"][split] for split in SPLITS)
        n_labels = (train["n_labels"] + [0] * (len(names) + 1))[1 : len(names) + 1]
        cells = [train["n_documents"], train["n_words"], *n_labels, validation["n_words"]]
        sums = totals.setdefault(row["language"], [0] * len(cells))
        totals[row["language"]] = [a + b for a, b in zip(sums, cells, strict=True)]
        lines.append(_line(row["language"], row["name"], cells))
    lines += [_line(language, "**all**", cells) for language, cells in sorted(totals.items())]
    return "\n".join(f"| {line} |" for line in lines) + "\n"


def _line(language: str, source: str, cells: list[int]) -> str:
    *counts, n_held_out = cells
    density = f"{100 * sum(counts[2:]) / max(counts[1], 1):.1f}"
    return " | ".join([language, source, *(f"{count:,}" for count in counts), density, f"{n_held_out:,}"])
