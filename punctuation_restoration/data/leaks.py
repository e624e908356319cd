"""Finds training documents that repeat a benchmark, by the hashes of the stretches of letters that both contain.

Marks, blanks and case play no part, nor whether Chinese is Simplified or Traditional, so differently prepared copies
of a talk are found.

A stretch has 64 letters, or 16 where most of the text is Han characters: about a dozen words in both. One hash in eight
is kept, chosen by its value, so that both sides keep the same ones. A shared stretch of 80 letters is missed with a
probability of (7/8)^17 = 10 %; one of 300 letters is never missed in practice.

Tables of sentences (a .tsv file with a column `sentence`) are too short for that: each is looked for as a whole.
"""

import csv
import itertools
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import regex

from punctuation_restoration.data.readers import (
    list_files,
    numbered_lines,
    plain_suffix,
    read_documents,
)
from punctuation_restoration.pipeline.segmentation import SIMPLIFIED

LETTERS, HAN_LETTERS = 64, 16  # both powers of two, see `stretch_hashes`
KEPT_OF_8 = np.uint64(0b111)
MAX_SHARE = 0.02  # of a text may be in benchmarks
_NOT_LETTERS = regex.compile(r"[^\p{L}\p{N}]+")
_HAN = regex.compile(r"\p{Han}")


class LeakCheck:
    """Knows the stretches of benchmark files, or folders of them, and the sentences of their tables."""

    def __init__(self, paths: Iterable[str | Path]):
        hashes = [np.zeros(1, dtype=np.uint64)]  # no text has this one
        sentences: set[str] = set()
        for file in itertools.chain.from_iterable(list_files(Path(path)) for path in paths):
            if own_sentences := table_sentences(file):
                sentences.update(map(letters_of, own_sentences))
                continue
            for document in read_documents(file, whole=True):
                letters = letters_of(document.text)
                is_han = 2 * len(_HAN.findall(letters)) > len(letters)
                hashes.append(stretch_hashes(letters, HAN_LETTERS if is_han else LETTERS))
        self.hashes = np.unique(np.concatenate(hashes))
        self.sentences = sorted(sentences - {""})

    def found_in(self, text: str) -> str | None:
        """Why a text is left out, or None: it holds a benchmark's sentence, or too many of its stretches."""
        letters = letters_of(text)
        if any(sentence in letters for sentence in self.sentences):
            return "holds a sentence of a benchmark"
        # A text in two languages may repeat a benchmark in either.
        for length in (LETTERS, HAN_LETTERS) if _HAN.search(letters) else (LETTERS,):
            hashes = stretch_hashes(letters, length)
            places = self.hashes.searchsorted(hashes)
            n_shared = np.count_nonzero(self.hashes.take(places, mode="clip") == hashes)
            if n_shared > MAX_SHARE * len(hashes):
                return "in a benchmark"
        return None


def table_sentences(path: Path) -> list[str]:
    """The column `sentence` of a table; empty for any other file."""
    if plain_suffix(path) != ".tsv":
        return []
    lines = (line for _, line in numbered_lines(path))
    table = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
    return [row["sentence"] for row in table] if "sentence" in (table.fieldnames or ()) else []


def letters_of(text: str) -> str:
    """Letters and digits alone, in lower case and simplified forms."""
    return _NOT_LETTERS.sub("", text).lower().translate(SIMPLIFIED)


def stretch_hashes(letters: str, length: int) -> np.ndarray:
    """Hashes of the kept stretches of a text, given as its letters alone: (n,) uint64, in order."""
    if len(letters) < length:
        return np.zeros(0, dtype=np.uint64)
    # The hash of 2n letters comes from those of both halves, so that 64 letters take six steps over the whole text.
    hashes = mixed(np.frombuffer(letters.encode("utf-32-le"), dtype=np.uint32).astype(np.uint64))
    width = 1
    while width < length:
        hashes = mixed(hashes[:-width] * np.uint64(0x9E3779B97F4A7C15) + hashes[width:])
        width *= 2
    return hashes[(hashes & KEPT_OF_8) == 0]


def mixed(values: np.ndarray) -> np.ndarray:
    """Spread every bit over the word (the finaliser of MurmurHash3)."""
    values = (values ^ (values >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    values = (values ^ (values >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    return values ^ (values >> np.uint64(33))
