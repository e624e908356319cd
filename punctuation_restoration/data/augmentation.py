"""Words lost, doubled and replaced on the fly: training text that looks like recognised speech.

Takes a cut window, gives a cut window. Works on the arrays of pieces; knows nothing of slots, which come afterwards.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from punctuation_restoration.data.casings import UNKNOWN
from punctuation_restoration.data.recipe import Augmentation
from punctuation_restoration.data.sampling import CutWindow
from punctuation_restoration.data.shards import Words


@dataclass(frozen=True, slots=True)
class Augmenter:
    """Changes windows as a recipe's `augmentation` says, after Alam, Khan and Alam (2020)."""

    settings: Augmentation
    unk_id: int  # piece of an unknown word
    random_ids: np.ndarray  # (n,) pieces that may replace a word's

    def __call__(self, window: CutWindow) -> CutWindow:
        """The window, changed; itself where nothing was drawn."""
        generator = np.random.default_rng((*window.seed, 2))
        if not self.settings.rate or generator.random() >= self.settings.windows:
            return window
        return replace(window, words=self.changed(window.words, generator))

    def changed(self, words: Words, generator: Any) -> Words:
        """The words after the draws of a `numpy.random.Generator`, in no more pieces and slots than before.

        A word is touched with probability `rate` (alpha). It is then replaced by `<unk>` or a random piece, with
        probability `substitute` (alpha_sub); removed together with its label (`delete`, alpha_del); or `<unk>` without
        a mark is put before it (the rest). The first word stays where all would be removed, and whole words are cut
        off at the end where insertions made the window too long.
        """
        settings, n_words = self.settings, len(words.labels)
        touched, kind = generator.random(n_words) < settings.rate, generator.random(n_words)
        substituted = touched & (kind < settings.substitute)
        inserted = touched & (kind >= settings.substitute + settings.delete)
        n_times = np.where(touched & ~substituted & ~inserted, 0, 1 + inserted)
        if not n_times.any():
            n_times[0] = 1
        pieces = np.full(n_words, self.unk_id, dtype=words.piece_ids.dtype)
        is_random = substituted & (generator.random(n_words) < settings.random_pieces)
        pieces[is_random] = self.random_ids[generator.integers(len(self.random_ids), size=is_random.sum())]
        order = np.repeat(np.arange(n_words), n_times)  # the word that each new word was
        is_inserted = inserted[order] & (np.diff(order, append=-1) == 0)  # the first of two
        return self._fitting(words, order, is_inserted, is_inserted | substituted[order], pieces)

    def _fitting(
        self, words: Words, order: np.ndarray, is_inserted: np.ndarray, is_one_piece: np.ndarray, pieces: np.ndarray
    ) -> Words:
        """Words in a new order; those of one piece get it from `pieces`, by the word that they were."""
        counts = np.where(is_one_piece, 1, words.piece_counts[order]).astype(words.piece_counts.dtype)
        ends = np.cumsum(counts, dtype=np.int64)
        room = len(words.piece_ids) + len(words.labels)  # of pieces and slots
        n_kept = max(1, int((ends + np.arange(1, len(order) + 1)).searchsorted(room, side="right")))
        order, counts, ends = order[:n_kept], counts[:n_kept], ends[:n_kept]
        is_inserted, is_one_piece = is_inserted[:n_kept], is_one_piece[:n_kept]
        starts = np.cumsum(words.piece_counts, dtype=np.int64) - words.piece_counts
        ids = words.piece_ids[np.repeat(starts[order] - ends + counts, counts) + np.arange(ends[-1])]
        ids[(ends - counts)[is_one_piece]] = pieces[order[is_one_piece]]
        casings = np.where(is_one_piece, UNKNOWN, words.casings[order]).astype(np.uint8)
        labels = np.where(is_inserted, 0, words.labels[order]).astype(words.labels.dtype)
        soft = np.where(is_inserted[:, None], 0, words.soft[order]).astype(np.uint8)
        return Words(ids, counts, labels, casings, soft)
