"""Files -> examples: tokens with labels (TSV), documents (JSONL, gzipped or not) and running text.

Takes a path, gives examples. Knows nothing about models or about which benchmark a file belongs to.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from punctuation_restoration.data.readers import json_rows, labelled_words, paragraphs, plain_stem, plain_suffix
from punctuation_restoration.evaluation.examples import Example, example_from_text, example_from_tokens
from punctuation_restoration.evaluation.labels import LabelSet
from punctuation_restoration.pipeline.words import WordFinder

Keep = Callable[[dict[str, Any]], bool]


def read_examples(path: str | Path, label_set: LabelSet, keep: Keep | None = None) -> list[Example]:
    """The examples of a file, by its ending: `.tsv`, `.jsonl`, any other is read as text.

    Words are found as the pipeline does. Units do not depend on jieba's words.

    Args:
        path: the file; a further `.gz` is allowed.
        label_set: the labels to read.
        keep: which rows of a JSONL file to keep, perhaps none; all if None.

    Raises:
        ValueError: if the file is missing, empty or not in its format.
    """
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"Expected a file to score at {path}, found none. Check the path or --bench-root.")
    if keep is not None and plain_suffix(path) != ".jsonl":
        raise ValueError(f"Expected a JSONL file to choose documents from, got {path}. Convert it.")
    finder = WordFinder(label_set.mark_labels)
    rows = (row for row in _rows(path) if keep is None or keep(row))
    examples = [example for example in (_example_of(row, path, finder, label_set) for row in rows) if example.spans]
    if not examples and keep is None:
        raise ValueError(f"Expected words to score in {path}, found none. Is it the right file?")
    return examples


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    """Any file as the rows of a JSONL file: `id`, and `text` or `words` and `labels`."""
    name, suffix = plain_stem(path), plain_suffix(path)
    if suffix == ".jsonl":
        for number, row in json_rows(path):
            yield {"id": f"{name}:{number}", **row}
    elif suffix == ".tsv":  # a blank line separates documents; a file without one is one text
        documents = list(labelled_words(path))
        for number, (_, words, labels) in enumerate(documents, 1):
            id = f"{name}:{number}" if len(documents) > 1 else name
            yield {"id": id, "words": list(words), "labels": list(labels)}
    else:
        for number, (_, lines) in enumerate(paragraphs(path), 1):
            # Lines are joined: ends of lines would show stops.
            yield {"id": f"{name}:{number}", "text": " ".join(line.strip() for line in lines)}


def _example_of(row: dict[str, Any], path: Path, finder: WordFinder, label_set: LabelSet) -> Example:
    names = {"id": str(row["id"]), "source": str(row.get("domain") or plain_stem(path))}
    match row:
        case {"text": str(text)}:
            return example_from_text(text, finder, label_set, **names)
        case {"words": [*words], "labels": [*labels]}:
            return example_from_tokens(list(map(str, words)), list(map(str, labels)), label_set, **names)
    raise ValueError(f"Expected the key text, or the keys words and labels, in {path}, {names}, got {sorted(row)}.")


def digest_of(examples: Sequence[Example]) -> str:
    """SHA-256 over texts, units and labels: two results with the same digest were scored on the same words."""
    digest = hashlib.sha256()
    for example in examples:
        row = [example.id, example.text, example.spans, example.labels, example.ends_text]
        digest.update(json.dumps(row, ensure_ascii=False).encode("utf-8"))
    return digest.hexdigest()
