"""Cut windows -> the tensors of a batch, made by the same functions as in serving; words are augmented before that."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch.nn.utils.rnn import pad_sequence

from punctuation_restoration.data.casings import UNKNOWN
from punctuation_restoration.data.conversion import stop_label_ids
from punctuation_restoration.data.recipe import Augmentation, Sampling
from punctuation_restoration.data.sampling import CutWindow, WindowSampler
from punctuation_restoration.data.shards import (
    Words,
    check_same_pieces,
    check_same_words,
    read_index,
)
from punctuation_restoration.data.teacher_labels import as_probabilities
from punctuation_restoration.modeling.modeling_punctuation import NOT_SCORED
from punctuation_restoration.pipeline.slots import SlotEncoder
from punctuation_restoration.pipeline.windows import collate


@dataclass(frozen=True, slots=True)
class Augmenter:
    """Changes windows as a recipe's `augmentation` says, after Alam, Khan and Alam (2020)."""

    settings: Augmentation
    unk_id: int  # piece of an unknown word
    random_ids: np.ndarray  # (n,) pieces that may replace a word's

    def __call__(self, window: CutWindow) -> CutWindow:
        """The window, changed, in no more pieces and slots than before; itself where nothing was drawn.

        A word that is touched is replaced by `<unk>` or a random piece, or removed with its label, or `<unk>` without a
        mark is put before it. The first word stays where all would be removed; words are cut off at the end for room.
        """
        settings, words, n_words = self.settings, window.words, len(window.words.labels)
        generator = np.random.default_rng((*window.seed, 2))
        if not window.seed or not settings.rate or generator.random() >= settings.windows:
            return window
        touched, kind = generator.random(n_words) < settings.rate, generator.random(n_words)
        substituted = touched & (kind < settings.substitute)
        inserted = touched & (kind >= settings.substitute + settings.delete)
        n_times = np.where(touched & ~substituted & ~inserted, 0, 1 + inserted)
        if not n_times.any():
            n_times[0] = 1
        pieces = np.full(
            n_words, self.unk_id, dtype=words.piece_ids.dtype
        )  # of a word that becomes one piece
        is_random = substituted & (generator.random(n_words) < settings.random_pieces)
        pieces[is_random] = self.random_ids[
            generator.integers(len(self.random_ids), size=is_random.sum())
        ]

        order = np.repeat(np.arange(n_words), n_times)  # the word that each new word was
        is_inserted = inserted[order] & (np.diff(order, append=-1) == 0)  # the first of two
        is_one_piece = is_inserted | substituted[order]
        counts = np.where(is_one_piece, 1, words.piece_counts[order]).astype(
            words.piece_counts.dtype
        )
        room = len(words.piece_ids) + n_words  # of pieces and slots
        n_kept = max(1, int(np.cumsum(counts + np.int64(1)).searchsorted(room, side="right")))
        order, counts, is_inserted, is_one_piece = (
            row[:n_kept] for row in (order, counts, is_inserted, is_one_piece)
        )

        ends = np.cumsum(counts, dtype=np.int64)
        starts = np.cumsum(words.piece_counts, dtype=np.int64) - words.piece_counts
        ids = words.piece_ids[
            np.repeat(starts[order] - ends + counts, counts) + np.arange(ends[-1])
        ]
        ids[(ends - counts)[is_one_piece]] = pieces[order[is_one_piece]]
        casings = np.where(is_one_piece, UNKNOWN, words.casings[order]).astype(np.uint8)
        labels = np.where(is_inserted, 0, words.labels[order]).astype(words.labels.dtype)
        teacher_labels = np.where(is_inserted[:, None], 0, words.teacher_labels[order]).astype(
            np.uint8
        )
        is_over = window.is_over and bool(
            order[-1] == n_words - 1
        )  # without its last word a text goes on
        return replace(
            window, words=Words(ids, counts, labels, casings, teacher_labels), is_over=is_over
        )


@dataclass(frozen=True, slots=True)
class WindowCollator:
    """Turns cut windows into the inputs of the model."""

    slots: Any  # the `SlotEncoder` of the model
    filled_windows: float = (
        0.0  # share of windows in which some slots show their true label, where slots can
    )
    max_filled: float = 0.5  # the share of slots filled in such a window is uniform from 0 to this
    augmenter: Callable[[CutWindow], CutWindow] | None = None  # changes each window first
    casings: bool = False  # whether batches have casings, for a model that learns them

    def __call__(self, windows: Sequence[CutWindow]) -> dict[str, torch.Tensor]:
        """Make one batch.

        Returns:
            `input_ids` (B, P), `attention_mask` (B, P), `slot_positions` (B, W) with 0 as padding, `labels` (B, W)
            with -100 where nothing is scored, all long; `teacher_labels`
            (B, W, M) probabilities where a model's are learned, zeros where it has not labelled; `casings` (B, W)
            where they are learned, -100 where none is known. A slot that shows its mark has its word's casing too: in
            use, marks may be known and letters not.
        """
        if self.augmenter:
            windows = [self.augmenter(window) for window in windows]
        filled = [self._draw_filled(window) for window in windows]
        rows = []
        for window, is_filled in zip(windows, filled, strict=True):
            ids, ends = (
                window.words.piece_ids.tolist(),
                np.cumsum(window.words.piece_counts, dtype=np.int64).tolist(),
            )
            pieces = [ids[start:end] for start, end in pairwise([0, *ends])]
            known = [
                n if shown else None
                for n, shown in zip(window.words.labels.tolist(), is_filled, strict=True)
            ]
            ids, slot_positions = self.slots.assemble(pieces, known, window.is_over)
            rows.append({"input_ids": ids, "slot_positions": slot_positions})
        batch = {
            name: tensor
            for name, tensor in collate(rows, self.slots.pad_id).items()
            if tensor is not None
        }
        batch.setdefault("attention_mask", torch.ones_like(batch["input_ids"]))
        batch["labels"] = _scored([window.words.labels for window in windows], filled)
        if self.casings:
            casings = [window.words.casings for window in windows]
            batch["casings"] = _scored(casings, [own == UNKNOWN for own in casings])
        if windows[0].words.teacher_labels.size:
            teacher_labels = [
                torch.from_numpy(as_probabilities(window.words.teacher_labels))
                for window in windows
            ]
            batch["teacher_labels"] = pad_sequence(teacher_labels, batch_first=True)
        return batch

    def _draw_filled(self, window: CutWindow) -> np.ndarray:
        """Which words' slots show their true label, (n_words,) of bool; at least one slot stays to be scored."""
        n_words, generator = len(window.words.labels), np.random.default_rng(window.seed)
        if (
            not window.seed
            or not self.slots.shows_marks
            or generator.random() >= self.filled_windows
        ):
            return np.zeros(n_words, dtype=bool)
        is_filled = generator.random(n_words) < generator.random() * self.max_filled
        is_filled[generator.integers(n_words)] = False
        return is_filled


def _scored(values: Sequence[np.ndarray], is_hidden: Sequence[np.ndarray]) -> torch.Tensor:
    """Values of each window's words (B, W), -100 where they are hidden."""
    rows = [
        np.where(hidden, NOT_SCORED, own.astype(np.int64))
        for own, hidden in zip(values, is_hidden, strict=True)
    ]
    return pad_sequence(
        [torch.from_numpy(row) for row in rows], batch_first=True, padding_value=NOT_SCORED
    )


def windows_for_trainer(
    folder: str, tokenizer: Any, config: Any, n_windows: int
) -> tuple[list[CutWindow], WindowCollator]:
    """Windows for transformers' own `Trainer`: its `train_dataset`, and its `data_collator`.

    `n_windows`, as long as the model serves, are drawn from all sources of a prepared folder by their weights.
    """
    slots, index = SlotEncoder(tokenizer, config), read_index(folder)
    check_same_pieces(index, tokenizer)
    check_same_words(index, config)
    sampling = Sampling(lengths={config.max_window_pieces: 1.0})
    stops = stop_label_ids(config.labels)
    sampler = WindowSampler(index, sampling, 1, stops, seed=1)
    windows = [sampler.cut(sampler.plan(number), 0) for number in range(n_windows)]
    return windows, WindowCollator(
        slots, sampling.filled_windows, sampling.max_filled, casings=config.casings
    )
