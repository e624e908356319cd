"""Windows of many texts -> batches of tensors with little padding. Knows numbers of pieces, not what they say.

Letters in shapes: B windows in a batch, P pieces, W slots.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch


def batches_by_length(n_pieces: Sequence[int], batch_size: int) -> Iterator[list[int]]:
    """Indices of windows, at most `batch_size` at a time, those of like length together."""
    order = sorted(range(len(n_pieces)), key=n_pieces.__getitem__)
    for first in range(0, len(order), batch_size):
        yield order[first : first + batch_size]


def collate(windows: Sequence[dict[str, Any]], pad_id: int) -> dict[str, torch.Tensor]:
    """Windows as tensors: (B, P) pieces, padded with `pad_id`, and (B, W) slots, padded with 0.

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
    arrays = {"input_ids": input_ids, "attention_mask": attention_mask, "slot_positions": slot_positions}
    return {name: torch.from_numpy(array) for name, array in arrays.items()}
