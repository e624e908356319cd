"""Takes a restored speech, gives its sentences with the times at which they begin and end.

Sentences are those of `pipeline.edits.sentence_ranges`. It knows neither models nor file formats.
"""

import itertools
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

from ..pipeline.edits import Edit, edited_between, sentence_ranges
from ..pipeline.speech import UNSPACED_SIGNS, Aside, Speech
from ..pipeline.words import before_openers

_LETTER = re.compile(r"[^\W_]")
_HAN_LINE_END = re.compile(rf"(?<=[{UNSPACED_SIGNS}])[^\S\n]*+\n\s*+(?=[{UNSPACED_SIGNS}])")


@dataclass(frozen=True, slots=True)
class Sentence:
    """`text` is the restored sentence of the original text[start:end]; `begins` and `ends` are seconds or None.

    `speaker` is who says it, where the file has a name; `shown` the text with what the file shows beside it.
    """

    text: str
    start: int
    end: int
    begins: float | None
    ends: float | None
    speaker: str | None = None
    shown: str = ""

    def row(self) -> dict[str, Any]:
        """As JSON has it: start and end in seconds, and a speaker, where the file has them."""
        times = {} if self.begins is None else {"start": self.begins, "end": self.ends}
        return {**times, "text": self.text, **({} if self.speaker is None else {"speaker": self.speaker})}


class SpokenWord(NamedTuple):
    """The word `text[start:end]`, restored, up to the next one; and what the file shows beside it, see `Aside`."""

    start: int
    end: int
    text: str  # what opens a bracket or a quote belongs to the word behind it
    before: str
    after: str

    @property
    def shown(self) -> str:
        """All of it, with a blank at either end of what is not said."""
        return " ".join(filter(None, (self.before, self.text, self.after))) + " " * bool(self.after)


def spoken_sentences(
    speech: Speech, edits: Sequence[Edit], words: Sequence[Mapping[str, Any]]
) -> Iterator[list[SpokenWord]]:
    """The words of each sentence. Edits and words are a restorer's."""
    before, after = _asides_by_word(speech.asides, words)
    ends = [0, *(word["end"] for word in words)]
    borders = [before_openers(speech.text, end, word["start"]) for end, word in zip(ends, words, strict=False)]
    spoken = []
    for word, border, until in zip(words, borders, [*borders[1:], len(speech.text)], strict=False):
        text, start = edited_between(speech.text, edits, border, until), word["start"]
        spoken.append(SpokenWord(start, word["end"], text, before.get(start, ""), after.get(start, "")))
    for first, end in sentence_ranges(speech.text, edits, words, speech.turns):
        yield spoken[first:end]


def _asides_by_word(
    asides: Sequence[Aside], words: Sequence[Mapping[str, Any]]
) -> tuple[dict[int, str], dict[int, str]]:
    """What is shown before and after words, by where these start; what has no word on its side goes to the other."""
    before: dict[int, str] = {}
    after: dict[int, str] = {}
    for offset, text, leads in asides if words else ():
        index = bisect_left(words, offset, key=itemgetter("start"))
        leads = index < len(words) and (leads or index == 0)
        found, start = (before, words[index]["start"]) if leads else (after, words[index - 1]["start"])
        found[start] = f"{found.get(start, '')} {text}".strip()
    return before, after


def find_sentences(
    speech: Speech, edits: Sequence[Edit], words: Sequence[Mapping[str, Any]], clock: "Clock"
) -> list[Sentence]:
    """The sentences of a restored speech, in one line each. A text without words (signs, pictures) has none."""
    sentences: list[Sentence] = []
    for spoken in spoken_sentences(speech, edits, words):
        start, end = spoken[0].start, spoken[-1].end
        text, shown = (_in_one_line("".join(map(attrgetter(name), spoken))) for name in ("text", "shown"))
        n_before = bisect_right(speech.speakers, start, key=itemgetter(0))
        speaker = speech.speakers[n_before - 1][1] if n_before else None
        sentences.append(Sentence(text, start, end, *clock.between(start, end), speaker, shown))
    return sentences


def _in_one_line(text: str) -> str:
    """Without line ends: between Han characters nothing takes their place, elsewhere a blank."""
    return " ".join(_HAN_LINE_END.sub("", text).split())


class Clock:
    """Says when a part of the speech was said, from what the file tells.

    What has a start alone ends where the next one begins. Inside a cue or segment, whose words have no times of their
    own, time is shared out evenly over the characters.
    """

    def __init__(self, speech: Speech):
        self._timings: list[tuple[int, int, float, float]] = []
        for (start, end, (begins, ends)), following in itertools.zip_longest(speech.spans, speech.spans[1:]):
            if begins is not None and ends is None:
                ends = following.time[0] if following else begins
            if begins is not None and ends is not None:
                # A word ends where its last letter does, whatever marks it has.
                first = _LETTER.search(speech.text, start, end)
                while first and not _LETTER.match(speech.text[end - 1]):
                    end -= 1
                self._timings.append((first.start() if first else start, end, float(begins), float(ends)))

    def __bool__(self) -> bool:
        return bool(self._timings)

    def between(self, start: int, end: int) -> tuple[float | None, float | None]:
        """Seconds at which text[start:end] begins and ends; words without times take those of their neighbours."""
        if not self._timings or start >= end:
            return None, None
        first = min(bisect_right(self._timings, start, key=itemgetter(1)), len(self._timings) - 1)
        last = min(bisect_left(self._timings, end, key=itemgetter(1)), len(self._timings) - 1)
        if self._timings[last][0] >= end and last > 0:
            last -= 1
        begins, ends = sorted((self._at(first, start), self._at(last, end)))
        return round(begins, 3), round(ends, 3)

    def _at(self, index: int, offset: int) -> float:
        start, end, begins, ends = self._timings[index]
        share = (offset - start) / max(1, end - start)
        return begins + min(1.0, max(0.0, share)) * (ends - begins)
