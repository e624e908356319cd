"""A trained model with other labels: what it has learned of a mark stays with the mark."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from punctuation_restoration.modeling.configuration_punctuation import PunctuationRestorationConfig
from punctuation_restoration.modeling.modeling_punctuation import PunctuationRestorationModel

# How likely a new mark is at first, beside the one that it starts from: rare, so that the likeliest label stays that.
FIRST_ODDS = 0.1


def with_labels(
    model: Any, labels: Sequence[Mapping[str, str]], mark_labels: Mapping[str, str | None] | None = None
) -> Any:
    """The model with these labels, in their order; itself where they are its own.

    The classifier's rows are copied by name, or by what the label writes if only the name is new. A new label starts
    from the one that its sign has meant so far (`!` from the period, `、` from the comma), or from "no mark" where the
    sign was none. Thresholds and temperature are dropped.

    Raises:
        ValueError: if the labels do not fit each other.
    """
    old = model.config
    dropped = ("id2label", "label2id", "calibration_temperature", "thresholds")
    fields = {key: value for key, value in old.to_dict().items() if key not in dropped}
    config: Any = PunctuationRestorationConfig.from_dict({**fields, "labels": labels, "mark_labels": mark_labels})
    if (config.labels, config.mark_labels) == (old.labels, old.mark_labels):
        return model
    places: dict[Any, int] = {name: index for index, name in enumerate(old.label_names)}
    places |= {(label["before"], label["after"]): index for index, label in enumerate(old.labels)}
    rows, shifts = [], []
    for label in config.labels:
        known = places.get(label["name"], places.get((label["before"], label["after"])))
        meant = old.mark_labels.get((label["after"] or label["before"])[-1:])
        rows.append(places.get(meant, 0) if known is None else known)
        shifts.append(math.log(FIRST_ODDS) if known is None else 0.0)
    weights = model.state_dict()
    last = "classifier.projection" if old.head.startswith("bilstm") else "classifier.out_proj"
    bias = weights[f"{last}.bias"]
    weights |= {f"{last}.weight": weights[f"{last}.weight"][rows], f"{last}.bias": bias[rows] + bias.new_tensor(shifts)}
    if old.head.endswith("crf"):
        weights["classifier.crf.transitions"] = weights["classifier.crf.transitions"][rows][:, rows]
    grown = PunctuationRestorationModel(config)
    grown.load_state_dict(weights)
    return grown
