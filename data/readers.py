"""Files of text → documents. Knows formats; knows nothing about words, labels or pieces.

Everything is read as a stream, so a source may be larger than memory.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO


@dataclass(frozen=True, slots=True)
class Document:
    """One running text. `place` is the file and line it came from, for messages."""

    id: str
    text: str
    place: str


def read_documents(path: str | Path, text_field: str = "text") -> Iterator[Document]:
    """Read the documents of a JSONL file, gzipped or not, one a line.

    Raises:
        ValueError: if a line is not such a document; the message names file and line.
    """
    path = Path(path)
    with open_text(path) as lines:
        for number, line in enumerate(lines, 1):
            place = f"{path}, line {number}"
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except json.JSONDecodeError as error:
                raise ValueError(f"Expected a JSON document in {place}, got {line[:60]!r}: {error}") from error
            if not isinstance(row, dict) or not isinstance(row.get(text_field), str):
                raise ValueError(f"Expected a document with the text key {text_field!r} in {place}, got {line[:60]!r}.")
            yield Document(str(row.get("id", f"{path.name}:{number}")), row[text_field], place)


def open_text(path: Path) -> IO[str]:
    """Open a text file, gzipped or not, as UTF-8."""
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8")
    return open(path, encoding="utf-8")
