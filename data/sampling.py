"""Which windows a training step sees: a pure function of the seed and the step.

Takes prepared shards and a recipe's sampling settings, gives the places of windows and cuts them out. Because nothing
is remembered between steps, a run resumes exactly by its step number, and processes share a step by its row numbers.
Knows nothing of masks, tensors or text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from punctuation_restoration.data.recipe import Sampling
from punctuation_restoration.data.shards import open_shard

SEARCH_WORDS = 120  # how far the next sentence start is looked for


@dataclass(frozen=True, slots=True)
class CutWindow:
    """A window before its slots are made."""

    piece_ids: np.ndarray  # (n_pieces,)
    piece_counts: np.ndarray  # (n_words,) pieces of each word
    labels: np.ndarray  # (n_words,)
    language_id: int
    seed: tuple[int, ...]  # seeds whatever is drawn for this window later


@dataclass(frozen=True, slots=True)
class StepPlan:
    """Where the windows of one step start: one row a window, all processes together."""

    length: int  # pieces of every window, `<s>` and `</s>` included
    stream_ids: np.ndarray  # (n_windows,)
    step: int

    def __len__(self) -> int:
        return len(self.stream_ids)


class WordStream:
    """The words of one shard, one after the other, round and round; documents of a source follow each other."""

    def __init__(self, path: Path, language_id: int):
        arrays = open_shard(path)
        self.language_id = language_id
        self.piece_ids, self.piece_counts, self.labels = (
            arrays["piece_ids"],
            arrays["piece_counts"],
            arrays["labels"],
        )
        self.document_starts = arrays["document_starts"]
        self.n_words = len(self.labels)
        # Offsets of every 256th word only: exact places are summed up from there.
        sums = np.add.reduceat(self.piece_counts, np.arange(0, self.n_words, 256), dtype=np.int64)
        self._block_offsets = np.concatenate([[0], np.cumsum(sums)])

    def piece_offset(self, word: int) -> int:
        """Where the pieces of a word begin."""
        block = word // 256
        return int(self._block_offsets[block] + self.piece_counts[block * 256 : word].sum(dtype=np.int64))

    def words(self, first: int, n_words: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Piece ids, piece counts and labels of `n_words` words from `first` on, going round at the end."""
        end = min(first + n_words, self.n_words)
        parts = [self._straight(first, end)]
        if end - first < n_words:
            parts.append(self._straight(0, min(n_words - (end - first), first)))
        ids, counts, labels = zip(*parts)
        return np.concatenate(ids), np.concatenate(counts), np.concatenate(labels)

    def _straight(self, first: int, end: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        counts = self.piece_counts[first:end]
        offset = self.piece_offset(first)
        n_pieces = int(counts.sum(dtype=np.int64))
        return self.piece_ids[offset : offset + n_pieces], counts, self.labels[first:end]


class WindowSampler:
    """Draws the windows of each step.

    Args:
        folder: prepared data.
        index: its index.
        sampling: lengths, shares and language weights.
        weights: weight of each source by name, times its number of words; sources left out keep the index's.
        pieces_per_step: pieces of one step, all processes and accumulated batches together.
        slot_cost: pieces that a slot takes: 1 for masks, 0 for tagging.
        stop_ids: label ids that end a sentence.
        seed: of the whole run.
    """

    def __init__(
        self,
        folder: Path,
        index: Mapping[str, Any],
        sampling: Sampling,
        pieces_per_step: int,
        slot_cost: int,
        stop_ids: Sequence[int],
        seed: int,
        weights: Mapping[str, float] | None = None,
    ):
        self.sampling, self.slot_cost, self.seed = sampling, slot_cost, seed
        self.stop_ids = np.asarray(stop_ids)
        self.pieces_per_step = pieces_per_step
        self.streams: list[WordStream] = []
        shares: list[float] = []
        languages: list[str] = []
        # Sources of a language stand together: systematic sampling then gives every step each language's share.
        for row in sorted(index["sources"], key=lambda row: row["language"]):
            weight = (weights or {}).get(row["name"], row["weight"])
            for shard in row["splits"]["train"]["shards"]:
                self.streams.append(WordStream(folder / shard["file"], index["languages"].index(row["language"])))
                shares.append(weight * shard["n_words"])
                languages.append(row["language"])
        self.probabilities = stream_probabilities(np.array(shares), languages, sampling)
        self._edges = np.cumsum(self.probabilities)
        lengths = sorted(sampling.lengths)
        self._lengths = np.array(lengths)
        length_shares = np.array([sampling.lengths[length] for length in lengths], dtype=np.float64)
        self._length_edges = np.cumsum(length_shares / length_shares.sum())

    def plan(self, step: int) -> StepPlan:
        """The length and the sources of a step's windows."""
        generator = np.random.default_rng((self.seed, step))
        length = int(self._lengths[min(self._length_edges.searchsorted(generator.random()), len(self._lengths) - 1)])
        n_windows = max(1, self.pieces_per_step // length)
        # Systematic sampling: one draw in each of n equal strata.
        places = (np.arange(n_windows) + generator.random(n_windows)) / n_windows
        stream_ids = np.minimum(self._edges.searchsorted(places * self._edges[-1]), len(self.streams) - 1)
        return StepPlan(length, generator.permutation(stream_ids), step)

    def cut(self, plan: StepPlan, row: int) -> CutWindow:
        """Cut window `row` of a step out of its stream: as many words as fit its length, without a break."""
        stream = self.streams[plan.stream_ids[row]]
        seed = (self.seed, plan.step, row)
        generator = np.random.default_rng(seed)
        room = plan.length - 2  # <s> and </s>
        first, end_word = self._place(stream, generator)
        if end_word is not None:
            first = self._first_word_before(stream, end_word, room)
            ids, counts, labels = stream.words(first, end_word - first)
        else:
            ids, counts, labels = stream.words(first, min(room, stream.n_words))
        n_words = int(np.cumsum(counts + np.int64(self.slot_cost)).searchsorted(room, side="right"))
        n_words = max(n_words, 1)
        n_words = self._sentence_end(labels, n_words, generator)
        counts = counts[:n_words]
        n_pieces = min(int(counts.sum(dtype=np.int64)), room - self.slot_cost)  # a first word may be too long alone
        counts = counts if n_words > 1 else np.array([n_pieces], dtype=np.uint8)
        return CutWindow(ids[:n_pieces], counts, labels[:n_words], stream.language_id, (*seed, 1))

    def _place(self, stream: WordStream, generator: np.random.Generator) -> tuple[int, int | None]:
        """First word of a window, or the word before which it ends."""
        sampling, kind = self.sampling, generator.random()
        if kind < sampling.document_starts:
            return int(stream.document_starts[generator.integers(len(stream.document_starts))]), None
        kind -= sampling.document_starts
        if kind < sampling.document_ends:
            document = int(generator.integers(len(stream.document_starts)))
            ends = stream.document_starts[document + 1 : document + 2]
            return 0, int(ends[0]) if len(ends) else stream.n_words
        kind -= sampling.document_ends
        first = int(generator.integers(stream.n_words))
        if kind < sampling.sentence_starts:
            stops = np.isin(stream.labels[first : first + SEARCH_WORDS], self.stop_ids).nonzero()[0]
            first = (first + int(stops[0]) + 1) % stream.n_words if len(stops) else first
        return first, None

    def _first_word_before(self, stream: WordStream, end_word: int, room: int) -> int:
        """The first of as many words before `end_word` as fit."""
        counts = stream.piece_counts[max(0, end_word - room) : end_word]
        n_words = int(np.cumsum(counts[::-1] + np.int64(self.slot_cost)).searchsorted(room, side="right"))
        return end_word - max(n_words, 1)

    def _sentence_end(self, labels: np.ndarray, n_words: int, generator: np.random.Generator) -> int:
        """Shorten a share of windows to their last sentence end."""
        if not self.sampling.sentence_ends or generator.random() >= self.sampling.sentence_ends:
            return n_words
        stops = np.isin(labels[:n_words], self.stop_ids).nonzero()[0]
        return int(stops[-1]) + 1 if len(stops) else n_words


def stream_probabilities(weighted_words: np.ndarray, languages: Sequence[str], sampling: Sampling) -> np.ndarray:
    """How often each stream is drawn, (n_streams,).

    A language is drawn with probability proportional to its weighted number of words to the power 1 / temperature
    (Conneau et al. 2020, section 3.1, with alpha = 1 / temperature), times its weight; a stream within its language
    in proportion to its weighted number of words.

    Raises:
        ValueError: if no stream has any weight.
    """
    probabilities = np.zeros(len(weighted_words))
    names = np.array(languages)
    for language in sorted(set(languages)):
        own = names == language
        total = weighted_words[own].sum()
        if total > 0:
            share = total ** (1 / sampling.temperature) * sampling.language_weights.get(language, 1.0)
            probabilities[own] = share * weighted_words[own] / total
    if not probabilities.sum() > 0:
        raise ValueError("Expected training words with a weight above 0, got none. Check the weights in the recipe.")
    return probabilities / probabilities.sum()
