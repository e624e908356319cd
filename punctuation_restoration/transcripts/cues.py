"""Takes restored, timed speech, gives cues that end with sentences and keep to limits of length and reading speed.

It knows widths and times; how a cue is written in SRT or WebVTT is the business of `writing`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from unicodedata import combining, east_asian_width

from ..pipeline.conventions import known_marks
from ..pipeline.speech import is_unspaced
from .restoring import RestoredSpeech
from .timed_sentences import spoken_sentences

_CLAUSE_MARKS = "".join(known_marks(",;:—"))
# A further cue costs most, then a break where no mark stands, then uneven lengths.
_CUE_COST, _NO_MARK_COST = 1000.0, 100.0
_MIN_SECONDS = 0.83  # of a cue, after the guide that `CueLimits` names: 5/6 of a second


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


class TimedCue(NamedTuple):
    """Lines to show from `begins` to `ends`, in seconds."""

    begins: float
    ends: float
    lines: list[str]


class _Unit(NamedTuple):
    """A word with the marks around it, and the blank before it if there is one."""

    text: str
    glue: str
    begins: float
    ends: float


def make_cues(restored: RestoredSpeech, limits: CueLimits) -> list[TimedCue]:
    """Cut a restored speech into cues: at sentence ends and changes of speaker, and inside a sentence where it is long.

    A cue stays longer than it was spoken where the reading speed asks for it and the next cue leaves room.

    Raises:
        ValueError: the speech has no times.
    """
    if not restored.clock:
        raise ValueError("Expected speech with times to make cues of, got none. Plain text cannot become subtitles.")
    cues: list[TimedCue] = []
    for sentence in _sentences(restored):
        for part in _split(sentence, limits):
            begins, ends = part[0].begins, part[-1].ends
            if cues and cues[-1].ends <= ends:
                begins = max(begins, cues[-1].ends)
            cues.append(TimedCue(begins, max(begins, ends), _lines(part, limits) or [_joined(part)]))
    cues += [TimedCue(begins, ends, [text]) for begins, ends, text in restored.speech.sounds]
    cues.sort(key=lambda cue: cue.begins)
    for n, (begins, ends, lines) in enumerate(cues):
        needed = max(_MIN_SECONDS, sum(map(_width, lines)) / limits.characters_per_second)
        free_until = cues[n + 1].begins if n + 1 < len(cues) else float("inf")
        cues[n] = TimedCue(round(begins, 3), round(max(ends, min(begins + needed, free_until)), 3), lines)
    return cues


def _sentences(restored: RestoredSpeech) -> Iterator[list[_Unit]]:
    """The words from one sentence end or change of speaker to the next, which no cue may cross."""
    before_end = 0
    for sentence in spoken_sentences(restored.speech, restored.edits, restored.words):
        units = []
        for word in sentence:
            blank = restored.speech.text[before_end : word.start]
            is_parted = " " in blank or "\t" in blank or ("\n" in blank and not is_unspaced(word.text[0]))
            begins, ends = restored.clock.between(word.start, word.end)
            units.append(_Unit(" ".join(word.shown.split()), " " * is_parted, begins or 0.0, ends or 0.0))
            before_end = word.end
        yield units


def _split(sentence: Sequence[_Unit], limits: CueLimits) -> list[Sequence[_Unit]]:
    """The cheapest way to cut a sentence into cues, by dynamic programming over the words."""
    widest = limits.line_width * limits.n_lines
    ways: list[tuple[float, int]] = [(0.0, 0)]  # for the first words: the cost, and where the last cue begins
    for end in range(1, len(sentence) + 1):
        is_clause = end == len(sentence) or sentence[end - 1].text[-1:] in _CLAUSE_MARKS
        best = (float("inf"), end - 1)
        for start in range(end - 1, -1, -1):
            cue = sentence[start:end]
            if start < end - 1 and _lines(cue, limits) is None:
                break
            uneven = (1 - _width(_joined(cue)) / widest) ** 2
            best = min(best, (ways[start][0] + _CUE_COST + _NO_MARK_COST * (not is_clause) + uneven, start))
        ways.append(best)
    cues: list[Sequence[_Unit]] = []
    end = len(sentence)
    while end:
        start = ways[end][1]
        cues.append(sentence[start:end])
        end = start
    return cues[::-1]


def _lines(units: Sequence[_Unit], limits: CueLimits) -> list[str] | None:
    """As few lines as will do, as even as they can be; None where too many are needed. A single word always fits."""
    total = _width(_joined(units))
    if total <= limits.line_width or len(units) == 1:
        return [_joined(units)]
    for n_lines in range(2, limits.n_lines + 1):
        for width in range(-(-total // n_lines) - 1, limits.line_width + 1):
            lines = _filled(units, width)
            if len(lines) <= n_lines and max(map(_width, lines)) <= width:
                return lines
    return None


def _filled(units: Sequence[_Unit], width: int) -> list[str]:
    """Lines filled one after another."""
    lines = [units[0].text]
    for unit in units[1:]:
        longer = lines[-1] + unit.glue + unit.text
        if _width(longer) > width:
            lines.append(unit.text)
        else:
            lines[-1] = longer
    return lines


def _joined(units: Sequence[_Unit]) -> str:
    return "".join(unit.glue * (n > 0) + unit.text for n, unit in enumerate(units))


def _width(text: str) -> int:
    """Columns on the screen: Han and kana take two, accents none."""
    return sum(2 if east_asian_width(sign) in "WF" else not combining(sign) for sign in text)
