"""What was prepared, for people: one line a source, the table of words and marks, and which labels are lacking."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from punctuation_restoration.modeling.configuration_punctuation import DEFAULT_LABELS

SPLITS = ("train", "validation", "test")  # the last one on request


def describe(row: Mapping[str, Any]) -> str:
    """One line about a prepared source: what is used, and what was skipped and why."""
    parts = [
        f"{split} {counts['n_documents']:,} documents, {counts['n_words']:,} words"
        for split, counts in row["splits"].items()
    ]
    line = f"{row['name']}: {'; '.join(parts).removeprefix('train ')}"
    if row["skipped"]:
        line += "; skipped " + ", ".join(f"{n:,} ({why})" for why, n in sorted(row["skipped"].items()))
    return line


def table(index: Mapping[str, Any]) -> str:
    """Words and marks per source as a Markdown table, after the MLM-Punct paper's Table I.

    Documents, words and marks are those to train on; then come the words that are held out for validation, and those
    for test where there are any. A row for each language adds its sources up.
    """
    names = [label["name"] for label in index["labels"][1:]]
    kept = [split for split in SPLITS[1:] if any(split in row["splits"] for row in index["sources"])]
    head = ["language", "source", "documents", "words", *names, "marks per 100 words", "held-out words"]
    head += ["test words"] * (len(kept) - 1)
    lines = []
    totals: dict[str, list[int]] = {}
    for row in index["sources"]:
        train = row["splits"]["train"]
        n_labels = (train["n_labels"] + [0] * (len(names) + 1))[1 : len(names) + 1]
        n_kept = [row["splits"][split]["n_words"] if split in row["splits"] else 0 for split in kept]
        cells = [train["n_documents"], train["n_words"], *n_labels, *n_kept]
        sums = totals.setdefault(row["language"], [0] * len(cells))
        totals[row["language"]] = [a + b for a, b in zip(sums, cells, strict=True)]
        lines.append(_line(row["language"], row["name"], cells, len(kept)))
    lines += [_line(language, "**all**", cells, len(kept)) for language, cells in sorted(totals.items())]
    return markdown_table(head, lines, n_left=2) + "\n"


def missing_labels(index: Mapping[str, Any]) -> tuple[list[str], str | None]:
    """Labels besides the usual four that no source has; and a warning of each label that some source has not, or None.

    Sources without labels, or without words, do not count.
    """
    labels, usual = index["labels"], [(label["before"], label["after"]) for label in DEFAULT_LABELS]
    counts = {}
    for row in index["sources"]:  # held-out documents count too
        splits = [np.pad(own["n_labels"], (0, len(labels) - len(own["n_labels"]))) for own in row["splits"].values()]
        if row["is_labelled"] and np.any(splits):
            counts[row["name"]] = np.sum(splits, axis=0).astype(int)
    if not counts:
        return [], None
    total = np.sum(list(counts.values()), axis=0).tolist()
    said = "Counts: " + ", ".join(f"{label['name']} {n:,}" for label, n in zip(labels, total, strict=True))
    unusual = [label["name"] for label in labels if (label["before"], label["after"]) not in usual]
    without = {label["name"]: [name for name, own in counts.items() if not own[n]] for n, label in enumerate(labels)}
    missing = [f"no {label} in {', '.join(names)}" for label, names in without.items() if names]
    lacking = [name for name in unusual if len(without[name]) == len(counts)]
    return lacking, f"Warning: {'; '.join(missing)}. {said}." if missing else None


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]], n_left: int = 1) -> str:
    """A table whose first `n_left` columns hold text, and the others numbers."""
    ruler = ["---" if column < n_left else "---:" for column in range(len(head))]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ruler, *rows))


def _line(language: str, source: str, cells: list[int], n_kept: int) -> list[str]:
    counts, written = cells[:-n_kept], [f"{count:,}" for count in cells]
    density = f"{100 * sum(counts[2:]) / max(counts[1], 1):.1f}"
    return [language, source, *written[:-n_kept], density, *written[-n_kept:]]
