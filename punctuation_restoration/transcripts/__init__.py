"""Transcripts in and out: subtitles, recogniser output, word lists, plain text.

transcript, encoding = read_bytes(content, name="talk.srt")
restored = restore_file(restore, transcript)            # restore = transformers.pipeline("punctuation-restoration")
content = encoding.encode(restored.source())            # the same file, with marks
subtitles = write_as(restored, "srt")                   # or another format
words = restore_transcript(restore, words)              # what a recogniser gives in Python
"""

from .file_text import Encoding, FormatError, Transcript
from .layouts import FIELDS
from .reading import FOREIGN, FORMATS, format_of_name, read_bytes, read_source
from .restoring import RestoredTranscript, restore_file, restore_transcript, restored_parts
from .writing import CueLimits, encoding_of, write_as

__all__ = [
    "FIELDS",
    "FOREIGN",
    "FORMATS",
    "CueLimits",
    "Encoding",
    "FormatError",
    "RestoredTranscript",
    "Transcript",
    "encoding_of",
    "format_of_name",
    "read_bytes",
    "read_source",
    "restore_file",
    "restore_transcript",
    "restored_parts",
    "write_as",
]
