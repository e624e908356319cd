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
from punctuation_restoration.training.precision import choose_precision, use_fp32_attention
from punctuation_restoration.training.validation import decided_words, source_windows

WORDS_PER_PART = 100_000  # at most so many words are labelled twice after a kill


class Labeller:
    """A punctuation model, folder or Hub id, that labels prepared folders.

    Raises:
        ValueError: if they were prepared with other pieces than the model's.
    """

    def __init__(self, name: str, data: Sequence[str], device: Any):
        self.model, self.device = load_own_model(name).eval().to(device), device
        self.is_half = choose_precision("auto", torch.device(device).type)[0] == "bf16"
        use_fp32_attention(self.model)
        self.index = shards.read_index(*data)
        check_pieces_fit(self.model, self.index, name)
        self.slots = SlotEncoder(AutoTokenizer.from_pretrained(name), self.model.config)
        self.collator = WindowCollator(self.slots)

    @property
    def n_words(self) -> int:
        """How many training words there are."""
        return sum(row["splits"]["train"]["n_words"] for row in self.index["sources"])

    def probabilities(self, path: Path, documents: Sequence[int] | None = None) -> np.ndarray:
        """The model's probabilities (n_words, M) of the words of a shard, or of some of its documents in turn."""
        windows = source_windows(path, self.slots, documents=documents)
        firsts = np.cumsum([0, *(scored.kept.stop - scored.kept.start for scored in windows)])
        probabilities = np.zeros((firsts[-1], len(self.model.config.label_names)), dtype=np.float32)
        # A byte a label is kept: half precision loses nothing of it.
        with torch.autocast(torch.device(self.device).type, torch.bfloat16, enabled=self.is_half):
            for number, _, logits, _ in decided_words(self.model, self.collator, windows, self.device):
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
        for path in shard_paths(labeller.index):
            arrays = shards.open_shard(path)
            n_words = np.diff(shards.document_borders(arrays))[:, 0]
            new = np.array([n for n, key in enumerate(shards.document_keys(arrays)) if key not in known], dtype=int)
            parts = np.cumsum(n_words[new]) // WORDS_PER_PART  # the number of the part that each document goes to
            bar.count_more(int(n_words.sum() - n_words[new].sum()), "words")
            for part in (new[parts == number].tolist() for number in np.unique(parts)):
                labels = {
                    "document_hashes": arrays["document_hashes"][part],
                    "word_hashes": arrays["word_hashes"][part],
                    "document_starts": np.cumsum([0, *n_words[part]]).astype(np.uint32),
                    "probabilities": as_bytes(labeller.probabilities(path, part)),
                }
                write_part(out, labels)
                n_new += len(labels["probabilities"])
                bar.count_more(len(labels["probabilities"]), "words")
    return n_new


def label_folder(model_name: str, folder: Path, out: Path, device: Any = "cpu") -> dict[str, Any]:
    """Label every training word of a prepared folder with a model; gives the index of `out`.

    Raises:
        ValueError: if the folder was prepared with other pieces than the model's.
    """
    labeller = Labeller(model_name, [str(folder)], device)
    index = labeller.index
    out.mkdir(parents=True, exist_ok=True)
    rows = []
    with ProgressBar("labelling", labeller.n_words) as bar:

        def labelled(row: Mapping[str, Any]) -> Iterator[shards.PackedDocument]:
            for path in shard_paths({"sources": [row]}):
                labels = labeller.probabilities(path).argmax(-1).astype(np.uint8)
                yield from shards.shard_documents(path, labels)
                bar.count_more(len(labels), "words")

        for row in index["sources"]:
            train = shards.write_split(out, f"{row['name']}-train", labelled(row))
            splits = {"train": train, "validation": shards.write_split(out, f"{row['name']}-validation", ())}
            about = {"name": f"{row['name']}-pseudo", "is_labelled": True, "is_pseudo": True}
            rows.append({**row, **about, "splits": splits})
    shards.write_index(out, {**index, "sources": rows})
    return shards.read_index(out)


def shard_paths(index: Mapping[str, Any]) -> Iterator[Path]:
    """The training shards of an index."""
    return (Path(shard["file"]) for row in index["sources"] for shard in row["splits"]["train"]["shards"])
