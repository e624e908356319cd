"""Takes SubRip (SRT) or WebVTT text, gives its speech as one text with cue times, so that marks cross cue borders.

    {\\an8}- <i>hello there</i><br>yes     ->  - hello there
                                             yes

Files are edited in place: pysubs2 and webvtt-py rewrite indices, times, blank lines and settings, so neither gives a
file back byte for byte. What is shown in a cue and not said, `unspoken` finds.
"""

import html
import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import regex

from ..pipeline.conventions import known_marks
from ..pipeline.unspoken import ENTITY, Hidden, Names, decoded, find_hidden, find_names
from .file_text import LINE_END, FormatError, Transcript, line_of
from .layouts import seconds
from .speech import Line, Run, SpeechBuilder, are_unspaced

# SubRip writes `00:00:01,000`, WebVTT `00:01.000` (https://www.w3.org/TR/webvtt1/#webvtt-timestamp). Both signs, times
# without hours, and fewer or more digits are seen in the wild, and are clear.
_TIME = r"((?:\d+:)?[0-5]?\d:[0-5]?\d(?:[,.]\d{1,9})?)"
_TIMES = re.compile(rf"[ \t]*{_TIME}[ \t]*-->[ \t]*{_TIME}(?=[ \t]|$).*")
_SRT_EXAMPLE, _VTT_EXAMPLE = "00:00:01,000 --> 00:00:02,500", "00:00:01.000 --> 00:00:02.500"
_LINE = re.compile(r"([^\r\n]+)(?:\r\n|\n|\r)?")
_BLOCK = re.compile(
    r"(?:[^\r\n]+(?:\r{0,2}\n|\r|$))+"
)  # lines up to an empty one; `\r\r\n` is an end converted twice
_NUMBER_ABOVE = re.compile(r"(?:^|[\r\n])[ \t]*(\d+)[ \t]*(?:\r\n|\n|\r)\Z")
_FIRST_IN_BLOCK = re.compile(r"(?:^\ufeff?|\n\r?\n|\r\r)[ \t]*\d+[ \t]*(?:\r\n|\n|\r)\Z")
_NUMBER_APART = re.compile(
    r"(?:^\ufeff?|\n\r?\n|\r\r\n?)[ \t]*(\d+)\s*\Z"
)  # with empty lines above and below
# What was meant to be cue times: two times with another sign between them, or a time below a number of its own.
_DAMAGED_TIMES = re.compile(
    r"^[ \t]*\d++:\d++(?::\d++|[.,]\d{3})[\d:.,]*[^\w\r\n]{1,6}\d+:\d+.*$"
    r"|(?:(?<=\n\n)|(?<=\n\r\n))[ \t]*\d+[ \t]*\r?\n[ \t]*\d+:\d+:\d+.*$",
    re.MULTILINE,
)
_TIME_LIKE = re.compile(r"\d:\d|\d[.,]\d{3}|^[ \t]*-->|-->[ \t]*$")

# SubRip has no standard; "<" may be a plain sign there, so only tags that players know are tags.
_OVERRIDE = r"\{\\[^{}\n]*+\}"  # of SubStation Alpha: `{\an8}`
_SRT_TAG = (
    r"(?i:</?+(?:i|b|u|s|em|strong|font|span|c|v|ruby|rt|lang|p|a|div|center|strike|del|small|big|sub|sup)\b[^<>\n]*+>)"
    r"|<(?:\d++:)?+\d\d:\d\d\.\d{3}>"
    rf"|{_OVERRIDE}|\{{/?+[ibuyYcCfFsSpP](?::[^{{}}\n]*+)?+\}}"
)
_SHOWN_LINE_END = r"<[bB][rR][ \t]*+/?+>|\\N|\r\n|\r"
_MARKUP = {
    name: regex.compile(rf"(?P<end>{_SHOWN_LINE_END})|(?P<tag>{tag})|(?P<entity>{ENTITY})|\Z")
    for name, tag in (("srt", _SRT_TAG), ("vtt", rf"<[^<>\n]*+>|{_OVERRIDE}"))
}
_VOICE = regex.compile(
    r"<v(?:\.[^\s<>]*+)?+[ \t]++([^<>]*[^<>\s])[ \t]*+>"
)  # of WebVTT: `<v.loud Mary Lee>`
_SHOWN_LINE = regex.compile(r"[^\n]*+\n|[^\n]++")
_HIGHLIGHT = re.compile(r"<(u|b|font|c)(?:[ .][^<>\n]*+)?+>([^<>\n]*+)</\1>")

_MARKS = "".join(known_marks(",.?!"))
_ROLLING_SHARE = 0.6  # of the cues repeat a line of the cue before, in captions that scroll up
_MIN_ROLLING = 3
_N_LOOKED_AT = (
    1000  # cues that show whether a file's captions scroll, and whether they name speakers
)


class Cue(NamedTuple):
    """One cue: where its line of times stands in the file, the times in seconds, and where its text stands."""

    times_at: int
    begins: float
    ends: float
    start: int
    end: int


def read_srt(source: str) -> Transcript:
    """Read a SubRip file; a `FormatError` names the line of what is broken."""
    return _transcript(source, "srt", _srt_cues(source))


def read_vtt(source: str) -> Transcript:
    """Read a WebVTT file; a `FormatError` names the line of what is broken. Comments, styles and regions stay."""
    first = LINE_END.split(source, maxsplit=1)[0]
    if not re.match(r"\ufeff?WEBVTT(?:[ \t]|$)", first):
        raise FormatError(
            f"Expected WEBVTT in the first line, got {first!r:.60}. Is it WebVTT?", line=1
        )
    return _transcript(source, "vtt", _vtt_cues(source))


def _srt_cues(source: str) -> Iterator[Cue]:
    """A cue's text goes on up to the next cue's number and times, blank lines inside it included."""
    arrows: Iterator[re.Match[str] | None] = itertools.chain(
        _arrow_lines(source, 0, len(source)), [None]
    )
    times = number = None
    for following in arrows:
        # An arrow may also be said: `it goes a --> b`. Broken times still look like times, or stand below a number.
        start, end = times.end() if times else 0, following.start() if following else len(source)
        near = max(0, end - 40)
        if following and not (
            _TIME_LIKE.search(following[1]) or _FIRST_IN_BLOCK.search(source, near, end)
        ):
            continue
        next_number = _NUMBER_ABOVE.search(source, max(start, near), end) if following else None
        if (
            following and not next_number and (number or not times)
        ):  # of cues without numbers it may be said
            next_number = _NUMBER_APART.search(source, max(start, near), end)
        if number and not following:  # a file may break off below a number
            next_number = re.compile(rf"(?<=\n)\r*\n[ \t]*({int(number[1]) + 1})\s*\Z").search(
                source, start
            )
        if times is None:
            _check_head(source, end)
        else:
            begins, ends = _times(times, _SRT_EXAMPLE)
            _check_body(source, start, end, number, next_number)
            yield Cue(
                times.start(), begins, ends, start, next_number.start() if next_number else end
            )
        times, number = following, next_number


def _arrow_lines(source: str, start: int, end: int) -> Iterator[re.Match[str]]:
    return (line for line in _LINE.finditer(source, start, end) if "-->" in line[1])


def _check_head(source: str, end: int) -> None:
    """Before the first cue's times, only its number may stand."""
    lines = [line for line in _LINE.finditer(source, 0, end) if line[1].strip("\ufeff \t")]
    for n, line in enumerate(lines, 1):
        text, number = line[1].strip("\ufeff \t"), line_of(source, line.start())
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
            yield Cue(times.start(), *_times(times, _VTT_EXAMPLE), times.end(), end)


def _times(line: re.Match[str], example: str) -> tuple[float, float]:
    match = _TIMES.fullmatch(line[1])
    begins, ends = (seconds(time) or 0.0 for time in match.groups()) if match else (0.0, -1.0)
    if ends < begins:
        wanted = "a cue that ends after it begins" if match else f"cue times such as {example}"
        number = line_of(line.string, line.start())
        raise FormatError(f"Expected {wanted}, got {line[1].strip()!r:.80}.", line=number)
    return begins, ends


def _transcript(source: str, cue_format: str, cues: Iterator[Cue]) -> Transcript:
    shown = ((cue, _shown_text(cue_format, source, cue)) for cue in cues)
    first = list(itertools.islice(shown, _N_LOOKED_AT))
    names = find_names((text.text for _, text in first), are_cues=True)
    read = [(cue, _lines(text, names)) for cue, text in first]
    rest = ((cue, _lines(text, names)) for cue, text in shown)
    track = _CueTrack(_scrolls([_texts(lines) for _, lines in read]))
    warnings: list[str] = []
    line_number, before = 1, Cue(0, 0.0, 0.0, 0, 0)
    for cue, lines in itertools.chain(read, rest):
        line_number += line_of(source, cue.times_at, before.times_at) - 1
        about = f"line {line_number}: the cue"
        if cue.begins < before.begins:
            warnings.append(f"{about} begins before the cue above it; they are read in this order")
        elif cue.begins < before.ends:
            warnings.append(f"{about} overlaps the cue above it")
        text = source[cue.start : cue.end].strip()
        if not text:
            warnings.append(f"{about} has no text")
        track.add(cue, lines, text)
        before = cue
    track.close()
    speeches = [track.builder.build()] if track.builder.length else []
    return Transcript(source, cue_format, speeches, warnings)


def _shown_text(cue_format: str, source: str, cue: Cue) -> Line:
    """The text of a cue without its tags; the voices that begin in it are hidden there as names."""
    parts: list[str] = []
    runs: list[Run] = []
    voices: list[Hidden] = []
    length, done = 0, cue.start
    for match in _MARKUP[cue_format].finditer(
        source, done, done + len(source[done : cue.end].rstrip())
    ):
        sign = "\n" if match["end"] else decoded(match["entity"] or "")
        for text, start, end in (
            (source[done : match.start()], done, match.start()),
            (sign, *match.span()),
        ):
            if text and (len(text) == end - start or len(text) == 1):
                parts.append(text)
                runs.append(Run(length, length + len(text), start, end))
                length += len(text)
        done = match.end()
        if match["tag"] and (voice := _VOICE.fullmatch(match["tag"])):
            voices.append(Hidden(length, length, "name", html.unescape(voice[1])))
    return Line("".join(parts), runs, voices)


def _lines(cue: Line, names: Names) -> list[Line]:
    """The lines of a cue in which something is shown, each with what in it is not said."""
    hidden = sorted([*cue.hidden, *find_hidden(cue.text, "line", names)])
    lines: list[Line] = []
    n = 0
    for match in _SHOWN_LINE.finditer(cue.text):
        start, end = match.span()
        own: list[Hidden] = []
        while n < len(hidden) and hidden[n].start < end:
            one = hidden[n]
            own.append(
                one._replace(start=max(one.start, start) - start, end=min(one.end, end) - start)
            )
            if one.end > end:
                break  # it goes on in the next line
            n += 1
        text = match.group().rstrip("\n")
        if text.strip():
            lines.append(Line(text, list(cue.cut(start, start + len(text))), own))
    return lines


@dataclass(slots=True)
class _Row:
    """A line that one cue or several show, perhaps growing: the last one is read, all others are its copies."""

    shown: list[tuple[Cue, Line]]
    leads: bool  # whether it goes with the next words, if nothing is said in it

    @property
    def line(self) -> Line:
        return self.shown[-1][1]

    @property
    def text(self) -> str:
        return " ".join(self.line.spoken.split())


class _CueTrack:
    """Puts cues together, one after another; what a cue repeats of the one above it is a copy."""

    def __init__(self, scrolls: bool) -> None:
        self.scrolls = scrolls
        self.builder = SpeechBuilder()
        self.source = ""  # of the last cue
        self.rows: list[_Row] = []  # of the last cue
        self.cue: Cue | None = None  # the one in which the last words were said
        self.n_timed = 0  # characters

    def add(self, cue: Cue, lines: list[Line], source: str) -> None:
        """Add a cue, whose text in the file is `source`."""
        texts = _texts(lines)
        said = [row for row in self.rows if row.text]
        above = [row.text for row in said]
        is_copy = bool(texts) and texts == above and _is_highlighted(source, self.source)
        self.source = source
        repeated: list[_Row] = []
        if is_copy or self.scrolls:
            repeated = said[len(said) - (len(texts) if is_copy else _n_repeated(above, texts)) :]
        shown = {row.line.text.strip() for row in self.rows if self.scrolls or is_copy}
        self.close(repeated)
        if not texts and not any(one.name for line in lines for one in line.hidden):
            sounds = [
                line.text[one.start : one.end].strip()
                for line in lines
                for one in line.hidden
                if one.kind == "sound" and line.text.strip() not in shown
            ]
            if sounds:
                self.builder.speech.sounds.append((cue.begins, cue.ends, " ".join(sounds)))
            return
        again = iter(repeated)
        leads = True
        for line in lines:
            is_said = bool(line.spoken.strip())
            row = next(again, None) if is_said else None
            if row:
                if is_copy:
                    row.shown[0] = row.shown[0][0]._replace(ends=cue.ends), row.shown[0][1]
                row.shown.append((cue, line))
            elif is_said or line.text.strip() not in shown:
                self.rows.append(_Row([(cue, line)], leads))
            leads = leads and not is_said

    def close(self, kept: Sequence[_Row] = ()) -> None:
        """Say the rows that are complete: all before those that are kept."""
        n_done = self.rows.index(kept[0]) if kept else len(self.rows)
        for row in self.rows[:n_done]:
            said = self.builder.say(row.line, leads=row.leads)
            for cue, line in row.shown if row.text else ():
                end = said.span[1]
                if line is not row.line:
                    ((_, end),) = self.builder.repeat([line], [said], is_start=True) or [(0, 0)]
                self._time(cue, end)
        del self.rows[:n_done]

    def _time(self, cue: Cue, end: int) -> None:
        """Note that a cue shows what comes after the words of the cues before it, up to this offset."""
        spans = self.builder.speech.spans
        if self.cue and self.cue.times_at == cue.times_at:
            spans[-1] = spans[-1]._replace(end=end)
        elif end > self.n_timed:
            self.builder.time((self.n_timed, end), cue.begins, cue.ends)
            self.cue = cue
        self.n_timed = max(self.n_timed, end)


def _is_highlighted(source: str, above: str) -> bool:
    """Whether only the marked word differs from the cue above, as `--highlight_words` of Whisper has it."""
    found = [(text, match) for text in (source, above) for match in _HIGHLIGHT.finditer(text)]
    return source != above and any(
        match[1] == "u" or match.group() != text for text, match in found
    )


def _texts(lines: list[Line]) -> list[str]:
    """What is said in lines, where something is."""
    return [said for line in lines if (said := " ".join(line.spoken.split()))]


def _n_repeated(above: list[str], below: list[str]) -> int:
    """How many of a cue's first lines repeat the last lines of the cue above it; the last one may go on."""
    for k in range(min(len(above), len(below)), 0, -1):
        if above[-k:-1] == below[: k - 1] and _goes_on(above[-1], below[k - 1]):
            return k
    return 0


def _goes_on(text: str, longer: str) -> bool:
    """Whether the words of a text begin another one, or are all of it; each may have a mark at its end."""
    start = text.rstrip(_MARKS) or text
    rest = longer[len(start) :].lstrip(_MARKS)
    is_apart = not rest or rest[0] == " " or are_unspaced(start[-1] + rest[0])
    return longer.startswith(start) and is_apart


def _scrolls(texts: list[list[str]]) -> bool:
    """Whether lines are repeated because captions scroll up, or because they grow word by word.

    Captions that scroll, as YouTube's, show each line again above the next; live ones show it again with one more
    word. Elsewhere equal lines were said twice, so repetition counts only where most cues of a file have it and many
    add something.
    """
    n_pairs = n_repeating = n_growing = 0
    for above, below in itertools.pairwise(texts):
        k = _n_repeated(above, below)
        n_pairs += bool(above and below)
        n_repeating += k > 0
        n_growing += k > 0 and above[-k:] != below
    return n_growing >= max(2, n_repeating / 3) and n_repeating >= max(
        _MIN_ROLLING, _ROLLING_SHARE * n_pairs
    )
