"""A model labels prepared text with probabilities, for a smaller model or for self-training.

Takes a model and folders that were prepared with its tokenizer. Windows and contexts are those of serving.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from punctuation_restoration.data import shards
from punctuation_restoration.data.progress import ProgressBar
from punctuation_restoration.data.soft_labels import SoftLabels, as_bytes, claim_folder, write_part
from punctuation_restoration.pipeline.onnx_export import fingerprint
from punctuation_restoration.training.building import check_pieces_fit, load_with_slots
from punctuation_restoration.training.precision import choose_format, use_fp32_attention
from punctuation_restoration.training.validation import read_windows, source_windows

WORDS_PER_PART = 100_000  # at most so many words are labelled twice after a kill


def write_probabilities(name: str, data: Sequence[str], out: Path, device: str = "cpu") -> int:
    """Write a model's probabilities of all training documents that `out` lacks. Gives the number of words labelled now.

    Raises:
        ValueError: if the data has other pieces than the model, or `out` holds the probabilities of another one.
    """
    (model, slots), index = load_with_slots(name, device), shards.read_index(*data)
    check_pieces_fit(model, index, name)
    use_fp32_attention(model)
    names = model.config.label_names
    claim_folder(out, {"model": name, "weights": fingerprint(model), "labels": names})
    known, n_new, splits = SoftLabels(out, names).places, 0, [row["splits"]["train"] for row in index["sources"]]
    with ProgressBar("labelling", sum(split["n_words"] for split in splits)) as bar:
        for path in [Path(shard["file"]) for split in splits for shard in split["shards"]]:
            arrays = shards.open_shard(path)
            n_words = np.diff(shards.document_borders(arrays))[:, 0]
            new = np.array([n for n, key in enumerate(shards.document_keys(arrays)) if key not in known], dtype=int)
            parts = np.cumsum(n_words[new]) // WORDS_PER_PART  # the number of the part that each document goes to
            bar.count_more(int(n_words.sum() - n_words[new].sum()), "words")
            for part in (new[parts == number].tolist() for number in np.unique(parts)):
                probabilities = as_bytes(document_probabilities(model, slots, path, part))
                starts = np.cumsum([0, *n_words[part]]).astype(np.uint32)
                hashes = {key: arrays[key][part] for key in ("document_hashes", "word_hashes")}
                write_part(out, {**hashes, "document_starts": starts, "probabilities": probabilities})
                n_new += len(probabilities)
                bar.count_more(len(probabilities), "words")
    return n_new


def document_probabilities(model: Any, slots: Any, path: Path, documents: Sequence[int]) -> np.ndarray:
    """A model's probabilities (n_words, M) of the words of some documents of a shard, in turn."""
    kind, windows = model.device.type, source_windows(path, slots, documents=documents)
    # A byte a label is kept: half precision loses nothing of that.
    with torch.autocast(kind, torch.bfloat16, enabled=choose_format("auto", kind) == "bf16"):
        found = read_windows(model, slots, windows)
    return np.concatenate([found[number].probabilities for number in range(len(windows))])
