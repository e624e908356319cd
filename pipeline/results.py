"""Decided labels -> what the caller gets: edits, and as their views text, sentences, a recogniser's chunks; words.

Takes a document and the label, score and source of each of its words. Knows nothing of models or windows.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from .decoding import is_sentence_end
from .edits import Edit, ascending, change, edited, edited_between, marks_of, restoring_edits
from .items import Item, Time
from .marks import FoundMark
from .words import Word


class Decision(NamedTuple):
    """What stands after a word: the row of its label in the configuration's table, its probability, and who decided."""

    row: Mapping[str, str]
    score: float
    source: str


@dataclass(frozen=True, slots=True)
class PreparedItem:
    """An item on its way through the stages."""

    item: Item
    words: list[Word]
    found: list[FoundMark | None]  # the mark that the text has after each word
    fixed: Sequence[Decision | None]  # what is decided of each word already; None where the model decides
    replaced: Iterable[str] = ()  # the marks that are taken out first
    pauses: Any = None  # (W,) seconds of silence after each word, for models that learned what they say


def make_result(
    prepared: PreparedItem,
    decided: Sequence[Decision],
    times: Sequence[tuple[Time, Time]] | None = None,
    scores: Sequence[Mapping[str, float]] | None = None,
    truecase: bool = False,
    sentences: bool = False,
    return_words: bool = True,
) -> Any:
    """What the pipeline gives for one item; its class says what that is."""
    item, words = prepared.item, prepared.words
    text, rows = item.text, [decision.row for decision in decided]
    marks = marks_of(words, rows)
    ranges = _sentence_ranges([is_sentence_end(row) for row in rows])
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
        edits = ascending([*edits, *_capitals(text, words, ranges)])
    result: dict[str, Any] = {"text": edited(text, edits), "edits": edits}
    if return_words:
        for name, values in (("timestamp", times), ("scores", scores)):
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


def _sentence_ranges(ends: Sequence[bool]) -> list[tuple[int, int]]:
    """Sentences as ranges of words (first, end), from whether each word ends one. The last one may be unfinished."""
    cuts = {0, len(ends), *(index + 1 for index, is_end in enumerate(ends) if is_end)}
    return list(itertools.pairwise(sorted(cuts)))


def _capitals(text: str, words: Sequence[Word], ranges: Sequence[tuple[int, int]]) -> list[Edit]:
    """The edits that give sentences their capital, and the English `I` its own (also in I'm, I'll, I've, I'd).

    Only the first letter of a word in lower case changes; links and words such as iPhone stay as they are.
    """
    firsts = {first for first, _ in ranges}
    edits = []
    for index, word in enumerate(words):
        is_english_i = word.spoken == "i" or word.spoken.startswith("i'")
        if not is_english_i and (index not in firsts or not word.spoken.islower() or "://" in word.text):
            continue
        offset = next((place for place, sign in enumerate(word.text) if sign.isalnum()), None)
        if offset is None or not word.text[offset].islower():
            continue
        # One letter for one: `ß`.upper() is two letters, `ß`.title() too, so it stays.
        capital = word.text[offset].upper()
        if len(capital) == 1:
            edits.append(change(text, word.start + offset, capital, "truecase"))
    return edits


def _sentences(
    prepared: PreparedItem, ranges: Sequence[tuple[int, int]], edits: Sequence[Edit]
) -> list[dict[str, Any]]:
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
        said = chunk["text"]
        blank = len(said) - len(said.lstrip())
        text = said[:blank] + edited_between(item.text, edits, span.start, span.end) + said[len(said.rstrip()) :]
        chunks.append({**chunk, "text": text})
    return chunks
