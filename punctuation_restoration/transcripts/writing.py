"""Takes a restored transcript, gives it in another format, subtitles with new cues.

New cues end with sentences and keep to limits of length and reading speed. A file that keeps its format is edited in
place by `RestoredTranscript.source` instead.
"""

import itertools
import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple
from unicodedata import combining, east_asian_width

from ..pipeline.conventions import known_marks
from .file_text import Encoding
from .json_files import json_text
from .reading import FORMATS
from .restoring import RestoredSpeech, RestoredTranscript, Row
from .speech import Sound
from .subtitles import cue_text

_CLAUSE_MARKS = "".join(known_marks(",;:—"))
# Of a break after a mark, beside one elsewhere: so much farther from the middle it may be.
_MARK_COST = 0.3
_MIN_SECONDS = 0.83  # of a cue, after the guide that `CueLimits` names: 5/6 of a second
# Seconds of silence that end a cue: what comes after it is not shown before it is said.
_PAUSE = 2.0


@dataclass(frozen=True, slots=True)
class CueLimits:
    """How long cues may be.

    The defaults are those of Netflix's English Timed Text Style Guide for adults: 42 characters a line, two lines, 20
    characters a second. Wide (Han, kana) characters count as two, which comes near to its limits for Mandarin.
    """

    line_width: int = 42
    n_lines: int = 2
    characters_per_second: float = 20.0

    def __post_init__(self) -> None:
        if min(self.line_width, self.n_lines) < 1 or self.characters_per_second <= 0:
            raise ValueError(f"Expected limits above zero, got {self}.")


@dataclass(slots=True)
class CueWord:
    """A word of a new cue."""

    start: int  # in the original text
    begins: Any  # seconds
    ends: Any
    text: str  # restored, up to the next word, with a blank where that is apart
    lead: str  # the name of another speaker, and sounds before the word
    is_apart: bool  # whether no cue may show it with the word before it

    @property
    def shown(self) -> str:
        return self.lead + self.text.lstrip() if self.lead else self.text


class Cue(NamedTuple):
    """A cue to write: when it begins and ends, in seconds, and its lines."""

    begins: float
    ends: float
    lines: list[str]


def encoding_of(file_format: str | None, own: Encoding) -> Encoding:
    """The encoding in which a format is written: UTF-8 where its standard knows no other, else the file's own."""
    return Encoding() if file_format in ("vtt", "json", "jsonl") else own


def write_as(
    restored: RestoredTranscript, file_format: str, limits: CueLimits | None = None
) -> str:
    """The transcript in another format.

    txt has one sentence a line; srt and vtt need times, and have cues that end with sentences; json has text, words and
    sentences; jsonl has one such object for each speech.

    Raises:
        ValueError: a format that cannot be written, times that are missing, or several speeches where one must be.
    """
    speeches = restored.speeches
    match file_format:
        case "txt":
            return "".join(
                f"{sentence.lead}{sentence.text}\n"
                for speech in speeches
                for sentence in speech.sentences
            )
        case "srt" | "vtt":
            if len(speeches) > 1:
                raise ValueError(
                    f"Expected one transcript to make subtitles of, got {len(speeches)}. Write jsonl, or split it."
                )
            said = [speech for speech in speeches if speech.words]
            cues = [cue for speech in said for cue in _new_cues(speech, limits or CueLimits())]
            blocks = ["WEBVTT\n"] if file_format == "vtt" else []
            for n, cue in enumerate(cues, start=1):
                times = f"{_clock_time(cue.begins)} --> {_clock_time(cue.ends)}"
                if file_format == "srt":
                    times = f"{n}\n{times.replace('.', ',')}"
                text = cue_text(file_format, "\n".join(cue.lines))
                blocks.append(f"{times}\n{text}\n")
            return "\n".join(blocks)
        case "json":
            rows: Any = list(map(_row, speeches))
            if len(rows) < 2:
                rows = rows[0] if rows else {"text": "", "words": [], "sentences": []}
            return json_text(rows, ensure_ascii=False, indent=2) + "\n"
        case "jsonl":
            return "".join(json_text(_row(one), ensure_ascii=False) + "\n" for one in speeches)
    raise ValueError(f"Expected a format to write among {', '.join(FORMATS)}, got {file_format!r}.")


def _clock_time(seconds: float) -> str:
    """`01:02:03.450`."""
    minutes, rest = divmod(round(seconds, 3), 60)
    return f"{minutes // 60:02.0f}:{minutes % 60:02.0f}:{rest:06.3f}"


def _row(restored: RestoredSpeech) -> Row:
    """One text as `--json` prints it; words keep their offsets and get "begins" and "ends" where the file has times."""
    speech, clock = restored.speech, restored.clock
    words = [dict(word) for word in restored.words]
    for word in words if clock.timings else ():
        word["begins"], word["ends"] = clock.between(word["start"], word["end"])
    named = {} if speech.name is None else {"name": speech.name}
    return {
        **named,
        "text": restored.text,
        "words": words,
        "sentences": [each.row() for each in restored.sentences],
    }


def _new_cues(restored: RestoredSpeech, limits: CueLimits) -> Iterator[Cue]:
    """A restored speech in cues.

    They are cut at sentence ends, changes of speaker and silence, and inside a sentence where it is long. A cue stays
    longer than it was spoken where the reading speed asks for it and the next cue leaves room.
    """
    if not restored.clock.timings:
        raise ValueError(
            "Expected speech with times to make cues of, got none. Plain text cannot become subtitles."
        )
    words = _with_sounds(_words(restored), restored.speech.sounds)
    firsts = [n for n, word in enumerate(words) if word.is_apart]
    cues = []
    ends = 0.0
    for first, end in itertools.pairwise([*firsts, len(words)]):
        for part in _split(words[first:end], limits):
            begins = max(part[0].begins, ends) if ends <= part[-1].ends else part[0].begins
            ends = max(begins, part[-1].ends)
            cues.append(Cue(begins, ends, _lines(part, limits) or []))
    cues.sort(key=attrgetter("begins"))
    starts = [*map(attrgetter("begins"), cues), math.inf]
    for begins, ends, lines in cues:
        needed = max(_MIN_SECONDS, sum(map(_width, lines)) / limits.characters_per_second)
        # Two that begin at once are shown together.
        free_until = starts[bisect_right(starts, begins)]
        ends = max(ends, min(begins + needed, free_until))
        yield Cue(round(begins, 3), round(ends, 3), lines)


def _words(restored: RestoredSpeech) -> list[CueWord]:
    """The words in the order of the text; cues end with sentences, and where there is silence in one."""
    words: list[CueWord] = []
    for sentence in restored.sentences:
        lead = sentence.lead
        for n in sentence.words:
            start, end = itemgetter("start", "end")(restored.words[n])
            begins, ends = restored.clock.between(start, end)
            is_apart = n == sentence.words[0] or begins - words[-1].ends > _PAUSE
            text = restored.in_one_line(n, n + 1)
            words.append(CueWord(start, begins, ends, text, lead, is_apart))
            lead = ""
    return words


def _with_sounds(words: list[CueWord], sounds: list[Sound]) -> list[CueWord]:
    """Sounds among the words: beside the word before or after them that their own cue shows, too, else in new cues."""
    shown: list[CueWord] = []
    done = 0
    for offset, text, (begins, ends) in sounds:
        begins = begins or 0.0
        ends = ends or begins
        n = bisect_left(words, offset, key=attrgetter("start"))
        shown += words[done:n]
        done = n
        if shown and shown[-1].begins >= begins:
            shown[-1].text = f"{shown[-1].text.rstrip()} {text} "
        elif n < len(words) and words[n].begins < ends:
            words[n].lead += f"{text} "
        else:
            shown.append(CueWord(offset, begins, ends, text, "", is_apart=True))
            for word in words[n : n + 1]:
                word.is_apart = True
    return shown + words[done:]


def _split(words: list[CueWord], limits: CueLimits) -> Iterator[list[CueWord]]:
    """A sentence in few parts that fit into a cue, about equally long, after marks where there are any."""
    while _lines(words, limits) is None:
        widths = list(itertools.accumulate(_width(word.shown) for word in words))
        wanted = widths[-1] / max(2, -(-widths[-1] // (limits.line_width * limits.n_lines)))
        costs = []  # of a cut after each word
        for n, width in enumerate(widths[:-1]):
            if n and _lines(words[: n + 1], limits) is None:
                break
            has_mark = words[n].text.rstrip()[-1:] in _CLAUSE_MARKS
            costs.append(abs(width - wanted) * (_MARK_COST if has_mark else 1))
        cut = costs.index(min(costs)) + 1
        yield words[:cut]
        words = words[cut:]
    yield words


def _lines(words: Sequence[CueWord], limits: CueLimits) -> list[str] | None:
    """As few lines as will do, as even as they can be; None where too many are needed. A single word always fits."""
    whole = "".join(word.shown for word in words).strip()
    n_lines = -(-_width(whole) // limits.line_width)
    if n_lines <= 1 or len(words) == 1:
        return [whole]
    for width in range(_width(whole) // n_lines, limits.line_width + 1):
        lines = [""]
        for word in words:  # fill one line after another
            if lines[-1] and _width(lines[-1] + word.shown) > width:
                lines.append("")
            lines[-1] += word.shown
        if len(lines) <= limits.n_lines and max(map(_width, lines)) <= width:
            return [line.strip() for line in lines]
    return None


def _width(text: str) -> int:
    """Columns on the screen: Han and kana take two, accents none, blanks at the ends none."""
    return sum(
        2 if east_asian_width(sign) in "WF" else not combining(sign) for sign in text.strip()
    )
