"""A model labels unpunctuated text: prepared shards in, the same shards with its labels out.

Takes a prepared folder, whose own labels are ignored, and a model folder; writes a prepared folder whose sources
are marked as pseudo-labelled. Windows and contexts are those of serving.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoTokenizer

from punctuation_restoration.data.collation import WindowCollator
from punctuation_restoration.data.progress import ProgressBar
from punctuation_restoration.data.shards import PackedDocument, ShardWriter, open_shard, read_index, write_index
from punctuation_restoration.pipeline.slots import SlotEncoder
from punctuation_restoration.training.building import check_pieces_fit, load_own_model
from punctuation_restoration.training.validation import in_batches, source_windows


def label_folder(model_name: str, folder: Path, out: Path, device: Any = "cpu") -> dict[str, Any]:
    """Label every training word of a prepared folder with a model; gives the index of `out`.

    Raises:
        ValueError: if the folder was prepared with other pieces than the model's.
    """
    model = load_own_model(model_name).eval().to(device)
    slots = SlotEncoder(AutoTokenizer.from_pretrained(model_name), model.config)
    index = read_index(folder)
    check_pieces_fit(model, index, model_name)
    out.mkdir(parents=True, exist_ok=True)
    rows = []
    n_words = 0
    with ProgressBar("labelling", sum(row["splits"]["train"]["n_words"] for row in index["sources"])) as bar:
        for source_id, row in enumerate(index["sources"]):
            writer = ShardWriter(out, f"{row['name']}-train", index["languages"].index(row["language"]), source_id)
            n_labels = np.zeros(len(index["labels"]), dtype=np.int64)
            for shard in row["splits"]["train"]["shards"]:
                labels = predicted_labels(model, slots, Path(shard["file"]), device)
                n_labels += np.bincount(labels, minlength=len(n_labels))
                for document in relabelled(Path(shard["file"]), labels):
                    writer.add(document)
                n_words += len(labels)
                bar.update(n_words, "words", row["name"])
            writer.flush()
            rows.append(pseudo_row(row, writer, n_labels))
    write_index(out, {**index, "sources": rows})
    return read_index(out)


@torch.no_grad()
def predicted_labels(model: Any, slots: Any, path: Path, device: Any) -> np.ndarray:
    """The model's label of every word of a shard, (n_words,) uint8."""
    collator = WindowCollator(slots)
    n_words = len(open_shard(path)["labels"])
    windows = source_windows(path, 0, n_words, model.config, slots.has_masks)
    firsts = np.cumsum([0, *(scored.keep_to - scored.keep_from for scored in windows)])
    order = sorted(range(len(windows)), key=lambda number: len(windows[number].window.piece_ids))
    labels = np.zeros(n_words, dtype=np.uint8)
    done = 0
    for batch in in_batches([windows[number] for number in order]):
        inputs = collator([scored.window for scored in batch])
        inputs.pop("labels")
        predicted = (
            model(**{name: tensor.to(device) for name, tensor in inputs.items()}).logits.argmax(-1).cpu().numpy()
        )
        for row, scored in enumerate(batch):
            first = firsts[order[done + row]]
            kept = predicted[row, scored.keep_from : scored.keep_to]
            labels[first : first + len(kept)] = kept
        done += len(batch)
    return labels


def relabelled(path: Path, labels: np.ndarray) -> list[PackedDocument]:
    """The documents of a shard with other labels."""
    arrays = open_shard(path)
    borders = [*arrays["document_starts"].astype(np.int64).tolist(), len(labels)]
    ends = np.concatenate([[0], np.cumsum(arrays["piece_counts"], dtype=np.int64)])
    return [
        PackedDocument(
            int(hash_),
            np.array(arrays["piece_ids"][ends[first] : ends[end]]),
            np.array(arrays["piece_counts"][first:end]),
            labels[first:end],
        )
        for hash_, first, end in zip(arrays["document_hashes"], borders, borders[1:], strict=False)
    ]


def pseudo_row(row: Mapping[str, Any], writer: ShardWriter, n_labels: np.ndarray) -> dict[str, Any]:
    """The row of the index of a source that a model has labelled; it has no validation split."""
    train = {**writer.finish(), "n_labels": n_labels.tolist()}
    empty = {"shards": [], "n_documents": 0, "n_words": 0, "n_pieces": 0, "n_labels": []}
    return {
        **row,
        "name": f"{row['name']}-pseudo",
        "is_labelled": True,
        "is_pseudo": True,
        "splits": {"train": train, "validation": empty},
    }
