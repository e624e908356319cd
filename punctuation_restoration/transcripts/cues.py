"""Takes restored, timed speech, gives cues that end with sentences and keep to limits of length and reading speed.

It knows widths and times; how a cue is written in SRT or WebVTT is the business of `writing`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from unicodedata import combining, east_asian_width

from ..pipeline.speech import is_unspaced
from .restoring import RestoredSpeech
from .timed_sentences import CLAUSE_MARKS, spoken_sentences

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


@dataclass(frozen=True, slots=True)
class TimedCue:
    """Lines to show from `begins` to `ends`, in seconds."""

    begins: float
    ends: float
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Unit:
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
    cues: list[TimedCue] = []
    for stretch in _stretches(restored):
        for part in _split(stretch, limits):
            lines = tuple(_layout(part, limits) or [_joined(part)])
            begins, ends = part[0].begins, part[-1].ends
            if cues and cues[-1].ends <= ends:
                begins = max(begins, cues[-1].ends)
            cues.append(TimedCue(begins, max(begins, ends), lines))
    sounds = (TimedCue(sound.begins, sound.ends, (sound.text,)) for sound in restored.speech.sounds)
    cues = sorted([*cues, *sounds], key=lambda cue: cue.begins)
    return list(_readable(cues, limits))


def _stretches(restored: RestoredSpeech) -> Iterator[list[_Unit]]:
    """The words from one sentence end or change of speaker to the next, which no cue may cross."""
    text, clock = restored.speech.text, restored.clock
    if not clock:
        raise ValueError("Expected speech with times to make cues of, got none. Plain text cannot become subtitles.")
    before_end = 0
    for sentence in spoken_sentences(restored.speech, restored.edits, restored.words):
        stretch = []
        for word in sentence:
            blank = text[before_end : word.start]
            is_parted = " " in blank or "\t" in blank or ("\n" in blank and not is_unspaced(word.said[0]))
            begins, ends = clock.between(word.start, word.end)
            shown = " ".join(word.shown.split())
            stretch.append(_Unit(shown, " " if is_parted else "", begins or 0.0, ends or 0.0))
            before_end = word.end
        yield stretch


def _split(stretch: Sequence[_Unit], limits: CueLimits) -> list[Sequence[_Unit]]:
    """The cheapest way to cut a sentence into cues, by dynamic programming over the words."""
    widest = limits.line_width * limits.n_lines
    costs = [0.0] + [float("inf")] * len(stretch)
    came_from = [0] * (len(stretch) + 1)
    for end in range(1, len(stretch) + 1):
        last = stretch[end - 1].text[-1:]
        break_cost = 0.0 if end == len(stretch) or last in CLAUSE_MARKS else _NO_MARK_COST
        for start in range(end - 1, -1, -1):
            width = _width(_joined(stretch[start:end]))
            if start < end - 1 and (width > widest or _layout(stretch[start:end], limits) is None):
                break
            cost = costs[start] + _CUE_COST + break_cost + (1 - width / widest) ** 2
            if cost < costs[end]:
                costs[end], came_from[end] = cost, start
    parts: list[Sequence[_Unit]] = []
    end = len(stretch)
    while end:
        parts.insert(0, stretch[came_from[end] : end])
        end = came_from[end]
    return parts


def _layout(units: Sequence[_Unit], limits: CueLimits) -> list[str] | None:
    """As few lines as will do, as even as they can be; None where too many are needed. A single word always fits."""
    total = _width(_joined(units))
    if total <= limits.line_width or len(units) == 1:
        return [_joined(units)]
    for n_lines in range(2, limits.n_lines + 1):
        for width in range(-(-total // n_lines) - 1, limits.line_width + 1):
            lines = _filled(units, width)
            if lines and len(lines) <= n_lines:
                return lines
    return None


def _filled(units: Sequence[_Unit], width: int) -> list[str] | None:
    """Lines filled one after another; None where a single word is wider than a line."""
    lines: list[list[_Unit]] = [[]]
    for unit in units:
        if _width(unit.text) > width:
            return None
        if lines[-1] and _width(_joined([*lines[-1], unit])) > width:
            lines.append([])
        lines[-1].append(unit)
    return [_joined(line) for line in lines]


def _readable(cues: Sequence[TimedCue], limits: CueLimits) -> Iterator[TimedCue]:
    for n, cue in enumerate(cues):
        needed = max(_MIN_SECONDS, sum(map(_width, cue.lines)) / limits.characters_per_second)
        free_until = cues[n + 1].begins if n + 1 < len(cues) else float("inf")
        ends = max(cue.ends, min(cue.begins + needed, free_until))
        yield TimedCue(round(cue.begins, 3), round(ends, 3), cue.lines)


def _joined(units: Sequence[_Unit]) -> str:
    return "".join(unit.glue * (n > 0) + unit.text for n, unit in enumerate(units))


def _width(text: str) -> int:
    """Columns on the screen: Han and kana take two, accents none."""
    if text.isascii():
        return len(text)
    return sum(2 if east_asian_width(sign) in "WF" else not combining(sign) for sign in text)
