"""A trained model's thresholds, found on the validation windows of its run.

Those of `, . ?` are found as `marks="basic"` decides, which is what users get; those of further labels beside them.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from punctuation_restoration.evaluation.thresholds import tune
from punctuation_restoration.pipeline.decoding import decode, make_choice
from punctuation_restoration.training.building import load_own_model
from punctuation_restoration.training.validation import Validation, decided_words
from punctuation_restoration.whole_files import write_whole


def tuned_thresholds(model: Any, validation: Validation, device: Any = "cpu") -> dict[str, float] | None:
    """Thresholds with which the mean F1 of all languages is highest; None where none pays, or no text is held out."""
    if not validation.windows:
        return None
    config, n_labels = model.config, len(model.config.label_names)
    model.eval()
    read = list(decided_words(model, validation.collator, validation.windows, device))
    probabilities = torch.cat([logits for _, _, logits in read]).softmax(-1).numpy()
    labels = np.concatenate([true for _, true, _ in read])
    sources = np.repeat([validation.windows[number].source_id for number, _, _ in read], [len(row[1]) for row in read])

    def f1_with(marks: str, thresholds: Mapping[str, float]) -> dict[str, float]:
        choice = make_choice(config, marks, thresholds)
        counts = np.zeros((len(validation.source_names), n_labels, n_labels), dtype=np.int64)
        np.add.at(counts, (sources, choice.goes_to[labels], decode(probabilities, choice)[0]), 1)
        return {name: row["f1"] / 100 for name, row in validation.scores(counts)["languages"].items()}

    basic = [name for index, name in enumerate(config.label_names) if index and index in config.basic_labels]
    thresholds, _ = tune(basic, lambda given: f1_with("basic", given))
    others = [name for name in config.label_names[1:] if name not in basic]
    if others:
        thresholds, _ = tune(others, lambda given: f1_with("all", given), thresholds)
    return thresholds or None


def tune_folder(place: Path, validation: Validation, device: Any = "cpu") -> None:
    """Find the thresholds of a saved model and write them into its configuration."""
    thresholds = tuned_thresholds(load_own_model(str(place)).to(device), validation, device)
    for path in place.rglob("config.json"):  # that of adapters, too
        config = json.loads(path.read_text(encoding="utf-8")) | {"thresholds": thresholds}
        write_whole(path, (json.dumps(config, ensure_ascii=False, indent=2) + "\n").encode(), force=True)
