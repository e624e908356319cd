"""A model labels prepared text: with probabilities for a smaller model, or with one label a word for self-training.

Takes a model and folders that were prepared with its tokenizer. Windows and contexts are those of serving.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoTokenizer

from punctuation_restoration.data import shards
from punctuation_restoration.data.collation import WindowCollator
from punctuation_restoration.data.progress import ProgressBar
from punctuation_restoration.data.soft_labels import SoftLabels, as_bytes, claim_folder, write_part
from punctuation_restoration.pipeline.onnx_export import fingerprint
from punctuation_restoration.pipeline.slots import SlotEncoder
from punctuation_restoration.training.building import check_pieces_fit, load_own_model
from punctuation_restoration.training.precision import choose_format, use_fp32_attention
from punctuation_restoration.training.validation import decided_words, source_windows

WORDS_PER_PART = 100_000  # at most so many words are labelled twice after a kill


class Labeller:
    """A punctuation model, folder or Hub id, that labels folders which were prepared with its pieces."""

    def __init__(self, name: str, data: Sequence[str], device: Any):
        self.model, self.device = load_own_model(name).eval().to(device), torch.device(device)
        use_fp32_attention(self.model)
        self.index = shards.read_index(*data)
        check_pieces_fit(self.model, self.index, name)
        self.slots = SlotEncoder(AutoTokenizer.from_pretrained(name), self.model.config)
        self.n_words = sum(row["splits"]["train"]["n_words"] for row in self.index["sources"])

    def probabilities(self, path: str, documents: Sequence[int] | None = None) -> np.ndarray:
        """The model's probabilities (n_words, M) of the words of a shard, or of some of its documents in turn."""
        windows = source_windows(Path(path), self.slots, documents=documents)
        firsts = np.cumsum([0, *(scored.kept.stop - scored.kept.start for scored in windows)])
        probabilities = np.zeros((firsts[-1], len(self.model.config.label_names)), dtype=np.float32)
        is_half = choose_format("auto", self.device.type) == "bf16"  # a byte a label is kept: it loses nothing of that
        with torch.autocast(self.device.type, torch.bfloat16, enabled=is_half):
            for number, _, logits, _ in decided_words(self.model, WindowCollator(self.slots), windows, self.device):
                probabilities[firsts[number] : firsts[number + 1]] = logits.softmax(-1).numpy()
        return probabilities


def write_probabilities(model: str, data: Sequence[str], out: Path, device: Any = "cpu") -> int:
    """Write the probabilities of all training documents that `out` lacks. Gives the number of words labelled now.

    Raises:
        ValueError: if the data has other pieces than the model, or `out` holds the probabilities of another one.
    """
    labeller = Labeller(model, data, device)
    names = labeller.model.config.label_names
    claim_folder(out, {"model": model, "weights": fingerprint(labeller.model), "labels": names})
    known, n_new = SoftLabels(out, names).places, 0
    with ProgressBar("labelling", labeller.n_words) as bar:
        for path in shard_paths(*labeller.index["sources"]):
            arrays = shards.open_shard(path)
            n_words = np.diff(shards.document_borders(arrays))[:, 0]
            new = np.array([n for n, key in enumerate(shards.document_keys(arrays)) if key not in known], dtype=int)
            parts = np.cumsum(n_words[new]) // WORDS_PER_PART  # the number of the part that each document goes to
            bar.count_more(int(n_words.sum() - n_words[new].sum()), "words")
            for part in (new[parts == number].tolist() for number in np.unique(parts)):
                probabilities = as_bytes(labeller.probabilities(path, part))
                starts = np.cumsum([0, *n_words[part]]).astype(np.uint32)
                hashes = {name: arrays[name][part] for name in ("document_hashes", "word_hashes")}
                write_part(out, {**hashes, "document_starts": starts, "probabilities": probabilities})
                n_new += len(probabilities)
                bar.count_more(len(probabilities), "words")
    return n_new


def label_folder(model: str, folder: Path, out: Path, device: Any = "cpu") -> dict[str, Any]:
    """Label every training word of a prepared folder with a model; gives the index of `out`."""
    labeller = Labeller(model, [str(folder)], device)
    out.mkdir(parents=True, exist_ok=True)
    rows = []
    with ProgressBar("labelling", labeller.n_words) as bar:

        def labelled(row: Mapping[str, Any]) -> Iterator[shards.PackedDocument]:
            for path in shard_paths(row):
                labels = labeller.probabilities(path).argmax(-1).astype(np.uint8)
                yield from shards.shard_documents(path, labels)
                bar.count_more(len(labels), "words")

        for row in labeller.index["sources"]:
            train = shards.write_split(out, f"{row['name']}-train", labelled(row))
            splits = {"train": train, "validation": shards.write_split(out, f"{row['name']}-validation", ())}
            about = {"name": f"{row['name']}-pseudo", "is_labelled": True, "is_pseudo": True}
            rows.append({**row, **about, "splits": splits})
    shards.write_index(out, {**labeller.index, "sources": rows})
    return shards.read_index(out)


def shard_paths(*sources: Mapping[str, Any]) -> Iterator[str]:
    """The training shards of sources of an index."""
    return (shard["file"] for row in sources for shard in row["splits"]["train"]["shards"])
