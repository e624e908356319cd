"""Takes a file's bytes and perhaps the names of its format and encoding, gives its transcript; finds what is not named.

The only module that knows all the readers; plain text it reads itself.
"""

import re
from pathlib import PurePath

from ..pipeline.unspoken import find_hidden
from .file_text import Encoding, FormatError, Transcript, decode_bytes
from .json_files import read_json, read_json_lines
from .layouts import Keys
from .speech import Line, SpeechBuilder
from .subtitles import read_srt, read_vtt

# What people try; read as plain text, it would be garbled.
RECORDINGS = ".mp3 .m4a .wav .flac .ogg .opus .aac .wma .mp4 .mkv .mov .webm".split()
FOREIGN = (
    *".csv .tsv .xlsx .parquet .html .htm .xml .ass .ssa .sub .sbv .smi .sami .ttml .dfxp .eaf .textgrid .stm".split(),
    *".ctm .rttm .docx .doc .odt .rtf .pdf".split(),
    *RECORDINGS,
)


def read_text(source: str) -> Transcript:
    """Read plain text as one speech; who speaks, what sounds and when, `find_hidden` says."""
    builder = SpeechBuilder()
    builder.say(Line.of(source, 0, find_hidden(source)))
    speech = builder.build()
    return Transcript(source, "txt", [speech] if speech.text.strip() else [])


_READERS = {
    "txt": read_text,
    "srt": read_srt,
    "vtt": read_vtt,
}
FORMATS = (*_READERS, "json", "jsonl")  # all of them are written, too
SUFFIXES = {f".{name}": name for name in FORMATS} | {".ndjson": "jsonl", ".lrc": "txt"}


def format_of_name(name: str) -> str | None:
    """The format that a file's extension stands for, None for others."""
    return SUFFIXES.get(PurePath(name).suffix.lower())


# Text may begin with a bracket: `[Mary]`, `{sic}`, `[1]`. JSON that is broken or of an unknown shape is no text.
_BRACKETED_TEXT = re.compile(r"\ufeff?\s*(?:\{\s*[^\s\"}]|\[\s*[^\s\"{])")


def sniff_format(source: str) -> str:
    """The format of a text that has no name: subtitles show, JSON by its first bracket; all else is plain text."""
    head = source.lstrip("\ufeff").lstrip()
    if re.match(r"WEBVTT(?:\s|$)", head):
        return "vtt"
    if re.match(r"(?:\d+\s+)?(?:\d+:)?\d+:\d+(?:[,.]\d+)?[ \t]*-->", head):
        return "srt"
    if head[:1] in ("{", "["):
        first, _, rest = head.partition("\n")
        return "jsonl" if first.rstrip().endswith("}") and rest.lstrip()[:1] == "{" else "json"
    return "txt"


def read_source(source: str, file_format: str, keys: Keys | None = None) -> Transcript:
    """Read a file's text, with its own line ends; `keys` are those of `restore_transcript`, for JSON.

    Raises:
        FormatError: the text is not of this format; with the line.
        ValueError: there is no such format.
    """
    if file_format not in FORMATS:
        raise ValueError(f"Expected a format among {', '.join(FORMATS)}, got {file_format!r}.")
    if file_format != "json" and not source.strip("\ufeff \t\r\n"):
        return Transcript(source, file_format, [])  # an empty recording: no fault
    if file_format in _READERS:
        return _READERS[file_format](source)
    return (read_json if file_format == "json" else read_json_lines)(source, keys)


def read_bytes(
    content: bytes,
    file_format: str | None = None,
    *,
    name: str | None = None,
    encoding: str | None = None,
    keys: Keys | None = None,
) -> tuple[Transcript, Encoding]:
    """Read a file's bytes; the format is taken from `name`, or found, where it is not given.

    What has the name of a text may be subtitles or JSON: it is read as such, or refused.

    Raises:
        FormatError: with `name` and, where there is one, the line.
    """
    try:
        suffix = PurePath(name or "").suffix.lower()
        if file_format is None and suffix in FOREIGN:
            problem = (
                f"Expected a format among {', '.join(FORMATS)}, got {suffix}. Convert it to one."
            )
            if suffix in RECORDINGS:
                problem = (
                    f"Expected a transcript, got a recording ({suffix}). Transcribe it first, with Whisper "
                    "for example, and give the JSON or the subtitles that come out."
                )
            raise FormatError(problem)
        source, found = decode_bytes(content, encoding)
        named = SUFFIXES.get(suffix)
        wanted = file_format or (None if named == "txt" else named)
        try:
            return read_source(source, wanted or sniff_format(source), keys), found
        except FormatError:
            if wanted or not _BRACKETED_TEXT.match(source):
                raise
            return read_source(source, "txt"), found
    except FormatError as error:
        error.path = name
        raise
