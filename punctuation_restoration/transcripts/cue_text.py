"""Takes the text of one cue, gives its visible lines: what was said, without tags, dashes, names and sounds.

    {\\an8}- <i>hello there</i>     ->  hello there       (another speaker begins)
    [door opens] ANNA: come &amp; see  ->  come & see

What is left out stays where it is in the file; it is only not shown to the model. It knows nothing of cue times.
"""

import html
import re
from dataclasses import dataclass

from .places import Runs
from .transcript import Chunk

# SubRip has no standard; "<" may be a plain sign there, so only tags that players know are tags.
_SRT_TAG = (
    r"</?(?:i|b|u|s|em|strong|font|span|c|v|ruby|rt|lang|br)\b[^<>\n]*>"
    r"|\{\\[^{}\n]*\}|\{/?[ibuyYcCfFsSpP](?::[^{}\n]*)?\}"
)
_VTT_TAG = r"<[^<>\n]*>"
_ENTITY = r"&(?:amp|lt|gt|nbsp|lrm|rlm|quot|apos|\#\d{1,7}|\#[xX][0-9a-fA-F]{1,6});"
_SOUND = r"\[[^\[\]]{0,200}\]|【[^【】]{0,200}】|[♩♪♫♬]+"
_WHOLE_LINE = r"^[ \t]*(?:\([^()]{0,200}\)|（[^（）]{0,200}）)[ \t]*(?=\r?$)"


@dataclass(frozen=True, slots=True)
class VisibleLine:
    """A line of a cue as it is read; `is_turn` if it begins with a dash, arrows or a speaker's name."""

    chunk: Chunk
    is_turn: bool


class CueTextReader:
    """Reads cue texts of one format, "srt" or "vtt"."""

    def __init__(self, cue_format: str):
        tag = _VTT_TAG if cue_format == "vtt" else _SRT_TAG
        markup = rf"(?P<tag>{tag})|(?P<sound>{_SOUND}|{_WHOLE_LINE})|(?P<entity>{_ENTITY})"
        self._markup = re.compile(markup, re.MULTILINE)
        hidden = rf"(?:[ \t\ufeff\u200e\u200f]|{tag}|{_SOUND})*"
        self._dash = re.compile(rf"^{hidden}(?P<dash>(?:[-‐‑–—](?![-‐‑–—\d])|(?:>|&gt;){{2,3}})[ \t]*)", re.MULTILINE)
        # A name in capitals before a colon, as in captions for the hard of hearing
        self._name = re.compile(
            rf"^{hidden}(?:[-‐‑–—>]|&gt;)*[ \t]*(?P<name>[^\W\d_a-z][A-Z0-9 .'’\-]{{1,30}}:(?=[ \t\r\n]))", re.MULTILINE
        )

    def read(self, source: str, start: int, end: int) -> list[VisibleLine]:
        """The lines of `source[start:end]` in which something is said, with their places in the file."""
        body = source[start:end]
        hidden = [m.span() for m in self._markup.finditer(body) if not m["entity"]]
        turns: list[int] = []
        for pattern, group in ((self._dash, "dash"), (self._name, "name")):
            for match in pattern.finditer(body):
                hidden.append(match.span(group))
                turns.append(match.end(group))
        if "<v" in body:
            turns.extend(
                m.end() for m in self._markup.finditer(body) if m["tag"] and m["tag"].startswith(("<v ", "<v."))
            )
        entities = [m.span() for m in self._markup.finditer(body) if m["entity"]]
        lines: list[VisibleLine] = []
        at = 0
        for line in body.splitlines(keepends=True):
            line_end = at + len(line.rstrip("\r\n"))
            chunk = _visible(source, start, (at, line_end), hidden, entities)
            if chunk.text.strip():
                lines.append(VisibleLine(chunk, any(at <= turn <= line_end for turn in turns)))
            at += len(line)
        return lines


def _visible(
    source: str, offset: int, line: tuple[int, int], hidden: list[tuple[int, int]], entities: list[tuple[int, int]]
) -> Chunk:
    """The characters of a line that no hidden span covers. Spans may overlap, as a tag inside a sound description."""
    start, end = line
    special = [(s, e, False) for s, e in hidden if s < end and e > start]
    special += [(s, e, True) for s, e in entities if start <= s and e <= end]
    parts: list[str] = []
    runs = Runs()
    length, at = 0, start
    for span_start, span_end, is_entity in [*sorted(special), (end, end, False)]:
        if span_start > at:
            text = source[offset + at : offset + min(span_start, end)]
            parts.append(text)
            runs.add(length, length + len(text), offset + at, offset + at + len(text))
            length += len(text)
        if is_entity and span_start >= at:
            character = html.unescape(source[offset + span_start : offset + span_end])
            if len(character) == 1:
                parts.append(character)
                runs.add(length, length + 1, offset + span_start, offset + span_end)
                length += 1
        at = max(at, span_end)
    return Chunk("".join(parts), runs)
