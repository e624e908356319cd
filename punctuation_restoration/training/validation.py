"""Micro-F1 per language on held-out documents, in windows as the pipeline cuts them; every word is decided once.

Takes prepared validation shards, a model and its slot encoder; gives counts and scores. Documents are never joined.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from punctuation_restoration.data.collation import WindowCollator
from punctuation_restoration.data.sampling import CutWindow
from punctuation_restoration.data.shards import document_borders, open_shard
from punctuation_restoration.evaluation.counts import Counts
from punctuation_restoration.evaluation.scores import score
from punctuation_restoration.modeling.configuration_punctuation import NO_MARK
from punctuation_restoration.pipeline.batching import batches_by_length
from punctuation_restoration.pipeline.windows import plan_windows

BATCH_PIECES = 4096


@dataclass(frozen=True, slots=True)
class ScoredWindow:
    """A window of which the words from `keep_from` to `keep_to` (exclusive) are scored."""

    window: CutWindow
    keep_from: int
    keep_to: int
    source_id: int


class Validation:
    """The validation windows of a run.

    Args:
        index: of prepared data, from `data.shards.read_index`.
        slots: the `SlotEncoder` of the model.
        config: the model's: window and contexts.
        words_per_language: how many words of each language are taken, alike from each of its sources.
        process, n_processes: which share of the windows this process scores.
    """

    def __init__(
        self,
        index: Mapping[str, Any],
        slots: Any,
        config: Any,
        words_per_language: int,
        process: int = 0,
        n_processes: int = 1,
    ):
        self.collator = WindowCollator(slots)
        self.languages: list[str] = index["languages"]
        self.source_names = [row["name"] for row in index["sources"]]
        self.source_languages = [self.languages.index(row["language"]) for row in index["sources"]]
        self.n_labels = len(config.label_names)
        self.label_names = config.label_names
        self.windows: list[ScoredWindow] = []
        for source_id, n_words in enumerate(words_to_take(index, words_per_language)):
            for shard in index["sources"][source_id]["splits"]["validation"]["shards"]:
                taken = source_windows(Path(shard["file"]), source_id, n_words, config, slots.has_masks)
                n_words -= sum(scored.keep_to - scored.keep_from for scored in taken)
                self.windows += taken
        self.batches = list(batched_windows(self.windows))[process::n_processes]

    def counts(self, model: Any, device: Any = "cpu") -> np.ndarray:
        """Confusion counts (n_sources, M, M): true label, predicted label."""
        counts = np.zeros((len(self.source_names), self.n_labels, self.n_labels), dtype=np.int64)
        was_training = model.training
        model.eval()
        for number, labels, logits in decided_words(model, self.collator, self.windows, self.batches, device):
            np.add.at(counts[self.windows[number].source_id], (labels, logits.argmax(-1).numpy()), 1)
        model.train(was_training)
        return counts

    def scores(self, counts: np.ndarray) -> dict[str, Any]:
        """Scores from counts: per language and per source, in points of 100."""
        languages = np.zeros((len(self.languages), *counts.shape[1:]), dtype=np.int64)
        np.add.at(languages, self.source_languages, counts)
        per_language = {name: self._row(own) for name, own in zip(self.languages, languages, strict=True) if own.sum()}
        per_source = {name: self._row(own) for name, own in zip(self.source_names, counts, strict=True) if own.sum()}
        return {
            "languages": per_language,
            "sources": {name: round(row["f1"], 1) for name, row in per_source.items()},
            "mean_f1": float(np.mean([row["f1"] for row in per_language.values()])) if per_language else 0.0,
        }

    def _row(self, confusion: np.ndarray) -> dict[str, float]:
        """Micro-F1 and the F1 of each mark, in points of 100, of counts (M, M)."""
        names = (NO_MARK, *self.label_names[1:])
        scores = score(Counts(names, np.pad(confusion, ((0, len(names) + 1), (0, 0)))))  # all words are mid-text
        marks = {name: 100 * mark.f1 for name, mark in scores.marks.items()}
        return {"f1": 100 * scores.micro.f1, **marks, "n_words": scores.n_words}


def words_to_take(index: Mapping[str, Any], words_per_language: int) -> list[int]:
    """How many validation words of each source: equal shares. What a small source lacks is taken from larger ones."""
    taken = [0] * len(index["sources"])
    for language in index["languages"]:
        own = [i for i, row in enumerate(index["sources"]) if row["language"] == language]
        own.sort(key=lambda i: index["sources"][i]["splits"]["validation"]["n_words"])
        left = words_per_language
        for position, i in enumerate(own):
            there = index["sources"][i]["splits"]["validation"]["n_words"]
            taken[i] = min(there, left // (len(own) - position))
            left -= taken[i]
    return taken


def source_windows(
    path: Path,
    source_id: int,
    n_words: int | None,
    config: Any,
    has_masks: bool,
    documents: Sequence[int] | None = None,
) -> list[ScoredWindow]:
    """Windows over the documents of a shard, until `n_words` words are scored; None scores all.

    `documents` are the places of those that are wanted, in their order; None wants all.
    """
    arrays = open_shard(path)
    piece_ends = np.cumsum(arrays["piece_counts"], dtype=np.int64)
    borders = document_borders(arrays)
    windows: list[ScoredWindow] = []
    left = len(arrays["labels"]) if n_words is None else n_words
    for number in range(len(borders)) if documents is None else documents:
        first_word, end_word = borders[number]
        if left <= 0:
            break
        end_word = min(end_word, first_word + left)
        left -= end_word - first_word
        counts = arrays["piece_counts"][first_word:end_word].astype(np.int64)
        planned = plan_windows(
            (counts + has_masks).tolist(),
            config.window,
            config.left_context,
            config.right_context,
            config.max_window_pieces - 2,
        )
        for plan in planned:
            first, end = first_word + plan.first, first_word + plan.end
            piece_from = int(piece_ends[first - 1]) if first else 0
            window = CutWindow(
                np.array(arrays["piece_ids"][piece_from : int(piece_ends[end - 1])]),
                np.array(arrays["piece_counts"][first:end]),
                np.array(arrays["labels"][first:end]),
                int(arrays["language_ids"][0]),
                (0,),
            )
            windows.append(ScoredWindow(window, plan.keep_from - plan.first, plan.keep_to - plan.first, source_id))
    return windows


def batched_windows(windows: Sequence[ScoredWindow]) -> Iterator[list[int]]:
    """Numbers of windows, those of like length together, in batches of at most about `BATCH_PIECES` pieces."""
    n_pieces = [2 + len(scored.window.piece_ids) + len(scored.window.labels) for scored in windows]
    return batches_by_length(n_pieces, None, BATCH_PIECES)


@torch.no_grad()
def decided_words(
    model: Any,
    collator: WindowCollator,
    windows: Sequence[ScoredWindow],
    batches: Iterable[Sequence[int]],
    device: Any = "cpu",
) -> Iterator[tuple[int, np.ndarray, torch.Tensor]]:
    """For each window its number, and of the words that it decides the labels (n,) and the model's logits (n, M)."""
    for batch in batches:
        inputs = collator([windows[number].window for number in batch])
        labels = inputs.pop("labels").numpy()
        logits = model(**{name: tensor.to(device) for name, tensor in inputs.items()}).logits.float().cpu()
        for row, number in enumerate(batch):
            kept = slice(windows[number].keep_from, windows[number].keep_to)
            yield number, labels[row, kept], logits[row, kept]
