"""Words + labels + the original text -> restored text, as a list of edits. Whatever no edit names stays as it was.

It knows how marks are written, and nothing of scores or models.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from .conventions import written
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


def insertions(words: Sequence[Word], marks: Sequence[tuple[str, str]]) -> list[Edit]:
    """The edits that write each word's marks before and after it."""
    edits = []
    for word, (before, after) in zip(words, marks, strict=True):
        if before:
            edits.append(Edit(word.mark_from, word.mark_from, before, follows=False))
        if after:
            edits.append(Edit(word.mark_at, word.mark_at, after))
    return edits


def removals(text: str, words: Sequence[Word], known_marks: Collection[str]) -> list[Edit]:
    """The edits that take every known mark out of the gaps between the words; signs inside words stay."""
    borders = [0, *(offset for word in words for offset in (word.start, word.end)), len(text)]
    return [
        Edit(place, place + 1, "")
        for start, end in zip(borders[::2], borders[1::2], strict=True)
        for place in range(start, end)
        if text[place] in known_marks
    ]


def apply_edits(text: str, edits: Iterable[Edit], start: int = 0, end: int | None = None) -> str:
    """`text`, or the stretch of it from `start` to `end`, with the edits made that belong to it."""
    end = len(text) if end is None else end
    parts: list[str] = []
    place = start
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        if edit.start == edit.end:
            inside = start < edit.start <= end if edit.follows else start <= edit.start < end
        else:
            inside = start <= edit.start and edit.end <= end
        if inside:
            parts += [text[place : edit.start], edit.replacement]
            place = edit.end
    return "".join([*parts, text[place:end]])
