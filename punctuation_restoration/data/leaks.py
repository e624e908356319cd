"""Finds training documents that repeat a benchmark, by the stretches of letters that both contain.

Marks, blanks and case play no part, nor whether Chinese is Simplified or Traditional, so differently prepared copies
of a talk are found.

A stretch has 64 letters, or 16 where most of the text is Han characters: about a dozen words in both. One stretch in
eight of a benchmark is kept, and looked for everywhere in a text: 71 letters that both share, or 23, are always found.

Tables of sentences (a .tsv file with a column `sentence`) are too short for that: each is looked for as a whole.
"""

import csv
from collections.abc import Iterable
from pathlib import Path

import regex

from punctuation_restoration.data.readers import (
    list_files,
    numbered_lines,
    plain_suffix,
    read_documents,
)
from punctuation_restoration.pipeline.segmentation import SIMPLIFIED

LETTERS, HAN_LETTERS = 64, 16
STEP = 8  # letters from one stretch of a benchmark to the next
MAX_SHARE = 0.02  # of a text may be in benchmarks
_NOT_LETTERS = regex.compile(r"[^\p{L}\p{N}]+")
_HAN = regex.compile(r"\p{Han}")


class LeakCheck:
    """Knows the stretches of benchmark files, or folders of them, and the sentences of their tables."""

    def __init__(self, paths: Iterable[str | Path]):
        self.stretches: set[str] = set()
        sentences: set[str] = set()
        for file in (file for path in paths for file in list_files(Path(path))):
            if own_sentences := table_sentences(file):
                sentences.update(map(letters_of, own_sentences))
                continue
            for document in read_documents(file, whole=True):
                letters = letters_of(document.text)
                is_han = 2 * len(_HAN.findall(letters)) > len(letters)
                length = HAN_LETTERS if is_han else LETTERS
                starts = range(0, len(letters) - length + 1, STEP)
                self.stretches.update(letters[start : start + length] for start in starts)
        self.sentences = sorted(sentences - {""})

    def found_in(self, text: str) -> str | None:
        """Why a text is left out, or None: it holds a benchmark's sentence, or too many of its stretches."""
        letters = letters_of(text)
        if any(sentence in letters for sentence in self.sentences):
            return "holds a sentence of a benchmark"
        # A text in two languages may repeat a benchmark in either.
        for length in (LETTERS, HAN_LETTERS) if _HAN.search(letters) else (LETTERS,):
            starts = range(len(letters) - length + 1)
            n_shared = sum(letters[start : start + length] in self.stretches for start in starts)
            if STEP * n_shared > MAX_SHARE * len(starts):
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
