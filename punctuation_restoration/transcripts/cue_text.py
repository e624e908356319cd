"""Takes the text of one cue, gives its visible lines: what was said, without tags, dashes, names and sounds.

    {\\an8}- <i>hello there</i>     ->  hello there       (another speaker begins)
    [door opens] ANNA: come &amp; see  ->  come & see

What is left out stays where it is in the file; it is only not shown to the model. It knows nothing of cue times.
"""

import html
import itertools
import re
from dataclasses import dataclass

from ..pipeline.speech import Chunk, Runs, shown_speaker

# SubRip has no standard; "<" may be a plain sign there, so only tags that players know are tags.
_SRT_TAG = (
    r"</?(?:i|b|u|s|em|strong|font|span|c|v|ruby|rt|lang|br)\b[^<>\n]*>"
    r"|\{\\[^{}\n]*\}|\{/?[ibuyYcCfFsSpP](?::[^{}\n]*)?\}"
)
_VTT_TAG = r"<[^<>\n]*>"
_ENTITY = r"&(?:amp|lt|gt|nbsp|lrm|rlm|quot|apos|\#\d{1,7}|\#[xX][0-9a-fA-F]{1,6});"
# One word in parentheses is a sound too, `(laughs)`, `(APPLAUSE)`; several within a line may be said, `(as I said)`.
# Han words are not told apart by spaces, so a sound is what ends like one: `(笑)`, `（掌声）`, `(背景音乐)`.
_SOUND = (
    r"\[[^\[\]]{0,200}\]|【[^【】]{0,200}】|[♩♪♫♬]+|(?<!\w)\((?:[a-z]{3,20}|[A-Z]{3,20})\)(?!\w)"
    r"|[（(][\u4e00-\u9fff]{0,6}(?:[笑声聲]|音[乐樂]|鼓掌|[叹嘆][气氣]|咳嗽)[）)]"
)
_VOICE = re.compile(r"<v(?:\.[^\s<>]*)?[ \t]+([^<>]*[^<>\s])[ \t]*>")  # of WebVTT: `<v.loud Mary Lee>`
_WHOLE_LINE = r"^[ \t]*(?:\([^()]{0,200}\)|（[^（）]{0,200}）)[ \t]*(?=\r?$)"


@dataclass(frozen=True, slots=True)
class VisibleLine:
    """A line of a cue as it is read; `is_turn` if it begins with a dash, arrows, a speaker's name or voice tag.

    `asides` are what it shows besides, each with its place in the chunk's text: names, dashes, sounds.
    """

    chunk: Chunk
    is_turn: bool
    name: str | None
    asides: list[tuple[int, str]]


def _patterns(tag: str) -> list[re.Pattern[str]]:
    """What is markup; a dash at the start of a line; and a name there, in capitals, as for the hard of hearing."""
    hidden = rf"(?:[ \t\ufeff\u200e\u200f]|{tag}|{_SOUND})*"
    markup = rf"(?P<tag>{tag})|(?P<sound>{_SOUND}|{_WHOLE_LINE})|(?P<entity>{_ENTITY})"
    dash = rf"^{hidden}(?P<shown>(?:[-‐‑–—](?![-‐‑–—\d])|(?:>|&gt;){{2,3}})[ \t]*)"
    spelled = r"(?:[^\W\d_a-z][A-Z0-9_ .'’\-]{1,30}|Speaker \d{1,3})"
    name = rf"^{hidden}(?:[-‐‑–—>]|&gt;)*[ \t]*(?P<shown>{spelled}:(?=[ \t\r\n]))"
    return [re.compile(pattern, re.MULTILINE) for pattern in (markup, dash, name)]


_PATTERNS = {"srt": _patterns(_SRT_TAG), "vtt": _patterns(_VTT_TAG)}


def read_cue(cue_format: str, source: str, start: int, end: int) -> tuple[list[VisibleLine], str]:
    """The lines of `source[start:end]` in which something is said, and what is shown if there are none."""
    body = source[start:end].rstrip()
    markup_pattern, dash_pattern, name_pattern = _PATTERNS[cue_format]
    markup = list(markup_pattern.finditer(body))
    entities = {match.start(): match.end() for match in markup if match["entity"]}
    spans = [match.span() for match in markup if not match["entity"]]
    asides = {match.start(): match.group() for match in markup if match["sound"]}
    names: dict[int, str] = {}
    turns: list[int] = []
    for place, voice in ((match.start(), _VOICE.fullmatch(match["tag"] or "")) for match in markup):
        if voice:
            turns.append(place)
            names[place] = html.unescape(voice[1])
            asides[place] = shown_speaker(names[place])
    for match in itertools.chain(dash_pattern.finditer(body), name_pattern.finditer(body)):
        spans.append(match.span("shown"))
        turns.append(match.end("shown"))
        asides[match.start("shown")] = match["shown"]
        if match.re is name_pattern:
            names[match.start("shown")] = match["shown"].rstrip(":")
    hidden = {place for span in spans for place in range(*span)}
    lines: list[VisibleLine] = []
    waiting: list[tuple[int, str]] = []  # above the first words
    at = 0
    for line in body.splitlines(keepends=True):
        line_end = at + len(line.rstrip("\r\n"))
        text, runs, shown = "", Runs(), waiting
        place = at
        while place < line_end:
            following = entities.get(place, place + 1)
            if place in asides:
                shown.append((len(text) if text.strip() else 0, asides[place].strip()))
            sign = html.unescape(body[place:following]) if place in entities else body[place]
            if place not in hidden and len(sign) == 1:
                runs.add(len(text), len(text) + 1, start + place, start + following)
                text += sign
            place = following
        if text.strip():
            is_turn = any(at <= turn <= line_end for turn in turns)
            name = next((name for start, name in names.items() if at <= start < line_end), None)
            lines.append(VisibleLine(Chunk(text, runs), is_turn, name, shown))
            waiting = []
        at += len(line)
    if lines:
        lines[-1].asides.extend((len(lines[-1].chunk.text), text) for _, text in waiting)
    return lines, "" if lines else " ".join(text for _, text in waiting)
