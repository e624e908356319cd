"""Files -> examples: tokens with labels (TSV), documents (JSONL, gzipped or not) and running text.

Takes a path, gives examples. Knows nothing about models or about which benchmark a file belongs to.
"""

import hashlib
import json
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from punctuation_restoration.data.readers import json_rows, labelled_words, paragraphs, plain_suffix
from punctuation_restoration.evaluation.examples import Example, example_from_text, example_from_tokens
from punctuation_restoration.evaluation.labels import LabelSet
from punctuation_restoration.pipeline.words import WordFinder

Keep = Callable[[dict[str, Any]], bool]


@dataclass(frozen=True)
class Reader:
    """Reads examples with the labels of one label set."""

    label_set: LabelSet
    finder: WordFinder

    @classmethod
    def for_labels(cls, label_set: LabelSet) -> "Reader":
        """A reader that finds words as the pipeline does. Units do not depend on jieba's words."""
        return cls(label_set, WordFinder(label_set.mark_labels))

    def read(self, path: str | Path, keep: Keep | None = None) -> list[Example]:
        """The examples of a file, by its ending: `.tsv`, `.jsonl`, any other is read as text.

        Args:
            path: the file; a further `.gz` is allowed.
            keep: which rows of a JSONL file to keep, perhaps none; all if None.

        Raises:
            ValueError: if the file is missing, empty or not in its format.
        """
        path = Path(path)
        if not path.is_file():
            raise ValueError(f"Expected a file to score at {path}, found none. Check the path or --bench-root.")
        read = {".tsv": self._read_tsv, ".jsonl": self._read_jsonl}.get(plain_suffix(path), self._read_text)
        if keep is not None and read != self._read_jsonl:
            raise ValueError(f"Expected a JSONL file to choose documents from, got {path}. Leave out --documents.")
        examples = [example for example in read(path, keep) if example.spans]
        if not examples and keep is None:
            raise ValueError(f"Expected words to score in {path}, found none. Is it the right file?")
        return examples

    def _read_tsv(self, path: Path, keep: Keep | None) -> Iterator[Example]:
        """`token<TAB>label` lines; a blank line separates documents. A file without blank lines is one text."""
        documents = list(labelled_words(path))
        for number, (_, tokens, labels) in enumerate(documents, 1):
            name = f"{stem(path)}:{number}" if len(documents) > 1 else stem(path)
            yield example_from_tokens(tokens, labels, self.label_set, id=name, source=stem(path))

    def _read_jsonl(self, path: Path, keep: Keep | None) -> Iterator[Example]:
        """One document a line: `text`, or `words` and `labels`; `id` and `domain`, its source, where there are any."""
        for number, row in json_rows(path):
            if keep is None or keep(row):
                id = str(row.get("id", f"{stem(path)}:{number}"))
                yield self._example_of(row, id, f"{path}, line {number}", path)

    def _example_of(self, row: dict[str, Any], id: str, place: str, path: Path) -> Example:
        source = str(row.get("domain") or stem(path))
        if isinstance(row.get("text"), str):
            return example_from_text(row["text"], self.finder, self.label_set, id=id, source=source)
        words, labels = row.get("words"), row.get("labels")
        if not isinstance(words, list) or not isinstance(labels, list):
            raise ValueError(f"Expected the key text, or the keys words and labels, in {place}, got {sorted(row)}.")
        return example_from_tokens(
            [str(word) for word in words], [str(label) for label in labels], self.label_set, id=id, source=source
        )

    def _read_text(self, path: Path, keep: Keep | None) -> Iterator[Example]:
        """Documents separated by empty lines. Lines are joined: ends of lines would show stops."""
        for number, (_, lines) in enumerate(paragraphs(path), 1):
            id = f"{stem(path)}:{number}"
            text = " ".join(line.strip() for line in lines)
            yield example_from_text(text, self.finder, self.label_set, id=id, source=stem(path))


def documents_in(ids: Container[str]) -> Keep:
    """Keeps the rows with these document ids."""
    return lambda row: str(row.get("id")) in ids


def read_ids(path: str | Path) -> set[str]:
    """Document ids, one a line.

    Raises:
        ValueError: if there is no such file, or no id in it.
    """
    try:
        ids = {line.strip() for line in Path(path).read_text(encoding="utf-8").splitlines() if line.strip()}
    except OSError as error:
        raise ValueError(f"Expected a file of document ids at {path}, could not read it: {error}.") from error
    if not ids:
        raise ValueError(f"Expected document ids in {path}, one a line, found none.")
    return ids


def stem(path: Path) -> str:
    """The file's name without its endings."""
    return Path(path.name.removesuffix(".gz")).stem


def digest_of(examples: Sequence[Example]) -> str:
    """SHA-256 over texts, units and labels: two results with the same digest were scored on the same words."""
    digest = hashlib.sha256()
    for example in examples:
        row = [example.id, example.text, example.spans, example.labels, example.ends_text]
        digest.update(json.dumps(row, ensure_ascii=False).encode("utf-8"))
    return digest.hexdigest()
