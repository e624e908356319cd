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
        self.fill_ids = np.array([-1 if piece is None else piece for piece in slots.fill_ids], dtype=np.int64)
        self.filled_windows = filled_windows if slots.has_slots else 0.0
        self.max_filled, self.augmenter = max_filled, augmenter

    def __call__(self, windows: Sequence[CutWindow]) -> dict[str, torch.Tensor]:
        """Make one batch.

        Returns:
            `input_ids` (B, P), `attention_mask` (B, P), `slot_positions` (B, W) with 0 as padding, `labels` (B, W)
            with -100 where nothing is scored, all long; `is_pseudo` (B,) of bool where some window is; `soft_labels`
            (B, W, M) uint8 where teachers have said something, zeros where they have not.
        """
        if self.augmenter:
            windows = [self.augmenter(window) for window in windows]
        filled = [self._draw_filled(window) for window in windows]
        shown = [self._is_shown(*pair) for pair in zip(windows, filled, strict=True)]
        lengths = [2 + len(w.piece_ids) + int(s.sum()) for w, s in zip(windows, shown, strict=True)]
        n_words = max(len(window.labels) for window in windows)
        input_ids = np.full((len(windows), max(lengths)), self.slots.pad_id, dtype=np.int64)
        attention_mask = np.zeros((len(windows), max(lengths)), dtype=np.int64)
        slot_positions = np.zeros((len(windows), n_words), dtype=np.int64)
        labels = np.full((len(windows), n_words), NOT_SCORED, dtype=np.int64)
        for row, (window, length) in enumerate(zip(windows, lengths, strict=True)):
            attention_mask[row, :length] = 1
            ids, ends = input_ids[row, :length], np.cumsum(window.piece_counts.astype(np.int64) + shown[row])
            self._write_pieces(window, filled[row], shown[row], ids, ends)
            slot_positions[row, : len(ends)] = ends if self.slots.has_masks else ends - shown[row]
            labels[row, : len(ends)] = np.where(filled[row], NOT_SCORED, window.labels.astype(np.int64))
        arrays = {
            "input_ids": input_ids,
            "attention_mask": attention_mask,
            "slot_positions": slot_positions,
            "labels": labels,
        }
        if any(window.is_pseudo for window in windows):
            arrays["is_pseudo"] = np.array([window.is_pseudo for window in windows])
        soft = [window.soft for window in windows if window.soft is not None]
        if soft:
            arrays["soft_labels"] = np.zeros((*labels.shape, soft[0].shape[1]), dtype=np.uint8)
            for row, window in enumerate(windows):
                if window.soft is not None:
                    arrays["soft_labels"][row, : len(window.soft)] = window.soft
        return {name: torch.from_numpy(array) for name, array in arrays.items()}

    def _is_shown(self, window: CutWindow, filled: np.ndarray) -> np.ndarray:
        """Which slots stand among the pieces, (n_words,) of bool: masks, and known labels that have a piece."""
        return np.where(filled, self.fill_ids[window.labels] >= 0, self.slots.has_masks)

    def _write_pieces(
        self, window: CutWindow, filled: np.ndarray, shown: np.ndarray, ids: np.ndarray, ends: np.ndarray
    ) -> None:
        """Write the pieces of a window, and at the `ends` of its words (n_words,) the slots that are `shown`."""
        is_piece = np.ones(len(ids), dtype=bool)
        is_piece[[0, -1]] = False
        is_piece[ends[shown]] = False  # `<s>` stands at 0
        ids[0], ids[-1] = self.slots.bos_id, self.slots.eos_id
        ids[is_piece] = window.piece_ids
        ids[ends[shown]] = np.where(filled[shown], self.fill_ids[window.labels[shown]], self.slots.mask_id or 0)

    def _draw_filled(self, window: CutWindow) -> np.ndarray:
        """Which slots show their true label, (n_words,) of bool; at least one slot stays to be scored."""
        n_words = len(window.labels)
        generator = np.random.default_rng(window.seed)
        if generator.random() >= self.filled_windows:
            return np.zeros(n_words, dtype=bool)
        filled = generator.random(n_words) < generator.random() * self.max_filled
        filled[generator.integers(n_words)] = False
        return filled
