"""Decided labels -> what the caller gets: edits, and as their views text, sentences, a recogniser's chunks; words.

Takes a document and the label, score and source of each of its words. Knows nothing of models or windows.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from .casing import raised
from .decoding import is_sentence_end
from .edits import Edit, ascending, change, edited, edited_between, marks_of, restoring_edits
from .items import Item, Time
from .marks import FoundMark
from .spoken_forms import Form
from .words import Word


class Decision(NamedTuple):
    """What stands after a word: the row of its label in the configuration's table, its probability, and who decided."""

    row: Mapping[str, str]
    score: float
    source: str


Fixed = Sequence[Decision | None]  # what is decided of each word; None where nothing is


@dataclass(frozen=True, slots=True)
class PreparedItem:
    """An item on its way through the stages."""

    item: Item
    words: list[Word]
    found: list[FoundMark | None]  # the mark that the text has after each word
    fixed: Fixed  # what is decided already
    forms: list[Form]  # numbers, times and addresses as they are spoken
    replaced: Iterable[str] = ()  # the marks that are taken out first
    times: Sequence[tuple[Time, Time]] | None = None  # when the words were said; None where nobody knows
    casings: Any = None  # (W,) what the model says of the letters of each word, where that is settled already


def make_result(
    prepared: PreparedItem,
    decided: Sequence[Decision],
    scores: Sequence[Mapping[str, float]] | None = None,
    truecase: bool = False,
    sentences: bool = False,
    return_words: bool = True,
    cased: Sequence[str] = (),
) -> Any:
    """What the pipeline gives for one item; its class says what that is.

    `cased` has each word in the letters that a model wants in the middle of a sentence; none without such a model.
    """
    item, words = prepared.item, prepared.words
    text, rows = item.text, [decision.row for decision in decided]
    marks = marks_of(words, rows)
    cuts = {0, len(words), *(index for index, row in enumerate(rows, start=1) if is_sentence_end(row))}
    ranges = list(itertools.pairwise(sorted(cuts)))  # words of each sentence (first, end); the last may be unfinished
    entries: list[dict[str, Any]] = [
        {
            "word": word.text, "start": word.start, "end": word.end,
            "label": row["name"], "mark": mark[1], "score": score, "source": source,
        }
        for word, mark, (row, score, source) in zip(words, marks, decided, strict=True)
    ]  # fmt: skip
    new = [("", "") if decision.source == "input" else mark for mark, decision in zip(marks, decided, strict=True)]
    edits = restoring_edits(text, words, new, entries, prepared.replaced)
    if truecase:
        forms = cased or [word.text for word in words]
        edits = ascending([*edits, *_capitals(text, words, ranges, forms)])
    result: dict[str, Any] = {"text": edited(text, edits), "edits": edits}
    if return_words:
        for name, values in (("timestamp", prepared.times), ("scores", scores)):
            for entry, value in zip(entries, values or [], strict=False):
                entry[name] = value
        result["words"] = entries
    if sentences:
        result["sentences"] = _sentences(prepared, ranges, edits)
    if item.chunks is not None and item.spans is not None:
        result["chunks"] = _chunks(item, edits)
    if item.recognised is None:
        return result
    restored = item.recognised.restored(edits)
    return {**restored, "punctuation": result} if isinstance(restored, dict) else restored


def _capitals(text: str, words: Sequence[Word], ranges: Sequence[tuple[int, int]], forms: Sequence[str]) -> list[Edit]:
    """The edits that give words in lower case their forms, sentences their capital, and the English `I` its own.

    A sentence's first word with a capital in its form (iPhone) gets no other. Words that have capitals already, links
    and addresses stay as they are.
    """
    firsts = {first for first, _ in ranges}
    edits = []
    for index, (word, form) in enumerate(zip(words, forms, strict=True)):
        is_english_i = word.spoken == "i" or word.spoken.startswith("i'")  # also in I'm, I'll, I've, I'd
        if not (is_english_i or word.spoken.islower()) or "://" in word.text or "@" in word.text:
            continue
        if is_english_i or (index in firsts and form == word.text):
            offset = next((place for place, sign in enumerate(word.text) if sign.isalnum()), 0)
            form = word.text[:offset] + raised(word.text[offset]) + word.text[offset + 1 :]
        for offset, (sign, wanted) in enumerate(zip(word.text, form, strict=True)):
            if sign != wanted:
                edits.append(change(text, word.start + offset, wanted, "truecase"))
    return edits


def _sentences(prepared: PreparedItem, ranges: list[tuple[int, int]], edits: Sequence[Edit]) -> list[dict[str, Any]]:
    """Sentences as they are restored, and where they stand in the input."""
    sentences = []
    for first, end in ranges:
        mark = prepared.found[end - 1]
        start, stop = prepared.words[first].mark_from, prepared.words[end - 1].mark_at
        stop = max(stop, mark.end) if mark else stop
        text = edited_between(prepared.item.text, edits, start, stop)
        sentences.append({"text": text, "start": start, "end": stop})
    return sentences


def _chunks(item: Item, edits: Sequence[Edit]) -> list[dict[str, Any]]:
    """The recogniser's chunks with their marks; their times, and whatever else they carry, unchanged."""
    chunks = []
    for chunk, span in zip(item.chunks or [], item.spans or [], strict=True):
        said, restored = chunk["text"], edited_between(item.text, edits, span.start, span.end)
        chunks.append({**chunk, "text": said.replace(said.strip(), restored, 1)})
    return chunks
