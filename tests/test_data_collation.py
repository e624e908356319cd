"""Batches: words changed first, the ids that serving builds, labels shown in some slots, padding counted nowhere."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from punctuation_restoration.data.casings import UNKNOWN
from punctuation_restoration.data.collation import Augmenter, WindowCollator
from punctuation_restoration.data.recipe import Augmentation
from punctuation_restoration.data.sampling import CutWindow
from punctuation_restoration.data.shards import Words, make_words
from punctuation_restoration.modeling.modeling_punctuation import NOT_SCORED
from punctuation_restoration.pipeline.slots import SlotEncoder

WORDS = "hello you are the best 我们 大家 xyz saya".split()
LABELS = [1, 0, 0, 0, 2, 0, 1, 0, 3]
UNK = 3
PIECES, MARKS = [[10], [20, 21, 22], [30], [40, 41]], [0, 1, 0, 2]  # of four words


@pytest.fixture
def slots(tiny_tokenizer: Any, tiny_config: Any) -> SlotEncoder:
    return SlotEncoder(tiny_tokenizer, tiny_config)


def packed(pieces: Sequence[Sequence[int]] = PIECES, labels: Sequence[int] = MARKS, seed: int = 0) -> CutWindow:
    ids = np.array([piece for word in pieces for piece in word], dtype=np.uint16)
    counts = np.array([len(word) for word in pieces], dtype=np.uint8)
    return CutWindow(make_words(ids, counts, np.array(labels, dtype=np.uint8)), (seed,))


def window(slots: SlotEncoder, n_words: int, seed: int = 0) -> CutWindow:
    return packed(slots.pieces(WORDS[:n_words]), LABELS[:n_words], seed)


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


def words(changed: Words) -> list[tuple[list[int], int]]:
    pieces = np.split(changed.piece_ids, np.cumsum(changed.piece_counts)[:-1])
    return [(own.tolist(), label) for own, label in zip(pieces, changed.labels.tolist(), strict=True)]


@given(st.integers(0, 10**6), st.floats(0.05, 1), st.floats(0, 1), st.floats(0, 1))
def test_words_are_substituted_deleted_or_get_an_unknown_word_before_them(
    seed: int, rate: float, substitute: float, delete: float
) -> None:
    settings = Augmentation(rate=rate, substitute=substitute, delete=(1 - substitute) * delete, random_pieces=0.5)
    before = packed(PIECES * 5, MARKS * 5, seed)
    changed = Augmenter(settings, UNK, np.array([98, 99]))(before).words
    left = iter(words(before.words))
    for pieces, label in words(changed):
        if (pieces, label) == ([UNK], 0):
            continue  # put in before a word, or in the place of one
        new = ([98], [99], [UNK])
        assert any(label == old_label and (pieces == old or pieces in new) for old, old_label in left)
    n_places = len(before.words.piece_ids) + len(before.words.labels)
    assert len(changed.labels) >= 1
    assert len(changed.piece_ids) + len(changed.labels) <= n_places  # a window never grows


def test_the_last_word_left_is_never_removed() -> None:
    augmenter = Augmenter(Augmentation(rate=1.0, substitute=0.0, delete=1.0), UNK, np.arange(5, 99))
    assert words(augmenter(packed()).words) == [([10], 0)]
    assert augmenter(window := packed()._replace(seed=())) is window  # without a seed nothing is drawn


def test_a_text_whose_last_word_is_removed_goes_on() -> None:
    augmenter = Augmenter(Augmentation(rate=0.2, substitute=0.0, delete=1.0), UNK, np.arange(5, 99))
    before = [packed(PIECES, MARKS, seed) for seed in range(40)]
    changed = [(augmenter(window), words(window.words)[-1]) for window in before]
    found = {(window.is_over, words(window.words)[-1] == last) for window, last in changed}
    assert found == {(True, True), (False, False)}


def test_teacher_labels_and_casings_stay_beside_their_words() -> None:
    ids = np.arange(10, 90)
    own = make_words(ids, np.ones(80, np.uint8), np.zeros(80, int), (ids % 4).astype(np.uint8))
    own = own._replace(teacher_labels=np.stack([ids, ids], axis=1).astype(np.uint8))
    changed = Augmenter(Augmentation(rate=0.3, random_pieces=0.5), 3, np.array([1, 2]))(CutWindow(own, (3,))).words
    known = changed.casings != UNKNOWN
    assert len(changed.casings) == len(changed.labels) == len(changed.piece_counts) == len(changed.teacher_labels)
    assert 0 < np.count_nonzero(known) < len(known)
    assert (changed.casings[known] == changed.piece_ids[known] % 4).all()
    assert (changed.teacher_labels[known] == changed.piece_ids[known, None]).all()
    inserted = (changed.piece_ids == 3) & ~changed.teacher_labels.any(axis=1)
    assert inserted.any()


def test_rates_and_shares_are_kept_and_a_window_always_changes_alike() -> None:
    long = packed([[10]] * 4000, [0] * 4000)
    augmenter = Augmenter(Augmentation(rate=0.15, substitute=1.0, delete=0.0), UNK, np.arange(5, 99))
    changed = augmenter(long).words.piece_ids
    assert 0.13 < (changed == UNK).mean() < 0.17
    assert np.array_equal(augmenter(long).words.piece_ids, changed)
    for settings, n_changed in ((Augmentation(), 0), (Augmentation(rate=1.0, windows=0.5), 100)):
        windows = [packed(seed=seed) for seed in range(200)]
        tried = [Augmenter(settings, UNK, np.arange(5, 99))(each) is not each for each in windows]
        assert sum(tried) == pytest.approx(n_changed, abs=25)
