"""Words + decisions + the original text -> edits, and texts as views of them. Whatever no edit names stays as it was.

    text    hello how are you 我们 好     edit    start 17, removed "", inserted "?", label "QUESTION", score 0.93
    edited  hello how are you? 我们 好

It knows how marks are written, and nothing of models.
"""

import functools
import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Container, Iterable, Mapping, Sequence, Set
from operator import itemgetter
from typing import Any, TypedDict

import regex

from .conventions import ENCLOSING, OPENERS, ends_sentence, written
from .marks import mark_offsets
from .segmentation import WORD_SIGNS, as_set
from .words import Word

Row = Mapping[str, Any]  # a word of a result


class Edit(TypedDict):
    """One change: from `start` on, `removed` becomes `inserted`. The pipeline's class says what the others are."""

    start: int
    removed: str
    inserted: str
    label: str | None
    score: float | None
    source: str


def make_edit(
    start: int,
    removed: str,
    inserted: str,
    source: str,
    label: str | None = None,
    score: float | None = None,
) -> Edit:
    """An edit; without a label and a score where it is no mark of a word."""
    return Edit(
        start=start, removed=removed, inserted=inserted, label=label, score=score, source=source
    )


def marks_of(words: Sequence[Word], labels: Sequence[Mapping[str, str]]) -> list[tuple[str, str]]:
    """What is written before and after each word, in its script; `labels` are rows of the configuration's table."""
    marks = []
    for word, label in zip(words, labels, strict=True):
        before, after = written(label["before"], word.script), written(label["after"], word.script)
        # The point of an abbreviation ends the sentence too.
        has_it = after and word.text.endswith((after, label["after"]))
        marks.append((before, "" if has_it else after))
    return marks


def find_removals(text: str, words: Sequence[Word], marks: Set[str]) -> list[int]:
    """Offsets of the signs in `marks`, those of every script, between the words of a text.

    A sign that parts two words, or a word and a sign, stays: `yes,no` would become `yesno`.
    """
    removed = []
    starts = [0, *(word.end for word in words)]
    ends = [*(word.start for word in words), len(text)]
    for start, end in zip(starts, ends, strict=True):
        offsets = set(mark_offsets(text, start, end, marks))
        for run in _runs(marks).finditer(text, start, end) if offsets else ():
            # Quotes and brackets do not keep words apart for sure: `a.'b` would become `a'b`.
            around = text[run.start() - 1 : run.start()] + text[run.end() : run.end() + 1]
            if len(around) < 2 or not WORD_SIGNS.fullmatch(around):
                removed += [offset for offset in range(*run.span()) if offset in offsets]
    return removed


def blanked(text: str, offsets: Iterable[int]) -> str:
    """The text with blanks in the place of some signs."""
    signs = list(text)
    for offset in offsets:
        signs[offset] = " "
    return "".join(signs)


def restoring_edits(
    text: str,
    words: Sequence[Word],
    marks: Sequence[tuple[str, str]],
    decided: Sequence[Row],
    removed: Iterable[int] = (),
) -> list[Edit]:
    """The edits that write the `marks` before and after each word, ascending; `decided` says why, word by word.

    Marks whose source is the input are there. The signs at the offsets `removed` are first taken out.
    """
    edits = [make_edit(offset, text[offset], "", "removal") for offset in removed]
    for word, (before, after), why in zip(words, marks, decided, strict=True):
        if why["source"] == "input":
            continue
        row = why["source"], why["label"], why["score"]
        if before:
            edits.append(make_edit(word.mark_from, "", before, *row))
        if after:
            edits.append(make_edit(word.mark_at, "", after, *row))
    return ascending(edits)


@functools.cache
def _runs(marks: Set[str]) -> regex.Pattern[str]:
    """Marks that have only marks, quotes and brackets between them."""
    return regex.compile(f"[{as_set(marks | ENCLOSING)}]++")


def ascending(edits: Iterable[Edit]) -> list[Edit]:
    """Edits in the order of the text; at one offset insertions come first."""
    return sorted(edits, key=lambda edit: (edit["start"], len(edit["removed"])))


def follows(edit: Edit) -> bool:
    """Whether it is a mark that belongs to the word before it."""
    return not edit["removed"] and edit["inserted"][:1] not in OPENERS


def edited(text: str, edits: Iterable[Edit], start: int = 0, end: int | None = None) -> str:
    """`text[start:end]` with edits, ascending, that all belong to it."""
    parts = []
    for edit in edits:
        parts += [text[start : edit["start"]], edit["inserted"]]
        start = edit["start"] + len(edit["removed"])
    return "".join([*parts, text[start:end]])


def edited_between(text: str, edits: Sequence[Edit], start: int, end: int) -> str:
    """`text[start:end]` with those of the text's edits that belong to it: a mark belongs to its word."""
    first = bisect_left(edits, start, key=itemgetter("start"))
    last = bisect_right(edits, end, key=itemgetter("start"))
    inside = []
    for edit in edits[first:last]:
        starts_after = edit["start"] > start
        ends_before = edit["start"] + max(1, len(edit["removed"])) <= end
        if starts_after if follows(edit) else ends_before:
            inside.append(edit)
    return edited(text, inside, start, end)


def sentence_ranges(
    text: str,
    edits: Sequence[Edit],
    words: Sequence[Row],
    turns: Iterable[int],
    stops: Container[str],
) -> list[tuple[int, int]]:
    """Which words (first, end) make each sentence of a restored text; the last one may have no end.

    A sentence ends at a word whose label, or whose mark in the restored text, ends one, and where another speaker
    begins. Of a mark that the text had the sign counts, not its label: `;` has that of a period. The point of an
    abbreviation, which is also its mark, ends a sentence only by its label: one of `stops`, the names of those that do.
    Edits and words are those of a result.
    """
    borders = sorted(turns)
    removed = {edit["start"] for edit in edits if edit["source"] == "removal"}
    cuts = [0]
    for index, (word, following) in enumerate(itertools.pairwise(words), start=1):
        end, next_start = word["end"], following["start"]
        is_labelled = word["source"] != "input" and (
            ends_sentence(word["mark"]) or (text[end - 1] == "." and word["label"] in stops)
        )
        has_border = bisect_left(borders, end) < bisect_right(borders, next_start)
        gap = (text[offset] for offset in range(end, next_start) if offset not in removed)
        if is_labelled or has_border or ends_sentence(gap):
            cuts.append(index)
    return list(itertools.pairwise([*cuts, len(words)])) if words else []
