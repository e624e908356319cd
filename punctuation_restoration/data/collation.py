"""Cut windows → the tensors of a batch, made by the same functions as in serving; some slots show their true label."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.nn.utils.rnn import pad_sequence

from punctuation_restoration.data.casings import UNKNOWN
from punctuation_restoration.data.sampling import CutWindow
from punctuation_restoration.data.shards import Words
from punctuation_restoration.data.soft_labels import as_probabilities
from punctuation_restoration.modeling.modeling_punctuation import NOT_SCORED
from punctuation_restoration.pipeline.windows import collate


@dataclass(frozen=True, slots=True)
class WindowCollator:
    """Turns cut windows into the inputs of the model."""

    slots: Any  # the `SlotEncoder` of the model
    filled_windows: float = 0.0  # share of windows in which some slots show their true label, where slots can
    max_filled: float = 0.5  # the share of slots filled in such a window is uniform from 0 to this
    augmenter: Callable[[CutWindow], CutWindow] | None = None  # changes each window first
    casings: bool = False  # whether batches have casings, for a model that learns them

    def __call__(self, windows: Sequence[CutWindow]) -> dict[str, torch.Tensor]:
        """Make one batch.

        Returns:
            `input_ids` (B, P), `attention_mask` (B, P), `slot_positions` (B, W) with 0 as padding, `labels` (B, W)
            with -100 where nothing is scored, all long; `is_pseudo` (B,) of bool where some window is; `soft_labels`
            (B, W, M) probabilities where a model's are learned, zeros where it has not labelled; `casings` (B, W)
            where they are learned, -100 where none is known. A slot that shows its
            mark has its word's casing too: in use, marks may be known and letters not.
        """
        if self.augmenter:
            windows = [self.augmenter(window) for window in windows]
        filled = [self._draw_filled(window) for window in windows]
        rows = []
        for window, known in zip(windows, filled, strict=True):
            ids, slot_positions = self.slots.assemble(_pieces(window.words), known, window.is_over)
            rows.append({"input_ids": ids, "slot_positions": slot_positions})
        batch = {name: tensor for name, tensor in collate(rows, self.slots.pad_id).items() if tensor is not None}
        batch.setdefault("attention_mask", torch.ones_like(batch["input_ids"]))
        is_scored = [np.array([label is None for label in known]) for known in filled]
        batch["labels"] = _scored([window.words.labels for window in windows], is_scored)
        if any(window.is_pseudo for window in windows):
            batch["is_pseudo"] = torch.tensor([window.is_pseudo for window in windows])
        if self.casings:
            casings = [window.words.casings for window in windows]
            batch["casings"] = _scored(casings, [own != UNKNOWN for own in casings])
        if windows[0].words.soft.size:
            soft = [torch.from_numpy(as_probabilities(window.words.soft)) for window in windows]
            batch["soft_labels"] = pad_sequence(soft, batch_first=True)
        return batch

    def _draw_filled(self, window: CutWindow) -> list[int | None]:
        """For each word the true label that its slot shows, or None; at least one slot stays to be scored."""
        labels = window.words.labels.tolist()
        n_words = len(labels)
        generator = np.random.default_rng(window.seed)
        if not self.slots.shows_marks or generator.random() >= self.filled_windows:
            return [None] * n_words
        is_filled = generator.random(n_words) < generator.random() * self.max_filled
        is_filled[generator.integers(n_words)] = False
        return [label if shown else None for label, shown in zip(labels, is_filled, strict=True)]


def _scored(values: Sequence[np.ndarray], is_scored: Sequence[np.ndarray]) -> torch.Tensor:
    """Values of each window's words (B, W), -100 where they are not scored."""
    rows = zip(values, is_scored, strict=True)
    tensors = [torch.from_numpy(np.where(scored, own.astype(np.int64), NOT_SCORED)) for own, scored in rows]
    return pad_sequence(tensors, batch_first=True, padding_value=NOT_SCORED)


def _pieces(words: Words) -> list[list[int]]:
    ids, ends = words.piece_ids.tolist(), np.cumsum(words.piece_counts, dtype=np.int64).tolist()
    return [ids[start:end] for start, end in zip([0, *ends], ends, strict=False)]
