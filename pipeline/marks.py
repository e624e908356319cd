"""Punctuated text -> words + marks: which marks a text has, and after or before which words. The way into training.

text      hola,  ¿cómo          estás?          ¿bien?
labels    COMMA  OPEN_QUESTION  CLOSE_QUESTION  FULL_QUESTION
"""

import functools
from bisect import bisect_left
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace

import regex

from .conventions import EMOTICON, OPENERS, PAIRS, known_marks
from .words import Word

MarkLabels = Mapping[str, str | None]  # each mark -> the name of the label that it means, if any


@dataclass(frozen=True, slots=True)
class FoundMark:
    """The mark after a word, or else before it, from its first sign to the end of its last one."""

    label: str | None
    start: int
    end: int


def find_marks(
    text: str,
    words: Sequence[Word],
    mark_labels: MarkLabels,
    label_names: Sequence[str],
    borders: Sequence[int] = (),
) -> list[FoundMark | None]:
    """The mark of each word: in the gap after it, or what opens there for the next word (`¿`).

    Of several together (`?!`, `."—`) the label that comes last in `label_names`, all labels in the order of their ids,
    counts: a question mark outweighs a period, which outweighs a comma. A hyphen between blanks, or two without them,
    is a typed dash. `mark_labels` gives the label of each mark, or None, and that of a pair around one word (`¿?`).
    What is after one of the `borders`, where another speaker or paragraph begins, is no mark of the word before; they
    are in order.
    """
    opening, closing = _tables(tuple(mark_labels.items()))
    marks: list[FoundMark | None] = []
    borders = [*borders, len(text)]
    starts = [*(word.mark_from for word in words), len(text)]
    gap_start = 0
    for word, following in zip(words, starts[1:], strict=True):
        offsets = mark_offsets(text, gap_start, word.start, opening) if opening else []
        end = min(following, borders[bisect_left(borders, word.end)])
        mark = _mark_between(text, word.end, end, closing, label_names)
        gap_start = mark.end if mark else word.end
        if offsets:
            mark = mark or FoundMark(None, offsets[0], offsets[-1] + 1)
            signs = [text[offset] for offset in offsets]
            mark = replace(mark, label=_paired(mark.label, signs, mark_labels, label_names))
        marks.append(mark)
    return marks


def _paired(
    closing: str | None,
    opening: Sequence[str],
    mark_labels: MarkLabels,
    label_names: Sequence[str],
) -> str | None:
    """The label of a word with a closing label, or none, and opening signs before it."""
    both = [
        mark_labels.get(sign + PAIRS[sign])
        for sign in opening
        if closing and mark_labels.get(PAIRS.get(sign, "")) == closing
    ]
    labels = both if any(both) else [closing, *map(mark_labels.get, opening)]
    return max(filter(None, labels), key=label_names.index)


@functools.cache
def _tables(
    mark_labels: tuple[tuple[str, str | None], ...],
) -> tuple[frozenset[str], dict[str, str | None]]:
    """Of one configuration: the signs that open, and the labels of all others."""
    table = dict(mark_labels)
    labels_of = {sign: table[mark] for sign, mark in known_marks(table).items()}
    opening = frozenset(sign for sign, label in labels_of.items() if sign in OPENERS and label)
    closing = {sign: label for sign, label in labels_of.items() if sign not in OPENERS}
    return opening, closing


def _mark_between(
    text: str, start: int, end: int, labels_of: MarkLabels, label_names: Sequence[str]
) -> FoundMark | None:
    """The mark in one gap, from the end of a word to the start of the next."""
    if text[start:end] in _NO_MARKS:
        return None
    spans = {
        (offset, offset + 1): labels_of[text[offset]]
        for offset in mark_offsets(text, start, end, labels_of)
    }
    if "—" in labels_of and "-" in text[start:end]:
        # Of ` -5` the digit must be seen.
        dashes = _TYPED_DASH.finditer(text, start, end + 2)
        spans |= {dash.span(): labels_of["—"] for dash in dashes}
    if not spans:
        return None
    label = max(filter(None, spans.values()), key=label_names.index, default=None)
    return FoundMark(label, min(spans)[0], max(end for _, end in spans))


def mark_offsets(text: str, start: int, end: int, marks: Container[str]) -> list[int]:
    """Offsets of the marks between two offsets, where no word is; a minus and a typed face are no marks."""
    offsets = [
        offset
        for offset in range(start, end)
        if text[offset] in marks and not _MINUS.match(text, offset)
    ]
    faces: set[int] = set()
    for offset in offsets:
        if face := _FACE.match(text, offset):
            faces.update(range(*face.span()))
    return [offset for offset in offsets if offset not in faces]


_NO_MARKS = {"", " ", "\n", "　"}  # the gaps between most words
_FACE = regex.compile(EMOTICON)
_MINUS = regex.compile(r"(?<!\S)[–—](?=\d)")
# `word - word`, `word -- word`, `word--word` and `wor-- word`: at the start of a line a hyphen is a list or a speaker.
_TYPED_DASH = regex.compile(r"(?<=[^\S\n])-{1,3}(?![^\s\p{Pe}\p{Pf}\"])|(?<=[^\s-])--+")


def strip_marks(
    text: str, words: Sequence[Word], mark_labels: MarkLabels, label_names: Sequence[str]
) -> tuple[list[str], list[str]]:
    """The words that a recogniser would have written of a punctuated text, and their labels, which it left out."""
    marks = find_marks(text, words, mark_labels, label_names)
    labels = [mark.label if mark and mark.label else label_names[0] for mark in marks]
    if words and words[-1].text.endswith(".") and not marks[-1] and "." in mark_labels:
        labels[-1] = mark_labels["."] or label_names[0]  # an abbreviation's point is both
    return [word.spoken for word in words], labels
