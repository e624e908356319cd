"""Long word lists -> overlapping windows, and which words each of them decides; windows -> batches of tensors.

It knows numbers of words and pieces, not what they say. Letters in shapes are those of `modeling_punctuation.py`.

    words     0 ........ 64 | 65 ..... 104 | 105 ........ 119 | 120 ...
    window 1  decided ........................ | right context |
    window 2                | left context     | decided ............ | right context |
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from .slots import ModelConfig


@dataclass(frozen=True, slots=True)
class Window:
    """Words `first` to `end` (exclusive) are seen, of which `keep_from` to `keep_to` (exclusive) are decided."""

    first: int
    end: int
    keep_from: int
    keep_to: int

    @property
    def kept(self) -> slice:
        """Which of its words are decided, counted from its own first one."""
        return slice(self.keep_from - self.first, self.keep_to - self.first)


def windows_of(n_pieces: Sequence[int], config: ModelConfig) -> list[Window]:
    """The windows of a text as a model reads it, in serving, in validation, and to label text.

    Each word is decided once, with as much context as there is (Chen et al. 2021, section 3.3). Where words are long,
    contexts shrink in proportion; one word is always decided. `n_pieces` are those of each word.
    """
    window, left, right = config.window, config.left_context, config.right_context
    n_words, room = len(n_pieces), config.max_window_pieces - 2  # beside <s> and </s>
    windows = []
    keep_from = 0
    while keep_from < n_words:
        budget = room - n_pieces[keep_from]
        first = keep_from
        left_pieces = budget * left // window  # long words on the left must leave room for the rest
        while first > 0 and keep_from - first < left and n_pieces[first - 1] <= left_pieces:
            first -= 1
            left_pieces -= n_pieces[first]
            budget -= n_pieces[first]
        end = keep_from + 1
        while end < n_words and end - first < window and n_pieces[end] <= budget:
            budget -= n_pieces[end]
            end += 1
        # A window cut short by long words gives up context in the proportion of the full one.
        n_right = min(right, (end - keep_from) * right // (window - left))
        keep_to = n_words if end == n_words else max(keep_from + 1, end - n_right)
        windows.append(Window(first, end, keep_from, keep_to))
        keep_from = keep_to
    return windows


def batches_by_length(
    n_pieces: Sequence[int], batch_size: int | None, budget: int
) -> Iterator[list[int]]:
    """Batches of windows of like length, by index, from the number of pieces of each.

    One has at most `batch_size` windows, or where that is None `budget` pieces with padding, but always a window.
    """
    batch: list[int] = []
    for index in sorted(range(len(n_pieces)), key=n_pieces.__getitem__):
        n_after = len(batch) + 1
        if batch and (
            n_after * n_pieces[index] > budget if batch_size is None else n_after > batch_size
        ):
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def collate(windows: Sequence[dict[str, Any]], pad_id: int) -> dict[str, Tensor]:
    """Windows, each with the lists `input_ids` and `slot_positions`, as tensors (B, P) and (B, W).

    Slots are padded with 0. `attention_mask` (B, P) tells pieces, 1, from padding, 0.
    """
    return {
        "input_ids": _padded([window["input_ids"] for window in windows], pad_id),
        "attention_mask": _padded([[1] * len(window["input_ids"]) for window in windows], 0),
        "slot_positions": _padded([window["slot_positions"] or [0] for window in windows], 0),
    }


def _padded(rows: Iterable[Sequence[int]], padding: int) -> Tensor:
    return pad_sequence(
        [torch.tensor(row) for row in rows], batch_first=True, padding_value=padding
    )
