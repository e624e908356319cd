"""A model labels text prepared with its tokenizer, in windows of serving, for a smaller model to learn."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tqdm import tqdm

from punctuation_restoration.data import shards
from punctuation_restoration.data.teacher_labels import TeacherLabels, as_bytes, claim_folder
from punctuation_restoration.pipeline.backends import check_device
from punctuation_restoration.training.building import check_pieces_fit, load_with_slots
from punctuation_restoration.training.precision import choose_format, use_fp32_attention
from punctuation_restoration.training.validation import read_windows, source_windows

WORDS_PER_PART = 100_000  # at most so many words are labelled twice after a kill


def write_probabilities(
    name: str,
    data: Sequence[str],
    out: Path,
    device: str = "cpu",
    trust_remote_code: bool = False,
) -> int:
    """Write a model's probabilities of all training documents that `out` lacks. Gives the number of words labelled."""
    check_device(device)
    (model, slots), index = (
        load_with_slots(name, device, trust_remote_code),
        shards.read_index(*data),
    )
    check_pieces_fit(model, index, name)
    shards.check_same_pieces(index, slots.tokenizer)
    use_fp32_attention(model)
    names = model.config.label_names
    claim_folder(out, {"model": name, "weights": model.fingerprint(), "labels": names})
    known, n_new, splits = (
        TeacherLabels(out, names).places,
        0,
        [row["splits"]["train"] for row in index["sources"]],
    )
    total = sum(split["n_words"] for split in splits)
    with tqdm(
        desc="labelling", total=total, unit=" words", unit_scale=True, disable=None, leave=False
    ) as bar:
        for path in [Path(shard["file"]) for split in splits for shard in split["shards"]]:
            arrays = shards.open_shard(path)
            n_words = np.diff(shards.document_borders(arrays))[:, 0]
            new = np.array(
                [n for n, key in enumerate(shards.document_keys(arrays)) if key not in known],
                dtype=int,
            )
            parts = (
                np.cumsum(n_words[new]) // WORDS_PER_PART
            )  # the number of the part that each document goes to
            bar.update(int(n_words.sum() - n_words[new].sum()))
            for part in (new[parts == number].tolist() for number in np.unique(parts)):
                probabilities = as_bytes(document_probabilities(model, slots, path, part))
                starts = np.cumsum([0, *n_words[part]]).astype(np.uint32)
                hashes = {key: arrays[key][part] for key in ("document_hashes", "word_hashes")}
                place = out / f"part-{len(list(out.glob('part-*.safetensors'))):04d}.safetensors"
                shards.save_arrays(
                    {**hashes, "document_starts": starts, "probabilities": probabilities}, place
                )
                n_new += len(probabilities)
                bar.update(len(probabilities))
    return n_new


def document_probabilities(
    model: Any, slots: Any, path: Path, documents: Sequence[int]
) -> np.ndarray:
    """A model's probabilities (n_words, M) of the words of some documents of a shard, in turn."""
    kind, windows = model.device.type, source_windows(path, slots, documents=documents)
    # A byte a label is kept: half precision loses nothing of that.
    with torch.autocast(kind, torch.bfloat16, enabled=choose_format("auto", kind) == "bf16"):
        found = read_windows(model, slots, windows)
    return np.concatenate([found[number].probabilities for number in range(len(windows))])
