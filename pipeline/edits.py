"""Words + decisions + the original text -> edits, and texts as views of them. Whatever no edit names stays as it was.

    text    hello how are you 我们 好     edit    start 17, removed "", inserted "?", label "QUESTION", score 0.93
    edited  hello how are you? 我们 好

It knows how marks are written, and nothing of models.
"""

import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Container, Iterable, Mapping, Sequence, Set
from operator import itemgetter
from typing import Any, TypedDict

from .conventions import ENCLOSING, OPENERS, ends_sentence, written
from .marks import mark_places, typed_dashes
from .segmentation import WORD_SIGNS
from .words import Word


class Edit(TypedDict):
    """One change: from `start` on, `removed` becomes `inserted`. The pipeline's class says what the others are."""

    start: int
    removed: str
    inserted: str
    label: str | None
    score: float | None
    source: str


def marks_of(words: Sequence[Word], labels: Sequence[Mapping[str, str]]) -> list[tuple[str, str]]:
    """What is written before and after each word, in its script; `labels` are rows of the configuration's table."""
    marks = []
    for word, label in zip(words, labels, strict=True):
        before, after = written(label["before"], word.script), written(label["after"], word.script)
        if after and word.text.endswith(
            (after, label["after"])
        ):  # an abbreviation's point ends the sentence too
            after = ""
        marks.append((before, after))
    return marks


def without_marks(text: str, words: Sequence[Word], removed: Set[str]) -> str:
    """The text with blanks in the place of the signs that `restoring_edits` takes out; of `yes,no` none is."""
    starts, ends = [0, *(word.end for word in words)], [*(word.start for word in words), len(text)]
    gone = {
        edit["start"]
        for gap in zip(starts, ends, strict=True)
        for edit in _removals(text, *gap, removed)[0]
    }
    return (
        "".join(" " if place in gone else sign for place, sign in enumerate(text)) if gone else text
    )


def restoring_edits(
    text: str,
    words: Sequence[Word],
    marks: Sequence[tuple[str, str]],
    decided: Sequence[Mapping[str, Any]],
    removed: Set[str] = frozenset(),
) -> list[Edit]:
    """The edits that write the `marks` before and after each word, ascending; `decided` says why, word by word.

    The signs in `removed`, those of every script, are first taken out of the gaps between the words. What alone parts
    two words, or a word and a sign, stays, and gets no new mark beside it: `yes,no` would become `yesno` or `yes.no`.
    """
    edits = _removals(text, 0, words[0].start if words else len(text), removed)[0]
    for index, (word, (before, after)) in enumerate(zip(words, marks, strict=True)):
        if before and (
            removed or before not in text[word.mark_from : word.start]
        ):  # else it is there already
            edits.append(_insertion(word.mark_from, before, decided[index]))
        following = words[index + 1].start if index + 1 < len(words) else len(text)
        gone, stays_alone = _removals(text, word.end, following, removed)
        if after and not stays_alone:
            edits.append(_insertion(word.mark_at, after, decided[index]))
        edits += gone
    return ascending(edits)


def _insertion(start: int, mark: str, why: Mapping[str, Any]) -> Edit:
    return Edit(
        start=start,
        removed="",
        inserted=mark,
        label=why["label"],
        score=why["score"],
        source=why["source"],
    )


def change(text: str, start: int, inserted: str, source: str) -> Edit:
    """The edit that puts something in the place of one character, for another reason than a label."""
    return Edit(
        start=start, removed=text[start], inserted=inserted, label=None, score=None, source=source
    )


def _removals(text: str, start: int, end: int, marks: Container[str]) -> tuple[list[Edit], bool]:
    """The edits that empty a gap of marks; and whether what stays after the word before it wants no mark beside it."""
    places = set(mark_places(text, start, end, marks))
    if not places:
        return [], bool(marks) and bool(
            typed_dashes(text, start, end)
        )  # dashes are not in the table, and stay
    edits: list[Edit] = []
    stays_alone = False
    for is_run, group in itertools.groupby(
        range(start, end), lambda n: text[n] in marks or text[n] in ENCLOSING
    ):
        run = list(group)
        first, after = run[0], run[-1] + 1
        if is_run and (gone := [place for place in run if place in places]):
            # Quotes and brackets do not keep words apart for sure: `a.'b` would become `a'b`.
            if (
                first > 0
                and after < len(text)
                and WORD_SIGNS.fullmatch(text[first - 1] + text[after])
            ):
                stays_alone = stays_alone or first == start
            else:
                edits += [change(text, place, "", "removal") for place in gone]
    return edits, stays_alone or bool(typed_dashes(text, start, end))


def ascending(edits: Iterable[Edit]) -> list[Edit]:
    """Edits in the order of the text; at one place what is inserted comes first."""
    return sorted(edits, key=lambda edit: (edit["start"], len(edit["removed"])))


def follows(edit: Edit) -> bool:
    """Whether it is a mark that belongs to the word before it."""
    return not edit["removed"] and edit["inserted"][0] not in OPENERS


def edited(text: str, edits: Iterable[Edit], start: int = 0, end: int | None = None) -> str:
    """`text[start:end]` with edits, ascending, that all belong to it."""
    parts: list[str] = []
    for edit in edits:
        parts += [text[start : edit["start"]], edit["inserted"]]
        start = edit["start"] + len(edit["removed"])
    return "".join([*parts, text[start:end]])


def edited_between(
    text: str, edits: Sequence[Edit], start: int, end: int, with_marks: bool = False
) -> str:
    """`text[start:end]` with those of the text's edits that belong to it: a mark belongs to its word.

    `with_marks` adds the marks at `start` itself, of the word that ends there.
    """
    first = bisect_left(edits, start, key=itemgetter("start"))
    last = bisect_right(edits, end, key=itemgetter("start"))
    inside = []
    for edit in edits[first:last]:
        place = edit["start"]
        if (
            (place > start or with_marks)
            if follows(edit)
            else place + max(1, len(edit["removed"])) <= end
        ):
            inside.append(edit)
    return edited(text, inside, start, end)


def sentence_ranges(
    text: str, edits: Sequence[Edit], words: Sequence[Mapping[str, Any]], turns: Iterable[int] = ()
) -> list[tuple[int, int]]:
    """Which words (first, end) make each sentence of a restored text; the last sentence may be unfinished.

    A sentence ends at a word whose label, or whose mark in the restored text, ends one, and where another speaker
    begins. Of a mark that the text had the sign counts, not its label: `;` has that of a period. The point of an
    abbreviation ends a sentence only by its label. Edits and words are those of a result.
    """
    borders = sorted(turns)
    cuts = [0, len(words)]
    for index, (word, following) in enumerate(itertools.pairwise(words), start=1):
        end = word["end"]
        next_start = following["start"]
        is_labelled = word.get("source") != "input" and (
            ends_sentence(word.get("mark", ""))
            or (word.get("label") == "PERIOD" and text[end - 1] == ".")  # of an abbreviation
        )
        has_border = bisect_left(borders, end) < bisect_right(borders, next_start)
        gap = edited_between(text, edits, end, next_start, with_marks=True)
        if is_labelled or has_border or ends_sentence(gap):
            cuts.append(index)
    return list(itertools.pairwise(sorted(set(cuts))))
