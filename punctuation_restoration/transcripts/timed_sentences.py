"""Takes a restored speech, gives its sentences with the times at which they begin and end.

A sentence ends at a word with a final mark after it, and where another speaker begins. It knows neither models nor
file formats.
"""

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from ..pipeline.conventions import SENTENCE_ENDS, known_marks
from ..pipeline.edits import Edit, edited_between
from .places import Timing, Timings
from .transcript import UNSPACED_SIGNS, Speech

CLAUSE_MARKS = "".join(known_marks(",;:—"))
_FINAL = re.compile(rf"[{''.join(SENTENCE_ENDS)}]+[\"'”’»」』）)\]]*")

_LETTERS = re.compile(r"[^\W_](?:.*[^\W_])?", re.DOTALL)
_HAN_LINE_END = re.compile(rf"(?<=[{UNSPACED_SIGNS}])\s*\n\s*(?=[{UNSPACED_SIGNS}])")


@dataclass(frozen=True, slots=True)
class Sentence:
    """`text` is the restored sentence of the original text[start:end]; `begins` and `ends` are seconds or None.

    `speaker` is who says it, where the file has a name.
    """

    text: str
    start: int
    end: int
    begins: float | None
    ends: float | None
    speaker: str | None = None

    def row(self) -> dict[str, Any]:
        """As JSON has it: start and end in seconds, and a speaker, where the file has them."""
        times = {} if self.begins is None else {"start": self.begins, "end": self.ends}
        return {**times, "text": self.text, **({} if self.speaker is None else {"speaker": self.speaker})}


def restored_words(text: str, edits: Sequence[Edit], words: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Each word as it is restored, and what stands between it and the next one, its own marks first."""
    ends = [*(word["start"] for word in words[1:]), len(text)]
    for word, end in zip(words, ends, strict=False):
        first = bisect_left(edits, word["start"], key=itemgetter("start"))
        near = edits[first : bisect_right(edits, end, lo=first, key=itemgetter("start"))]
        whole = edited_between(text, near, word["start"], end)
        gap = edited_between(text, near, word["end"], end, with_marks=True)
        yield whole[: len(whole) - len(gap)], gap


def find_sentences(speech: Speech, edits: Sequence[Edit], words: Sequence[Mapping[str, Any]]) -> list[Sentence]:
    """The sentences of a restored speech. `words` have "start" and "end" in the original text, as restorers give them.

    What follows the last final mark is a sentence as well. A text without words (signs, pictures) has none.
    """
    clock = Clock(speech)
    sentences: list[Sentence] = []
    turns = sorted(speech.turns)
    first: int | None = None
    parts: list[str] = []
    for n, (said, gap) in enumerate(restored_words(speech.text, edits, words)):
        word = words[n]
        first = word["start"] if first is None else first
        following = words[n + 1]["start"] if n + 1 < len(words) else None
        final = _FINAL.search(gap)
        next_turn = bisect_left(turns, word["end"])
        is_turn = following is not None and next_turn < len(turns) and turns[next_turn] <= following
        parts += [said, gap[: final.end()] if final else gap]
        if final or is_turn or following is None:
            begins, ends = clock.between(first, word["end"])
            text = _in_one_line("".join(parts))
            sentences.append(Sentence(text, first, word["end"], begins, ends, _speaker_at(speech, first)))
            first, parts = None, []
    return sentences


def _speaker_at(speech: Speech, offset: int) -> str | None:
    n_before = bisect_right(speech.speakers, offset, key=lambda speaker: speaker[0])
    return speech.speakers[n_before - 1][1] if n_before else None


def _in_one_line(text: str) -> str:
    """Without line ends: between Han characters nothing takes their place, elsewhere a blank."""
    return " ".join(_HAN_LINE_END.sub("", text).split())


class Clock:
    """Says when a part of the speech was said, from what the file tells.

    Inside a cue or segment, whose words have no times of their own, time is shared out evenly over the characters.
    """

    def __init__(self, speech: Speech):
        known = (t for t in speech.timings if t.begins is not None and t.ends is not None)
        self._timings = Timings()
        self._ends = array("q")
        for timing in known:
            said = _without_marks(timing, speech.text)
            self._timings.append(said)
            self._ends.append(said.end)

    def __bool__(self) -> bool:
        return bool(self._timings)

    def between(self, start: int, end: int) -> tuple[float | None, float | None]:
        """Seconds at which text[start:end] begins and ends; words without times take those of their neighbours."""
        if not self._timings or start >= end:
            return None, None
        first = self._timings[min(bisect_right(self._ends, start), len(self._timings) - 1)]
        last_index = bisect_left(self._ends, end)
        if last_index == len(self._timings) or (self._timings[last_index].start >= end and last_index > 0):
            last_index -= 1
        last = self._timings[last_index]
        begins, ends = _share(first, start), _share(last, end)
        return round(min(begins, ends), 3), round(max(begins, ends), 3)


def _without_marks(timing: Timing, text: str) -> Timing:
    """The timing of a word without the marks it may have, so that it ends where its last letter does."""
    said = _LETTERS.search(text, timing.start, timing.end)
    return timing._replace(start=said.start(), end=said.end()) if said else timing


def _share(timing: Timing, offset: int) -> float:
    assert timing.begins is not None  # a clock keeps no others
    assert timing.ends is not None
    share = (offset - timing.start) / max(1, timing.end - timing.start)
    return timing.begins + min(1.0, max(0.0, share)) * (timing.ends - timing.begins)
