"""Windows of many texts -> batches of tensors with little padding. Knows numbers of pieces, not what they say.

Letters in shapes are those of `modeling_punctuation.py`.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch


def batches_by_length(n_pieces: Sequence[int], batch_size: int | None, budget: int) -> Iterator[list[int]]:
    """Indices of windows, those of like length together.

    Args:
        n_pieces: pieces of each window.
        batch_size: windows in one batch at most; None lets `budget` decide.
        budget: pieces in one batch at most, padding included, where there is no `batch_size`; one window always goes.
    """
    batch: list[int] = []
    for index in sorted(range(len(n_pieces)), key=n_pieces.__getitem__):
        n_after = len(batch) + 1
        if batch and (n_after * n_pieces[index] > budget if batch_size is None else n_after > batch_size):
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def collate(windows: Sequence[dict[str, Any]], pad_id: int) -> dict[str, torch.Tensor | None]:
    """Windows as tensors: (B, P) pieces, padded with `pad_id`, and (B, W) slots, padded with 0.

    `attention_mask` is None where no window is padded.

    Args:
        windows: dictionaries with the lists `input_ids` and `slot_positions`.
        pad_id: id of the padding piece.
    """
    n_pieces = max(len(window["input_ids"]) for window in windows)
    n_slots = max(1, *(len(window["slot_positions"]) for window in windows))
    input_ids = np.full((len(windows), n_pieces), pad_id, dtype=np.int64)
    attention_mask = np.zeros((len(windows), n_pieces), dtype=np.int64)
    slot_positions = np.zeros((len(windows), n_slots), dtype=np.int64)
    for row, window in enumerate(windows):
        input_ids[row, : len(window["input_ids"])] = window["input_ids"]
        attention_mask[row, : len(window["input_ids"])] = 1
        slot_positions[row, : len(window["slot_positions"])] = window["slot_positions"]
    return {
        "input_ids": torch.from_numpy(input_ids),
        "attention_mask": None if attention_mask.all() else torch.from_numpy(attention_mask),
        "slot_positions": torch.from_numpy(slot_positions),
    }
