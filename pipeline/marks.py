"""Punctuated text -> words + marks: which marks a text has, and after or before which words. The way into training.

text      hola,  ¿cómo          estás?          ¿bien?
labels    COMMA  OPEN_QUESTION  CLOSE_QUESTION  FULL_QUESTION
"""

import functools
from bisect import bisect_left
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

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
    What stands behind one of the `borders`, where another speaker or paragraph begins, is no mark of the word before;
    they are in order.
    """
    rank, opening, closing = _tables(tuple(mark_labels.items()), tuple(label_names))
    ends = [*(word.mark_from for word in words[1:]), len(text)]
    if borders:
        nearest = (bisect_left(borders, word.end) for word in words)
        ends = [min([end, *borders[n : n + 1]]) for n, end in zip(nearest, ends, strict=False)]
    marks = [
        _mark_between(text, word.end, end, closing, rank)
        for word, end in zip(words, ends, strict=False)
    ]
    if not opening:
        return marks
    starts = [0, *(mark.end if mark else word.end for word, mark in zip(words, marks, strict=True))]
    for index, word in enumerate(words):
        if places := mark_offsets(text, starts[index], word.start, opening):
            mark = marks[index] or FoundMark(None, places[0], places[-1] + 1)
            signs = [text[place] for place in places]
            closed = [
                sign
                for sign in signs
                if mark.label and mark_labels.get(PAIRS.get(sign, "")) == mark.label
            ]
            whole = [mark_labels.get(sign + PAIRS[sign]) for sign in closed]
            labels = whole if any(whole) else [mark.label, *map(mark_labels.__getitem__, signs)]
            label = max(filter(None, labels), key=rank.__getitem__)
            marks[index] = FoundMark(label, mark.start, mark.end)
    return marks


@functools.cache
def _tables(
    mark_labels: tuple[tuple[str, str | None], ...], label_names: tuple[str, ...]
) -> tuple[dict[str, int], frozenset[str], dict[str, str | None]]:
    """Of one configuration: the place of each label, the signs that open, and the labels of all others."""
    table = dict(mark_labels)
    labels_of = {sign: table[mark] for sign, mark in known_marks(table).items()}
    opening = frozenset(sign for sign, label in labels_of.items() if sign in OPENERS and label)
    closing = {sign: label for sign, label in labels_of.items() if sign not in OPENERS}
    return {name: index for index, name in enumerate(label_names)}, opening, closing


def _mark_between(
    text: str, start: int, end: int, labels_of: MarkLabels, rank: dict[str, int]
) -> FoundMark | None:
    """The mark in one gap, from the end of a word to the start of the next."""
    if text[start:end] in _NO_MARKS:
        return None
    found = [
        (place, place + 1, labels_of[text[place]])
        for place in mark_offsets(text, start, end, labels_of)
    ]
    if "—" in labels_of:
        found += [(*span, labels_of["—"]) for span in typed_dashes(text, start, end)]
    if not found:
        return None
    starts, ends, labels = zip(*found, strict=True)
    return FoundMark(
        max(filter(None, labels), key=rank.__getitem__, default=None), min(starts), max(ends)
    )


def mark_offsets(text: str, start: int, end: int, marks: Container[str]) -> list[int]:
    """Offsets of the marks between two offsets, where no word is; a minus and what belongs to a typed face are none."""
    places = [
        place
        for place in range(start, end)
        if text[place] in marks and not _MINUS.match(text, place)
    ]
    faces = {
        sign
        for place in places
        if (face := _FACE.match(text, place))
        for sign in range(*face.span())
    }
    return [place for place in places if place not in faces] if faces else places


def typed_dashes(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Where hyphens stand for a dash between two words, given the offsets of the gap between them."""
    if "-" not in text[start:end]:
        return []
    return [
        match.span() for match in _TYPED_DASH.finditer(text, start, end + 2)
    ]  # ` -5`: what follows must be seen


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
        labels[-1] = (
            mark_labels["."] or label_names[0]
        )  # the point of an abbreviation that ends the text is both
    return [word.spoken for word in words], labels
