"""Augmentation: what may become of a word, how often, and what stays beside it."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from punctuation_restoration.data.casings import UNKNOWN
from punctuation_restoration.data.collation import Augmenter
from punctuation_restoration.data.recipe import Augmentation
from punctuation_restoration.data.sampling import CutWindow
from punctuation_restoration.data.shards import Words, make_words

UNK = 3
#        word 0    word 1      word 2  word 3
PIECES = [[10], [20, 21, 22], [30], [40, 41]]
LABELS = [0, 1, 0, 2]


def window(pieces: Sequence[Sequence[int]] = PIECES, labels: Sequence[int] = LABELS, seed: int = 0) -> CutWindow:
    words = make_words(
        np.array([piece for word in pieces for piece in word], dtype=np.uint16),
        np.array([len(word) for word in pieces], dtype=np.uint8),
        np.array(labels, dtype=np.uint8),
    )
    return CutWindow(words, (seed,))


def words(changed: Words) -> list[tuple[list[int], int]]:
    pieces = np.split(changed.piece_ids, np.cumsum(changed.piece_counts)[:-1])
    return [(own.tolist(), label) for own, label in zip(pieces, changed.labels.tolist(), strict=True)]


@given(st.integers(0, 10**6), st.floats(0.05, 1), st.floats(0, 1), st.floats(0, 1))
def test_words_are_substituted_deleted_or_get_an_unknown_word_before_them(
    seed: int, rate: float, substitute: float, delete: float
) -> None:
    settings = Augmentation(rate=rate, substitute=substitute, delete=(1 - substitute) * delete, random_pieces=0.5)
    before = window(PIECES * 5, LABELS * 5, seed)
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
    assert words(augmenter(window()).words) == [([10], 0)]


def test_soft_labels_and_casings_stay_beside_their_words() -> None:
    ids = np.arange(10, 90)
    own = make_words(ids, np.ones(80, np.uint8), np.zeros(80, int), (ids % 4).astype(np.uint8))
    own = own._replace(soft=np.stack([ids, ids], axis=1).astype(np.uint8))
    changed = Augmenter(Augmentation(rate=0.3, random_pieces=0.5), 3, np.array([1, 2]))(CutWindow(own, (3,))).words
    known = changed.casings != UNKNOWN
    assert len(changed.casings) == len(changed.labels) == len(changed.piece_counts) == len(changed.soft)
    assert 0 < np.count_nonzero(known) < len(known)
    assert (changed.casings[known] == changed.piece_ids[known] % 4).all()
    assert (changed.soft[known] == changed.piece_ids[known, None]).all()
    inserted = (changed.piece_ids == 3) & ~changed.soft.any(axis=1)
    assert inserted.any()


def test_rates_are_kept_and_a_window_always_changes_alike() -> None:
    n_words = 4000
    long = window([[10]] * n_words, [0] * n_words)
    augmenter = Augmenter(Augmentation(rate=0.15, substitute=1.0, delete=0.0), UNK, np.arange(5, 99))
    changed = augmenter(long).words
    assert 0.13 < (changed.piece_ids == UNK).mean() < 0.17
    assert augmenter(long).words.piece_ids.tolist() == changed.piece_ids.tolist()


@pytest.mark.parametrize(("settings", "n_changed"), [(Augmentation(), 0), (Augmentation(rate=1.0, windows=0.5), 100)])
def test_only_a_share_of_windows_is_tried(settings: Augmentation, n_changed: int) -> None:
    augmenter = Augmenter(settings, UNK, np.arange(5, 99))
    windows = [window(seed=seed) for seed in range(200)]
    assert sum(augmenter(each) is not each for each in windows) == pytest.approx(n_changed, abs=25)
