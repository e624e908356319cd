"""Takes the text of one cue, gives its lines without tags; what is shown in them and not said, `unspoken` finds.

    {\\an8}- <i>hello there</i><br>yes     ->  - hello there
                                             yes

It knows the markup of SRT and WebVTT, and nothing of cue times.
"""

import html

import regex

from ..pipeline.speech import Line, Run
from ..pipeline.unspoken import Hidden, find_hidden

# SubRip has no standard; "<" may be a plain sign there, so only tags that players know are tags.
_SRT_TAG = (
    r"</?+(?:i|b|u|s|em|strong|font|span|c|v|ruby|rt|lang)\b[^<>\n]*+>"
    r"|\{\\[^{}\n]*+\}|\{/?+[ibuyYcCfFsSpP](?::[^{}\n]*+)?+\}"
)
_VTT_TAG = r"<[^<>\n]*+>"
_ENTITY = r"&(?:amp|lt|gt|nbsp|lrm|rlm|quot|apos|\#\d{1,7}+|\#[xX][0-9a-fA-F]{1,6}+);"
_LINE_END = r"<[bB][rR][ \t]*+/?+>|\\N|\r\n|\r"
_VOICE = regex.compile(r"<v(?:\.[^\s<>]*+)?+[ \t]++([^<>]*[^<>\s])[ \t]*+>")  # of WebVTT: `<v.loud Mary Lee>`
_LINE = regex.compile(r"[^\n]*+\n|[^\n]++")
_MARKUP = {
    name: regex.compile(rf"(?P<end>{_LINE_END})|(?P<tag>{tag})|(?P<entity>{_ENTITY})|\Z")
    for name, tag in (("srt", _SRT_TAG), ("vtt", _VTT_TAG))
}


def shown_text(cue_format: str, source: str, start: int, end: int) -> Line:
    """The cue `source[start:end]` without its tags; the voices that begin in it are hidden there as names."""
    parts: list[str] = []
    runs: list[Run] = []
    voices: list[Hidden] = []
    length, place = 0, start

    def show(text: str, source_start: int, source_end: int) -> int:
        parts.append(text)
        runs.append(Run(length, length + len(text), source_start, source_end))
        return length + len(text)

    for match in _MARKUP[cue_format].finditer(source, start, start + len(source[start:end].rstrip())):
        if place < match.start():
            length = show(source[place : match.start()], place, match.start())
        place = match.end()
        sign = "\n" if match["end"] else html.unescape(match["entity"] or "")
        if len(sign) == 1:
            length = show(sign, *match.span())
        elif match["tag"] and (voice := _VOICE.fullmatch(match["tag"])):
            voices.append(Hidden(length, length, "name", html.unescape(voice[1])))
    return Line("".join(parts), runs, voices)


def read_lines(cue: Line, are_named: bool) -> list[Line]:
    """The lines of a cue in which something is shown, each with what in it is not said."""
    hidden = sorted([*cue.hidden, *find_hidden(cue.text, "line", are_named)])
    lines: list[Line] = []
    n = 0
    for match in _LINE.finditer(cue.text):
        start, end = match.span()
        own: list[Hidden] = []
        while n < len(hidden) and hidden[n].start < end:
            one = hidden[n]
            own.append(one._replace(start=max(one.start, start) - start, end=min(one.end, end) - start))
            if one.end > end:
                break  # it goes on in the next line
            n += 1
        text = match.group().rstrip("\n")
        if text.strip():
            runs = [Run(a - start, b - start, *source) for a, b, *source in cue.cut(start, start + len(text))]
            lines.append(Line(text, runs, own))
    return lines
