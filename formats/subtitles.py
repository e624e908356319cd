"""Takes SubRip (SRT) or WebVTT text, gives its speech as one text with cue times, so that marks cross cue borders.

Files are edited in place: pysubs2 and webvtt-py rewrite indices, times, blank lines and settings, so neither gives a
file back byte for byte. It knows the two formats, and leaves what is visible in a cue to `cue_text`.
"""

import itertools
import re
from dataclasses import dataclass

from .cue_text import CueTextReader, VisibleLine
from .errors import FormatError
from .transcripts import SpeechBuilder, Transcript

_ARROW = "-->"
# SubRip's own times have hours and a comma; a point, or fewer than three digits, are seen in the wild and are clear.
_SRT_TIME = r"(\d{1,3}:[0-5]?\d:[0-5]?\d(?:[,.]\d{1,3})?)"
_SRT_TIMES = re.compile(rf"[ \t]*{_SRT_TIME}[ \t]*-->[ \t]*{_SRT_TIME}(?=[ \t]|$).*")
# https://www.w3.org/TR/webvtt1/#webvtt-timestamp: hours optional, milliseconds always three digits
_VTT_TIME = r"((?:\d{2,}:)?[0-5]\d:[0-5]\d\.\d{3})"
_VTT_TIMES = re.compile(rf"[ \t]*{_VTT_TIME}[ \t]*-->[ \t]*{_VTT_TIME}(?=[ \t]|$).*")
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r|$)")
_ROLLING_SHARE = 0.6  # of the cues repeat a line of the cue before, in captions that scroll up
_MIN_ROLLING = 3


@dataclass(slots=True)
class Cue:
    """One cue: its line in the file (from 1), its times in seconds, and where its text stands."""

    line: int
    begins: float
    ends: float
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Line:
    number: int
    start: int
    text: str  # without its line end


def read_srt(source: str) -> Transcript:
    """Read a SubRip file.

    Raises:
        FormatError: broken cue times, a cue that ends before it begins, or text before the first cue; with the line.
    """
    lines = _lines(source)
    cues: list[Cue] = []
    for n, line in enumerate(lines):
        if _ARROW in line.text:
            begins, ends = _times(line, _SRT_TIMES, "00:00:01,000 --> 00:00:02,500")
            cues.append(Cue(line.number, begins, ends, *_srt_body(lines, n)))
        elif not cues and line.text.strip() and not line.text.strip().isdigit():
            raise FormatError(
                f"Expected a cue's number or times, got {line.text.strip()!r:.60} before the first cue. Is it SRT?",
                line=line.number,
            )
        elif not cues and line.text.strip().isdigit() and not _is_followed_by_times(lines, n):
            raise FormatError(f"Expected cue times below the number {line.text.strip()}, got none.", line=line.number)
    return _transcript(source, "srt", cues)


def read_vtt(source: str) -> Transcript:
    """Read a WebVTT file. Comments, styles and regions stay as they are.

    Raises:
        FormatError: no WEBVTT at the start, broken cue times, or a cue that ends before it begins; with the line.
    """
    lines = _lines(source)
    if not re.match(r"\ufeff?WEBVTT(?:[ \t]|$)", lines[0].text):
        raise FormatError(f"Expected WEBVTT in the first line, got {lines[0].text!r:.60}. Is it WebVTT?", line=1)
    cues: list[Cue] = []
    block_start = True
    skipping = True  # the header, and NOTE, STYLE and REGION blocks, up to a blank line
    for n, line in enumerate(lines):
        if not line.text:  # a line with a blank in it does not end a cue; YouTube writes such lines
            block_start, skipping = True, False
            continue
        if block_start and n and not skipping:
            skipping = bool(re.match(r"(?:NOTE|STYLE|REGION)(?:[ \t]|$)", line.text))
        block_start = False
        if not skipping and _ARROW in line.text:
            begins, ends = _times(line, _VTT_TIMES, "00:00:01.000 --> 00:00:02.500")
            end = next(
                (m for m in range(n + 1, len(lines)) if not lines[m].text or _ARROW in lines[m].text), len(lines)
            )
            cues.append(Cue(line.number, begins, ends, *_span(lines, n + 1, end)))
    return _transcript(source, "vtt", cues)


def _lines(source: str) -> list[_Line]:
    lines: list[_Line] = []
    for match in _LINE.finditer(source):
        if match.group() or not lines:
            lines.append(_Line(len(lines) + 1, match.start(), match.group().rstrip("\r\n")))
    return lines


def _is_followed_by_times(lines: list[_Line], n: int) -> bool:
    return any(_ARROW in line.text for line in lines[n + 1 : n + 3])


def _srt_body(lines: list[_Line], times_at: int) -> tuple[int, int]:
    """Where a cue's text stands: up to the next cue's number and times, blank lines inside it included."""
    end = times_at + 1
    while end < len(lines) and _ARROW not in lines[end].text:
        end += 1
    if end < len(lines) and end - 1 > times_at and lines[end - 1].text.strip().isdigit():
        end -= 1
    return _span(lines, times_at + 1, end)


def _span(lines: list[_Line], first: int, end: int) -> tuple[int, int]:
    while end > first and not lines[end - 1].text.strip():
        end -= 1
    if first >= end:
        place = lines[first].start if first < len(lines) else lines[-1].start + len(lines[-1].text)
        return place, place
    return lines[first].start, lines[end - 1].start + len(lines[end - 1].text)


def _times(line: _Line, pattern: re.Pattern, example: str) -> tuple[float, float]:
    match = pattern.fullmatch(line.text)
    if match is None:
        raise FormatError(f"Expected cue times such as {example}, got {line.text.strip()!r:.80}.", line=line.number)
    begins, ends = (seconds_of(time) for time in match.groups())
    if ends < begins:
        raise FormatError(f"Expected a cue that ends after it begins, got {line.text.strip()!r:.80}.", line=line.number)
    return begins, ends


def seconds_of(time: str) -> float:
    """Seconds of `01:02:03,450`, `02:03.450` or `3.45`."""
    *larger, seconds = time.replace(",", ".").split(":")
    minutes = 0
    for part in larger:
        minutes = minutes * 60 + int(part)
    return round(minutes * 60 + float(seconds), 3)


def _transcript(source: str, cue_format: str, cues: list[Cue]) -> Transcript:
    reader = CueTextReader(cue_format)
    shown = [reader.read(source, cue.start, cue.end) for cue in cues]
    warnings = _warnings(source, cues)
    repeated = _repeated_lines(shown)
    builder = SpeechBuilder()
    places: list[tuple[int, int]] = []  # of the lines of the cue before, in the speech's text
    for cue, lines, n_repeated in zip(cues, shown, repeated, strict=True):
        before, places = places, []
        for line, place in zip(lines[:n_repeated], before[len(before) - n_repeated :], strict=True):
            builder.repeat([line.chunk], *place)
            places.append(place)
        first = builder.length
        for line in lines[n_repeated:]:
            builder.turn() if line.is_turn else builder.part()
            places.append(builder.say(line.chunk))
        builder.time(places[n_repeated][0] if len(places) > n_repeated else first, builder.length, cue.begins, cue.ends)
    speeches = [builder.build()] if builder.length else []
    return Transcript(source, cue_format, speeches, warnings)


def _warnings(source: str, cues: list[Cue]) -> list[str]:
    """Oddities that hinder nothing: cues that overlap or go back in time, and cues without text."""
    warnings = []
    for cue, following in itertools.pairwise(cues):
        if following.begins < cue.ends and following.begins < cue.begins:
            warnings.append(
                f"line {following.line}: the cue begins before the cue above it; they are read in this order"
            )
        elif following.begins < cue.ends:
            warnings.append(f"line {following.line}: the cue overlaps the cue above it")
    warnings += [f"line {cue.line}: the cue has no text" for cue in cues if not source[cue.start : cue.end].strip()]
    return sorted(warnings, key=lambda warning: int(warning.split(":")[0].split()[1]))


def _repeated_lines(shown: list[list[VisibleLine]]) -> list[int]:
    """For each cue, how many of its first lines repeat the last lines of the cue before.

    Captions that scroll up, as YouTube's, show each line again above the next. Elsewhere equal lines were said twice,
    so repetition counts only where most cues of a file have it and many add a line to it.
    """
    texts = [[line.chunk.text.strip() for line in lines] for lines in shown]
    repeated = [0] * len(texts)
    for n, (above, below) in enumerate(itertools.pairwise(texts), start=1):
        repeated[n] = next((k for k in range(min(len(above), len(below)), 0, -1) if above[-k:] == below[:k]), 0)
    n_pairs = sum(1 for above, below in itertools.pairwise(texts) if above and below)
    n_repeating = sum(1 for k in repeated if k)
    n_growing = sum(1 for lines, k in zip(texts, repeated, strict=True) if 0 < k < len(lines))
    is_rolling = n_growing >= max(2, n_repeating / 3) and n_repeating >= max(_MIN_ROLLING, _ROLLING_SHARE * n_pairs)
    return repeated if is_rolling else [0] * len(texts)
