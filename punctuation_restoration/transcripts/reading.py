"""Takes a file's bytes and perhaps the names of its format and encoding, gives its transcript; finds what is not named.

The only module that knows all the readers.
"""

import re
from collections.abc import Callable
from pathlib import PurePath

from ..pipeline.speech import Transcript
from .encodings import Encoding, decode_bytes
from .errors import FormatError
from .placed_json import read_values
from .recogniser_json import read_json
from .subtitles import read_srt, read_vtt
from .tables import read_ctm, read_json_lines, read_text, read_tsv
from .turns import names_speakers, read_turns

_READERS: dict[str, Callable[[str, str | None], Transcript]] = {
    "txt": lambda source, field: read_text(source),
    "lines": lambda source, field: read_text(source, by_line=True),
    "turns": lambda source, field: read_turns(source),
    "srt": lambda source, field: read_srt(source),
    "vtt": lambda source, field: read_vtt(source),
    "json": read_json,
    "jsonl": read_json_lines,
    "tsv": read_tsv,
    "ctm": lambda source, field: read_ctm(source),
}
TEXT_LAYOUTS = ("lines", "turns")  # plain text, read in other ways
SUFFIXES = {f".{name}": name for name in _READERS if name not in TEXT_LAYOUTS} | {".ndjson": "jsonl"}
READABLE = tuple(_READERS)
# What people try; read as plain text, it would be garbled.
FOREIGN = tuple(".ass .ssa .sub .sbv .ttml .dfxp .docx .doc .odt .rtf .pdf .mp3 .m4a .wav .mp4 .mkv".split())


def format_of_name(name: str) -> str | None:
    """The format that a file's extension stands for, None for others."""
    return SUFFIXES.get(PurePath(name).suffix.lower())


def sniff_format(source: str) -> str:
    """The format of a text that has no name: subtitles, JSON and JSON lines show, everything else is plain text."""
    head = source.lstrip("\ufeff").lstrip()
    if re.match(r"WEBVTT(?:\s|$)", head):
        return "vtt"
    if re.match(r"(?:\d+[ \t]*\r?\n)?[ \t]*\d+:\d+:\d+[,.]\d+[ \t]*-->", head):
        return "srt"
    if head[:1] in ("{", "["):
        try:
            values = sum(1 for _ in read_values(source.lstrip("\ufeff")))
        except FormatError:
            return "txt"
        n_lines = sum(1 for line in source.splitlines() if line.strip())
        return "jsonl" if head[0] == "{" and 1 < values == n_lines else "json"
    return "txt"


def read_source(source: str, file_format: str, field: str | None = None) -> Transcript:
    """Read a file's text, with its own line ends; `field` names the JSON key or TSV column in which the speech is.

    Raises:
        FormatError: the text is not of this format; with the line.
        ValueError: the format or the field makes no sense.
    """
    if file_format not in READABLE:
        raise ValueError(f"Expected a format among {', '.join(READABLE)}, got {file_format!r}.")
    if field is not None and file_format not in ("json", "jsonl", "tsv"):
        raise ValueError(f"Expected a field's name only for json, jsonl and tsv, got {field!r} for {file_format}.")
    if file_format != "json" and not source.strip("\ufeff \t\r\n"):
        return Transcript(source, file_format, [])  # an empty recording: nothing to restore, and no fault
    return _READERS[file_format](source, field)


def read_bytes(
    content: bytes,
    file_format: str | None = None,
    *,
    name: str | None = None,
    encoding: str | None = None,
    field: str | None = None,
) -> tuple[Transcript, Encoding]:
    """Read a file's bytes; the format is taken from `name`, or found, where it is not given.

    Raises:
        FormatError: with `name` and, where there is one, the line.
    """
    try:
        if file_format is None and (suffix := PurePath(name or "").suffix.lower()) in FOREIGN:
            raise FormatError(f"Expected a format among {', '.join(READABLE)}, got {suffix}. Convert it to one.")
        source, found = decode_bytes(content, encoding)
        wanted = file_format or (format_of_name(name) if name else None) or sniff_format(source)
        if wanted == "txt" and file_format is None and names_speakers(source):
            wanted = "turns"
        return read_source(source, wanted, field), found
    except FormatError as error:
        error.path = name
        raise
