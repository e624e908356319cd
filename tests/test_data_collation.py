"""Batches: the same ids as serving builds, true labels shown in some slots, padding that counts nowhere."""

from typing import Any

import numpy as np
import pytest
import torch

from punctuation_restoration.data.collation import WindowCollator
from punctuation_restoration.data.sampling import CutWindow
from punctuation_restoration.data.shards import make_words
from punctuation_restoration.modeling.modeling_punctuation import NOT_SCORED
from punctuation_restoration.pipeline.slots import SlotEncoder

WORDS = "hello you are the best 我们 大家 xyz saya".split()
LABELS = [1, 0, 0, 0, 2, 0, 1, 0, 3]


@pytest.fixture(params=["mask", "last-piece"])
def slots(request: Any, tiny_tokenizer: Any, tiny_config: Any) -> SlotEncoder:
    config = type(tiny_config)(**{**tiny_config.to_dict(), "slot_style": request.param})
    return SlotEncoder(tiny_tokenizer, config)


def window(slots: SlotEncoder, n_words: int, seed: int = 0) -> CutWindow:
    pieces = slots.pieces(WORDS[:n_words])
    words = make_words(
        np.array([piece for word in pieces for piece in word], dtype=np.uint16),
        np.array([len(word) for word in pieces], dtype=np.uint8),
        np.array(LABELS[:n_words], dtype=np.uint8),
    )
    return CutWindow(words, (seed,))


def test_a_batch_has_the_ids_and_slots_of_serving(slots: SlotEncoder) -> None:
    batch = WindowCollator(slots)([window(slots, 9), window(slots, 4)])
    for row, n_words in enumerate((9, 4)):
        ids, positions = slots.assemble(slots.pieces(WORDS[:n_words]))
        assert batch["input_ids"][row, : len(ids)].tolist() == ids
        assert batch["attention_mask"][row].sum() == len(ids)
        assert set(batch["input_ids"][row, len(ids) :].tolist()) <= {slots.pad_id}
        assert batch["slot_positions"][row].tolist() == positions + [0] * (9 - n_words)
        assert batch["labels"][row].tolist() == LABELS[:n_words] + [NOT_SCORED] * (9 - n_words)
    assert all(tensor.dtype == torch.long for tensor in batch.values())


def test_filled_slots_show_their_label_and_are_not_scored(slots: SlotEncoder) -> None:
    collator = WindowCollator(slots, filled_windows=1.0, max_filled=1.0)
    n_filled = 0
    for seed in range(40):
        batch = collator([window(slots, 9, seed)])
        labels = batch["labels"][0].tolist()
        filled = [None if label != NOT_SCORED else true for label, true in zip(labels, LABELS, strict=True)]
        ids, positions = slots.assemble(slots.pieces(WORDS), filled)
        assert batch["input_ids"][0].tolist() == ids
        assert batch["slot_positions"][0].tolist() == positions
        pieces = slots.pieces(WORDS)
        if slots.has_masks:
            shown = [slots.mask_id if label is None else slots.fill_ids[label] for label in filled]
            assert [ids[place] for place in positions] == shown
        else:  # the mark stands behind the last piece of its word
            assert [ids[place] for place in positions] == [word[-1] for word in pieces]
            assert [ids[place + 1] for place, label in zip(positions, filled, strict=True) if label] == [
                slots.fill_ids[label] for label in filled if label
            ]
        assert labels.count(NOT_SCORED) < 9
        n_filled += labels.count(NOT_SCORED)
    assert 0.3 < n_filled / (40 * 9) < 0.6  # the mean share of a uniform draw from 0 to 1, one slot always left


def test_the_share_of_filled_windows_is_kept(slots: SlotEncoder) -> None:
    collator = WindowCollator(slots, filled_windows=0.5, max_filled=1.0)
    touched = [NOT_SCORED in collator([window(slots, 9, seed)])["labels"] for seed in range(200)]
    assert 0.3 < np.mean(touched) < 0.6 if slots.shows_marks else not any(touched)


def test_pseudo_labelled_windows_are_told_apart(slots: SlotEncoder) -> None:
    from dataclasses import replace

    plain, pseudo = window(slots, 3), replace(window(slots, 3), is_pseudo=True)
    assert "is_pseudo" not in WindowCollator(slots)([plain])
    assert WindowCollator(slots)([plain, pseudo])["is_pseudo"].tolist() == [False, True]
