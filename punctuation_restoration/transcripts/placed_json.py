"""Takes JSON text, gives its values, in which every string and container knows where it stands in the text.

The file can then be changed in place: its layout, the spelling of its numbers and its unknown keys stay as they are.
It knows JSON and nothing of what is in it.
"""

import json
import re
from collections.abc import Iterator
from json import scanner
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any

from ..pipeline.placed_values import PlacedArray, PlacedObject, PlacedString
from ..pipeline.speech import Chunk, Runs
from .errors import FormatError, line_of

_BLANKS: Any = re.compile(r"[ \t\n\r]*")  # matches anywhere
_ESCAPE = re.compile(r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)")
_SURROGATE = re.compile(r"[\ud800-\udfff]")


def _placing(read: Any, kind: type) -> Any:
    """A reader of the standard library, called behind the bracket, whose result knows its place."""

    def parse(source_and_start: tuple[str, int], *arguments: Any) -> tuple[Any, int]:
        value, end = read(source_and_start, *arguments)
        placed = kind(value)
        placed.start, placed.end = source_and_start[1] - 1, end
        return placed, end

    return parse


def _parse_string(source: str, start: int, strict: bool) -> tuple[PlacedString, int]:
    value, end = scanstring(source, start, strict)
    placed = PlacedString(value)
    placed.start, placed.end = start, end - 1
    return placed, end


_DECODER: Any = json.JSONDecoder()
_DECODER.parse_object = _placing(_DECODER.parse_object, PlacedObject)
_DECODER.parse_array = _placing(_DECODER.parse_array, PlacedArray)
_DECODER.parse_string = _parse_string
_SCAN = scanner.py_make_scanner(_DECODER)  # type: ignore[attr-defined]  # the one in C would not call these


def read_values(source: str, start: int = 0, end: int | None = None) -> Iterator[Any]:
    """The JSON values of `source[start:end]`, mostly one; several may follow one another, as programs print them.

    Raises:
        FormatError: with the line at which the text stops being JSON, or is cut off.
    """
    stop = len(source) if end is None else end
    position = _BLANKS.match(source, start).end()
    while position < stop:
        try:
            value, value_end = _SCAN(source, position)
        except json.JSONDecodeError as error:
            raise _broken(source[:stop], error.msg, error.pos) from error
        except StopIteration as error:
            place = error.value if error.value is not None else position
            raise _broken(source[:stop], "Expecting value", place) from error
        except RecursionError as error:
            raise FormatError("Expected JSON nested less deeply than this.", line=line_of(source, position)) from error
        if value_end > stop:
            raise _broken(source[:stop], "Unterminated value", stop)
        yield value
        position = _BLANKS.match(source, value_end).end()


def _broken(source: str, reason: str, position: int) -> FormatError:
    column, shown = position - source.rfind("\n", 0, position), source[position : position + 20]
    problem = f"Expected JSON, got {shown!r} in column {column} ({reason.lower()})."
    if not source[position:].strip() or reason.startswith("Unterminated string"):
        problem = f"Expected the rest of the JSON, got the end of the file ({reason.lower()}). Is the file cut off?"
    return FormatError(problem, line=line_of(source, position))


def chunk_of(source: str, value: PlacedString) -> Chunk:
    """A string value as a chunk of speech: escapes such as `\\u4f60` are runs of their own."""
    runs = Runs()
    at, offset = value.start, 0  # in the source, in the value
    for escape in _ESCAPE.finditer(source, value.start, value.end):
        length = escape.start() - at
        if length:
            runs.add(offset, offset + length, at, escape.start())
        runs.add(offset + length, offset + length + 1, escape.start(), escape.end())
        at, offset = escape.end(), offset + length + 1
    if at < value.end:
        runs.add(offset, len(value), at, value.end)
    # Half a surrogate pair is no character, which tokenizers refuse; the file keeps it.
    return Chunk(_SURROGATE.sub("\ufffd", str(value)), runs)
