"""Finds training documents that repeat a benchmark, by the hashes of the stretches of letters that both contain.

Takes texts, gives counts. Marks, blanks and case play no part, nor whether Chinese is Simplified or Traditional, so
differently prepared copies of a talk are found.

A stretch has 64 letters, or 16 where most of the text is Han characters: about a dozen words in both. One hash in eight
is kept, chosen by its value, so that both sides keep the same ones. A shared stretch of 80 letters is missed with a
probability of (7/8)^17 = 10 %; one of 300 letters is never missed in practice.

Tables of sentences (a .tsv file with a column `sentence`) are too short for that: each is looked for as a whole.
"""

import csv
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import regex

from punctuation_restoration.data.readers import json_rows, labelled_words, list_files, numbered_lines, plain_suffix
from punctuation_restoration.pipeline.simplified import SIMPLIFIED

LETTERS, HAN_LETTERS = 64, 16  # both powers of two, see `stretch_hashes`
KEPT_OF_8 = np.uint64(0b111)
_NOT_LETTERS = regex.compile(r"[^\p{L}\p{N}]+")
_HAN = regex.compile(r"\p{Han}")


class LeakCheck:
    """Knows the stretches of benchmark files, or folders of them, by their hashes, and the sentences of their tables.

    Raises:
        ValueError: if a path has no text, or a file is wrong.
    """

    def __init__(self, paths: Iterable[str | Path]):
        files = [file for path in paths for file in list_files(Path(path))]
        tables = {file: list(sentence_table(file)) for file in files}
        texts = (text for file in files if not tables[file] for text in benchmark_texts(file))
        self.hashes = np.unique(
            np.concatenate([np.zeros(0, dtype=np.uint64), *map(stretch_hashes, map(letters_of, texts))])
        )
        self.sentences = sorted({letters_of(sentence) for table in tables.values() for sentence in table} - {""})

    def __call__(self, text: str) -> tuple[str | None, int, int]:
        """What a text shares with benchmarks.

        Returns:
            The letters of a benchmark's sentence that the text holds, or None; how many of its kept stretches are in a
            benchmark; how many kept stretches it has.
        """
        letters = letters_of(text)
        sentence = next((sentence for sentence in self.sentences if sentence in letters), None)
        hashes = stretch_hashes(letters)
        if not len(hashes) or not len(self.hashes):
            return sentence, 0, len(hashes)
        places = np.minimum(self.hashes.searchsorted(hashes), len(self.hashes) - 1)
        return sentence, int((self.hashes[places] == hashes).sum()), len(hashes)


def letters_of(text: str) -> str:
    """Letters and digits alone, in lower case and simplified forms."""
    return _NOT_LETTERS.sub("", text).lower().translate(SIMPLIFIED)


def stretch_hashes(letters: str) -> np.ndarray:
    """Hashes of the kept stretches of a text, given as its letters alone: (n,) uint64, in order."""
    length = HAN_LETTERS if 2 * len(_HAN.findall(letters)) > len(letters) else LETTERS
    if len(letters) < length:
        return np.zeros(0, dtype=np.uint64)
    # The hash of 2n letters comes from those of both halves, so that 64 letters take six steps over the whole text.
    hashes = np.frombuffer(letters.encode("utf-32-le"), dtype=np.uint32).astype(np.uint64)
    hashes = _mixed(hashes)
    width = 1
    while width < length:
        hashes = _mixed(hashes[:-width] * np.uint64(0x9E3779B97F4A7C15) + hashes[width:])
        width *= 2
    return hashes[(hashes & KEPT_OF_8) == 0]


def _mixed(values: np.ndarray) -> np.ndarray:
    """Spread every bit over the word (the finaliser of MurmurHash3)."""
    values = values ^ (values >> np.uint64(33))
    values = values * np.uint64(0xFF51AFD7ED558CCD)
    values = values ^ (values >> np.uint64(33))
    values = values * np.uint64(0xC4CEB9FE1A85EC53)
    return values ^ (values >> np.uint64(33))


def benchmark_texts(file: Path) -> Iterable[str]:
    """The texts of a benchmark file; the words of a label file are joined. Other files have none."""
    suffix = plain_suffix(file)
    if suffix == ".tsv":
        yield " ".join(word for _, words, _ in labelled_words(file) for word in words)
    elif suffix == ".txt":
        yield "\n".join(line for _, line in numbered_lines(file))
    elif suffix == ".jsonl":
        yield from (str(row.get("text", "")) for _, row in json_rows(file))


def sentence_table(file: Path) -> Iterator[str]:
    """The sentences of a table with a column `sentence`; other files have none."""
    if plain_suffix(file) == ".tsv":
        lines = (line for _, line in numbered_lines(file))
        rows = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        if "sentence" in (rows.fieldnames or ()):
            yield from (row["sentence"] for row in rows)
