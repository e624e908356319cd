"""Which labels a test is scored in, and which label of a model means which of them.

Takes the default table of marks or a model's configuration, gives a label set. Named benchmarks are always scored in
the four labels of the literature, so that models with other labels can be compared: an exclamation mark of a model
counts as a period there, as in the reference.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from punctuation_restoration.modeling.configuration_punctuation import DEFAULT_LABELS, DEFAULT_MARK_LABELS


@dataclass(frozen=True)
class LabelSet:
    """Labels to score in."""

    names: tuple[str, ...]  # the no-mark label first
    mark_labels: Mapping[str, str | None]  # what each mark in a reference text means; None where it is only removed
    renamed: Mapping[str, str]  # the name in `names` that each label of the model means


def standard_labels(config: Any) -> LabelSet:
    """The four labels of the literature for a model with any labels: a mark means what the default table says.

    A label that this table does not know counts as no mark.
    """
    names = tuple(label["name"] for label in DEFAULT_LABELS)
    renamed = {label["name"]: DEFAULT_MARK_LABELS.get(label["after"][-1:], names[0]) for label in config.labels}
    return LabelSet(names, DEFAULT_MARK_LABELS, renamed)


def own_labels(config: Any) -> LabelSet:
    """The labels and the table of marks of the model itself."""
    names = tuple(config.label_names)
    return LabelSet(names, dict(config.mark_labels), {name: name for name in names})
