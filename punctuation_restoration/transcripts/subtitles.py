"""Takes SubRip (SRT) or WebVTT text, gives its speech as one text with cue times, so that marks cross cue borders.

    {\\an8}- <i>hello there</i><br>yes     ->  - hello there
                                             yes

Files are edited in place: pysubs2 and webvtt-py rewrite indices, times, blank lines and settings, so neither gives a
file back byte for byte. What is shown in a cue and not said, `unspoken` finds.
"""

import html
import itertools
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import regex

from ..pipeline.conventions import known_marks
from ..pipeline.items import seconds
from ..pipeline.unspoken import ENTITY, Hidden, Names, decoded, find_hidden, find_names
from .file_text import LINE_END, FormatError, Transcript, line_of
from .speech import Line, Run, Speech, SpeechBuilder, TimedSpan, are_unspaced

# SubRip writes `00:00:01,000`, WebVTT `00:01.000` (https://www.w3.org/TR/webvtt1/#webvtt-timestamp). Both signs, times
# without hours, and fewer or more digits are seen in the wild, and are clear.
_TIME = r"((?:\d+:)?[0-5]?\d:[0-5]?\d(?:[,.]\d{1,9})?)"
_TIMES = re.compile(rf"[ \t]*{_TIME}[ \t]*-->[ \t]*{_TIME}(?=[ \t]|$).*")
_EXAMPLES = {
    "srt": "00:00:01,000 --> 00:00:02,500",
    "vtt": "00:00:01.000 --> 00:00:02.500",
}
_END = r"[ \t]*(?:\r{0,2}\n|\r)"  # of a line; `\r\r\n` is one that was converted twice
# The line of times, and the number above it; an arrow may also be said: `it goes a --> b`.
_HEAD = re.compile(
    rf"(?:(?P<apart>\A\ufeff?|(?<=\n\n)|(?<=\n\r\n)|(?<=\r\r\n)|(?<=\r\r))?(?<![^\r\n\ufeff])"
    rf"[ \t]*+(?P<number>\d{{1,9}}+){_END}(?:{_END})*+)?+(?<![^\r\n\ufeff])(?P<times>[^\r\n]*-->[^\r\n]*+)"
)
_TIME_LIKE = re.compile(r"\d:\d|\d[.,]\d{3}|^[ \t]*-->|-->[ \t]*$")
_BLOCK = re.compile(rf"(?:[^\r\n]++(?:{_END}|\Z))+")  # lines up to an empty one
_COMMENT = re.compile(r"(?:NOTE|STYLE|REGION)(?:[ \t\r\n]|\Z)")
# What was meant to be cue times: two times with another sign between them, or a time below a number of its own.
_DAMAGED_TIMES = re.compile(
    r"^[ \t]*\d++:\d++(?::\d++|[.,]\d{3})[\d:.,]*[^\w\r\n]{1,6}\d+:\d+.*$"
    r"|(?:(?<=\n\n)|(?<=\n\r\n))[ \t]*\d+[ \t]*\r?\n[ \t]*\d+:\d+:\d+.*$",
    re.MULTILINE,
)
_SIGNS_OF_TIMES = "0123456789:,.- \t\r\n"
_NUMBER_ALONE = re.compile(r"(?<=\n)[ \t]*\r{0,2}\n[ \t]*(\d{1,9}+)[ \t]*(?=[\r\n]|\Z)")

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
_ESCAPED = {"srt": regex.compile(_SRT_TAG), "vtt": regex.compile("[&<>]")}  # where it is said
# Of WebVTT: `<v.loud Mary Lee>`.
_VOICE = regex.compile(r"<v(?:\.[^\s<>]*+)?+[ \t]++([^<>]*[^<>\s])[ \t]*+>")
_SHOWN_LINE = regex.compile(r"[^\n]*+\n|[^\n]++")
_MARKS = "".join(known_marks(",.?!"))
_ROLLING_SHARE = 0.6  # of the cues repeat a line of the cue before, in captions that scroll up
_MIN_ROLLING = 3
_HIGHLIGHT_GAP = 0.2  # seconds; a line that comes later is said again
# Cues that show whether a file's captions scroll, and whether they name speakers.
_N_LOOKED_AT = 1000


class Cue(NamedTuple):
    """One cue: where its line of times stands in the file, the times in seconds, and where its text stands."""

    times_at: int
    begins: float
    ends: float
    start: int
    end: int


Row = list[tuple[Cue, Line]]


def read_srt(source: str) -> Transcript:
    """Read a SubRip file; a `FormatError` names the line of what is broken."""
    first = re.search(r"[^\s\ufeff][^\r\n]*", source)
    head = next(_heads(source, 0, len(source)), None)
    if first and (head is None or first.start() < head.start()):
        shown = first.group().strip()
        expected = f"Expected cue times below the number {shown}, got none."
        if not shown.isdigit():
            expected = f"Expected a cue's number or times, got {shown!r:.60} before the first cue. Is it SRT?"
        raise FormatError(expected, line=line_of(source, first.start()))
    return _transcript(source, "srt", _cues(source, "srt", 0, len(source)))


def read_vtt(source: str) -> Transcript:
    """Read a WebVTT file; a `FormatError` names the line of what is broken. Comments, styles and regions stay."""
    first = LINE_END.split(source, maxsplit=1)[0]
    if not re.match(r"\ufeff?WEBVTT(?:[ \t]|$)", first):
        raise FormatError(
            f"Expected WEBVTT in the first line, got {first!r:.60}. Is it WebVTT?", line=1
        )
    blocks = (block for block in _BLOCK.finditer(source) if not _COMMENT.match(block.group()))
    cues = (_cues(source, "vtt", *block.span()) for block in blocks)
    return _transcript(source, "vtt", itertools.chain.from_iterable(cues))


def _heads(source: str, start: int, end: int) -> Iterator[re.Match[str]]:
    """Where cues begin: broken times still look like times, or are below a number of their own."""
    for head in _HEAD.finditer(source, start, end):
        if _TIME_LIKE.search(head["times"]) or (head["number"] and head["apart"] is not None):
            yield head


def _cues(source: str, cue_format: str, start: int, end: int) -> Iterator[Cue]:
    """The cues between two offsets; the text of each goes on up to the next one's number and times."""
    heads: list[Any] = [*_heads(source, start, end), None]
    if heads[0] is None:
        _text_end(source, cue_format, start, end)
        return
    # Of cues without numbers, a number above the next one's times may be said.
    next_from = "number" if heads[0]["number"] else "times"
    for head, following in itertools.pairwise(heads):
        body_end = end
        if following is not None:
            body_end = following.start(next_from if following["number"] else "times")
        body_end = _text_end(source, cue_format, head.end(), body_end, head["number"])
        times = _TIMES.fullmatch(head["times"])
        begins, ends = (seconds(time) or 0.0 for time in times.groups()) if times else (0.0, -1.0)
        if ends < begins:
            if head.start() > start and not source[head.end() :].strip():
                return  # the file breaks off in these times
            wanted = (
                "a cue that ends after it begins"
                if times
                else f"cue times such as {_EXAMPLES[cue_format]}"
            )
            raise FormatError(
                f"Expected {wanted}, got {head['times'].strip()!r:.80}.",
                line=line_of(source, head.start("times")),
            )
        yield Cue(head.start("times"), begins, ends, head.end(), body_end)


def _text_end(source: str, cue_format: str, start: int, end: int, number: str | None = None) -> int:
    """Where the text of the cue of this number ends: in a file that breaks off, above the next cue's number.

    Times of another cue that are damaged in it, or missing below the next number, are a `FormatError`.
    """
    numbers = _NUMBER_ALONE.finditer(source, start, end)
    following = number and next((one for one in numbers if int(one[1]) == int(number) + 1), None)
    if following and not source[following.end() :].strip(_SIGNS_OF_TIMES):
        return following.start(1)
    if damaged := _DAMAGED_TIMES.search(source[start:end]):
        shown = damaged.group().splitlines()[-1].strip()
        raise FormatError(
            f"Expected cue times such as {_EXAMPLES[cue_format]}, got {shown!r:.80}.",
            line=line_of(source, start + damaged.end() - len(shown)),
        )
    if following:
        raise FormatError(
            f"Expected cue times below the number {following[1]}, got none.",
            line=line_of(source, following.start(1)),
        )
    return end


def _transcript(source: str, cue_format: str, cues: Iterator[Cue]) -> Transcript:
    warnings: list[str] = []
    cues = _checked(source, cues, warnings)
    shown = ((cue, _shown_text(cue_format, source, cue)) for cue in cues)
    first = list(itertools.islice(shown, _N_LOOKED_AT))
    names = find_names((text.text for _, text in first), are_cues=True)
    read = ((cue, _lines(text, names)) for cue, text in itertools.chain(first, shown))
    first_read = list(itertools.islice(read, len(first)))
    scrolls = _scrolls([_texts(lines) for _, lines in first_read])
    speech = _speech(_rows(source, itertools.chain(first_read, read), scrolls))
    return Transcript(source, cue_format, [speech] if speech.text else [], warnings)


def _checked(source: str, cues: Iterator[Cue], warnings: list[str]) -> Iterator[Cue]:
    """The cues as they are; adds to the warnings what is odd about them."""
    line_number, before = 1, Cue(0, 0.0, 0.0, 0, 0)
    for cue in cues:
        line_number += line_of(source, cue.times_at, before.times_at) - 1
        about = f"line {line_number}: the cue"
        if cue.begins < before.begins:
            warnings.append(f"{about} begins before the cue above it; they are read in this order")
        elif cue.begins < before.ends:
            warnings.append(f"{about} overlaps the cue above it")
        if not source[cue.start : cue.end].strip():
            warnings.append(f"{about} has no text")
        yield cue
        before = cue


def _shown_text(cue_format: str, source: str, cue: Cue) -> Line:
    """The text of a cue without its tags; the voices that begin in it are hidden there as names."""
    shown = ""
    runs = []
    voices = []
    done = cue.start
    end = cue.start + len(source[cue.start : cue.end].rstrip())
    for match in _MARKUP[cue_format].finditer(source, done, end):
        sign = "\n" if match["end"] else decoded(match["entity"] or "")
        for text, span in (
            (source[done : match.start()], (done, match.start())),
            (sign, match.span()),
        ):
            if text:
                runs.append(Run(len(shown), len(shown) + len(text), *span))
                shown += text
        done = match.end()
        if voice := _VOICE.fullmatch(match["tag"] or ""):
            voices.append(Hidden(len(shown), len(shown), "name", decoded(voice[1])))
    return Line(shown, runs, voices)


def cue_text(cue_format: str, text: str) -> str:
    """A text as a cue says it: entities become their characters, and what would be a tag is escaped."""
    return _ESCAPED[cue_format].sub(lambda match: html.escape(match[0], quote=False), decoded(text))


def _lines(cue: Line, names: Names) -> list[Line]:
    """The lines of a cue in which something is shown, each with what in it is not said."""
    hidden = sorted([*cue.hidden, *find_hidden(cue.text, "line", names)])
    lines = []
    for match in _SHOWN_LINE.finditer(cue.text):
        start, end = match.span()
        text = match.group().rstrip("\n")
        first = bisect_left(hidden, start, key=attrgetter("end"))
        last = bisect_left(hidden, end, key=attrgetter("start"))
        inside = [
            one._replace(end=min(one.end, end)).moved(-start)
            for one in hidden[first:last]
            if one.end > start or one.start == start
        ]
        if text.strip():
            lines.append(Line(text, list(cue.cut(start, start + len(text))), inside))
    return lines


def _rows(source: str, read: Iterable[tuple[Cue, list[Line]]], scrolls: bool) -> Iterator[Row]:
    """The lines of a file, each with all cues that show it, perhaps growing: the last is read, others are copies."""
    rows: list[Row] = []  # of the cue above
    before = ""  # its text in the file
    ended = 0.0
    for cue, lines in read:
        above = [row[-1][1] for row in rows]
        is_next = abs(cue.begins - ended) < _HIGHLIGHT_GAP
        ended = cue.ends
        shown = source[cue.start : cue.end].strip()
        # Whisper's `--highlight_words` shows a line again with another word marked.
        is_copy = is_next and shown != before and _as_read(above) == _as_read(lines)
        before = shown
        repeated: list[Row] = []
        shown_above: list[str] = []
        if scrolls or is_copy:
            said = [row for row in rows if _said_in(row[-1][1])]
            repeated = said[len(said) - _n_repeated(_texts(above), _texts(lines)) :]
            shown_above = [line.text for line in above]
        if is_copy:
            for row in repeated:
                row[0] = row[0][0]._replace(ends=cue.ends), row[0][1]
        n_complete = rows.index(repeated[0]) if repeated else len(rows)
        yield from rows[:n_complete]
        rows = rows[n_complete:]
        again = iter(repeated)
        for line in lines:
            row = next(again, []) if _said_in(line) else []
            if row:
                row.append((cue, line))
            elif _said_in(line) or line.text not in shown_above:
                rows.append([(cue, line)])
    yield from rows


def _speech(rows: Iterable[Row]) -> Speech:
    """What is said in these lines; each cue has the time of what comes after the words of the cues before it."""
    builder = SpeechBuilder()
    spans = builder.speech.spans
    times_at = n_timed = 0
    for row in rows:
        cue, line = row[-1]
        builder.say(line, time=(cue.begins, cue.ends))
        for _, copy in row[:-1]:
            builder.repeat([copy], [line], is_start=True)
        for cue, shown in row:
            if (end := shown.span[1]) > n_timed:
                if spans and times_at == cue.times_at:
                    spans[-1] = spans[-1]._replace(end=end)
                else:
                    spans.append(TimedSpan(n_timed, end, (cue.begins, cue.ends)))
                times_at, n_timed = cue.times_at, end
    return builder.build()


def _as_read(lines: Sequence[Line]) -> list[Any]:
    return [(line.text, line.hidden) for line in lines]


def _said_in(line: Line) -> str:
    return " ".join(line.spoken.split())


def _texts(lines: list[Line]) -> list[str]:
    """What is said in lines, where something is."""
    return list(filter(None, map(_said_in, lines)))


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
    n_pairs = n_rolling = n_growing = 0
    for above, below in itertools.pairwise(texts):
        n_pairs += bool(above and below)
        if n := _n_repeated(above, below):
            n_rolling += 1
            n_growing += above[-n:] != below
    least = max(_MIN_ROLLING, _ROLLING_SHARE * n_pairs)
    return n_growing >= max(2, n_rolling / 3) and n_rolling >= least
