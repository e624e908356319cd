"""Takes a restored transcript, gives it in another format: SRT, WebVTT, TSV, JSON, JSON lines, or plain text.

It writes files anew; a file that keeps its format is edited in place by `RestoredTranscript.source` instead.
"""

import html
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .cues import CueLimits, make_cues
from .restoring import RestoredSpeech, RestoredTranscript
from .timed_sentences import Clock, clock_time

UTF8_ONLY = ("vtt", "json", "jsonl")  # their standards know no other encoding


def write_as(restored: RestoredTranscript, file_format: str, limits: CueLimits | None = None) -> str:
    """The transcript in another format.

    txt has one sentence a line; srt, vtt and tsv need times, and have cues or rows that end with sentences; json has
    text, words and sentences; jsonl has one such object for each speech.

    Raises:
        ValueError: a format that cannot be written, times that are missing, or several speeches where one must be.
    """
    if file_format not in WRITABLE:
        raise ValueError(f"Expected a format to write among {', '.join(WRITABLE)}, got {file_format!r}.")
    return _WRITERS[file_format](restored.speeches, limits or CueLimits())


def _txt(speeches: Sequence[RestoredSpeech], limits: CueLimits) -> str:
    return "".join(sentence.shown + "\n" for speech in speeches for sentence in speech.sentences)


def _srt(speeches: Sequence[RestoredSpeech], limits: CueLimits) -> str:
    cues = _cues(speeches, limits, ",")
    return "\n".join(f"{number}\n{times}\n{text}\n" for number, (times, text) in enumerate(cues, start=1))


def _vtt(speeches: Sequence[RestoredSpeech], limits: CueLimits) -> str:
    cues = _cues(speeches, limits, ".")
    return "\n".join(["WEBVTT\n", *(f"{times}\n{html.escape(text, quote=False)}\n" for times, text in cues)])


def _cues(speeches: Sequence[RestoredSpeech], limits: CueLimits, point: str) -> Iterator[tuple[str, str]]:
    """Line of times and text of each cue of the one speech that a subtitle file can hold."""
    if len(speeches) > 1:
        raise ValueError(
            f"Expected one transcript to make subtitles of, got {len(speeches)}. Write jsonl, or split it."
        )
    for speech in speeches:
        for cue in make_cues(speech, limits) if speech.words else ():  # a silent recording makes an empty file
            yield " --> ".join(clock_time(time, point, 2) for time in (cue.begins, cue.ends)), "\n".join(cue.lines)


def _tsv(speeches: Sequence[RestoredSpeech], limits: CueLimits) -> str:
    """Whisper's columns; a row is a sentence. Of several recordings each row has the name as well."""
    has_names = len(speeches) > 1 and any(speech.speech.name for speech in speeches)
    rows = ["start\tend\ttext" + ("\tname" if has_names else "") + "\n"]
    for speech in speeches:
        name = f"\t{speech.speech.name}" if has_names else ""
        for sentence in speech.sentences:
            if sentence.begins is None or sentence.ends is None:
                raise ValueError("Expected speech with times for start and end, got none. Write txt or jsonl.")
            begins, ends = (round(time * 1000) for time in (sentence.begins, sentence.ends))
            rows.append(f"{begins}\t{ends}\t{sentence.shown}{name}\n")
    return "".join(rows)


def _json(speeches: Sequence[RestoredSpeech], limits: CueLimits) -> str:
    rows = [_row(speech) for speech in speeches] or [{"text": "", "words": [], "sentences": []}]
    return json.dumps(rows[0] if len(rows) == 1 else rows, ensure_ascii=False, indent=2) + "\n"


def _jsonl(speeches: Sequence[RestoredSpeech], limits: CueLimits) -> str:
    return "".join(json.dumps(_row(speech), ensure_ascii=False) + "\n" for speech in speeches)


def _row(restored: RestoredSpeech) -> dict[str, Any]:
    """One text as `--json` prints it.

    The words keep "start" and "end" as offsets in the original text, and get "begins" and "ends" in seconds where the
    file tells them.
    """
    speech, clock = restored.speech, Clock(restored.speech)
    words = [dict(word) for word in restored.words]
    for word in words if clock else ():
        word["begins"], word["ends"] = clock.between(word["start"], word["end"])
    named = {} if speech.name is None else {"name": speech.name}
    return {**named, "text": restored.text, "words": words, "sentences": [each.row() for each in restored.sentences]}


_WRITERS: dict[str, Callable[[Sequence[RestoredSpeech], CueLimits], str]] = {
    "txt": _txt,
    "srt": _srt,
    "vtt": _vtt,
    "tsv": _tsv,
    "json": _json,
    "jsonl": _jsonl,
}
WRITABLE = tuple(_WRITERS)
