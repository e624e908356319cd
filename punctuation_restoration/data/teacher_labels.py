"""A model's probabilities of every label of every word, for a smaller model to learn: how they are kept and found.

The command `label` writes them. They are found by document and words, so the two models' pieces may differ. A label
that the smaller model lacks gives its probability to the basic one (`!` to the period). A document whose words have
changed has none.

    model.json                    the model, a hash of its weights, each of its labels with the basic one of it
    labelled-0000.safetensors     document_hashes (D,) and word_hashes (D,) uint64, document_starts (D + 1,) uint32,
                                  probabilities (W, M) float16
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file

from punctuation_restoration.data.shards import Array, WordStream, document_keys
from punctuation_restoration.whole_files import write_whole

MODEL_FILE = "model.json"
PARTS = "labelled-*.safetensors"


class TeacherLabels:
    """The probabilities in a folder, found by document; the `model` that gave them, and a hash of its `weights`."""

    def __init__(self, folder: Path, label_names: list[str]):
        try:
            about = json.loads((folder / MODEL_FILE).read_bytes())
            self.model, self.weights = about["model"], about["weights"]
            labels = dict(about["labels"])
            parts = [load_file(path) for path in sorted(folder.glob(PARTS))]
        except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
            raise ValueError(
                f"Expected a folder that the command label wrote at {folder}, got: {error}."
            ) from error
        targets = [name if name in label_names else basic for name, basic in labels.items()]
        if set(targets) != set(label_names):
            raise ValueError(
                f"Expected in {folder} probabilities of the labels {label_names}, got {list(labels)}. Label with a "
                "model that has these labels."
            )
        self.folder, self.n_labels = folder, len(label_names)
        shares = np.eye(self.n_labels, dtype=np.float16)[list(map(label_names.index, targets))]
        self.documents: dict[tuple[int, int], Array] = {}  # each (n_words, M) float16
        for part in parts:
            rows = np.split(part["probabilities"] @ shares, part["document_starts"][1:-1].tolist())
            self.documents.update(zip(document_keys(part), rows, strict=True))

    def of_shard(self, stream: WordStream) -> Array:
        """Those of the words of a shard, (n_words, M) float16; zeros where the model has not labelled a document."""
        probabilities = np.zeros((stream.n_words, self.n_labels), dtype=np.float16)
        for (first, end), key in zip(stream.borders, document_keys(stream.arrays), strict=True):
            probabilities[first:end] = self.documents.get(key, 0)
        return probabilities


def claimed_folder(out: Path, about: Mapping[str, Any]) -> TeacherLabels:
    """What a folder holds of a model, perhaps nothing yet; `about` is its `model`, `weights` (a hash) and `labels`."""
    path = out / MODEL_FILE
    if not path.is_file():
        write_whole(path, json.dumps(about, ensure_ascii=False, indent=1).encode())
    labels = TeacherLabels(out, [*about["labels"]])
    if labels.weights != about["weights"]:
        raise ValueError(
            f"Expected {out} to hold labels of {about['model']}, it holds those of other weights ({labels.model}). "
            "Choose another --output."
        )
    return labels
