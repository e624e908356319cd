"""Shards: files of piece ids, labels and document starts, and the index that lists them.

Takes and gives numpy arrays. A shard is a safetensors file, mapped into memory. Knows nothing about text but its
hashes, which decide what is kept from training: shares of all documents, and those that a file of hashes lists.

    words            hello    this  is  josh
    piece_counts         2       1   1     2      uint8, one a word
    labels               2       0   0     1      uint8, one a word
    piece_ids      [▁hell o  ▁this ▁is ▁jos h]    uint16 (int32 for a large vocabulary), one a piece
    casings              0       0   0     1      uint8, one a word, 255 where nothing is known; perhaps missing
    document_starts      0 ...                    uint32, first word of each document
    document_hashes, word_hashes                  uint64, one a document: hashes of its id and of its words
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import save_file
from safetensors.torch import load_file  # maps a file, which safetensors.numpy does not

from punctuation_restoration.data.casings import UNKNOWN
from punctuation_restoration.data.readers import numbered_lines
from punctuation_restoration.modeling.configuration_punctuation import WORD_KEYS
from punctuation_restoration.pipeline.simplified import SIMPLIFIED
from punctuation_restoration.whole_files import write_whole, written_whole

INDEX_NAME = "index.json"
MAX_SHARD_BYTES = 30_000_000


class Words(NamedTuple):
    """Words one after the other, as arrays: those of a document, a shard or a window."""

    piece_ids: np.ndarray  # (n_pieces,)
    piece_counts: np.ndarray  # (n_words,) uint8, pieces of each word
    labels: np.ndarray  # (n_words,) uint8
    casings: np.ndarray  # (n_words,) uint8, see `data.casings`
    soft: np.ndarray  # (n_words, M) uint8, a model's probabilities, see `data.soft_labels`; (n_words, 0) for none

    def parted(self, n_words: int) -> tuple["Words", "Words"]:
        """The first `n_words`, and the others."""
        n_pieces = int(self.piece_counts[:n_words].sum(dtype=np.int64))
        rows = list(zip(self, (n_pieces, n_words, n_words, n_words, n_words), strict=True))
        return Words(*(array[:n] for array, n in rows)), Words(*(array[n:] for array, n in rows))


def make_words(
    piece_ids: np.ndarray, piece_counts: np.ndarray, labels: np.ndarray, casings: np.ndarray | None = None
) -> Words:
    """Words of which no model has said anything; without `casings` nothing is known of these."""
    casings = np.full(len(labels), UNKNOWN, dtype=np.uint8) if casings is None else casings
    return Words(piece_ids, piece_counts, labels, casings, np.zeros((len(labels), 0), dtype=np.uint8))


def joined(*parts: Words) -> Words:
    """Words after words."""
    return Words(*map(np.concatenate, zip(*parts, strict=True)))


@dataclass(frozen=True, slots=True)
class PackedDocument:
    """The words of a document, and the hashes of its id and of them."""

    hash: int
    words: Words
    word_hash: int = 0

    @property
    def n_bytes(self) -> int:
        return sum(array.nbytes for array in self.words) + 20


class ShardWriter:
    """Collects the documents of one source and split, and writes a shard whenever one is full."""

    def __init__(self, folder: Path, stem: str, max_bytes: int = MAX_SHARD_BYTES):
        self.folder, self.stem, self.max_bytes = folder, stem, max_bytes
        self.written: list[dict[str, Any]] = []
        self._n_labels = np.zeros(256, dtype=np.int64)
        self._n_rows = 0  # 1 + the largest piece id
        self._waiting: list[PackedDocument] = []
        self._n_bytes = 0

    def add(self, document: PackedDocument) -> None:
        """Take a document; writes a shard first if it would not fit any more."""
        # 4 kB are left for the header of the file.
        if self._waiting and self._n_bytes + document.n_bytes > self.max_bytes - 4096:
            self.flush()
        self._waiting.append(document)
        self._n_bytes += document.n_bytes

    def finish(self) -> dict[str, Any]:
        """Write what is left; gives the row of the split: its shards, and how much is in them."""
        self.flush()
        added = ("n_documents", "n_words", "n_pieces", "n_cased")
        counts = {key: sum(shard[key] for shard in self.written) for key in added}
        n_labels = np.trim_zeros(self._n_labels, "b").tolist()
        return {"shards": self.written, **counts, "n_labels": n_labels, "n_rows": self._n_rows}

    def flush(self) -> None:
        """Write what is waiting."""
        if not self._waiting:
            return
        counts = [len(document.words.labels) for document in self._waiting]
        words = joined(*(document.words for document in self._waiting))
        arrays = {
            "piece_ids": words.piece_ids,
            "piece_counts": words.piece_counts,
            "labels": words.labels,
            "document_starts": np.cumsum([0, *counts[:-1]]).astype(np.uint32),
            "document_hashes": np.array([document.hash for document in self._waiting], dtype=np.uint64),
            "word_hashes": np.array([document.word_hash for document in self._waiting], dtype=np.uint64),
        }
        if n_cased := int(np.count_nonzero(words.casings != UNKNOWN)):
            arrays["casings"] = words.casings
        name = f"{self.stem}-{len(self.written):04d}.safetensors"
        with written_whole(self.folder / name) as beside:
            save_arrays(arrays, beside)
        self._n_labels += np.bincount(arrays["labels"], minlength=256)
        self._n_rows = max(self._n_rows, 1 + int(arrays["piece_ids"].max()))
        sums = {"n_words": sum(counts), "n_pieces": len(arrays["piece_ids"]), "n_cased": n_cased}
        self.written.append({"file": name, "n_documents": len(counts), **sums})
        self._waiting, self._n_bytes = [], 0


def write_split(folder: Path, stem: str, documents: Iterable[PackedDocument]) -> dict[str, Any]:
    """Write the documents of a source's split as shards; gives its row of the index."""
    writer = ShardWriter(folder, stem)
    for document in documents:
        writer.add(document)
    return writer.finish()


def save_arrays(arrays: Mapping[str, np.ndarray], path: Path) -> None:
    """Write arrays as a safetensors file.

    Raises:
        OSError: if the disk is full or cannot be written. safetensors raises an error of its own for that.
    """
    try:
        save_file(dict(arrays), path)
    except SafetensorError as error:
        raise OSError(f"Expected to write {path}, could not: {error}. Is there room on the disk?") from error


def open_shard(path: str | Path) -> dict[str, np.ndarray]:
    """Map the arrays of a shard into memory; nothing is read before it is used.

    Raises:
        ValueError: if the file is missing, cut off or no shard.
    """
    try:
        arrays = {name: tensor.numpy() for name, tensor in load_file(path).items()}
        n_words = len(arrays["labels"])
        lengths = {len(arrays[key]) for key in ("piece_counts", *({"casings"} & arrays.keys()))}
        if lengths != {n_words} or not n_words or not len(arrays["word_hashes"]):
            raise ValueError("labels, piece_counts and casings differ in length or are empty")
    except (OSError, ValueError, KeyError, SafetensorError) as error:
        raise ValueError(f"Expected a shard in {path}, could not read it ({error}). Prepare the data again.") from error
    return arrays


def write_index(folder: Path, index: Mapping[str, Any]) -> None:
    """Write the index of a prepared folder. It comes last, so a folder with an index is complete."""
    write_whole(folder / INDEX_NAME, json.dumps(index, ensure_ascii=False, indent=1).encode(), force=True)


def read_index(*folders: str | Path) -> dict[str, Any]:
    """Read the index of one or more prepared folders, as if they were one. Paths of shards get their folder.

    Raises:
        ValueError: if a folder has none, or they do not fit together.
    """
    indexes = [_read_one_index(Path(folder)) for folder in folders]
    first = indexes[0]
    for folder, index in zip(folders, indexes, strict=True):
        for key in ("labels", *WORD_KEYS):
            if index[key] != first[key]:
                raise ValueError(
                    f"Expected prepared data with the same {key}, {folders[0]} and {folder} differ. Prepare both with "
                    "the same --tokenizer and recipe."
                )
    sources = [row for index in indexes for row in index["sources"]]
    for row, name in zip(sources, distinct_names([row["name"] for row in sources]), strict=True):
        row["name"] = name  # the same source prepared twice is two sources
    return {
        **first,
        "n_vocabulary": max(index["n_vocabulary"] for index in indexes),
        "languages": sorted({language for index in indexes for language in index["languages"]}),
        "sources": sources,
        "mixed_case": dict(sum((Counter(index.get("mixed_case", {})) for index in indexes), Counter()).most_common()),
    }


def _read_one_index(folder: Path) -> dict[str, Any]:
    path = folder / INDEX_NAME
    try:
        index = json.loads(path.read_text(encoding="utf-8"))
        index.setdefault("words_alone", True)  # what was prepared before words were split as in running text
        index.setdefault("digits_as_zero", False)
        for row in index["sources"]:
            for counts in row["splits"].values():
                for shard in counts["shards"]:
                    shard["file"] = str(folder / shard["file"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(
            f"Expected prepared data in {folder}, could not read {path} ({error}). "
            "Run `punctuation-restoration prepare --output` with this folder first."
        ) from error
    return index


def distinct_names(names: Sequence[str]) -> list[str]:
    """Names, those that are there several times with their number behind them."""
    return [f"{name}-{number}" if names.count(name) > 1 else name for number, name in enumerate(names)]


def document_borders(arrays: Mapping[str, np.ndarray]) -> list[tuple[int, int]]:
    """First word and end of each document of a shard."""
    return list(pairwise([*arrays["document_starts"].astype(np.int64).tolist(), len(arrays["labels"])]))


def document_keys(arrays: Mapping[str, np.ndarray]) -> list[tuple[int, int]]:
    """The hashes of the id and of the words of each document of a shard."""
    return list(zip(arrays["document_hashes"].tolist(), arrays["word_hashes"].tolist(), strict=True))


def shard_documents(path: str | Path, labels: np.ndarray | None = None) -> Iterator[PackedDocument]:
    """The documents of a shard, with other labels (n_words,) if these are given.

    Raises:
        ValueError: if the file is no shard.
    """
    arrays = open_shard(path)
    starts, counts = arrays["document_starts"], arrays["piece_counts"]
    n_pieces = np.add.reduceat(counts, starts, dtype=np.int64)
    rows = zip(
        document_keys(arrays),
        np.split(arrays["piece_ids"], np.cumsum(n_pieces)[:-1]),
        np.split(counts, starts[1:]),
        np.split(arrays["labels"] if labels is None else labels, starts[1:]),
        np.split(arrays["casings"], starts[1:]) if "casings" in arrays else [None] * len(starts),
        strict=True,
    )
    for (document, words), ids, own_counts, own_labels, casings in rows:
        yield PackedDocument(document, make_words(ids, own_counts, own_labels, casings), words)


def hash_id(document_id: str) -> int:
    """A 64-bit hash of a document's id, the same on every machine."""
    return int.from_bytes(hashlib.blake2b(document_id.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


def hash_words(words: Sequence[str]) -> int:
    """A 64-bit hash of spoken words, whatever their case, and whether they are Simplified or Traditional."""
    return hash_id("\n".join(words).lower().translate(SIMPLIFIED))


def split_of(document_hash: int, validation: float, test: float = 0.0) -> str:
    """`"validation"` and `"test"` for these shares of all hashes, otherwise `"train"`: the id alone decides.

    A share for test leaves the documents for validation as they are.
    """
    if document_hash < validation * 2.0**64:
        return "validation"
    return "test" if document_hash < (validation + test) * 2.0**64 else "train"


def read_hashes(path: str | None) -> frozenset[int]:
    """The hashes in a file, 16 hexadecimal digits a line beside comments behind #; none without a file.

    Raises:
        ValueError: if the file is missing, or a line is no hash.
    """
    if path is None:
        return frozenset()
    if not Path(path).is_file():
        raise ValueError(f"Expected a file of hashes at {path}, found none. Check held_out in the recipe.")
    found = set[int]()
    for number, line in ((number, line.strip()) for number, line in numbered_lines(Path(path))):
        try:
            found.update({int(line, 16)} if line and line[0] != "#" else ())
        except ValueError as error:
            where = f"{path}, line {number}"
            raise ValueError(f"Expected 16 hexadecimal digits in {where}, got {line!r:.60}. Write it again.") from error
    return frozenset(found)
