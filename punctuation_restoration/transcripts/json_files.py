"""Takes the text of a JSON or JSON lines file, gives its speeches; writes its values again, with marks and sentences.

A file goes the way of a call: its values are read by `pipeline/recognisers.py`. Order and unknown keys stay, and the
indentation as far as it is regular; the spelling of numbers and blanks may change.
"""

import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..pipeline.recognisers import Recognised, read_transcripts
from .file_text import FormatError, Transcript, line_of, numbered_lines

_BLANKS = re.compile(r"\ufeff?[ \t\n\r]*")
_INDENT = re.compile(r"[\[{][ \t]*\r?\n([ \t]+)\S")
_LOOKED_AT = 4096  # characters that show how a file is laid out
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class JsonDocument:
    """The transcripts of a file's values, in order, and how the file is laid out."""

    rows: list[list[Recognised] | Recognised]
    dump: dict[str, Any]  # keywords of json.dumps
    between: str  # what stands between two values
    behind: str
    are_parts: bool  # whether the values that follow one another are one transcript, as Vosk prints them

    def written(self, edits: Sequence[Sequence[Any]], sentences: Sequence[list[dict[str, Any]]] | None = None) -> str:
        """The file with its marks; edits, and sentences if any are wanted, are those of its speeches, in order."""
        told = zip(edits, sentences or itertools.repeat(None, len(edits)), strict=True)
        values: list[Any] = []
        for row in self.rows:
            found = [_restored(one, *next(told)) for one in (row if isinstance(row, list) else [row])]
            values.append(found if isinstance(row, list) else found[0])
        values = values[0] if self.are_parts else values
        texts = [json.dumps(value, **self.dump) for value in values]
        if re.search(
            "[\ud800-\udfff]", written := self.between.join(texts)
        ):  # half a pair: only an escape can write it
            written = self.between.join(json.dumps(value, **self.dump | {"ensure_ascii": True}) for value in values)
        return written + self.behind


def _restored(found: Recognised, edits: Sequence[Any], sentences: list[dict[str, Any]] | None) -> Any:
    value = found.restored(edits)
    has_place = isinstance(value, Mapping) and found.speech.spans and sentences is not None
    return {**value, "sentences": sentences} if has_place else value


def read_json(source: str) -> Transcript:
    """Read one or more JSON values of the shapes that recognisers give.

    Raises:
        FormatError: broken or cut off JSON, with the line; or values of another shape, with their place.
    """
    values = list(_values(source))
    if not values:
        raise FormatError("Expected JSON, got an empty file.", line=1)
    if len(values) > 1 and not all(isinstance(value, dict) for value in values):
        raise FormatError("Expected one JSON value or several objects, got several values.", line=1)
    if len(values) > 1 and not isinstance(_read(values, None), list):
        return _transcript(source, "json", [(None, values)], are_parts=True)
    return _transcript(source, "json", [(1 if len(values) == 1 else None, value) for value in values])


def read_json_lines(source: str) -> Transcript:
    """Read one JSON value a line, each a speech of its own: a text, or any recogniser's output.

    Raises:
        FormatError: a line that is not JSON, or has neither text nor words; with the line.
    """
    values: list[tuple[int | None, Any]] = []
    for number, start, end in numbered_lines(source):
        found = list(_values(source[start:end], number))
        if len(found) != 1:
            raise FormatError(f"Expected one JSON value a line, got {len(found)}.", line=number)
        values.append((number, found[0]))
    return _transcript(source, "jsonl", values)


def _transcript(
    source: str, file_format: str, values: Sequence[tuple[int | None, Any]], are_parts: bool = False
) -> Transcript:
    """The transcripts of a file's values, each with the line on which it stands."""
    rows = [_read(value, number) for number, value in values]
    found = [one for row in rows for one in (row if isinstance(row, list) else [row])]
    head = source[:_LOOKED_AT]
    indented = _INDENT.search(head) if file_format == "json" else None
    is_tight = '":' in head and not re.search(r'": |", |[\d\]}], ', head)
    dump: dict[str, Any] = {"ensure_ascii": source.isascii() and "\\u" in source, "indent": None}
    if indented:
        dump["indent"] = indented[1] if "\t" in indented[1] else len(indented[1])
    elif is_tight or (head[:1] == "[" and ", " not in head):
        dump["separators"] = (",", ":")
    between = "\r\n" if "\r\n" in source else "\n"
    document = JsonDocument(rows, dump, between, source[len(source.rstrip()) :], are_parts)
    warnings = [warning for one in found for warning in one.warnings]
    return Transcript(source, file_format, [one.speech for one in found], warnings, document)


def _read(value: Any, line: int | None) -> list[Recognised] | Recognised:
    if not isinstance(value, dict | list | str):
        raise FormatError(f"Expected a JSON object, list or text, got {value!r:.40}.", line=line)
    try:
        return read_transcripts(value)
    except ValueError as error:
        raise FormatError(str(error), line=line) from error


def _values(text: str, line: int = 1) -> Iterator[Any]:
    """The JSON values of a text, mostly one; several may follow one another, as programs print them.

    `line` is the number of its first line, for messages.
    """
    position = _after_blanks(text, 0)
    while position < len(text):
        try:
            value, position = _DECODER.raw_decode(text, position)
        except json.JSONDecodeError as error:
            column, shown = error.pos - text.rfind("\n", 0, error.pos), text[error.pos : error.pos + 20]
            problem = f"Expected JSON, got {shown!r} in column {column} ({error.msg.lower()})."
            if not text[error.pos :].strip() or error.msg.startswith("Unterminated string"):
                problem = (
                    f"Expected the rest of the JSON, got the end of the file ({error.msg.lower()}). Is it cut off?"
                )
            raise FormatError(problem, line=line - 1 + line_of(text, error.pos)) from error
        except RecursionError as error:
            problem = "Expected JSON nested less deeply than this."
            raise FormatError(problem, line=line - 1 + line_of(text, position)) from error
        yield value
        position = _after_blanks(text, position)


def _after_blanks(text: str, position: int) -> int:
    blanks = _BLANKS.match(text, position)
    return blanks.end() if blanks else position
