"""Cut windows → the tensors of a batch, made by the same functions as in serving; some slots show their true label."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from punctuation_restoration.data.casings import UNKNOWN
from punctuation_restoration.data.pauses import PauseSimulator
from punctuation_restoration.data.sampling import CutWindow
from punctuation_restoration.data.soft_labels import as_probabilities
from punctuation_restoration.modeling.modeling_punctuation import NOT_SCORED
from punctuation_restoration.pipeline.batching import collate
from punctuation_restoration.pipeline.timing import pause_buckets


class WindowCollator:
    """Turns cut windows into the inputs of the model.

    Args:
        slots: the `SlotEncoder` of the model.
        filled_windows: share of windows in which some slots show their true label.
        max_filled: the share of slots filled in such a window is uniform from 0 to this.
        augmenter: changes each window first; None for nothing.
        simulator: draws the pauses of each window as it then is; None for none.
        casings: whether batches have casings, for a model that learns them.
    """

    def __init__(
        self,
        slots: Any,
        filled_windows: float = 0.0,
        max_filled: float = 0.5,
        augmenter: Callable[[CutWindow], CutWindow] | None = None,
        simulator: PauseSimulator | None = None,
        casings: bool = False,
    ):
        self.slots, self.casings = slots, casings
        self.filled_windows = filled_windows if slots.has_slots else 0.0
        self.max_filled, self.augmenter, self.simulator = max_filled, augmenter, simulator

    def __call__(self, windows: Sequence[CutWindow]) -> dict[str, torch.Tensor]:
        """Make one batch.

        Returns:
            `input_ids` (B, P), `attention_mask` (B, P), `slot_positions` (B, W) with 0 as padding, `labels` (B, W)
            with -100 where nothing is scored, all long; `is_pseudo` (B,) of bool where some window is; `soft_labels`
            (B, W, M) probabilities where teachers have said something, zeros where they have not; `pauses` (B, W) where
            they are drawn; `casings` (B, W) where they are learned, -100 where none is known. A slot that shows its
            mark has its word's casing too: in use, marks may be known and letters not.
        """
        if self.augmenter:
            windows = [self.augmenter(window) for window in windows]
        filled = [self._draw_filled(window) for window in windows]
        rows = [
            self.slots.assemble(_pieces(window), known, window.is_over)
            for window, known in zip(windows, filled, strict=True)
        ]
        heard = [self._draw_pauses(window) for window in windows]
        inputs = collate(
            [{"input_ids": ids, "slot_positions": at, **more} for (ids, at), more in zip(rows, heard, strict=True)],
            self.slots.pad_id,
        )
        batch = {name: tensor for name, tensor in inputs.items() if tensor is not None}
        batch.setdefault("attention_mask", torch.ones_like(batch["input_ids"]))
        labels = np.full(batch["slot_positions"].shape, NOT_SCORED, dtype=np.int64)
        for row, known, window in zip(labels, filled, windows, strict=True):
            scored = [one is None for one in known]
            row[: len(known)][scored] = window.labels[scored]
        batch["labels"] = torch.from_numpy(labels)
        if any(window.is_pseudo for window in windows):
            batch["is_pseudo"] = torch.tensor([window.is_pseudo for window in windows])
        if self.casings:
            casings = np.full(labels.shape, NOT_SCORED, dtype=np.int64)
            for row, window in zip(casings, windows, strict=True):
                if window.casings is not None:
                    known = window.casings != UNKNOWN
                    row[: len(known)][known] = window.casings[known]
            batch["casings"] = torch.from_numpy(casings)
        said = {row: window.soft for row, window in enumerate(windows) if window.soft is not None}
        if said:
            soft = np.zeros((*labels.shape, next(iter(said.values())).shape[1]), dtype=np.uint8)
            for row, probabilities in said.items():
                soft[row, : len(probabilities)] = probabilities
            batch["soft_labels"] = torch.from_numpy(as_probabilities(soft))
        return batch

    def _draw_filled(self, window: CutWindow) -> list[int | None]:
        """For each word the true label that its slot shows, or None; at least one slot stays to be scored."""
        n_words = len(window.labels)
        generator = np.random.default_rng(window.seed)
        if generator.random() >= self.filled_windows:
            return [None] * n_words
        is_filled = generator.random(n_words) < generator.random() * self.max_filled
        is_filled[generator.integers(n_words)] = False
        return [label if shown else None for label, shown in zip(window.labels.tolist(), is_filled, strict=True)]

    def _draw_pauses(self, window: CutWindow) -> dict[str, list[int]]:
        if self.simulator is None:
            return {}
        lengths = self.simulator(window.labels, window.seed)
        return {"pauses": pause_buckets(lengths, self.simulator.edges).tolist()}


def _pieces(window: CutWindow) -> list[list[int]]:
    """The pieces of each word."""
    ids, ends = window.piece_ids.tolist(), np.cumsum(window.piece_counts, dtype=np.int64).tolist()
    return [ids[start:end] for start, end in zip([0, *ends], ends, strict=False)]
