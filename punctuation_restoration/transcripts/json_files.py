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

SENTENCES_KEY = "sentences"
_BLANKS = re.compile(r"[ \t\n\r]*")
_INDENT = re.compile(r"[\[{][ \t]*\r?\n([ \t]+)\S")
_LOOKED_AT = 4096  # characters that show how a file is laid out
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class JsonDocument:
    """The values of a file, in order, each with its transcripts, and how the file is laid out."""

    rows: list[tuple[Any, list[Recognised] | Recognised]]
    dump: dict[str, Any]  # keywords of json.dumps
    between: str  # what stands between two values
    behind: str
    are_parts: bool = False  # whether the values that follow one another are one transcript, as Vosk prints them

    def written(self, edits: Sequence[Sequence[Any]], sentences: Sequence[list[dict[str, Any]]] | None = None) -> str:
        """The file with its marks; edits, and sentences if any are wanted, are those of its speeches, in order."""
        told = zip(edits, sentences or itertools.repeat(None, len(edits)), strict=True)
        rows: list[str] = []
        for _, found in self.rows:
            if isinstance(found, list):
                value: Any = [_with_sentences(one, *next(told)) for one in found]
            else:
                value = _with_sentences(found, *next(told))
            for one in value if self.are_parts else [value]:
                rows.append(self._dumped(one))
        return self.between.join(rows) + self.behind

    def _dumped(self, value: Any) -> str:
        written = json.dumps(value, **self.dump)
        if any("\ud800" <= sign <= "\udfff" for sign in written):  # half a surrogate pair: only an escape can write it
            return json.dumps(value, **{**self.dump, "ensure_ascii": True})
        return written


def read_json(source: str) -> Transcript:
    """Read one or more JSON values of the shapes that recognisers give.

    Raises:
        FormatError: broken or cut off JSON, with the line; or values of another shape, with their place.
    """
    values = list(_values(source))
    if not values:
        raise FormatError("Expected JSON, got an empty file.", line=1)
    if len(values) == 1:
        return _transcript(source, "json", [(1, values[0])])
    if not all(isinstance(value, dict) for value in values):
        raise FormatError("Expected one JSON value or several objects, got several values.", line=1)
    are_parts = not isinstance(_read(values, None), list)
    rows = [(None, values)] if are_parts else [(None, value) for value in values]
    return _transcript(source, "json", rows, are_parts)


def read_json_lines(source: str) -> Transcript:
    """Read one JSON value a line, each a speech of its own: a text, or any recogniser's output.

    Raises:
        FormatError: a line that is not JSON, or has neither text nor words; with the line.
    """
    values: list[tuple[int | None, Any]] = []
    for number, start, end in numbered_lines(source):
        found = list(_values(source, start, end))
        if len(found) != 1:
            raise FormatError(f"Expected one JSON value a line, got {len(found)}.", line=number)
        values.append((number, found[0]))
    return _transcript(source, "jsonl", values)


def _transcript(
    source: str, file_format: str, values: Sequence[tuple[int | None, Any]], are_parts: bool = False
) -> Transcript:
    """The transcripts of a file's values, each with the line on which it stands."""
    rows = [(value, _read(value, number)) for number, value in values]
    found = [one for _, read in rows for one in (read if isinstance(read, list) else [read])]
    warnings = [warning for one in found for warning in one.warnings]
    head = source[:_LOOKED_AT]
    indented = _INDENT.search(head) if file_format == "json" else None
    is_tight = '":' in head and not re.search(r'": |", |[\d\]}], ', head)
    dump: dict[str, Any] = {"ensure_ascii": source.isascii() and "\\u" in source, "indent": None}
    if indented:
        dump["indent"] = indented[1] if "\t" in indented[1] else len(indented[1])
    elif is_tight or (head[:1] == "[" and ", " not in head):
        dump["separators"] = (",", ":")
    behind = source[len(source.rstrip()) :]
    between = "\r\n" if "\r\n" in source else "\n"
    document = JsonDocument(rows, dump, between, behind, are_parts)
    return Transcript(source, file_format, [one.speech for one in found], warnings, document)


def _read(value: Any, line: int | None) -> list[Recognised] | Recognised:
    if not isinstance(value, dict | list | str):
        raise FormatError(f"Expected a JSON object, list or text, got {value!r:.40}.", line=line)
    try:
        return read_transcripts(value)
    except FormatError:
        raise
    except ValueError as error:
        raise FormatError(str(error), line=line) from error


def _with_sentences(found: Recognised, edits: Sequence[Any], sentences: list[dict[str, Any]] | None) -> Any:
    value = found.restored(edits)
    if isinstance(value, Mapping) and found.speech.spans and sentences is not None:
        return {**value, SENTENCES_KEY: sentences}
    return value


def _values(source: str, start: int = 0, end: int | None = None) -> Iterator[Any]:
    """The JSON values of `source[start:end]`, mostly one; several may follow one another, as programs print them."""
    text = source if end is None else source[:end]
    position = _BLANKS.match(text, start + source.startswith("\ufeff", start)).end()  # type: ignore[union-attr]
    while position < len(text):
        try:
            value, position = _DECODER.raw_decode(text, position)
        except json.JSONDecodeError as error:
            raise _broken(text, error.msg, error.pos) from error
        except RecursionError as error:
            raise FormatError("Expected JSON nested less deeply than this.", line=line_of(source, position)) from error
        yield value
        position = _BLANKS.match(text, position).end()  # type: ignore[union-attr]


def _broken(source: str, reason: str, position: int) -> FormatError:
    column, shown = position - source.rfind("\n", 0, position), source[position : position + 20]
    problem = f"Expected JSON, got {shown!r} in column {column} ({reason.lower()})."
    if not source[position:].strip() or reason.startswith("Unterminated string"):
        problem = f"Expected the rest of the JSON, got the end of the file ({reason.lower()}). Is the file cut off?"
    return FormatError(problem, line=line_of(source, position))
