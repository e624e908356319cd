"""Which labels prepared data lacks: an error for what was to be learned from it, a warning otherwise."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from punctuation_restoration.modeling.configuration_punctuation import DEFAULT_LABELS

USUAL = [(label["before"], label["after"]) for label in DEFAULT_LABELS]


def check_labels(index: Mapping[str, Any], are_asked_for: bool) -> str | None:
    """A warning that names each label that some source has not, with the counts; None where all have all.

    Sources without labels, or without words, do not count.

    Args:
        index: of prepared data.
        are_asked_for: whether its labels were named for it, and are not those of a trained model.

    Raises:
        ValueError: if labels were asked for, and one that is none of the usual four is in no source.
    """
    labels = index["labels"]
    counts = {row["name"]: _counts(row, len(labels)) for row in index["sources"] if row["is_labelled"]}
    counts = {name: own for name, own in counts.items() if own.any()}
    total = np.sum([np.zeros(len(labels), dtype=int), *counts.values()], axis=0).tolist()
    said = "Counts: " + ", ".join(f"{label['name']} {n:,}" for label, n in zip(labels, total, strict=True))
    unusual = [label["name"] for label in labels if (label["before"], label["after"]) not in USUAL]
    without = {label["name"]: [name for name, own in counts.items() if not own[n]] for n, label in enumerate(labels)}
    lacking = [name for name in unusual if counts and len(without[name]) == len(counts)]
    if lacking and are_asked_for:
        raise ValueError(
            f"Expected every label in some source, got none of {lacking}. {said}. Add text that has their marks, say "
            "in mark_labels which signs mean them, or leave them out of the labels."
        )
    missing = [f"no {label} in {', '.join(names)}" for label, names in without.items() if names]
    return f"Warning: {'; '.join(missing)}. {said}." if missing else None


def _counts(row: Mapping[str, Any], n_labels: int) -> np.ndarray:
    """How often each label is in a source, held-out documents too, (n_labels,)."""
    counts = [split["n_labels"] for split in row["splits"].values()]
    return np.sum([np.pad(own, (0, n_labels - len(own))) for own in counts], axis=0).astype(int)
