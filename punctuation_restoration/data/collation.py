"""Cut windows -> the tensors of a batch, made by the same functions as in serving; words are augmented before that."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
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
    joined,
    read_index,
)
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
        has_new = is_touched & (kind >= settings.substitute + settings.delete)
        new_pieces = np.full(n_words, self.unk_id, dtype=words.piece_ids.dtype)
        is_random = is_replaced & (generator.random(n_words) < settings.random_pieces)
        new_pieces[is_random] = generator.choice(self.random_ids, is_random.sum())

        # To choose from: the words, then what replaces each, then what is put before each.
        unknown = np.full_like(words.casings, UNKNOWN)
        replaced = Words(
            new_pieces, np.ones_like(unknown), words.labels, unknown, words.teacher_labels
        )
        added = replaced._replace(
            labels=np.zeros_like(words.labels), teacher_labels=np.zeros_like(words.teacher_labels)
        )
        choice = joined(words, replaced, added)
        numbers = np.arange(n_words)
        pairs = np.stack([numbers + 2 * n_words, numbers + n_words * is_replaced], axis=1)
        index = pairs[np.stack([has_new, ~is_touched | is_replaced | has_new], axis=1)]
        if not len(index):
            index = numbers[:1]
        sizes = np.cumsum(choice.piece_counts[index] + np.int64(1))
        index = index[: max(1, sizes.searchsorted(len(words.piece_ids) + n_words, "right"))]
        is_whole = index[-1] % n_words == n_words - 1  # without its last word a text goes on
        return window._replace(words=choice.taken(index), is_over=window.is_over and is_whole)


@dataclass(frozen=True, slots=True)
class WindowCollator:
    """Turns cut windows into the inputs of the model."""

    slots: Any  # the `SlotEncoder` of the model
    augmenter: Augmenter | None = None  # changes each window first

    def __call__(self, windows: Sequence[CutWindow]) -> dict[str, torch.Tensor]:
        """Make one batch.

        Returns:
            `input_ids` (B, P), `attention_mask` (B, P), `slot_positions` (B, W) with 0 as padding, `labels` (B, W)
            with -100 where nothing is scored, all long; `casings` (B, W), -100 where none is known, for a model that
            has them; `teacher_labels` (B, W, M) where there are any, zeros where a model has not labelled.
        """
        if self.augmenter:
            windows = [self.augmenter(window) for window in windows]
        rows = []
        targets: dict[str, list[np.ndarray]] = defaultdict(list)
        for window in windows:
            words = window.words
            pieces = [ids.tolist() for ids in words.pieces()]
            input_ids, slot_positions = self.slots.assemble(pieces, window.is_over)
            rows.append({"input_ids": input_ids, "slot_positions": slot_positions})
            labels = np.full(len(pieces), NOT_SCORED)
            labels[window.scored] = words.labels[window.scored]
            targets["labels"].append(labels)
            if self.slots.config.casings:
                casings = words.casings.astype(np.int64)
                targets["casings"].append(np.where(casings == UNKNOWN, NOT_SCORED, casings))
            if words.teacher_labels.size:
                targets["teacher_labels"].append(words.teacher_labels.astype(np.float32))
        batch = collate(rows, self.slots.pad_id)
        for name, values in targets.items():
            padding = 0 if name == "teacher_labels" else NOT_SCORED
            batch[name] = pad_sequence(list(map(torch.from_numpy, values)), True, padding)
        return batch


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
    sampler = WindowSampler(index, sampling, 1, seed=1)
    windows = [sampler.cut(sampler.plan(number), 0) for number in range(n_windows)]
    return windows, WindowCollator(SlotEncoder(tokenizer, config))
