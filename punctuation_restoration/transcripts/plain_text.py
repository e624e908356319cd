"""Takes plain text, or Whisper's TSV, gives its speech without names, times and sounds, which stay in the file."""

import itertools

from ..pipeline.speech import Chunk, SpeechBuilder, Transcript
from ..pipeline.unspoken import find_hidden
from .errors import FormatError, numbered_lines


def read_text(source: str) -> Transcript:
    """Read plain text as one speech; who speaks, what sounds and when, `find_hidden` says."""
    builder = SpeechBuilder()
    builder.say_line(Chunk.plain(source, 0, len(source)), find_hidden(source))
    speech = builder.build()
    return Transcript(source, "txt", [speech] if speech.text.strip() else [])


def read_tsv(source: str) -> Transcript:
    """Read Whisper's TSV: a header with `start`, `end` (milliseconds) and `text`. Fields are not quoted.

    Raises:
        FormatError: another header, a row with another number of fields, or broken times; with the line.
    """
    lines = numbered_lines(source)
    _, start, end = next(lines, (1, 0, 0))
    columns = source[start:end].lstrip("\ufeff").split("\t")
    if not {"start", "end", "text"} <= set(columns):
        raise FormatError(f"Expected a header with start, end and text, got {columns!r:.80}. Is it Whisper's?", line=1)
    builder = SpeechBuilder()
    for number, start, end in lines:
        fields = source[start:end].split("\t")
        if len(fields) != len(columns):
            raise FormatError(f"Expected {len(columns)} fields, as in the header, got {len(fields)}.", line=number)
        starts = itertools.accumulate((len(field) + 1 for field in fields), initial=start)
        row = {name: (at, at + len(field)) for name, field, at in zip(columns, fields, starts, strict=False)}
        begins, ends = (_seconds(source[slice(*row[name])], number) for name in ("start", "end"))
        builder.part()
        said = builder.say_line(
            Chunk.plain(source, *row["text"]), find_hidden(source[slice(*row["text"])], "line", False)
        )
        builder.time(*said, begins, ends)
    return Transcript(source, "tsv", [builder.build()] if builder.length else [])


def _seconds(field: str, number: int) -> float:
    try:
        return int(field) / 1000
    except ValueError as error:
        raise FormatError(f"Expected a time in whole milliseconds, got {field!r}.", line=number) from error
