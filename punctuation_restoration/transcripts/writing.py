"""Takes a restored transcript, gives it in another format.

It writes files anew; a file that keeps its format is edited in place by `RestoredTranscript.source` instead.
"""

import html
import json
from typing import Any

from .cues import CueLimits, make_cues
from .file_text import Encoding
from .restoring import RestoredSpeech, RestoredTranscript

WRITABLE = ("txt", "srt", "vtt", "tsv", "json", "jsonl")
UTF8_ONLY = ("vtt", "json", "jsonl")  # their standards know no other encoding


def encoding_of(file_format: str | None, own: Encoding) -> Encoding:
    """The encoding in which a format is written: UTF-8 where its standard knows no other, else the file's own."""
    return Encoding() if file_format in UTF8_ONLY else own


def write_as(restored: RestoredTranscript, file_format: str, limits: CueLimits | None = None) -> str:
    """The transcript in another format.

    txt has one sentence a line; srt, vtt and tsv need times, and have cues or rows that end with sentences; json has
    text, words and sentences; jsonl has one such object for each speech.

    Raises:
        ValueError: a format that cannot be written, times that are missing, or several speeches where one must be.
    """
    speeches = restored.speeches
    match file_format:
        case "txt":
            return "".join(sentence.shown + "\n" for speech in speeches for sentence in speech.sentences)
        case "srt" | "vtt":
            if len(speeches) > 1:
                problem = f"Expected one transcript to make subtitles of, got {len(speeches)}."
                raise ValueError(f"{problem} Write jsonl, or split it.")
            blocks = [block for speech in speeches for block in _blocks(speech, file_format, limits or CueLimits())]
            return "\n".join(["WEBVTT\n", *blocks] if file_format == "vtt" else blocks)
        case "tsv":
            return _tsv(speeches)
        case "json":
            rows = [_row(speech) for speech in speeches] or [{"text": "", "words": [], "sentences": []}]
            return json.dumps(rows[0] if len(rows) == 1 else rows, ensure_ascii=False, indent=2) + "\n"
        case "jsonl":
            return "".join(json.dumps(_row(speech), ensure_ascii=False) + "\n" for speech in speeches)
    raise ValueError(f"Expected a format to write among {', '.join(WRITABLE)}, got {file_format!r}.")


def _blocks(speech: RestoredSpeech, file_format: str, limits: CueLimits) -> list[str]:
    """Cues as they are written; a silent recording has none."""
    blocks = []
    for number, (begins, ends, lines) in enumerate(make_cues(speech, limits) if speech.words else (), start=1):
        times, text = f"{_clock_time(begins)} --> {_clock_time(ends)}", "\n".join(lines)
        if file_format == "vtt":
            blocks.append(f"{times}\n{html.escape(text, quote=False)}\n")
        else:
            blocks.append(f"{number}\n{times.replace('.', ',')}\n{text}\n")
    return blocks


def _clock_time(seconds: float) -> str:
    """`01:02:03.450`."""
    minutes, milliseconds = divmod(round(seconds * 1000), 60_000)
    return f"{minutes // 60:02}:{minutes % 60:02}:{milliseconds // 1000:02}.{milliseconds % 1000:03}"


def _tsv(speeches: list[RestoredSpeech]) -> str:
    """Whisper's columns; a row is a sentence. Of several recordings each row has the name as well."""
    has_names = len(speeches) > 1 and any(speech.speech.name for speech in speeches)
    rows = ["start\tend\ttext" + "\tname" * has_names + "\n"]
    for speech in speeches:
        name = f"\t{speech.speech.name}" * has_names
        for sentence in speech.sentences:
            if sentence.begins is None or sentence.ends is None:
                raise ValueError("Expected speech with times for start and end, got none. Write txt or jsonl.")
            begins, ends = (round(time * 1000) for time in (sentence.begins, sentence.ends))
            rows.append(f"{begins}\t{ends}\t{sentence.shown}{name}\n")
    return "".join(rows)


def _row(restored: RestoredSpeech) -> dict[str, Any]:
    """One text as `--json` prints it.

    The words keep "start" and "end" as offsets in the original text, and get "begins" and "ends" in seconds where the
    file tells them.
    """
    speech, clock = restored.speech, restored.clock
    words = [dict(word) for word in restored.words]
    for word in words if clock else ():
        word["begins"], word["ends"] = clock.between(word["start"], word["end"])
    named = {} if speech.name is None else {"name": speech.name}
    return {**named, "text": restored.text, "words": words, "sentences": [each.row() for each in restored.sentences]}
