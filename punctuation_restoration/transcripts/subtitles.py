"""Takes SubRip (SRT) or WebVTT text, gives its speech as one text with cue times, so that marks cross cue borders.

    {\\an8}- <i>hello there</i><br>yes     ->  - hello there
                                             yes

Files are edited in place: pysubs2 and webvtt-py rewrite indices, times, blank lines and settings, so neither gives a
file back byte for byte. What is shown in a cue and not said, `unspoken` finds.
"""

import html
import itertools
import re
from collections.abc import Iterator
from typing import NamedTuple

import regex

from ..pipeline.unspoken import ENTITY, Hidden, Names, decoded, find_hidden, find_names
from .file_text import LINE_END, FormatError, Transcript, line_of
from .layouts import seconds
from .speech import Line, Run, Said, SpeechBuilder, are_unspaced

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
    track = _CueTrack(source, _scrolls([_texts(lines) for _, lines in read]))
    warnings: list[str] = []
    line_number, before = 1, Cue(0, 0.0, 0.0, 0, 0)
    for cue, lines in itertools.chain(read, rest):
        line_number += line_of(source, cue.times_at, before.times_at) - 1
        oddities = {
            "begins before the cue above it; they are read in this order": cue.begins
            < before.begins,
            "overlaps the cue above it": before.begins <= cue.begins < before.ends,
            "has no text": not source[cue.start : cue.end].strip(),
        }
        warnings += [
            f"line {line_number}: the cue {what}" for what, is_so in oddities.items() if is_so
        ]
        track.add(cue, lines)
        before = cue
    return Transcript(
        source, cue_format, [track.builder.build()] if track.builder.length else [], warnings
    )


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


class _CueTrack:
    """Puts cues together, one after another; what a cue repeats of the one above it is a copy."""

    def __init__(self, source: str, scrolls: bool) -> None:
        self.source, self.scrolls = source, scrolls
        self.builder = SpeechBuilder()
        self.above = ""  # the cue above
        self.lines: list[Line] = []  # of the cue above
        self.said: list[Said] = []  # those of them in which something is said

    def add(self, cue: Cue, lines: list[Line]) -> None:
        speech, texts, texts_above = self.builder.speech, _texts(lines), _texts(self.lines)
        source = self.source[cue.start : cue.end].strip()
        is_copy = bool(texts) and texts == texts_above and _is_highlighted(source, self.above)
        n_repeated = (
            len(texts) if is_copy else _n_repeated(texts_above, texts) if self.scrolls else 0
        )
        shown_above = [line.text.strip() for line in self.lines] if self.scrolls or is_copy else []
        above, self.said = self.said[len(texts_above) - n_repeated :], []
        self.above, self.lines = source, lines
        if not texts and not any(one.name for line in lines for one in line.hidden):
            new = [line for line in lines if line.text.strip() not in shown_above]
            sounds = [
                line.text[one[0] : one[1]].strip()
                for line in new
                for one in line.hidden
                if one.kind == "sound"
            ]
            if sounds:
                speech.sounds.append((cue.begins, cue.ends, " ".join(sounds)))
            return
        begins_at = self.builder.length
        for line in lines:
            is_said = bool(line.spoken.strip())
            if is_said and len(self.said) < n_repeated:
                self.said.append(self._repeat(line, above[len(self.said)]))
            elif is_said or line.text.strip() not in shown_above:
                n_asides = len(speech.asides)
                said = self.builder.say(line)
                if is_said:
                    self.said.append(said)
                elif self.said:  # what is shown below the last words of a cue stays with them
                    speech.asides[n_asides:] = [
                        aside._replace(leads=False) for aside in speech.asides[n_asides:]
                    ]
        if is_copy and speech.spans:
            speech.spans[-1] = speech.spans[-1]._replace(time=(speech.spans[-1].time[0], cue.ends))
        self.builder.time((begins_at, self.builder.length), cue.begins, cue.ends)

    def _repeat(self, line: Line, said: Said) -> Said:
        """A line that repeats one of the cue above, and perhaps goes on: what is new in it is said."""
        n_letters, letters = len(said.line.letters(False)), line.letters(False)
        if n_letters == len(letters):
            self.builder.repeat([line], [said])
            return said
        copy, rest = line.parted(letters[n_letters - 1] + 1)
        self.builder.repeat([copy], [said])
        return said.grown(self.builder.say(rest, continues=True))


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
    """Whether the words of a text begin another one, or are all of it."""
    rest = longer[len(text) :]
    return longer.startswith(text) and (
        not rest or rest[0] == " " or are_unspaced(text[-1] + rest[0])
    )


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
