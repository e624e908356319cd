"""Punctuated text -> words + marks: which marks a text has, and after which words. The way into training.

Takes text, its words and the table of marks; gives one label, or none, for each word. Knows nothing of pieces.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import regex

from .words import Word, WordFinder


@dataclass(frozen=True, slots=True)
class FoundMark:
    """The mark that stands after a word: its label, and the offsets of its first and behind its last sign."""

    label: str | None
    start: int
    end: int


def find_marks(
    text: str, words: Sequence[Word], mark_labels: Mapping[str, str | None], label_names: Sequence[str]
) -> list[FoundMark | None]:
    """The mark in the gap after each word.

    Where several stand together (`?!`, `."—`), the label that comes last in `label_names` counts: a question mark
    outweighs a period, which outweighs a comma.

    Args:
        text: the text.
        words: its words, from `WordFinder`.
        mark_labels: the label that each mark means, or None for one that means none.
        label_names: all labels in the order of their ids.
    """
    rank = {name: index for index, name in enumerate(label_names)}
    found: list[FoundMark | None] = []
    for index, word in enumerate(words):
        following = words[index + 1].start if index + 1 < len(words) else len(text)
        gap = text[word.end : following]
        places = [place for place, sign in enumerate(gap) if sign in mark_labels]
        labels = [mark_labels[gap[place]] for place in places]
        dashes = [match.span() for match in _SPACED_HYPHEN.finditer(gap)] if index + 1 < len(words) else []
        if dashes and "—" in mark_labels:  # a hyphen between blanks is a typed dash
            labels.append(mark_labels["—"])
        if not places and not dashes:
            found.append(None)
            continue
        start = min(places + [dash[0] for dash in dashes])
        end = max([place + 1 for place in places] + [dash[1] for dash in dashes])
        named = [label for label in labels if label is not None]
        label = max(named, key=lambda name: rank[name]) if named else None
        found.append(FoundMark(label, word.end + start, word.end + end))
    return found


# `word - word` and `word -- word`, on one line: at the start of a line a hyphen is a list or a new speaker.
_SPACED_HYPHEN = regex.compile(r"(?<=[^\S\n])-{1,3}(?=[^\S\n])|(?<=\S)--+(?=\S)")


def strip_marks(
    text: str, find_words: WordFinder, mark_labels: Mapping[str, str | None], label_names: Sequence[str]
) -> tuple[list[str], list[str]]:
    """What a recogniser would have written of a punctuated text, and what it left out.

    Returns:
        The spoken words, and for each the name of the label after it (the first of `label_names` where none is).
    """
    words = find_words(text)
    marks = find_marks(text, words, mark_labels, label_names)
    labels = [mark.label if mark and mark.label else label_names[0] for mark in marks]
    if words and words[-1].text.endswith(".") and not marks[-1] and "." in mark_labels:
        labels[-1] = mark_labels["."] or label_names[0]  # the point of an abbreviation that ends the text is both
    return [word.spoken for word in words], labels
