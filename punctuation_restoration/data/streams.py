"""The words of a shard as one stream, and the sentences and questions in it. Knows arrays only."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from punctuation_restoration.data.casings import UNKNOWN
from punctuation_restoration.data.shards import Words, joined, open_shard

OFFSET_WORDS = 256  # the offset of pieces is kept for every so many words, and added up from there
QUESTION_WORDS = 40  # longer sentences that end with a question mark are mostly two sentences run together


class WordStream:
    """The words of one shard as a ring: after the last document the first one follows.

    Args:
        path: the shard.
        language: its code.
        is_pseudo: whether a model labelled it.
        soft: a model's probabilities, (n_words, M) uint8, zeros where it has not labelled; None for none.
    """

    def __init__(self, path: str | Path, language: str = "", is_pseudo: bool = False, soft: np.ndarray | None = None):
        self.arrays = arrays = open_shard(path)
        self.language, self.is_pseudo = language, is_pseudo
        self.piece_ids, self.piece_counts, self.labels = arrays["piece_ids"], arrays["piece_counts"], arrays["labels"]
        self.n_words = len(self.labels)
        self.document_borders = np.append(arrays["document_starts"], self.n_words)
        self.soft = np.zeros((self.n_words, 0), dtype=np.uint8) if soft is None else soft
        self.casings = arrays.get("casings", np.broadcast_to(np.uint8(UNKNOWN), self.n_words))
        sums = np.add.reduceat(self.piece_counts, np.arange(0, self.n_words, OFFSET_WORDS), dtype=np.int64)
        self._block_offsets = np.concatenate([[0], np.cumsum(sums)])

    def words(self, first: int, n_words: int) -> Words:
        """`n_words` words from `first` on, going round at the end, at most once."""
        end = first + n_words
        if end > self.n_words and first:
            return joined(self.words(first, self.n_words - first), self.words(0, min(end - self.n_words, first)))
        counts = self.piece_counts[first:end]
        block = first // OFFSET_WORDS
        offset = int(self._block_offsets[block] + self.piece_counts[block * OFFSET_WORDS : first].sum(dtype=np.int64))
        ids = self.piece_ids[offset : offset + int(counts.sum(dtype=np.int64))]
        return Words(ids, counts, self.labels[first:end], self.casings[first:end], self.soft[first:end])


def sentence_borders(stream: WordStream, stop_ids: Sequence[int]) -> np.ndarray:
    """The first word of each sentence, and the end of the last one, (n_sentences + 1,)."""
    return np.concatenate([[0], np.isin(stream.labels, stop_ids).nonzero()[0] + 1])


class SentenceBorders:
    """Where the sentences of a stream begin and end, in words and in pieces; what follows the last is left out."""

    def __init__(self, stream: WordStream, stop_ids: Sequence[int], slot_cost: int):
        self.words = sentence_borders(stream, stop_ids)  # (n_sentences + 1,)
        self.pieces = np.concatenate([[0], np.cumsum(stream.piece_counts + np.int64(slot_cost))])[self.words]

    def utterances(
        self, places: np.ndarray, n_sentences: np.ndarray, longest: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Utterances that begin with sentence `places` (n,) and have `n_sentences` (n,), fewer if too long.

        Returns:
            First word, end word (exclusive) and pieces with slots and both ends, each (n,); the length is 0 where not
            even one sentence fits into `longest` pieces.
        """
        fitting = self.pieces.searchsorted(self.pieces[places] + longest - 2, side="right") - 1
        stops = np.minimum(np.minimum(places + n_sentences, fitting), len(self.words) - 1)
        lengths = np.where(stops > places, self.pieces[stops] - self.pieces[places] + 2, 0)
        return self.words[places], self.words[stops], lengths


def find_questions(streams: Sequence[WordStream], stop_ids: Sequence[int]) -> dict[str, np.ndarray]:
    """Language → its questions, (n_questions, 3): stream, first word, end word.

    They are added where a source has few, as the MLM-Punct paper does for Malay. Pseudo-labelled streams are left out.
    Of `stop_ids`, which end a sentence, the last is the question's.
    """
    found: dict[str, list[np.ndarray]] = {}
    for stream_id, stream in enumerate(streams):
        borders = sentence_borders(stream, stop_ids)
        starts, ends = borders[:-1], borders[1:]
        is_short = (ends - starts <= QUESTION_WORDS) & (stream.labels[ends - 1] == stop_ids[-1])
        if not stream.is_pseudo:
            rows = np.stack([np.full(len(ends), stream_id), starts, ends], axis=1)[is_short]
            found.setdefault(stream.language, []).append(rows)
    return {language: np.concatenate(parts) for language, parts in found.items()}
