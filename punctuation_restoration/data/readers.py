"""Files of text -> documents: JSONL, plain text and label files, gzipped or not, and folders of them.

Everything is read as a stream, so a source may be larger than memory.
"""

import gzip
import hashlib
import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

INDEX_NAME = "index.json"  # of a folder of prepared data
TEST_NAME = "test-share.jsonl"  # texts of such a folder that are kept for test
SUFFIXES = (".json", ".jsonl", ".tsv", ".txt")
LINES_PER_DOCUMENT = 200  # of plain text without blank lines: documents of a few pages
WORDS_PER_DOCUMENT = 5_000  # of a label file without blank lines
# Clitics that label files split from their word; other tokens with an apostrophe are opening quotes.
CLITICS = frozenset(("'s", "'re", "'m", "'ll", "'d", "'ve", "n't"))


@dataclass(frozen=True, slots=True)
class SourceDocument:
    """One running text, or words with their labels. `place` is the file and line it came from, for messages."""

    id: str
    text: str  # of labelled words, these, joined
    place: str
    words: tuple[str, ...] = ()  # of a label file
    labels: tuple[str, ...] = ()  # names, one a word
    punctuated: bool = True  # False where the file says that nobody has written marks

    def check_labels(self, known: Sequence[str]) -> None:
        """Raises a ValueError for labels that are not known."""
        if unknown := sorted(set(self.labels) - set(known)):
            raise ValueError(
                f"Expected the labels {list(known)} from {self.place} on, got {unknown}. Rename them."
            )


Fields = dict[str, Any]  # of a file, or of a part of it
Lines = list[tuple[int, str]]  # with their numbers, from 1 on


def read_documents(
    path: str | Path, text_field: str = "text", whole: bool = False
) -> Iterator[SourceDocument]:
    """Read the documents of a file or a folder; a `ValueError` names a file that is missing or wrong, and the line.

    JSONL: one document a line, `{"text": ...}` or `{"words": [...], "labels": [...]}`. Plain text: paragraphs between
    blank lines, or every 200 lines. Label files (`word<TAB>LABEL` a line): blank lines separate documents, or every
    5,000 words. With `whole` nothing is divided for its length, and a label may lack its word, as in some benchmarks.
    """
    for file in list_files(Path(path)):
        suffix, lines = plain_suffix(file), Lines()
        is_json, is_labelled = "json" in suffix, suffix == ".tsv"
        most = WORDS_PER_DOCUMENT if is_labelled else LINES_PER_DOCUMENT
        for lines in _paragraphs(file, 1 if is_json else None if whole else most):
            [first, line], *_ = lines
            place = f"{file}, line {first}"
            if is_json:
                fields = _json_document(place, line, text_field)
            elif is_labelled:
                fields = _labelled_document(file, lines, whole)
            else:
                fields = {"text": "\n".join(line.strip() for _, line in lines)}
            text = fields.setdefault("text", " ".join(fields.get("words", ())))
            fields.setdefault("id", id_of_text(text))
            yield SourceDocument(place=place, **fields)
        if not lines:
            raise ValueError(
                f"Expected text in {file}, it is empty. Remove the file, or the source from the recipe."
            )


def _json_document(place: str, line: str, text_field: str) -> Fields:
    try:
        row = json.loads(line)
    except json.JSONDecodeError:
        row = None
    if not isinstance(row, dict):
        raise ValueError(
            f"Expected a JSON object in {place}, got {line!r:.60}. Correct it, or give plain text the suffix .txt."
        )
    fields: Fields = {"punctuated": row.get("punctuated", True)}
    if row.get("id") is not None:
        fields["id"] = str(row["id"])
    text, words, labels = map(row.get, (text_field, "words", "labels"))
    if isinstance(text, str):
        return {**fields, "text": text}
    if not (isinstance(words, list) and isinstance(labels, list)):
        raise ValueError(
            f"Expected the text key {text_field!r}, or words and labels, in {place}, got {sorted(row)}. Rename it, or "
            "name it as the text_field of a source in a recipe."
        )
    if len(words) != len(labels):
        raise ValueError(
            f"Expected one label per word in {place}: {len(words)} words, {len(labels)} labels. Check the file."
        )
    return {**fields, "words": tuple(map(str, words)), "labels": tuple(map(str, labels))}


def _labelled_document(path: Path, lines: Lines, whole: bool) -> Fields:
    rows = []
    for number, line in lines:
        row = tuple(map(str.strip, line.split("\t")))
        if len(row) != 2 or not row[1] or not (row[0] or whole):
            raise ValueError(
                f"Expected a word and its label, word<TAB>LABEL, in {path}, line {number}, got {line!r:.60}. Correct "
                "the line, or give running text the suffix .txt."
            )
        rows.append(row)
    words, labels = zip(*rows, strict=True)
    return {"words": words, "labels": labels}


def _paragraphs(path: Path, max_lines: int | None) -> Iterator[Lines]:
    """The lines between blank lines, or every `max_lines` of them."""
    lines = Lines()
    for number, line in numbered_lines(path):
        if lines and (not line.strip() or len(lines) == max_lines):
            yield lines
            lines = Lines()
        if line.strip():
            lines.append((number, line.rstrip("\r\n")))
    if lines:
        yield lines


def hash_id(document_id: str) -> int:
    """A 64-bit hash of a document's id, the same on every machine."""
    encoded = document_id.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(encoded, digest_size=8).digest(), "big")


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
        raise ValueError(
            f"Expected at {path} files ending in {', '.join(SUFFIXES)}, or these with .gz, found none. Rename them."
        )
    return known


def plain_suffix(path: Path) -> str:
    """The suffix that says the format: of `talks.jsonl.gz` it is `.jsonl`."""
    return Path(path.name.removesuffix(".gz")).suffix.lower()


def plain_stem(path: Path) -> str:
    """The file's name without its endings."""
    return Path(path.name.removesuffix(".gz")).stem


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
        raise ValueError(
            f"Expected utf-8 in {path}, line {number} is not ({error.reason}). Convert it to UTF-8."
        ) from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(
            f"Expected a whole gzip file in {path}, it is damaged after line {number}: {error}. Fetch it again."
        ) from error
