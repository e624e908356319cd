"""Takes formats of one record a line, gives their speeches: CTM, TSV, JSONL, and plain text.

It knows how records are laid out, and leaves the JSON inside a JSONL line to `recogniser_json`.
"""

import itertools
import re
from collections.abc import Iterator

from ..pipeline.speech import Chunk, Speech, SpeechBuilder, Transcript
from .errors import LINE_END, FormatError
from .placed_json import read_values
from .recogniser_json import JsonReader

_CTM_RECORD = re.compile(r"[ \t]*(\S+)[ \t]+(\S+)[ \t]+(\S+)[ \t]+(\S+)[ \t]+(\S+)[ \t]*(?:[^\r\n]*)")
_TEXT_COLUMNS = ("text", "sentence", "transcript")


def read_text(source: str, by_line: bool = False) -> Transcript:
    """Plain text: one speech, or with `by_line` one a line."""
    lines = numbered_lines(source) if by_line else [(1, 0, len(source))]
    chunks = (Chunk.plain(source, start, end) for _, start, end in lines)
    speeches = [Speech(chunk.text, [chunk.runs]) for chunk in chunks if chunk.text.strip()]
    return Transcript(source, "lines" if by_line else "txt", speeches)


def read_ctm(source: str) -> Transcript:
    """CTM, the time-marked words of NIST's scoring tools: `recording channel start duration word [confidence ...]`.

    Each recording and channel is a speech of its own. Words such as `<eps>`, and `@`, are silence.

    Raises:
        FormatError: a record with fewer than five fields, without times, or with alternatives; with the line.
    """
    builders: dict[str, SpeechBuilder] = {}
    for number, start, end in numbered_lines(source):
        line = source[start:end]
        if line.lstrip().startswith(";;"):
            continue
        record = _CTM_RECORD.fullmatch(line)
        if record is None:
            raise FormatError(
                f"Expected `recording channel start duration word`, got {line.strip()!r:.60}. Is it CTM?", line=number
            )
        recording, channel, begins, duration, word = record.groups()
        if word.upper().startswith("<ALT"):
            raise FormatError(
                f"Expected one word after another, got alternatives ({word}). Keep one of them.", line=number
            )
        try:
            times = float(begins), round(float(begins) + float(duration), 3)
        except ValueError as error:
            raise FormatError(
                f"Expected start and duration in seconds, got {begins!r} and {duration!r}.", line=number
            ) from error
        name = f"{recording} {channel}"
        builder = builders.setdefault(name, SpeechBuilder(name))
        if word == "@" or (word.startswith("<") and word.endswith(">")):
            continue
        chunk = Chunk.plain(source, start + record.start(5), start + record.end(5))
        builder.time(*builder.say_word(chunk), *times)
    return Transcript(source, "ctm", [builder.build() for builder in builders.values() if builder.length])


def read_tsv(source: str, text_column: str | None = None) -> Transcript:
    """TSV with a header. With columns `start` and `end` (Whisper's: milliseconds) it is one transcript, else each row
    is a text of its own. Fields are not quoted.

    Raises:
        FormatError: no text column in the header, a row with another number of fields, or broken times; with the line.
    """
    lines = numbered_lines(source)
    header = next(lines, None)
    if header is None or header[0] > 1:
        raise FormatError("Expected a header with the names of the columns, got an empty line.", line=1)
    columns = source[header[1] : header[2]].lstrip("\ufeff").split("\t")
    wanted = text_column or next((name for name in _TEXT_COLUMNS if name in columns), "text")
    if wanted not in columns:
        raise FormatError(
            f"Expected a column named {wanted!r} in the header, got {columns!r:.80}. Name it (--field).", line=1
        )
    is_timed = {"start", "end"} <= set(columns)
    builder = SpeechBuilder()
    speeches: list[Speech] = []
    for number, start, end in lines:
        fields = source[start:end].split("\t")
        if len(fields) != len(columns):
            raise FormatError(f"Expected {len(columns)} fields, as in the header, got {len(fields)}.", line=number)
        starts = itertools.accumulate((len(field) + 1 for field in fields), initial=start)
        row = {name: (at, at + len(field)) for name, field, at in zip(columns, fields, starts, strict=False)}
        chunk = Chunk.plain(source, *row[wanted])
        if is_timed:
            builder.part()
            begins, ends = (_milliseconds(source[slice(*row[name])], number) for name in ("start", "end"))
            builder.time(*builder.say(chunk), begins, ends)
        elif chunk.text.strip():
            name = source[slice(*row["id"])] if "id" in row else None
            speeches.append(Speech(chunk.text, [chunk.runs], name=name))
    return Transcript(source, "tsv", [builder.build()] if builder.length else speeches)


def read_json_lines(source: str, text_key: str | None = None) -> Transcript:
    """One JSON value a line, each a speech of its own: a text, or any recogniser's output.

    Raises:
        FormatError: a line that is not JSON, or has neither text nor words; with the line.
    """
    reader = JsonReader(source, text_key)
    speeches: list[Speech] = []
    for number, start, end in numbered_lines(source):
        values = list(read_values(source, start, end))
        if len(values) != 1:
            raise FormatError(f"Expected one JSON value a line, got {len(values)}.", line=number)
        speeches.extend(reader.read(values[0], number))
    return Transcript(source, "jsonl", speeches, reader.warnings)


def numbered_lines(source: str) -> Iterator[tuple[int, int, int]]:
    """Number from 1, start and end without line end, of each line in which something stands."""
    start = 0
    for number, match in enumerate(re.finditer(rf"{LINE_END.pattern}|\Z", source), 1):
        if source[start : match.start()].strip():
            yield number, start, match.start()
        start = match.end()


def _milliseconds(field: str, number: int) -> float:
    try:
        return int(field) / 1000
    except ValueError as error:
        raise FormatError(f"Expected a time in whole milliseconds, got {field!r}.", line=number) from error
