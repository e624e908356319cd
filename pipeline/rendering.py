"""Words + labels + the original text -> restored text. Inserts, and never changes what was there.

It knows how marks are written, and nothing of scores or models.
"""

from collections.abc import Mapping, Sequence

from .conventions import written
from .words import Word


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


def render(text: str, words: Sequence[Word], marks: Sequence[tuple[str, str]]) -> str:
    """`text` with each word's marks written before and after it."""
    parts: list[str] = []
    place = 0
    for word, (before, after) in zip(words, marks, strict=True):
        if before:
            parts += [text[place : word.mark_from], before]
            place = word.mark_from
        if after:
            parts += [text[place : word.mark_at], after]
            place = word.mark_at
    return "".join([*parts, text[place:]])
