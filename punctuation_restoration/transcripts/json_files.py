"""Takes the text of a JSON or JSON lines file, gives its speeches; writes its values again, with marks and sentences.

A file goes the way of a call: its values are read by `recognisers.py`. Order and unknown keys stay, and the
indentation as far as it is regular; the spelling of numbers and blanks may change.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .file_text import LINE_END, FormatError, Transcript, line_of
from .layouts import Keys
from .recognisers import Told, Transcripts, each_of, read_transcripts, restored_value

Values = dict[str, Any]  # by key
_BLANKS = re.compile(r"\ufeff?[ \t\n\r]*+")
_INDENT = re.compile(r"[\[{][ \t]*\r?\n([ \t]+)\S")
_LOOKED_AT = 4096  # characters that show how a file is laid out
_NAN = re.compile(r"[:\[,]\s*+NaN\s*+[,\]}]")
_DEEPEST = 100  # lists and objects in one another


def _object(pairs: list[tuple[str, Any]]) -> Values:
    value = dict(pairs)
    if len(value) < len(pairs):
        ((twice, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"Expected each key of an object once, got {twice!r} twice. Remove one.")
    return value


def _number(text: str) -> float:
    """A number with a point; the constant NaN, which WhisperX writes, stays."""
    if math.isinf(number := float(text)):
        raise ValueError(f"Expected numbers of JSON, got {text:.20}. Write null, or a number.")
    return number


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_float=_number, parse_constant=_number)


@dataclass(frozen=True, slots=True)
class JsonDocument:
    """The transcripts of a file's values, in order, and how the file is laid out."""

    values: Transcripts
    dump: Values  # keywords of json.dumps
    between: str  # what stands between two values
    behind: str

    def written(self, told: Told) -> str:
        """The file with its marks; `told` has each speech's edits, and its sentences if any are wanted, in order."""
        values = restored_value(self.values, told)
        texts = [json_text(value, **self.dump).replace("\n", self.between) for value in values]
        return self.between.join(texts) + self.behind


def json_text(value: Any, **keywords: Any) -> str:
    """A value as JSON; half a pair of surrogates, which no encoding writes, is an escape."""
    return json.dumps(value, **keywords).encode(errors="backslashreplace").decode()


def read_json(source: str, keys: Keys | None = None) -> Transcript:
    """Read one or more JSON values of the shapes that recognisers give; a `FormatError` says where it is none."""
    match list(_values(source)):
        case []:
            raise FormatError("Expected JSON, got an empty file.", line=1)
        case [value]:
            return _transcript(source, "json", [_read(value, 1, keys)])
        case values if all(isinstance(value, dict) for value in values):
            # Several may be one transcript, as Vosk prints them.
            return _transcript(source, "json", _read(values, None, keys))
    raise FormatError("Expected one JSON value or several objects, got several values.", line=1)


def read_json_lines(source: str, keys: Keys | None = None) -> Transcript:
    """Read one JSON value a line, each a text or any recogniser's output; a `FormatError` names the line of another."""
    rows: list[Transcripts] = []
    for number, line in enumerate(LINE_END.split(source), start=1):
        values = list(_values(line, number))
        if len(values) > 1:
            raise FormatError(f"Expected one JSON value a line, got {len(values)}.", line=number)
        rows += [_read(value, number, keys) for value in values]
    return _transcript(source, "jsonl", rows)


def _transcript(source: str, file_format: str, values: Transcripts) -> Transcript:
    """What was read of a file's values, and how they are laid out."""
    dump: Values = {"ensure_ascii": "\\u" in source and source.isascii()}
    if file_format == "json" and (indented := _INDENT.search(source, 0, _LOOKED_AT)):
        dump["indent"] = indented[1]
    elif not re.search(r'": |["\d\]}], ', source[:_LOOKED_AT]):
        dump["separators"] = (",", ":")
    between = "\r\n" if "\r\n" in source else "\n"
    document = JsonDocument(values, dump, between, source[len(source.rstrip()) :])
    every = each_of(values)
    warnings = [warning for one in every for warning in one.warnings]
    if _NAN.search(source):
        warnings.append("NaN is no number of JSON; as a time it is unknown")
    return Transcript(source, file_format, [one.speech for one in every], warnings, document)


def _read(value: Any, line: int | None, keys: Keys | None) -> Transcripts:
    try:
        return read_transcripts(value, keys)
    except ValueError as error:
        raise FormatError(str(error), line=line) from error


def _values(text: str, line: int = 1) -> Iterator[Any]:
    """The JSON values of a text, whose first line has this number; several may follow one another, as Vosk's do."""
    position = 0
    while (blanks := _BLANKS.match(text, position)) and (position := blanks.end()) < len(text):
        at = position
        try:
            value, position = _DECODER.raw_decode(text, position)
            if _is_deep([value]):
                raise RecursionError
        except (ValueError, RecursionError) as error:
            problem = str(error)
            if isinstance(error, RecursionError):
                problem = f"Expected JSON nested at most {_DEEPEST} deep, got more."
            elif isinstance(error, json.JSONDecodeError):
                at, why = error.pos, f"({error.msg.lower()})."
                problem = f"Expected JSON, got {text[at : at + 20]!r} in column {error.colno} {why}"
                if not text[at:].strip() or error.msg.startswith("Unterminated string"):
                    problem = f"Expected the rest of the JSON, got the end of the file {why} Is it cut off?"
            raise FormatError(problem, line=line - 1 + line_of(text, at)) from error
        yield value


def _is_deep(value: Any, n_levels: int = _DEEPEST) -> bool:
    """Whether more lists and objects than this are in one another."""
    inner = value.values() if isinstance(value, dict) else value
    nested = (one for one in inner if isinstance(one, dict | list))
    return n_levels < 0 or any(_is_deep(one, n_levels - 1) for one in nested)
