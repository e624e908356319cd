"""Takes the text of one cue, gives its lines without tags; what is shown in them and not said, `unspoken` finds.

    {\\an8}- <i>hello there</i><br>yes     ->  - hello there
                                             yes

It knows the markup of SRT and WebVTT, and nothing of cue times.
"""

import functools
import html
from dataclasses import dataclass

import regex

from ..pipeline.speech import Chunk, Runs
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
    name: regex.compile(rf"(?P<end>{_LINE_END})|(?P<tag>{tag})|(?P<entity>{_ENTITY})")
    for name, tag in (("srt", _SRT_TAG), ("vtt", _VTT_TAG))
}


@dataclass(frozen=True)
class CueLine:
    """A line of a cue without tags, what in it is not said, and the voice of WebVTT that begins in it."""

    chunk: Chunk
    hidden: list[Hidden]
    voice: str | None

    @functools.cached_property
    def said(self) -> str:
        """What is said in it, in a line."""
        if not self.hidden:
            return " ".join(self.chunk.text.split())
        parts, done = [], 0
        for one in self.hidden:
            parts.append(self.chunk.text[done : one.start])
            done = one.end
        return " ".join(" ".join([*parts, self.chunk.text[done:]]).split())


def shown_text(cue_format: str, source: str, start: int, end: int) -> tuple[Chunk, dict[int, str]]:
    """A cue's text without its tags, and the voices that begin in it, by their places."""
    text, runs, voices = [], Runs(), {}
    length, place = 0, start
    end = start + len(source[start:end].rstrip())
    for match in _MARKUP[cue_format].finditer(source, start, end):
        if place < match.start():
            runs.add(length, length + match.start() - place, place, match.start())
            text.append(source[place : match.start()])
            length += match.start() - place
        place = match.end()
        sign = "\n" if match["end"] else html.unescape(match["entity"] or "")
        if len(sign) == 1:
            runs.add(length, length + 1, *match.span())
            text.append(sign)
            length += 1
        elif match["tag"] and (voice := _VOICE.fullmatch(match["tag"])):
            voices[length] = html.unescape(voice[1])
    if place < end:
        runs.add(length, length + end - place, place, end)
        text.append(source[place:end])
    return Chunk("".join(text), runs), voices


def read_lines(chunk: Chunk, voices: dict[int, str], are_named: bool) -> list[CueLine]:
    """The lines of a cue in which something is shown."""
    hidden = find_hidden(chunk.text, "line", are_named)
    lines: list[CueLine] = []
    start, n = 0, 0
    for text in _LINE.findall(chunk.text):
        end = start + len(text)
        own = []
        while n < len(hidden) and hidden[n].start < end:
            one = hidden[n]
            own.append(one._replace(start=max(one.start, start) - start, end=min(one.end, end) - start))
            if one.end > end:
                break  # it goes on in the next line
            n += 1
        voice = next((name for place, name in voices.items() if start <= place <= end), None)
        if text.strip():
            lines.append(CueLine(chunk.cut(start, start + len(text.rstrip("\n"))), own, voice))
        start = end
    return lines
