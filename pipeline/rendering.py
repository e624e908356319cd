"""Words + labels + the original text -> restored text, as a list of edits. Whatever no edit names stays as it was.

It knows how marks are written, and nothing of scores or models.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

from .conventions import QUOTES_AND_BRACKETS, known_marks, written
from .marks import mark_places, typed_dashes
from .word_patterns import WORD_SIGNS
from .words import Word


@dataclass(frozen=True, slots=True)
class Edit:
    """`text[start:end]` becomes `replacement`; where `start == end`, something is inserted.

    `follows` tells that it belongs to what stands before it (a mark after a word), not to what comes next.
    """

    start: int
    end: int
    replacement: str
    follows: bool = True


def marks_of(words: Sequence[Word], labels: Sequence[Mapping[str, str]]) -> list[tuple[str, str]]:
    """What is written before and after each word, in its script.

    Args:
        words: the words of the text.
        labels: for each word its row of the configuration's table of labels.
    """
    marks = []
    for word, label in zip(words, labels, strict=True):
        before, after = written(label["before"], word.script), written(label["after"], word.script)
        if after and word.text.endswith(after):  # an abbreviation's point ends the sentence too
            after = ""
        marks.append((before, after))
    return marks


def restoring_edits(
    text: str, words: Sequence[Word], marks: Sequence[tuple[str, str]], replaced: Iterable[str] = ()
) -> list[Edit]:
    """The edits that write each word's marks before and after it.

    Args:
        text: the text.
        words: its words.
        marks: what is written before and after each.
        replaced: the marks that are taken out of the gaps between the words first. Signs inside words and marks in
            typed faces stay. So does what alone parts two words, or a word and a sign, and gets no new mark beside it:
            `yes,no` would become `yesno` or `yes.no`, one word.
    """
    removed = known_marks(replaced)
    edits = _removals(text, 0, words[0].start if words else len(text), removed)[0]
    for index, (word, (before, after)) in enumerate(zip(words, marks, strict=True)):
        if before and (removed or before not in text[word.mark_from : word.start]):  # else it stands there already
            edits.append(Edit(word.mark_from, word.mark_from, before, follows=False))
        following = words[index + 1].start if index + 1 < len(words) else len(text)
        gone, stays_alone = _removals(text, word.end, following, removed)
        if after and not stays_alone:
            edits.append(Edit(word.mark_at, word.mark_at, after))
        edits += gone
    return edits


def _removals(text: str, start: int, end: int, marks: Container[str]) -> tuple[list[Edit], bool]:
    """The edits that empty a gap of marks; and whether what stays after the word before it wants no mark beside it."""
    places = mark_places(text, start, end, marks)
    if not places:
        return [], bool(marks) and bool(typed_dashes(text, start, end))  # dashes are not in the table, and stay
    edits, stays_alone = [], False
    run_end, fuses = start, False
    for place in places:
        if place >= run_end:
            first, run_end = _run_of_signs(text, place, max(start, run_end), end, marks)
            # Quotes and brackets do not keep words apart for sure: `a.'b` would become `a'b`.
            fuses = first > 0 and run_end < len(text) and bool(WORD_SIGNS.fullmatch(text[first - 1] + text[run_end]))
            stays_alone = stays_alone or (fuses and first == start)
        if not fuses:
            edits.append(Edit(place, place + 1, ""))
    return edits, stays_alone or bool(typed_dashes(text, start, end))


def _run_of_signs(text: str, place: int, start: int, end: int, marks: Container[str]) -> tuple[int, int]:
    """The stretch of marks, quotes and brackets around a place, between two offsets."""
    first, last = place, place
    while first > start and (text[first - 1] in marks or text[first - 1] in QUOTES_AND_BRACKETS):
        first -= 1
    while last < end and (text[last] in marks or text[last] in QUOTES_AND_BRACKETS):
        last += 1
    return first, last


class EditedText:
    """A text with edits made to it, to be read as a whole or in part."""

    def __init__(self, text: str, edits: Iterable[Edit]) -> None:
        self.text = text
        self._edits = sorted(edits, key=lambda edit: (edit.start, edit.end))
        self._starts = [edit.start for edit in self._edits]

    def between(self, start: int = 0, end: int | None = None) -> str:
        """The stretch from `start` to `end`, offsets in the unedited text, with the edits that belong to it."""
        end = len(self.text) if end is None else end
        parts: list[str] = []
        place = start
        for edit in self._edits[bisect_left(self._starts, start) : bisect_right(self._starts, end)]:
            if edit.start == edit.end:
                is_inside = start < edit.start if edit.follows else edit.start < end
            else:
                is_inside = edit.end <= end
            if is_inside:
                parts += [self.text[place : edit.start], edit.replacement]
                place = edit.end
        return "".join([*parts, self.text[place:end]])
