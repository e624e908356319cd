"""Windows of many texts -> batches of tensors with little padding. Knows numbers of pieces, not what they say.

Letters in shapes are those of `modeling_punctuation.py`.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch
from torch.nn.utils.rnn import pad_sequence


def batches_by_length(n_pieces: Sequence[int], batch_size: int | None, budget: int) -> Iterator[list[int]]:
    """Indices of windows, those of like length together, from the number of pieces of each.

    A batch has `batch_size` windows at most, or where that is None `budget` pieces, padding included; one window
    always goes.
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
    """Windows, each with the lists `input_ids` and `slot_positions`, as tensors.

    These are (B, P) pieces, padded with `pad_id`, and (B, W) slots, padded with 0. `attention_mask` (B, P) is None
    where no window is padded.
    """
    input_ids = _padded([window["input_ids"] for window in windows], pad_id)
    attention_mask = _padded([[1] * len(window["input_ids"]) for window in windows], 0)
    return {
        "input_ids": input_ids,
        "attention_mask": None if attention_mask.all() else attention_mask,
        "slot_positions": _padded([window["slot_positions"] or [0] for window in windows], 0),
    }


def _padded(rows: Iterable[Sequence[int]], padding: int) -> torch.Tensor:
    return pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=padding)
