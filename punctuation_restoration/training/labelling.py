"""A model labels text prepared with its tokenizer, in windows of serving, for a smaller model to learn."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.numpy import save_file
from tqdm import tqdm
from transformers import AutoTokenizer

from punctuation_restoration.data import shards
from punctuation_restoration.data.teacher_labels import PARTS, claimed_folder
from punctuation_restoration.default_models import find_model
from punctuation_restoration.pipeline.backends import check_device
from punctuation_restoration.pipeline.slots import SlotEncoder
from punctuation_restoration.training.building import load_own_model
from punctuation_restoration.training.precision import (
    choose_format,
    default_device,
    use_fp32_attention,
)
from punctuation_restoration.training.validation import read_windows, source_windows
from punctuation_restoration.whole_files import written_whole

WORDS_PER_PART = 100_000  # at most so many words are labelled twice after a kill


def write_probabilities(
    name: str,
    data: Sequence[str],
    out: Path,
    device: str | None = None,
    trust_remote_code: bool = False,
) -> int:
    """Write a model's probabilities of all training documents that `out` lacks. Gives the number of words labelled.

    It computes on a GPU if there is one, unless a `device` is named.
    """
    check_device(device)
    name = find_model(name)
    model = load_own_model(name).eval().to(device or default_device())
    tokenizer = AutoTokenizer.from_pretrained(name, trust_remote_code=trust_remote_code)
    slots = SlotEncoder(tokenizer, model.config)
    index = shards.read_index(*data)
    n_rows = model.get_input_embeddings().num_embeddings
    shards.check_same_pieces(index, tokenizer, n_rows)
    use_fp32_attention(model)
    names = model.config.label_names
    about = {
        "model": name,
        "weights": model.fingerprint(),
        "labels": dict(zip(names, map(names.__getitem__, model.config.basic_labels), strict=True)),
    }
    known = claimed_folder(out, about).documents
    n_new, n_words = 0, shards.n_train_words(index)
    with tqdm(desc="labelling", total=n_words, unit=" words", disable=None, leave=False) as bar:
        for split, shard in shards.split_shards(index):
            if split != "train":
                continue
            stream = shards.WordStream(shard["file"])
            sizes = np.diff(stream.borders)[:, 0]  # in words
            new = np.flatnonzero([key not in known for key in shards.document_keys(stream.arrays)])
            bar.update(stream.n_words - int(sizes[new].sum()))
            parts = np.cumsum(sizes[new]) // WORDS_PER_PART  # the part of each document
            for part in np.unique(parts):
                documents = new[parts == part]
                probabilities = document_probabilities(model, slots, stream, documents.tolist())
                starts = np.cumsum([0, *sizes[documents]])
                number = len(list(out.glob(PARTS)))
                content = {
                    "document_hashes": stream.arrays["document_hashes"][documents],
                    "word_hashes": stream.arrays["word_hashes"][documents],
                    "document_starts": starts.astype(np.uint32),
                    "probabilities": probabilities.astype(np.float16),
                }
                with written_whole(out / PARTS.replace("*", f"{number:04d}")) as beside:
                    save_file(content, beside)
                n_new += len(probabilities)
                bar.update(len(probabilities))
    return n_new


def document_probabilities(
    model: Any, slots: Any, stream: shards.WordStream, documents: Sequence[int]
) -> np.ndarray:
    """A model's probabilities (n_words, M) of the words of some documents of a shard, in turn."""
    kind, windows = model.device.type, source_windows(stream, slots, documents=documents)
    # Two digits of a probability are enough to learn from.
    with torch.autocast(kind, torch.bfloat16, enabled=choose_format("auto", kind) == "bf16"):
        readings = read_windows(model, slots, windows)
    return np.concatenate([readings[number].probabilities for number in range(len(windows))])
