"""Shards: safetensors files of piece ids, labels and document starts, mapped into memory, and the index of them.

Of texts it knows hashes alone, which decide what is kept from training.

    words            hello    this  is  josh
    piece_counts         2       1   1     2      uint8, one a word
    labels               2       0   0     1      uint8, one a word
    piece_ids      [▁hell o  ▁this ▁is ▁jos h]    uint16 (int32 for a large vocabulary), one a piece
    casings              0       0   0     1      uint8, one a word, 255 where nothing is known; perhaps missing
    document_starts      0 ...                    uint32, first word of each document
    document_hashes, word_hashes                  uint64, one a document: hashes of its id and of its words
"""

import hashlib
import itertools
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import save_file
from safetensors.torch import load_file  # maps a file, which safetensors.numpy does not

from punctuation_restoration.data.casings import UNKNOWN
from punctuation_restoration.data.readers import INDEX_NAME, hash_id
from punctuation_restoration.data.recipe import distinct_names
from punctuation_restoration.pipeline.segmentation import SIMPLIFIED

SHARD_BYTES = 30_000_000
Array = np.ndarray
Arrays = Mapping[str, Array]  # of a shard, by name
Index = Mapping[str, Any]  # what `index.json` holds, or a part of it


class Words(NamedTuple):
    """Words one after the other, as arrays: those of a document, a shard or a window."""

    piece_ids: Array  # (n_pieces,)
    piece_counts: Array  # (n_words,) uint8, pieces of each word
    labels: Array  # (n_words,) uint8
    casings: Array  # (n_words,) uint8, see `data.casings`
    # (n_words, M) float16, see `data.teacher_labels`; (n_words, 0) where no model has said anything.
    teacher_labels: Array

    def taken(self, index: Array | slice, offsets: Array | None = None) -> "Words":
        """The words of these numbers, in this order; each may come several times.

        `offsets` (n_words,) of their pieces are added up where nobody has done so.
        """
        _, *rows = self
        counts, *others = (row[index] for row in rows)
        if offsets is None:
            offsets = np.cumsum(self.piece_counts, dtype=np.int64) - self.piece_counts
        moves = np.repeat(offsets[index] - np.cumsum(counts, dtype=np.int64) + counts, counts)
        return Words(self.piece_ids[moves + np.arange(len(moves))], counts, *others)

    def pieces(self) -> list[Array]:
        """The piece ids of each word."""
        return np.split(self.piece_ids, np.cumsum(self.piece_counts, dtype=np.int64)[:-1])


def make_words(ids: Array, counts: Array, labels: Array, casings: Array | None = None) -> Words:
    """Words of which no model has said anything; nothing is known of casings that are left out."""
    if casings is None:
        casings = np.full(len(labels), UNKNOWN, dtype=np.uint8)
    teacher_labels = np.zeros((len(labels), 0), dtype=np.float16)
    return Words(ids, counts, labels, casings, teacher_labels)


def joined(*parts: Words) -> Words:
    """Words after words."""
    return Words(*map(np.concatenate, zip(*parts, strict=True)))


_NO_WORDS = make_words(*np.zeros((3, 0), dtype=np.uint8))


class PackedDocument(NamedTuple):
    """The words of a document, and the hashes of its id and of them; or the `reason` why it is not used."""

    hash: int
    words: Words = _NO_WORDS
    word_hash: int = 0
    text_hash: int = 0  # the same for texts that differ in blanks and case only
    reason: str | None = None
    capitalised: frozenset[str] = frozenset()  # its words with capitals, as they are written

    @property
    def n_words(self) -> int:
        """How many words it has."""
        return len(self.words.labels)


class WordStream:
    """The words of one shard, whose path is given, as a ring: after the last document the first one follows."""

    def __init__(self, path: str | Path):
        self.arrays = open_shard(path)
        ids, counts = self.arrays["piece_ids"], self.arrays["piece_counts"]
        self.all = make_words(ids, counts, self.arrays["labels"], self.arrays.get("casings"))
        self.n_words = len(self.all.labels)
        starts = self.arrays["document_starts"].tolist()
        # First word and end of each document.
        self.borders = list(itertools.pairwise([*starts, self.n_words]))
        self.offsets = np.zeros(self.n_words + 1, dtype=np.uint32)  # of each word's pieces
        np.cumsum(self.all.piece_counts, out=self.offsets[1:])

    def words(self, first: int, n_words: int) -> Words:
        """`n_words` words from `first` on, going round at the end, at most once."""
        n_words = min(n_words, self.n_words)
        return self.all.taken((first + np.arange(n_words)) % self.n_words, self.offsets)


def write_split(
    folder: Path, stem: str, documents: Sequence[PackedDocument], n_bytes: int = SHARD_BYTES
) -> Index:
    """Write the documents of a split as shards of about `n_bytes`; gives their row of the index, with their counts."""
    files: list[Index] = []
    n_cased = n_rows = 0
    n_labels = np.zeros(256, dtype=np.int64)
    sizes = [sum(array.nbytes for array in document.words) for document in documents]
    _, firsts = np.unique(np.cumsum(sizes) // n_bytes, return_index=True)  # of each shard
    for first, end in itertools.pairwise([*firsts, len(documents)]):
        hashes, parts, word_hashes, *_ = zip(*documents[first:end], strict=True)
        words = joined(*parts)
        starts = np.cumsum([0, *(len(part.labels) for part in parts[:-1])])
        n_known = int((words.casings != UNKNOWN).sum())
        arrays = {
            "piece_ids": words.piece_ids,
            "piece_counts": words.piece_counts,
            "labels": words.labels,
            **({"casings": words.casings} if n_known else {}),
            "document_starts": starts.astype(np.uint32),
            "document_hashes": np.array(hashes, dtype=np.uint64),
            "word_hashes": np.array(word_hashes, dtype=np.uint64),
        }
        name = f"{stem}-{len(files):04d}.safetensors"
        save_file(arrays, folder / name)
        files.append({"file": name, "n_words": len(words.labels)})
        n_cased += n_known
        n_rows = max(n_rows, 1 + int(words.piece_ids.max()))  # what an embedding needs
        n_labels += np.bincount(words.labels, minlength=256)
    return {
        "shards": files,
        "n_documents": len(documents),
        "n_words": int(n_labels.sum()),
        "n_cased": n_cased,
        "n_rows": n_rows,
        "n_labels": np.trim_zeros(n_labels, "b").tolist(),
    }


def open_shard(path: str | Path) -> dict[str, Array]:
    """Map the arrays of a shard into memory; a `ValueError` if the file is missing, cut off or no shard."""
    try:
        return {name: tensor.numpy() for name, tensor in load_file(path).items()}
    except (OSError, SafetensorError) as error:
        raise ValueError(
            f"Expected a shard in {path}, could not read it ({error}). Prepare the data again."
        ) from error


def check_shards(index: Index) -> int:
    """The number of pieces to train on. A `ValueError` names a shard that does not fit its index."""
    n_pieces = 0
    for split, shard in split_shards(index):
        arrays = open_shard(shard["file"])
        for name, limit in ("labels", len(index["labels"])), ("piece_ids", index["n_vocabulary"]):
            if arrays[name].max(initial=0) >= limit:
                raise ValueError(
                    f"Expected {name} below {limit} in {shard['file']}. Prepare the data again."
                )
        n_pieces += len(arrays["piece_ids"]) * (split == "train")
    return n_pieces


def split_shards(index: Index) -> Iterator[tuple[str, dict[str, Any]]]:
    """All shards of an index, each with the name of its split."""
    for row in index["sources"]:
        for split, counts in row["splits"].items():
            for shard in counts["shards"]:
                yield split, shard


def n_train_words(index: Index) -> int:
    """How many words there are to train on."""
    return sum(row["splits"]["train"]["n_words"] for row in index["sources"])


def document_keys(arrays: Arrays) -> list[tuple[int, int]]:
    """The hashes of the id and of the words of each document of a shard."""
    hashes = arrays["document_hashes"].tolist()
    return list(zip(hashes, arrays["word_hashes"].tolist(), strict=True))


def write_index(folder: Path, index: Index) -> None:
    """Write the index of a prepared folder."""
    content = json.dumps(index, ensure_ascii=False, indent=1)
    (folder / INDEX_NAME).write_text(content, encoding="utf-8")


def hash_of_pieces(tokenizer: Any) -> str:
    """A hash of a tokenizer's vocabulary: data and models that share it read the same pieces."""
    pieces = json.dumps(sorted(tokenizer.get_vocab().items()))
    return hashlib.sha256(pieces.encode()).hexdigest()[:16]


def check_same_pieces(index: Index, tokenizer: Any, n_rows: float = inf) -> None:
    """Check that data were prepared with the pieces of a tokenizer, and that a model has rows for all of them.

    Data of earlier versions do not tell whose pieces they have.
    """
    what_to_do = "Prepare them again with this model as --tokenizer."
    if index.get("pieces") not in (None, hash_of_pieces(tokenizer)):
        raise ValueError(
            f"Expected data with the pieces of this model, got those of {index['tokenizer']}. {what_to_do}"
        )
    if index["n_vocabulary"] > n_rows:
        raise ValueError(
            f"Expected piece ids below {n_rows}, the data have {index['n_vocabulary']} pieces. {what_to_do}"
        )


def check_same_words(index: Index, config: Any, name: str = "MODEL") -> None:
    """Check that data have the labels of a model, and its form of words."""
    expected = config.label_names
    got = [label["name"] for label in index["labels"]]
    if expected != got:
        raise ValueError(
            f"Expected data with the labels of the model, {expected}, got {got}. Prepare it for this model with "
            f"`punctuation-restoration prepare --tokenizer {name}`, or give the model the labels of the data with "
            "--labels FILE."
        )
    if config.words_alone != index["words_alone"]:
        raise ValueError(
            f"Expected data with words_alone={config.words_alone}, got {index['words_alone']}. Prepare it with "
            f"--tokenizer {name}."
        )


def read_index(*folders: str | Path) -> Index:
    """Read the index of prepared folders, as if they were one; a `ValueError` if one has none, or they do not fit."""
    indexes = [_read_one_index(Path(folder)) for folder in folders]
    for key in ("labels", "pieces", "words_alone"):
        if any(index.get(key) != indexes[0].get(key) for index in indexes):
            raise ValueError(
                f"Expected prepared data with the same {key}, those in {', '.join(map(str, folders))} differ. Prepare "
                "all with the same "
                "--tokenizer and recipe."
            )
    sources = [row for index in indexes for row in index["sources"]]
    mixed_case = sum((Counter(index.get("mixed_case")) for index in indexes), Counter[str]())
    # The same source prepared twice is two sources.
    for row, name in zip(sources, distinct_names([row["name"] for row in sources]), strict=True):
        row["name"] = name
    return {
        **indexes[0],
        "n_vocabulary": max(index["n_vocabulary"] for index in indexes),
        "languages": sorted({row["language"] for row in sources}),
        "sources": sources,
        "mixed_case": dict(mixed_case.most_common()),
    }


def _read_one_index(folder: Path) -> Index:
    """The index of a folder, in which shards have their whole path."""
    try:
        index: Index = json.loads((folder / INDEX_NAME).read_bytes())
        for _, shard in split_shards(index):
            shard["file"] = str(folder / shard["file"])
        if missing := {"labels", "n_vocabulary", "words_alone"} - index.keys():
            raise ValueError(f"it lacks {sorted(missing)}")
        return index
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(
            f"Expected prepared data in {folder}, could not read it ({error}). Run `punctuation-restoration prepare "
            "--output` with this folder first."
        ) from error


def hash_words(words: Sequence[str]) -> int:
    """A 64-bit hash of spoken words, whatever their case, and whether they are Simplified or Traditional."""
    return hash_id("\n".join(words).lower().translate(SIMPLIFIED))
