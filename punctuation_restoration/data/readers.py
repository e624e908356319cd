"""Files of text → documents. Knows formats; knows nothing about words, labels or pieces.

Reads JSONL (`{"text": ...}` a line), plain text and label files (`word<TAB>LABEL` a line), gzipped or not, and folders
of them. Everything is read as a stream, so a source may be larger than memory.
"""

import codecs
import gzip
import itertools
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SUFFIX_FORMATS = {".jsonl": "jsonl", ".json": "jsonl", ".txt": "text", ".md": "text", ".tsv": "tsv"}
LINES_PER_DOCUMENT = 200  # of plain text without blank lines: documents of a few pages
WORDS_PER_DOCUMENT = 5_000  # of a label file without blank lines


@dataclass(frozen=True, slots=True)
class SourceDocument:
    """One running text, or words with their labels. `place` is the file and line it came from, for messages."""

    id: str
    text: str  # of a label file its words, joined
    place: str
    words: tuple[str, ...] = ()  # of a label file
    labels: tuple[str, ...] = ()  # names, one a word
    domain: str = ""  # what a row of JSONL says about it


def read_documents(path: str | Path, text_field: str = "text") -> Iterator[SourceDocument]:
    """Read the documents of a file or a folder.

    JSONL: one document a line. Plain text: paragraphs between blank lines are documents; a text without blank lines is
    cut every 200 lines. Label files: blank lines separate documents.

    Raises:
        ValueError: if a file is missing, empty, binary, mixes encodings or has a wrong line; the message names file
            and line.
    """
    for file in list_files(Path(path)):
        documents = read_file(file, text_field)
        first = next(documents, None)
        if first is None:
            raise ValueError(f"Expected text in {file}, it is empty. Remove the file, or the source from the recipe.")
        yield first
        yield from documents


def read_file(path: Path, text_field: str) -> Iterator[SourceDocument]:
    """The documents of one file, read as its name says."""
    kind = SUFFIX_FORMATS[plain_suffix(path)]
    if kind == "jsonl":
        for number, row in json_rows(path):
            text, place = row.get(text_field), f"{path}, line {number}"
            if not isinstance(text, str):
                raise ValueError(
                    f"Expected the text key {text_field!r} in {place}, got {sorted(row)}. Correct it, or text_field."
                )
            name, domain = str(row.get("id", f"{path.name}:{number}")), str(row.get("domain") or "")
            yield SourceDocument(name, text, place, domain=domain)
    elif kind == "text":
        for number, lines in paragraphs(path, LINES_PER_DOCUMENT):
            text = "\n".join(line.strip() for line in lines)
            yield SourceDocument(f"{path.name}:{number}", text, f"{path}, line {number}")
    else:
        for number, words, labels in labelled_words(path, WORDS_PER_DOCUMENT):
            place = f"{path}, line {number + (words.index('') if '' in words else 0)}"
            if "" in words:
                raise ValueError(f"Expected a word before the label in {place}, got none. Correct the line.")
            yield SourceDocument(f"{path.name}:{number}", " ".join(words), place, words, labels)


def list_files(path: Path) -> list[Path]:
    """The file itself, or the files of a folder in order.

    Raises:
        ValueError: if there is nothing to read.
    """
    if not path.exists():
        raise ValueError(f"Expected text at {path}, there is no such file or folder. Check the path.")
    files = sorted(file for file in path.rglob("[!.]*") if file.is_file()) if path.is_dir() else [path]
    known = [file for file in files if plain_suffix(file) in SUFFIX_FORMATS]
    if not known:
        raise ValueError(
            f"Expected at {path} files ending in {sorted(SUFFIX_FORMATS)}, or these with .gz, found none. Rename them."
        )
    return known


def plain_suffix(path: Path) -> str:
    """The suffix that says the format: of `talks.jsonl.gz` it is `.jsonl`."""
    return Path(path.name.removesuffix(".gz")).suffix.lower()


def plain_stem(path: Path) -> str:
    """The file's name without its endings."""
    return Path(path.name.removesuffix(".gz")).stem


def json_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The JSON objects of a file, one a line, with the numbers of their lines; blank lines are passed over.

    Raises:
        ValueError: if a line holds something else; and as `numbered_lines`.
    """
    for number, line in numbered_lines(path):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError:
            row = None
        if not isinstance(row, dict):
            raise ValueError(
                f"Expected a JSON object in {path}, line {number}, got {line[:60]!r}. Correct the line, or give the "
                "file another suffix (.txt for plain text)."
            )
        yield number, row


def paragraphs(path: Path, max_lines: int | None = None) -> Iterator[tuple[int, list[str]]]:
    """What stands between blank lines, or every `max_lines` of it: the number of its first line, and its lines."""
    first, lines = 1, list[str]()
    for number, line in itertools.chain(numbered_lines(path), [(0, "")]):  # the last one ends like the others
        if line.strip():
            first = number if not lines else first
            lines.append(line.rstrip("\r\n"))
        if lines and (not line.strip() or len(lines) == max_lines):
            yield first, lines
            lines = []


def labelled_words(path: Path, max_words: int | None = None) -> Iterator[tuple[int, tuple[str, ...], tuple[str, ...]]]:
    """The paragraphs of a label file: the number of the first line, words, which may be empty, and their labels.

    Raises:
        ValueError: if a line is not `word<TAB>LABEL`; and as `numbered_lines`.
    """
    for first, lines in paragraphs(path, max_words):
        rows = [[column.strip() for column in line.split("\t")] for line in lines]
        for index, row in enumerate(rows):
            if len(row) != 2 or not row[1]:
                raise ValueError(
                    f"Expected two columns, word<TAB>LABEL, in {path}, line {first + index}, got {lines[index]!r:.60}. "
                    "Correct the line, or give the file another suffix (.txt for running text)."
                )
        yield first, tuple(row[0] for row in rows), tuple(row[1] for row in rows)


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Lines of a text file from 1 on, gzipped or not, in UTF-8, or UTF-16 with its byte order mark.

    Raises:
        ValueError: if the file is binary, cut off, or has a line in another encoding.
    """
    with open(path, "rb") as start:
        opener = gzip.open if start.read(2) == b"\x1f\x8b" else open
    number, encoding = 0, "utf-8"
    try:
        with opener(path, "rb") as file:
            head = file.read(4096)
            if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                encoding = "utf-16"
            elif b"\0" in head:
                raise ValueError(f"Expected text in {path}, it is a binary file. Remove it, or convert it to UTF-8.")
            file.seek(len(codecs.BOM_UTF8) if head.startswith(codecs.BOM_UTF8) else 0)
            # Lines are decoded one by one, so that an error has a line number; those of UTF-16 are not split as bytes.
            is_whole = encoding == "utf-16"
            lines = file.read().decode(encoding).splitlines() if is_whole else (line.decode() for line in file)
            for number, line in enumerate(lines, 1):
                yield number, line
    except UnicodeDecodeError as error:
        raise ValueError(
            f"Expected {encoding} in {path}, line {number + 1} is not ({error.reason}). Convert it to UTF-8."
        ) from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(
            f"Expected a whole gzip file in {path}, it is damaged after line {number}: {error}. Fetch it again."
        ) from error
