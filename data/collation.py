"""Cut windows → the arrays of a batch: slots put in, some of them filled, all padded to one shape.

The vectorised twin of `pipeline.slots.SlotEncoder.assemble`, which serving uses; a test holds the two together.
Letters in shapes: B windows, P pieces, W words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from punctuation_restoration.data.sampling import CutWindow
from punctuation_restoration.modeling.modeling_punctuation import NOT_SCORED


class WindowCollator:
    """Turns cut windows into the inputs of the model.

    Args:
        slots: the `SlotEncoder` of the model: ids of `<s>`, `</s>`, padding, mask and fills.
        filled_windows: share of windows in which some slots show their true label.
        max_filled: the share of slots filled in such a window is uniform from 0 to this.
        augmenter: changes each window first; None for nothing.
    """

    def __init__(
        self,
        slots: Any,
        filled_windows: float = 0.0,
        max_filled: float = 0.5,
        augmenter: Callable[[CutWindow], CutWindow] | None = None,
    ):
        self.slots = slots
        self.fill_ids = np.asarray(slots.fill_ids, dtype=np.int64)
        self.filled_windows = filled_windows if slots.has_slots else 0.0
        self.max_filled, self.augmenter = max_filled, augmenter

    def __call__(self, windows: Sequence[CutWindow]) -> dict[str, torch.Tensor]:
        """Make one batch.

        Returns:
            `input_ids` (B, P), `attention_mask` (B, P), `slot_positions` (B, W) with 0 as padding, `labels` (B, W)
            with -100 where nothing is scored, all long; `is_pseudo` (B,) of bool where some window is.
        """
        if self.augmenter:
            windows = [self.augmenter(window) for window in windows]
        n_pieces = max(self._n_pieces(window) for window in windows)
        n_words = max(len(window.labels) for window in windows)
        input_ids = np.full((len(windows), n_pieces), self.slots.pad_id, dtype=np.int64)
        attention_mask = np.zeros((len(windows), n_pieces), dtype=np.int64)
        slot_positions = np.zeros((len(windows), n_words), dtype=np.int64)
        labels = np.full((len(windows), n_words), NOT_SCORED, dtype=np.int64)
        for row, window in enumerate(windows):
            length = self._n_pieces(window)
            attention_mask[row, :length] = 1
            self._write(window, input_ids[row, :length], slot_positions[row], labels[row])
        arrays = {
            "input_ids": input_ids,
            "attention_mask": attention_mask,
            "slot_positions": slot_positions,
            "labels": labels,
        }
        if any(window.is_pseudo for window in windows):
            arrays["is_pseudo"] = np.array([window.is_pseudo for window in windows])
        return {name: torch.from_numpy(array) for name, array in arrays.items()}

    def _n_pieces(self, window: CutWindow) -> int:
        return len(window.piece_ids) + 2 + (len(window.labels) if self.slots.has_slots else 0)

    def _write(self, window: CutWindow, ids: np.ndarray, positions: np.ndarray, labels: np.ndarray) -> None:
        """Write one window into its rows."""
        n_words = len(window.labels)
        counts = window.piece_counts.astype(np.int64) + (1 if self.slots.has_slots else 0)
        places = np.cumsum(counts)  # <s> stands at 0, so a word's slot stands where the count behind it says
        positions[:n_words] = places
        labels[:n_words] = window.labels
        ids[0], ids[-1] = self.slots.bos_id, self.slots.eos_id
        if not self.slots.has_slots:
            ids[1:-1] = window.piece_ids
            return
        is_piece = np.ones(len(ids), dtype=bool)
        is_piece[[0, -1]] = False
        is_piece[places] = False
        ids[is_piece] = window.piece_ids
        ids[places] = self.slots.mask_id
        filled = self._draw_filled(window)
        ids[places[filled]] = self.fill_ids[window.labels[filled]]
        labels[:n_words][filled] = NOT_SCORED

    def _draw_filled(self, window: CutWindow) -> np.ndarray:
        """Which slots show their true label, (n_words,) of bool; at least one slot stays to be scored."""
        n_words = len(window.labels)
        generator = np.random.default_rng(window.seed)
        if generator.random() >= self.filled_windows:
            return np.zeros(n_words, dtype=bool)
        filled = generator.random(n_words) < generator.random() * self.max_filled
        filled[generator.integers(n_words)] = False
        return filled
