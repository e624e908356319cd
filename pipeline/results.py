"""Decided labels -> what the caller gets: edits, and as their views text, sentences, a recogniser's chunks; words.

Takes a document and the label, score and source of each of its words. Knows nothing of models or windows.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .conventions import SENTENCE_ENDS
from .edits import Edit, ascending, edited, edited_between, marks_of, restoring_edits
from .items import Item, Time
from .marks import FoundMark
from .sentences import capitals, sentence_ranges
from .words import Word


@dataclass(frozen=True, slots=True)
class Document:
    """An item on its way through the stages.

    Attributes:
        item: what the caller handed in.
        words: its words.
        found: the mark that the text has after each word.
        fixed: for each word a label id and its source, or None where the model decides.
        replaced: the marks that are removed first.
    """

    item: Item
    words: list[Word]
    found: list[FoundMark | None]
    fixed: list[tuple[int, str] | None]
    replaced: Iterable[str]


@dataclass(frozen=True, slots=True)
class Decisions:
    """For each word: the row of its label in the configuration's table, its probability, and who decided.

    `probabilities`, (W, M), are those of all labels, where the caller wants to see them.
    """

    rows: Sequence[Mapping[str, str]]
    scores: Sequence[float] | np.ndarray
    sources: Sequence[str]
    probabilities: Any = None


def make_result(
    document: Document,
    decided: Decisions,
    label_names: Sequence[str],
    times: Sequence[tuple[Time, Time]] | None = None,
    truecase: bool = False,
    sentences: bool = False,
    return_words: bool = True,
) -> dict[str, Any]:
    """The dictionary that the pipeline gives for one item; its class says what is in it."""
    item, words = document.item, document.words
    text, marks = item.text, marks_of(words, decided.rows)
    ranges = sentence_ranges([any(sign in SENTENCE_ENDS for sign in row["after"]) for row in decided.rows])
    entries: list[dict[str, Any]] = [
        {
            "word": word.text, "start": word.start, "end": word.end,
            "label": row["name"], "mark": mark[1], "score": float(score), "source": source,
        }
        for word, mark, row, score, source in zip(
            words, marks, decided.rows, decided.scores, decided.sources, strict=True
        )
    ]  # fmt: skip
    new = [("", "") if source == "input" else mark for mark, source in zip(marks, decided.sources, strict=True)]
    edits = restoring_edits(text, words, new, entries, document.replaced)
    if truecase:
        edits = ascending([*edits, *capitals(text, words, ranges)])
    result: dict[str, Any] = {"text": edited(text, edits), "edits": edits}
    if return_words:
        for entry, time in zip(entries, times or [], strict=False):
            entry["timestamp"] = time
        if decided.probabilities is not None:
            for entry, row in zip(entries, decided.probabilities.tolist(), strict=True):
                entry["scores"] = dict(zip(label_names, row, strict=True))
        result["words"] = entries
    if sentences:
        result["sentences"] = _sentences(document, ranges, edits)
    if item.chunks is not None and item.spans is not None:
        result["chunks"] = _chunks(item, edits)
    return result


def _sentences(document: Document, ranges: Sequence[tuple[int, int]], edits: Sequence[Edit]) -> list[dict[str, Any]]:
    """Sentences as they are restored, and where they stand in the input."""
    sentences = []
    for first, end in ranges:
        mark = document.found[end - 1]
        start, stop = document.words[first].mark_from, document.words[end - 1].mark_at
        stop = max(stop, mark.end) if mark else stop
        text = edited_between(document.item.text, edits, start, stop)
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
