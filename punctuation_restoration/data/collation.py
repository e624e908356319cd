"""Cut windows -> the tensors of a batch, made by the same functions as in serving; words are augmented before that."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch.nn.utils.rnn import pad_sequence

from punctuation_restoration.data.casings import UNKNOWN
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
from punctuation_restoration.pipeline.conventions import stop_label_ids
from punctuation_restoration.pipeline.slots import SlotEncoder
from punctuation_restoration.pipeline.windows import collate


@dataclass(frozen=True, slots=True)
class Augmenter:
    """Changes windows as a recipe's `augmentation` says, after Alam, Khan and Alam (2020)."""

    settings: Augmentation
    unk_id: int  # piece of an unknown word
    random_ids: np.ndarray  # (n,) pieces that may replace a word's

    def __call__(self, window: CutWindow) -> CutWindow:
        """The window, changed, in no more pieces and words than before; itself where nothing was drawn.

        A word that is touched is replaced by `<unk>` or a random piece, or removed with its label, or `<unk>` without a
        mark is put before it. The first word stays where all would be removed; words are cut off at the end for room.
        """
        settings, words, n_words = self.settings, window.words, len(window.words.labels)
        generator = np.random.default_rng((*window.seed, 2))
        if not window.seed or not settings.rate or generator.random() >= settings.windows:
            return window
        is_touched = generator.random(n_words) < settings.rate
        kind = generator.random(n_words)
        is_replaced = is_touched & (kind < settings.substitute)
        is_after_new = is_touched & (kind >= settings.substitute + settings.delete)
        n_times = np.where(is_touched & ~is_replaced, 0, 1) + 2 * is_after_new
        if not n_times.any():
            n_times[0] = 1
        new_pieces = np.full(n_words, self.unk_id, dtype=words.piece_ids.dtype)
        is_random = is_replaced & (generator.random(n_words) < settings.random_pieces)
        new_pieces[is_random] = generator.choice(self.random_ids, is_random.sum())

        index = np.repeat(np.arange(n_words), n_times)  # of the word that each new word was
        is_new = is_after_new[index] & (np.diff(index, append=-1) == 0)  # the first of two
        is_one_piece = is_new | is_replaced[index]
        counts = np.where(is_one_piece, 1, words.piece_counts[index].astype(np.int64))
        n_kept = int(np.cumsum(counts + 1).searchsorted(len(words.piece_ids) + n_words, "right"))
        n_kept = max(1, n_kept)
        index, is_new, is_one_piece = index[:n_kept], is_new[:n_kept], is_one_piece[:n_kept]
        counts = counts[:n_kept]

        # Each new word has its pieces from `starts` on, and had them from `old_starts` on.
        starts = np.cumsum(counts) - counts
        old_starts = np.cumsum(words.piece_counts, dtype=np.int64) - words.piece_counts
        moves = np.repeat(old_starts[index] - starts, counts)
        piece_ids = words.piece_ids[moves + np.arange(len(moves))]
        piece_ids[starts[is_one_piece]] = new_pieces[index[is_one_piece]]
        labels, taught = words.labels[index], words.teacher_labels[index]
        labels[is_new], taught[is_new] = 0, 0
        casings = words.casings[index]
        casings[is_one_piece] = UNKNOWN
        changed = Words(piece_ids, counts.astype(np.uint8), labels, casings, taught)
        is_whole = bool(index[-1] == n_words - 1)  # without its last word a text goes on
        return replace(window, words=changed, is_over=window.is_over and is_whole)


@dataclass(frozen=True, slots=True)
class WindowCollator:
    """Turns cut windows into the inputs of the model.

    In a share `filled_windows` of them some slots show their true label, where the model's slots can: a share of them
    that is drawn evenly from 0 to `max_filled`.
    """

    slots: Any  # the `SlotEncoder` of the model
    filled_windows: float = 0.0
    max_filled: float = 0.5
    augmenter: Augmenter | None = None  # changes each window first

    def __call__(self, windows: Sequence[CutWindow]) -> dict[str, torch.Tensor]:
        """Make one batch.

        Returns:
            `input_ids` (B, P), `attention_mask` (B, P), `slot_positions` (B, W) with 0 as padding, `labels` (B, W)
            with -100 where nothing is scored, all long; `casings` (B, W), -100 where none is known, for a model that
            has them; `teacher_labels` (B, W, M) where there are any, zeros where a model has not labelled. A slot that
            shows its mark has its word's casing too: in use, marks may be known and letters not.
        """
        if self.augmenter:
            windows = [self.augmenter(window) for window in windows]
        is_shown = [self._draw_shown(window) for window in windows]
        rows = []
        for window, shown in zip(windows, is_shown, strict=True):
            words = window.words
            ends = np.cumsum(words.piece_counts, dtype=np.int64)[:-1]
            pieces = [ids.tolist() for ids in np.split(words.piece_ids, ends)]
            labels = zip(words.labels.tolist(), shown.tolist(), strict=True)
            known = [label if is_known else None for label, is_known in labels]
            input_ids, slot_positions = self.slots.assemble(pieces, known, window.is_over)
            rows.append({"input_ids": input_ids, "slot_positions": slot_positions})
        made = collate(rows, self.slots.pad_id)
        batch = {name: tensor for name, tensor in made.items() if tensor is not None}
        batch.setdefault("attention_mask", torch.ones_like(batch["input_ids"]))
        batch["labels"] = _scored([window.words.labels for window in windows], is_shown)
        if self.slots.config.casings:
            casings = [window.words.casings for window in windows]
            batch["casings"] = _scored(casings, [row == UNKNOWN for row in casings])
        if windows[0].words.teacher_labels.size:
            taught = [as_probabilities(window.words.teacher_labels) for window in windows]
            batch["teacher_labels"] = pad_sequence(list(map(torch.from_numpy, taught)), True)
        return batch

    def _draw_shown(self, window: CutWindow) -> np.ndarray:
        """Which words' slots show their true label, (n_words,) of bool; at least one slot stays to be scored."""
        n_words, generator = len(window.words.labels), np.random.default_rng(window.seed)
        can_show = bool(window.seed) and self.slots.shows_marks
        if not can_show or generator.random() >= self.filled_windows:
            return np.zeros(n_words, dtype=bool)
        is_shown = generator.random(n_words) < generator.random() * self.max_filled
        is_shown[generator.integers(n_words)] = False
        return is_shown


def _scored(values: Sequence[np.ndarray], is_hidden: Sequence[np.ndarray]) -> torch.Tensor:
    """Values of each window's words (B, W), -100 where they are hidden."""
    rows = [
        torch.from_numpy(np.where(hidden, NOT_SCORED, row.astype(np.int64)))
        for row, hidden in zip(values, is_hidden, strict=True)
    ]
    return pad_sequence(rows, batch_first=True, padding_value=NOT_SCORED)


def windows_for_trainer(
    folder: str, tokenizer: Any, config: Any, n_windows: int
) -> tuple[list[CutWindow], WindowCollator]:
    """Windows for transformers' own `Trainer`: its `train_dataset`, and its `data_collator`.

    `n_windows`, as long as the model serves, are drawn from all sources of a prepared folder by their weights.
    """
    index = read_index(folder)
    check_same_pieces(index, tokenizer)
    check_same_words(index, config)
    sampling = Sampling(lengths={config.max_window_pieces: 1.0})
    sampler = WindowSampler(index, sampling, 1, stop_label_ids(config.labels), seed=1)
    windows = [sampler.cut(sampler.plan(number), 0) for number in range(n_windows)]
    slots = SlotEncoder(tokenizer, config)
    return windows, WindowCollator(slots, sampling.filled_windows, sampling.max_filled)
