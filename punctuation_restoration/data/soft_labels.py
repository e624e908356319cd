"""A teacher's probabilities of every label of every word: how they are kept, and what they mean to a student.

`training.labelling` writes them. They are found by document and word, so the student's pieces may be others than the
teacher's. A document whose words have changed has none.

    soft/en/teacher.json              the teacher, its labels, and what each sign means to it
    soft/en/part-0000.safetensors     document_hashes (D,) and word_hashes (D,) uint64, document_starts (D + 1,) uint32,
                                      probabilities (W, M) uint8: 255 times the square root of each
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file

from punctuation_restoration.data.shards import document_borders, document_keys, open_shard, save_arrays
from punctuation_restoration.whole_files import write_whole, written_whole

TEACHER_FILE = "teacher.json"


class SoftLabels:
    """What one teacher says, found by document, in a folder that the command wrote.

    Raises:
        ValueError: if the folder holds no soft labels.
    """

    def __init__(self, folder: Path):
        try:
            self.teacher: dict[str, Any] = json.loads((folder / TEACHER_FILE).read_text(encoding="utf-8"))
            self.parts = [load_file(path) for path in sorted(folder.glob("part-*.safetensors"))]
        except Exception as error:
            raise ValueError(
                f"Expected a folder of soft labels, by training.labelling, at {folder}, could not read it: {error}."
            ) from error
        self.places = {key: (part, row) for part in self.parts for row, key in enumerate(document_keys(part))}

    def of_document(self, key: tuple[int, int]) -> np.ndarray | None:
        """Probabilities (n_words, M) of the teacher's labels, as stored; None where the document was not labelled."""
        part, row = self.places.get(key, (None, 0))
        if part is None:
            return None
        first, end = part["document_starts"][row : row + 2]
        return part["probabilities"][first:end]


class LabelMapping:
    """A teacher's labels (`SoftLabels.teacher`) as those of a student, who may have more of them.

    Where several of the student's labels are one of the teacher's, its probability goes to the true label if that is
    among them, else to the first.

    Raises:
        ValueError: if a label of the teacher's is none of the student's.
    """

    def __init__(
        self, teacher: Mapping[str, Any], labels: Sequence[Mapping[str, str]], mark_labels: Mapping[str, str | None]
    ):
        theirs = teacher["labels"]
        self.columns = np.array([_their_label(label, theirs, teacher["mark_labels"]) for label in labels])  # (M,)
        missing = sorted(set(range(len(theirs))) - set(self.columns.tolist()))
        if missing:
            raise ValueError(
                f"Expected every label of teacher {teacher['model']} among the student's, "
                f"{[theirs[column] for column in missing]} mean none of {[label['name'] for label in labels]}. Label "
                "with another teacher."
            )
        self.first = np.array([np.flatnonzero(self.columns == column)[0] for column in range(len(theirs))])

    def __call__(self, probabilities: np.ndarray, true_labels: np.ndarray) -> np.ndarray:
        """Of the teacher's labels (n_words, M teacher) -> of the student's (n_words, M)."""
        rows = np.arange(len(true_labels))
        mapped = np.zeros((len(true_labels), len(self.columns)), dtype=probabilities.dtype)
        mapped[:, self.first] = probabilities
        theirs = self.columns[true_labels]
        mapped[rows, self.first[theirs]] = 0
        mapped[rows, true_labels] = probabilities[rows, theirs]
        return mapped


def _their_label(label: Mapping[str, str], theirs: Sequence[str], mark_labels: Mapping[str, str | None]) -> int:
    if label["name"] in theirs:
        return theirs.index(label["name"])
    meant = {mark_labels.get(sign) for sign in label["after"]} & set(theirs)
    return theirs.index(str(meant.pop())) if len(meant) == 1 else 0


def soft_labels_of_shard(path: Path, sources: Sequence[tuple[SoftLabels, LabelMapping]], n_labels: int) -> np.ndarray:
    """What teachers say of the words of a shard, (n_words, M) uint8; zeros where none does.

    Where several have labelled a document, the mean of their probabilities.
    """
    arrays = open_shard(path)
    found = np.zeros((len(arrays["labels"]), n_labels), dtype=np.uint8)
    for (first, end), key in zip(document_borders(arrays), document_keys(arrays), strict=True):
        labels = arrays["labels"][first:end]
        said = [(source.of_document(key), mapping) for source, mapping in sources]
        mapped = [as_probabilities(mapping(rows, labels)) for rows, mapping in said if rows is not None]
        if mapped:
            found[first:end] = as_bytes(np.mean(mapped, axis=0))
    return found


def as_bytes(probabilities: np.ndarray) -> np.ndarray:
    """Probabilities in a byte each: their square roots, so that small ones keep more than one digit."""
    return np.round(255 * np.sqrt(probabilities)).astype(np.uint8)


def as_probabilities(stored: np.ndarray) -> np.ndarray:
    """What `as_bytes` stored, (..., M), as probabilities that add up to 1, or to 0 where nothing is stored."""
    squares = (stored.astype(np.float32) / 255) ** 2
    return squares / np.maximum(squares.sum(-1, keepdims=True), 1e-9)


def claim_folder(out: Path, about: Mapping[str, Any]) -> None:
    """Note whose labels a folder holds: `model`, `weights` (their hash), `labels` and `mark_labels`.

    Raises:
        ValueError: if it holds another teacher's.
    """
    path = out / TEACHER_FILE
    if not path.is_file():
        write_whole(path, json.dumps(about, ensure_ascii=False, indent=1).encode())
    there = json.loads(path.read_text(encoding="utf-8"))
    if there["weights"] != about["weights"]:
        raise ValueError(
            f"Expected {out} to hold labels of {about['model']}, it holds those of other weights ({there['model']}). "
            "Choose another --out."
        )


def write_part(out: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write the labels of some documents as another part of a folder."""
    number = len(list(out.glob("part-*.safetensors")))
    with written_whole(out / f"part-{number:04d}.safetensors") as beside:
        save_arrays(arrays, beside)
