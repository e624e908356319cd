"""Files of text -> documents: JSONL, plain text and label files, gzipped or not, and folders of them.

Everything is read as a stream, so a source may be larger than memory.
"""

import gzip
import hashlib
import itertools
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

INDEX_NAME = "index.json"  # of a folder of prepared data
SUFFIXES = (".json", ".jsonl", ".md", ".tsv", ".txt")
LINES_PER_DOCUMENT = 200  # of plain text without blank lines: documents of a few pages
WORDS_PER_DOCUMENT = 5_000  # of a label file without blank lines
# Clitics that label files split from their word; other tokens with an apostrophe are opening quotes.
CLITICS = frozenset(("'s", "'re", "'m", "'ll", "'d", "'ve", "n't"))


@dataclass(frozen=True, slots=True)
class SourceDocument:
    """One running text, or words with their labels. `place` is the file and line it came from, for messages."""

    id: str
    text: str  # of a label file its words, joined
    place: str
    words: tuple[str, ...] = ()  # of a label file
    labels: tuple[str, ...] = ()  # names, one a word


def read_documents(path: str | Path, text_field: str = "text") -> Iterator[SourceDocument]:
    """Read the documents of a file or a folder; a `ValueError` names a file that is missing or wrong, and the line.

    JSONL: one document a line, `{"text": ...}`. Plain text: paragraphs between blank lines, or every 200 lines. Label
    files (`word<TAB>LABEL` a line): blank lines separate documents.
    """
    for file in list_files(Path(path)):
        is_empty = True
        for line, fields in _file_documents(file, text_field):
            is_empty = False
            fields.setdefault("id", id_of_text(fields["text"]))
            yield SourceDocument(place=f"{file}, line {line}", **fields)
        if is_empty:
            raise ValueError(
                f"Expected text in {file}, it is empty. Remove the file, or the source from the recipe."
            )


def _file_documents(path: Path, text_field: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The documents of one file: the line that each begins in, and its fields."""
    if "json" in plain_suffix(path):
        for line, row in json_rows(path):
            if not isinstance(row.get(text_field), str):
                wanted = f"the text key {text_field!r} in {path}, line {line}"
                raise ValueError(
                    f"Expected {wanted}, got {sorted(row)}. Correct it, or text_field."
                )
            fields = {"text": row[text_field]}
            if row.get("id") is not None:
                fields["id"] = str(row["id"])
            yield line, fields
    elif plain_suffix(path) == ".tsv":
        for line, words, labels in labelled_words(path, WORDS_PER_DOCUMENT):
            if "" in words:
                place = f"{path}, line {line + words.index('')}"
                raise ValueError(
                    f"Expected a word before the label in {place}, got none. Correct the line."
                )
            yield line, {"text": " ".join(words), "words": words, "labels": labels}
    else:
        for line, lines in paragraphs(path, LINES_PER_DOCUMENT):
            yield line, {"text": "\n".join(map(str.strip, lines))}


def hash_id(document_id: str) -> int:
    """A 64-bit hash of a document's id, the same on every machine."""
    return int.from_bytes(
        hashlib.blake2b(document_id.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big"
    )


def id_of_text(text: str) -> str:
    """The id of a document that has none of its own: of its words alone, wherever in which file they stand."""
    return f"{hash_id(' '.join(text.split())):016x}"


def list_files(path: Path) -> list[Path]:
    """The file itself, or the files of a folder in order; a `ValueError` if there is nothing to read."""
    if not path.exists():
        raise ValueError(
            f"Expected text at {path}, there is no such file or folder. Check the path."
        )
    known = []
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        is_hidden = any(part.startswith(".") for part in file.relative_to(path).parts)
        if file.is_file() and not is_hidden and plain_suffix(file) in SUFFIXES:
            known.append(file)
    if not known:
        wanted = f"files ending in {', '.join(SUFFIXES)}, or these with .gz"
        raise ValueError(f"Expected at {path} {wanted}, found none. Rename them.")
    return known


def plain_suffix(path: Path) -> str:
    """The suffix that says the format: of `talks.jsonl.gz` it is `.jsonl`."""
    return Path(path.name.removesuffix(".gz")).suffix.lower()


def plain_stem(path: Path) -> str:
    """The file's name without its endings."""
    return Path(path.name.removesuffix(".gz")).stem


def json_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The JSON objects of a file, one a line, with the numbers of their lines; blank lines are passed over."""
    for number, line in numbered_lines(path):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError:
            row = None
        if not isinstance(row, dict):
            raise ValueError(
                f"Expected a JSON object in {path}, line {number}, got {line[:60]!r}. Correct the line, or give plain "
                "text the suffix .txt."
            )
        yield number, row


def paragraphs(path: Path, max_lines: int | None = None) -> Iterator[tuple[int, list[str]]]:
    """The lines between blank lines, or every `max_lines` of it: the number of its first line, and its lines."""
    rows: list[tuple[int, str]] = []
    end = [(0, "")]  # so that the last paragraph ends like the others
    for number, line in itertools.chain(numbered_lines(path), end):
        if rows and (not line.strip() or len(rows) == max_lines):
            yield rows[0][0], [text for _, text in rows]
            rows = []
        if line.strip():
            rows.append((number, line.rstrip("\r\n")))


def labelled_words(
    path: Path, max_words: int | None = None
) -> Iterator[tuple[int, tuple[str, ...], tuple[str, ...]]]:
    """The paragraphs of a label file: the number of the first line, words, which may be empty, and their labels."""
    for first, lines in paragraphs(path, max_words):
        rows = [[column.strip() for column in line.split("\t")] for line in lines]
        for number, row in enumerate(rows):
            if len(row) != 2 or not row[1]:
                wanted = f"two columns, word<TAB>LABEL, in {path}, line {first + number}"
                what_to_do = "Correct the line, or give running text the suffix .txt"
                raise ValueError(f"Expected {wanted}, got {lines[number]!r:.60}. {what_to_do}.")
        words, labels = zip(*rows, strict=True)
        yield first, words, labels


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Lines of a text file in UTF-8 from 1 on, gzipped or not; a `ValueError` names what cannot be read."""
    number = 0
    with open(path, "rb") as start:
        opener = gzip.open if start.read(2) == b"\x1f\x8b" else open
    try:
        with opener(path, "rb") as file:
            if b"\0" in file.read(4096):
                raise ValueError(
                    f"Expected text in {path}, it is a binary file. Remove it, or convert it to UTF-8."
                )
            file.seek(0)
            for number, line in enumerate(file, 1):
                # Decoded one by one, so that an error has its number.
                yield number, line.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        wanted = f"utf-8 in {path}, line {number} is not ({error.reason})"
        raise ValueError(f"Expected {wanted}. Convert it to UTF-8.") from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        wanted = f"a whole gzip file in {path}, it is damaged after line {number}: {error}"
        raise ValueError(f"Expected {wanted}. Fetch it again.") from error
