"""Where recognisers keep what was said, when, and by whom: to teach another one, add a row.

A path leads through keys, attributes and numbers: `results.channels.0`. It knows nothing of what is done with it.
"""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..pipeline.items import as_list, as_seconds


class Listed(NamedTuple):
    """A list of what was said."""

    path: str
    holds: str  # "segments" or "words"
    unit: float = 1.0  # seconds that the numbers of its times count
    beside: str = ""  # a key without which it is another program's
    each: str = ""  # a key without which an entry says nothing


class Moments(NamedTuple):
    """When a segment or word was said: its start, and its end or how long it lasts."""

    start: str
    end: str
    unit: float = 1.0
    lasts: bool = False


class Aligned(NamedTuple):
    """Times in a list of their own, one for each token: starts, or pairs of start and end."""

    times: str
    tokens: str = (
        ""  # words, or pieces that join to the text; "": words between blanks, or Han characters
    )
    unit: float = 1.0


# Where the transcript is; a star stands for each channel of a recording.
ROOTS = (
    "NBest.0",  # Azure: SDK
    "",
    "results.channels.*.alternatives.0",  # Deepgram
    "results",  # AWS, Speechmatics
    "result.transcription",  # Gladia
    "result",
    "transcription",
    "transcripts.*",  # DashScope
    "Result",  # Aliyun
)
# Richest first.
LISTS = (
    Listed("segments", "segments", 0.001, beside="resp_type"),  # Huawei
    Listed("segments", "segments"),  # Whisper, WhisperX, faster-whisper, OpenAI, SenseVoice
    Listed("transcription", "segments"),  # whisper.cpp
    Listed("sentence_info", "segments", 0.001),  # FunASR
    Listed("utterances", "segments", 0.001, beside="audio_duration"),  # AssemblyAI
    Listed("utterances", "segments", 0.001, beside="additions"),  # Volcengine
    Listed("result.0.utterances", "segments", 0.001),
    Listed("utterances", "segments"),  # Deepgram, Gladia, Smallest
    Listed("sentences", "segments", 0.001, beside="audio_duration"),
    Listed("monologues", "segments"),  # Rev
    Listed("recognizedPhrases", "segments"),  # Azure: batch
    Listed("phrases", "segments"),  # Azure: fast
    Listed("events", "segments", each="segs"),  # YouTube's json3
    Listed("results", "segments"),  # Google, Watson, Riva
    Listed("ResultDetail", "segments"),  # Tencent
    Listed("Transcript", "segments"),  # Amazon Connect
    Listed("Sentences", "segments"),  # Aliyun
    Listed("sentences", "segments"),  # our own
    Listed("chunks", "words"),  # transformers
    Listed("timestamp.word", "words"),  # NeMo
    Listed("timestep.word", "words"),
    Listed("result", "words"),  # Vosk
    Listed("words", "words", 0.001, beside="audio_duration"),
    Listed("words", "words"),
    Listed("Words", "words"),  # Azure: SDK
    Listed("word_segments", "words"),  # WhisperX
    Listed("items", "words"),  # AWS
    Listed("timestamp.segment", "segments"),  # NeMo
    Listed("timestep.segment", "segments"),
)
INNER_WORDS = (
    "words", "tokens", "elements", "segs", "alternatives.0.words", "nBest.0.words", "Words", "result.word_info",
)  # fmt: skip
TEXTS = (
    "pred_text", "text", "sentence", "transcript", "transcription", "transcripts.0.transcript", "full_transcript",
    "Lexical", "DisplayText", "combinedRecognizedPhrases.0.lexical", "combinedPhrases.0.text",
)  # fmt: skip
PART_TEXTS = (
    "punctuated_word", "word", "text", "segment", "sentence", "transcript", "value", "content", "utf8", "Word",
    "alternatives.0.transcript", "alternatives.0.content", "nBest.0.lexical", "FinalSentence", "Text", "Content",
    "result.text", "body",
)  # fmt: skip
TIMES = (
    Moments("start", "end"),
    Moments("start", "duration", lasts=True),  # youtube-transcript-api
    Moments("start", "dur", lasts=True),
    Moments("start_time", "end_time"),  # NeMo, AWS, Speechmatics
    Moments("start_time", "duration", lasts=True),
    Moments("startTime", "endTime"),  # Google, podcasts
    Moments("startTime", "duration", lasts=True),
    Moments("startOffset", "endOffset"),  # Google, version 2
    Moments("timestamp.0", "timestamp.1"),  # transformers
    Moments("offsets.from", "offsets.to", 0.001),  # whisper.cpp
    Moments("timestamps.from", "timestamps.to"),
    Moments("begins", "ends"),  # our own
    Moments("begin", "end"),
    Moments("ts", "end_ts"),  # Rev
    Moments("start_ms", "end_ms", 0.001),
    Moments("start_sec", "end_sec"),  # Leopard
    Moments("startSec", "endSec"),
    Moments("begin_time", "end_time", 0.001),  # DashScope
    Moments("BeginTime", "EndTime", 0.001),  # Aliyun
    Moments("StartMs", "EndMs", 0.001),  # Tencent
    Moments("BeginOffsetMillis", "EndOffsetMillis", 0.001),  # Amazon Connect
    Moments("offsetInTicks", "durationInTicks", 1e-7, lasts=True),  # Azure, in 100 ns
    Moments("Offset", "Duration", 1e-7, lasts=True),
    Moments("offsetMilliseconds", "durationMilliseconds", 0.001, lasts=True),
    Moments("offset", "duration", lasts=True),
    Moments("tStartMs", "dDurationMs", 0.001, lasts=True),  # YouTube
)
# Words with these keys count from the start of their segment.
AFTER_SEGMENT = {
    "utf8": Moments("tOffsetMs", "", 0.001),  # YouTube
    "OffsetStartMs": Moments("OffsetStartMs", "OffsetEndMs", 0.001),  # Tencent
}
ALIGNED = (
    Aligned("timestamps", "tokens"),  # sherpa-onnx
    Aligned("timestamp", "words", 0.001),  # FunASR
    Aligned("timestamp", "", 0.001),
)
SPEAKERS = (
    "speaker", "speaker_label", "speaker_id", "speakerTag", "speaker_tag", "speakerLabel", "spk", "SpeakerId",
    "ParticipantId",
)  # fmt: skip
NAMES = ("id", "audio_filepath", "name", "key")
# Where one of these is empty, nothing was heard.
_MAY_BE_EMPTY = ("text", "word", "transcript", "alternatives", "nBest")
_EMPTY: tuple[Any, ...] = (None, "", [], [{}])
OTHER_READINGS = {"alternatives", "NBest", "nBest"}  # of the same words: all entries but the first
# Keys that say more of what is read already, or another thing than it seems.
NOT_MISSED = {
    "start_offset",
    "end_offset",
    "end_of_turn",
    "timestamp",
    "timestep",
    "timestamps",
    "offsets",
    "duration",
}
KNOWN_KEYS = {path.split(".")[0] for row in (*TIMES, *AFTER_SEGMENT.values()) for path in row[:2]}
KNOWN_KEYS |= {*SPEAKERS, *NOT_MISSED}
LOOK_LIKE = {
    "times": {
        "start",
        "begin",
        "end",
        "stop",
        "time",
        "times",
        "timestamp",
        "timestamps",
        "offset",
        "offsets",
    },
    "speakers": {"speaker", "spk", "talker"},
}
_TEXT_KEYS = {path.split(".")[-1] for path in (*TEXTS, *PART_TEXTS)} - {
    "value",
    "content",
    "Content",
    "DisplayText",
}
ATTRIBUTES = (
    "text",
    "segments",
    "word",
    "words",
    "transcript",
)  # any of these makes an object a part of what was said
_CLOCK = re.compile(r"(?:(?:(\d+):)?(\d+):)?(\d+(?:[.,]\d+)?)[sS]?")  # 1:02:03.5, 0.5s
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_DURATION = re.compile(
    r"PT(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:[.,]\d+)?)S)?"
)  # of ISO 8601: PT2M3.5S


@dataclass(frozen=True, slots=True)
class Part:
    """A value inside what a recogniser gave, and the way to it."""

    value: Any
    way: tuple[str | int, ...] = ()

    def at(self, path: str) -> "Part | None":
        """What stands under a path; None where there is nothing."""
        value, way = self.value, self.way
        for name in filter(None, path.split(".")):
            step: str | int = int(name) if name.isdigit() else name
            if isinstance(step, int):
                values = as_list(value)
                value = values[step] if values is not None and step < len(values) else None
            else:
                value = (
                    value.get(step) if isinstance(value, Mapping) else getattr(value, step, None)
                )
            way = (*way, step)
            if value is None or callable(value):
                return None
        return Part(value, way)

    def all(self, path: str) -> "list[Part]":
        """What stands under a path in which a star stands for every entry of a list."""
        before, star, after = path.partition(".*")
        found = self.at(before)
        parts = (found.parts() or [] if star else [found]) if found else []
        return [one for part in parts if (one := part.at(after.removeprefix(".")))]

    def texts(self) -> "Iterator[Part]":
        """Every string in it of several words, under a key that holds what was said."""
        if isinstance(self.value, Mapping):
            for key, value in self.value.items():
                if isinstance(value, Mapping | list | tuple):
                    yield from Part(value, (*self.way, key)).texts()
                elif isinstance(value, str) and key in _TEXT_KEYS and len(value.split()) > 1:
                    yield Part(value, (*self.way, key))
        elif isinstance(self.value, list | tuple):
            for n, value in enumerate(
                self.value[:1] if {*self.way[-1:]} & OTHER_READINGS else self.value
            ):
                if isinstance(value, Mapping | list | tuple):  # there may be many numbers
                    yield from Part(value, (*self.way, n)).texts()

    def parts(self) -> "list[Part] | None":
        """The entries of a list or an array; None for another value."""
        values = as_list(self.value)
        return (
            None
            if values is None
            else [Part(value, (*self.way, n)) for n, value in enumerate(values)]
        )

    def strings(self, paths: Sequence[str] = TEXTS) -> "Iterator[Part]":
        """The strings under these paths, by default the texts of a transcript."""
        return (
            one for one in map(self.at, paths) if one is not None and isinstance(one.value, str)
        )

    def said(self) -> "Part | None":
        """The text of a segment or word, which may be it itself."""
        return self if isinstance(self.value, str) else next(self.strings(PART_TEXTS), None)

    def says(self) -> bool:
        """Whether it is a dictionary, or an object of which something was said."""
        return isinstance(self.value, Mapping) or any(self.at(name) for name in ATTRIBUTES)

    def is_silent(self) -> bool:
        """Whether it is an entry in which nothing was heard."""
        return isinstance(self.value, Mapping) and any(
            self.value.get(key, 0) in _EMPTY for key in _MAY_BE_EMPTY
        )

    def heard_nothing(self) -> bool:
        """Whether this transcript has an empty list, or a text that is null and no other."""
        lists = (
            at
            for path in ROOTS
            for one in self.all(path)
            for row in LISTS
            if (at := one.at(row.path))
        )
        values = self.value if isinstance(self.value, Mapping) else {}
        is_null = any(values.get(key, "") is None for key in TEXTS)
        has_other = any(isinstance(one, str) and " " in one.strip() for one in values.values())
        return (is_null and not has_other) or any(at.parts() == [] for at in lists)

    def lists(self) -> "list[tuple[Listed, list[Part]]]":
        """The lists of a transcript that have something in them, richest first."""
        rows: dict[str, tuple[Listed, list[Part]]] = {}
        for row in LISTS:
            found = self.at(row.path)
            parts = found.parts() if found else []
            if found and parts is None and row.path in ("segments", "chunks", "words"):
                raise self.fault(
                    f"Expected a list under {row.path!r}, got {found.value!r:.60}. Put one there."
                )
            parts = [part for part in parts or [] if not row.each or part.at(row.each)]
            if (
                not parts or (row.beside and not self.at(row.beside)) or parts[0].at("mark")
            ):  # our own output's
                continue
            if parts[0].says() or (row.path == "words" and isinstance(parts[0].value, str)):
                rows.setdefault(row.path, (row, parts))
        return list(rows.values())

    def inner_words(self) -> "list[Part]":
        """The words of a segment; numbers of tokens are none."""
        for key in INNER_WORDS:
            found = self.at(key)
            words = found.parts() if found else []
            if words and all(word.said() for word in words):
                return words
            if found and key == "words" and (words or words is None):
                raise self.fault(
                    f"Expected a list of words under 'words', got {found.value!r:.60}. Put one there."
                )
        return []

    def speaker(self) -> Any:
        """Who speaks; None where nobody tells."""
        told = (found.value for found in map(self.at, SPEAKERS) if found)
        return next(
            (one for one in told if isinstance(one, str | int | float) and str(one).strip()), None
        )

    def begins(self) -> bool:
        """Whether it says when it begins, in a recording: a date says when that was made."""
        starts = (start.value for row in TIMES if (start := self.at(row.start)))
        return any(as_list(start) is None and not _DATE.match(str(start)) for start in starts)

    def moments(self, unit: float) -> tuple[float | None, float | None] | None:
        """When it was said, in seconds: start and end, None where one is not known; None where it has no times."""
        whole = (row for row in TIMES if self.at(row.start) and self.at(row.end))
        starts, ends = (
            (row for row in TIMES if self.at(row.start)),
            (row for row in TIMES if self.at(row.end)),
        )
        if row := next(
            itertools.chain(whole, starts, ends), None
        ):  # start_time and begin_time both have an end_time
            first, last = (self.seconds(self.at(path), unit * row.unit) for path in row[:2])
            if row.lasts and first is not None and last is not None:
                last = round(first + last, 6)
            return first, last
        pair = self.at("timestamp")
        if (
            pair
            and not isinstance(pair.value, Mapping)
            and [part.value for part in pair.parts() or ()] != [None, None]
        ):
            raise self.fault(
                f'Expected a "timestamp": [start, end], got {pair.value!r:.60}. Write one, or none.'
            )
        return None

    def seconds(self, moment: "Part | None", unit: float) -> float | None:
        """A moment inside it."""
        try:
            return None if moment is None else seconds(moment.value, unit)
        except ValueError as error:
            raise self.fault(str(error)) from error

    def fault(self, problem: str) -> ValueError:
        """The error that names the place of a value."""
        place = "".join(
            f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.way
        ).lstrip(".")
        return ValueError(f"{place}: {problem}" if place else problem)


def seconds(value: Any, unit: float = 1.0) -> float | None:
    """A number of any kind, or a time as text, in seconds; None where it is unknown, a ValueError for all else."""
    value = value.item() if hasattr(value, "item") else value
    value = int(value) if isinstance(value, str) and value.strip().isdecimal() else value
    if isinstance(value, str) and (
        found := _DURATION.fullmatch(value.strip()) or _CLOCK.fullmatch(value.strip())
    ):
        hours, minutes, rest = (float((part or "0").replace(",", ".")) for part in found.groups())
        in_seconds = found.re is _DURATION or found[2]
        return round(hours * 3600 + minutes * 60 + rest if in_seconds else rest * unit, 6)
    number = as_seconds(value)
    is_whole = isinstance(number, int) and unit == 1
    return number if number is None or is_whole else round(float(number) * unit, 6)
