"""Takes SubRip (SRT) or WebVTT text, gives its speech as one text with cue times, so that marks cross cue borders.

Files are edited in place: pysubs2 and webvtt-py rewrite indices, times, blank lines and settings, so neither gives a
file back byte for byte. It knows the two formats, and leaves what is visible in a cue to `cue_text`.
"""

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ..pipeline.speech import Line, Said, SpeechBuilder
from ..pipeline.unspoken import names_speakers
from .cue_text import read_lines, shown_text
from .file_text import LINE_END, FormatError, Transcript, line_of, n_line_ends

# SubRip's own times have hours and a comma; a point, or fewer than three digits, are seen in the wild and are clear.
_SRT_TIME = r"(\d{1,3}:[0-5]?\d:[0-5]?\d(?:[,.]\d{1,3})?)"
_SRT_TIMES = re.compile(rf"[ \t]*{_SRT_TIME}[ \t]*-->[ \t]*{_SRT_TIME}(?=[ \t]|$).*")
# https://www.w3.org/TR/webvtt1/#webvtt-timestamp: hours optional, milliseconds always three digits
_VTT_TIME = r"((?:\d{2,}:)?[0-5]\d:[0-5]\d\.\d{3})"
_VTT_TIMES = re.compile(rf"[ \t]*{_VTT_TIME}[ \t]*-->[ \t]*{_VTT_TIME}(?=[ \t]|$).*")
_SRT_EXAMPLE, _VTT_EXAMPLE = "00:00:01,000 --> 00:00:02,500", "00:00:01.000 --> 00:00:02.500"
_LINE = re.compile(r"[^\r\n]+")
_BLOCK = re.compile(r"(?:[^\r\n]+(?:\r\n|\n|\r|$))+")  # lines up to an empty one
_NUMBER_ABOVE = re.compile(r"(?:^|[\r\n])[ \t]*(\d+)[ \t]*(?:\r\n|\n|\r)$")
_FIRST_IN_BLOCK = re.compile(r"(?:^\ufeff?|\n\r?\n|\r\r)[ \t]*\d+[ \t]*(?:\r\n|\n|\r)$")
# What was meant to be cue times: two times with another sign between them, or a time below a number of its own.
_DAMAGED_TIMES = re.compile(
    r"^[ \t]*\d+:\d+(?::\d+|[.,]\d{3})[\d:.,]*[^\w\r\n]{1,6}\d+:\d+.*$"
    r"|(?:(?<=\n\n)|(?<=\n\r\n))[ \t]*\d+[ \t]*\r?\n[ \t]*\d+:\d+:\d+.*$",
    re.MULTILINE,
)
_TIME_LIKE = re.compile(r"\d:\d|\d[.,]\d{3}|^[ \t]*-->|-->[ \t]*$")
_HIGHLIGHT = re.compile(r"<(u|b|font|c)(?:[ .][^<>\n]*+)?+>([^<>\n]*+)</\1>")
_ROLLING_SHARE = 0.6  # of the cues repeat a line of the cue before, in captions that scroll up
_MIN_ROLLING = 3
_N_LOOKED_AT = 1000  # cues that show whether a file's captions scroll


@dataclass(frozen=True, slots=True)
class Cue:
    """One cue: where its line of times stands in the file, the times in seconds, and where its text stands."""

    place: int
    begins: float
    ends: float
    start: int
    end: int


def read_srt(source: str) -> Transcript:
    """Read a SubRip file.

    Raises:
        FormatError: broken or missing cue times, a cue that ends before it begins, or text before the first cue; with
            the line.
    """
    return _transcript(source, "srt", _srt_cues(source))


def read_vtt(source: str) -> Transcript:
    """Read a WebVTT file. Comments, styles and regions stay as they are.

    Raises:
        FormatError: no WEBVTT at the start, broken cue times, or a cue that ends before it begins; with the line.
    """
    first = LINE_END.split(source, maxsplit=1)[0]
    if not re.match(r"\ufeff?WEBVTT(?:[ \t]|$)", first):
        raise FormatError(f"Expected WEBVTT in the first line, got {first!r:.60}. Is it WebVTT?", line=1)
    return _transcript(source, "vtt", _vtt_cues(source))


def _srt_cues(source: str) -> Iterator[Cue]:
    """A cue's text goes on up to the next cue's number and times, blank lines inside it included."""
    arrows = (match for match in _arrow_lines(source, 0, len(source)) if _is_times_line(source, match))
    times = next(arrows, None)
    _check_head(source, times.start() if times else len(source))
    number = _number_above(source, 0, times.start()) if times else None
    while times is not None:
        following = next(arrows, None)
        seconds = _times(times, _SRT_TIMES, _SRT_EXAMPLE)
        start = _after_line_end(source, times.end())
        end = following.start() if following else len(source)
        next_number = _number_above(source, start, end) if following else None
        _check_body(source, start, end, number, next_number)
        yield Cue(times.start(), *seconds, start, next_number.start() if next_number else end)
        times, number = following, next_number


def _arrow_lines(source: str, start: int, end: int) -> Iterator[re.Match[str]]:
    """The lines with an arrow in them."""
    return (line for line in _LINE.finditer(source, start, end) if "-->" in line.group())


def _is_times_line(source: str, line: re.Match[str]) -> bool:
    """An arrow may also be said: `it goes a --> b`. Broken times still look like times, or stand below a number."""
    if _TIME_LIKE.search(line.group()):
        return True
    return _FIRST_IN_BLOCK.search(source, max(0, line.start() - 40), line.start()) is not None


def _number_above(source: str, start: int, end: int) -> re.Match[str] | None:
    """The line with nothing but a number that ends at `end`, if there is one behind `start`."""
    return _NUMBER_ABOVE.search(source, max(start, end - 40), end)


def _check_head(source: str, end: int) -> None:
    """Before the first cue's times, only its number may stand."""
    lines = [match for match in _LINE.finditer(source, 0, end) if match.group().strip("\ufeff \t")]
    for n, line in enumerate(lines, 1):
        text, number = line.group().strip("\ufeff \t"), line_of(source, line.start())
        if not text.isdigit():
            problem = f"Expected a cue's number or times, got {text!r:.60} before the first cue. Is it SRT?"
            raise FormatError(problem, line=number)
        if n < len(lines) or end == len(source):
            raise FormatError(f"Expected cue times below the number {text}, got none.", line=number)


def _check_body(
    source: str, start: int, end: int, number: re.Match[str] | None, following: re.Match[str] | None
) -> None:
    """Refuse text in which the times of another cue stand in ruins, or are missing."""
    _refuse_damaged(source, start, end, _SRT_EXAMPLE)
    if number and following and int(following[1]) == int(number[1]) + 2:
        between = re.compile(rf"^[ \t]*\r?\n[ \t]*({int(number[1]) + 1})[ \t]*$", re.MULTILINE)
        if missing := between.search(source, start, end):
            problem = f"Expected cue times below the number {missing[1]}, got none."
            raise FormatError(problem, line=line_of(source, missing.start(1)))


def _refuse_damaged(source: str, start: int, end: int, example: str) -> None:
    if damaged := _DAMAGED_TIMES.search(source[start:end]):
        shown = damaged.group().splitlines()[-1].strip()
        line = line_of(source, start + damaged.end() - len(shown))
        raise FormatError(f"Expected cue times such as {example}, got {shown!r:.80}.", line=line)


def _vtt_cues(source: str) -> Iterator[Cue]:
    for block in _BLOCK.finditer(source):
        if re.match(r"(?:NOTE|STYLE|REGION)(?:[ \t\r\n]|$)", block.group()):
            continue
        arrows = list(_arrow_lines(source, block.start(), block.end()))
        if not arrows:
            _refuse_damaged(source, block.start(), block.end(), _VTT_EXAMPLE)
        ends_of_text = [*(times.start() for times in arrows[1:]), block.end()]
        for times, end in zip(arrows, ends_of_text, strict=False):
            seconds = _times(times, _VTT_TIMES, _VTT_EXAMPLE)
            yield Cue(times.start(), *seconds, _after_line_end(source, times.end()), end)


def _after_line_end(source: str, place: int) -> int:
    match = LINE_END.match(source, place)
    return match.end() if match else place


def _times(line: re.Match[str], pattern: re.Pattern[str], example: str) -> tuple[float, float]:
    match = pattern.fullmatch(line.group())
    begins, ends = map(_seconds, match.groups()) if match else (0.0, -1.0)
    if ends < begins:
        wanted = "a cue that ends after it begins" if match else f"cue times such as {example}"
        number = line_of(line.string, line.start())
        raise FormatError(f"Expected {wanted}, got {line.group().strip()!r:.80}.", line=number)
    return begins, ends


def _seconds(time: str) -> float:
    """Of `01:02:03,450` or `02:03.450`."""
    parts = reversed(time.replace(",", ".").split(":"))
    return round(sum(60**power * float(part) for power, part in enumerate(parts)), 3)


def _transcript(source: str, cue_format: str, cues: Iterator[Cue]) -> Transcript:
    shown = ((cue, shown_text(cue_format, source, cue.start, cue.end)) for cue in cues)
    first = list(itertools.islice(shown, _N_LOOKED_AT))
    are_named = names_speakers((line for _, text in first for line in text.text.splitlines()[:1]), are_cues=True)
    read = [(cue, read_lines(text, are_named)) for cue, text in first]
    rest = ((cue, read_lines(text, are_named)) for cue, text in shown)
    track = _CueTrack(source, scrolls=_scrolls([_texts(lines) for _, lines in read]))
    warnings: list[str] = []
    line_number, counted_to = 1, 0
    before: Cue | None = None
    for cue, lines in itertools.chain(read, rest):
        for warning in _warnings(source, before, cue):
            line_number, counted_to = line_number + n_line_ends(source, counted_to, cue.place), cue.place
            warnings.append(f"line {line_number}: {warning}")
        track.add(cue, lines)
        before = cue
    speeches = [track.builder.build()] if track.builder.length else []
    return Transcript(source, cue_format, speeches, warnings)


class _CueTrack:
    """Puts cues together, one after another; what a cue repeats of the one above it is a copy."""

    def __init__(self, source: str, scrolls: bool) -> None:
        self.source, self.scrolls = source, scrolls
        self.builder = SpeechBuilder()
        self.above = ""  # the cue above
        self.lines: list[Line] = []  # of the cue above
        self.said: list[Said] = []  # those of them in which something is said

    def add(self, cue: Cue, lines: list[Line]) -> None:
        """Add the next cue."""
        speech, texts, texts_above = self.builder.speech, _texts(lines), _texts(self.lines)
        source = self.source[cue.start : cue.end].strip()
        is_copy = bool(texts) and texts == texts_above and _is_highlighted(source, self.above)
        n_repeated = len(texts) if is_copy else _n_repeated(texts_above, texts) if self.scrolls else 0
        shown_above = [line.text.strip() for line in self.lines] if self.scrolls or is_copy else []
        above, self.said = self.said[len(texts_above) - n_repeated :], []
        self.above, self.lines = source, lines
        if not texts and not any(one.name for line in lines for one in line.hidden):
            shown = [_sound(line) for line in lines if line.text.strip() not in shown_above]
            if sound := " ".join(filter(None, shown)):
                speech.sounds.append((cue.begins, cue.ends, sound))
            return
        begins_at = self.builder.length
        for line in lines:
            is_said = bool(_texts([line]))
            if is_said and len(self.said) < n_repeated:
                self.said.append(above[len(self.said)])
                self.builder.repeat([line], self.said[-1:])
            elif is_said or line.text.strip() not in shown_above:
                n_asides = len(speech.asides)
                said = self.builder.say(line)
                if is_said:
                    self.said.append(said)
                elif self.said:  # what is shown below the last words of a cue stays with them
                    speech.asides[n_asides:] = [aside._replace(leads=False) for aside in speech.asides[n_asides:]]
        if is_copy and speech.spans:
            speech.spans[-1] = speech.spans[-1]._replace(time=(speech.spans[-1].time[0], cue.ends))
        self.builder.time((begins_at, self.builder.length), cue.begins, cue.ends)


def _is_highlighted(source: str, above: str) -> bool:
    """Whether only the marked word differs from the cue above, as `--highlight_words` of Whisper has it."""
    found = [(text, match) for text in (source, above) for match in _HIGHLIGHT.finditer(text)]
    return source != above and any(match[1] == "u" or match.group() != text for text, match in found)


def _warnings(source: str, before: Cue | None, cue: Cue) -> Iterator[str]:
    """Oddities that hinder nothing: cues that overlap or go back in time, and cues without text."""
    if before and cue.begins < before.ends and cue.begins < before.begins:
        yield "the cue begins before the cue above it; they are read in this order"
    elif before and cue.begins < before.ends:
        yield "the cue overlaps the cue above it"
    if not source[cue.start : cue.end].strip():
        yield "the cue has no text"


def _texts(lines: list[Line]) -> list[str]:
    """What is said in lines, where something is."""
    return [said for line in lines if (said := " ".join(line.spoken.split()))]


def _sound(line: Line) -> str:
    """What a line shows that is neither a name nor a tag."""
    return " ".join(line.text[one.start : one.end].strip() for one in line.hidden if one.kind == "sound")


def _n_repeated(above: list[str], below: list[str]) -> int:
    """How many of a cue's first lines repeat the last lines of the cue above it."""
    return next((k for k in range(min(len(above), len(below)), 0, -1) if above[-k:] == below[:k]), 0)


def _scrolls(texts: list[list[str]]) -> bool:
    """Whether lines are repeated because captions scroll up.

    Captions that scroll, as YouTube's, show each line again above the next. Elsewhere equal lines were said twice,
    so repetition counts only where most cues of a file have it and many add a line to it.
    """
    pairs = [(above, below, _n_repeated(above, below)) for above, below in itertools.pairwise(texts)]
    n_pairs = sum(1 for above, below, _ in pairs if above and below)
    n_repeating = sum(1 for *_, k in pairs if k)
    n_growing = sum(1 for _, below, k in pairs if 0 < k < len(below))
    return n_growing >= max(2, n_repeating / 3) and n_repeating >= max(_MIN_ROLLING, _ROLLING_SHARE * n_pairs)
