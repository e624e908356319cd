"""Takes the JSON of a speech recogniser, gives its speeches, each with all the copies of it that the file holds.

The shapes are those of `pipeline/recognisers.py`; here is what only files have: lines, escapes, a place for sentences.
"""

from typing import Any

from ..pipeline.placed_values import PlacedArray, PlacedObject, PlacedString
from ..pipeline.recognisers import RecogniserReader
from ..pipeline.speech import Addition, Chunk, Speech, Transcript
from .errors import FormatError, line_of
from .placed_json import chunk_of, read_values

SENTENCES_KEY = "sentences"


def read_json(source: str, text_key: str | None = None) -> Transcript:
    """Read one or more JSON values of the shapes above; `text_key` names the key of the text in other objects.

    Raises:
        FormatError: broken or cut off JSON, or values of another shape; with the line.
    """
    reader = JsonReader(source, text_key)
    values = list(read_values(source))
    if not values:
        raise FormatError("Expected JSON, got an empty file.", line=1)
    if len(values) == 1:
        speeches = reader.read(values[0])
    elif all(isinstance(value, dict) for value in values):
        speeches = reader.read_list(values)
    else:
        raise FormatError("Expected one JSON value or several objects, got several values.", line=1)
    return Transcript(source, "json", speeches, reader.warnings)


class JsonReader(RecogniserReader):
    """Reads the values of one file."""

    def read(self, value: Any, line: int = 1) -> list[Speech]:
        """The speeches of one top-level value, which stands on that line."""
        if isinstance(value, PlacedObject):
            return [self.read_object(value)]
        if isinstance(value, PlacedArray | PlacedString):
            return self.read_list([value] if isinstance(value, PlacedString) else value)
        raise FormatError(f"Expected a JSON object, list or text, got {value!r:.40}.", line=line)

    def read_object(self, value: PlacedObject) -> Speech:
        """One transcript, and where its sentences go."""
        speech = super().read_object(value)
        if speech.spans:
            speech.addition = self._addition(value)
        return speech

    def chunk(self, text: PlacedString) -> Chunk:
        return chunk_of(self.source, text)

    def fault(self, value: Any, problem: str) -> FormatError:
        return FormatError(problem, line=line_of(self.source, value.start) if hasattr(value, "start") else None)

    def _addition(self, value: PlacedObject) -> Addition:
        """Where sentences go: over older ones, or behind the last value, laid out as the file is."""
        if isinstance(older := value.get(SENTENCES_KEY), PlacedArray):
            return Addition(older.start, older.end, "")
        inside = self.source[value.start + 1 : value.end - 1]
        end = value.start + 1 + len(inside.rstrip())
        indent = inside[: len(inside) - len(inside.lstrip())]
        is_spaced = not self.source.startswith('{"', value.start) or ", " in inside[:4096]
        lead = indent if "\n" in indent else " " if is_spaced else ""
        colon = ": " if '": ' in inside[:4096] else ":"
        return Addition(end, end, f',{lead}"{SENTENCES_KEY}"{colon}')
