"""Augmentation against hand-computed windows: every draw is dictated, and shares are counted."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from punctuation_restoration.data.augmentation import Augmenter
from punctuation_restoration.data.casings import UNKNOWN
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


class Dictated:
    """A generator that gives the numbers it was told."""

    def __init__(self, rows: Sequence[Sequence[float]], integers: Sequence[int] = ()):
        self.rows, self.ints = list(rows), list(integers)

    def random(self, n: int) -> Any:
        row = self.rows.pop(0)
        assert len(row) == n
        return np.array(row)

    def integers(self, _: int, size: int) -> Any:
        drawn, self.ints = self.ints[:size], self.ints[size:]
        return np.array(drawn, dtype=int)


def words(changed: Words) -> list[tuple[list[int], int]]:
    ends = np.cumsum(changed.piece_counts)
    pieces = np.split(changed.piece_ids, ends[:-1])
    return [(own.tolist(), label) for own, label in zip(pieces, changed.labels.tolist(), strict=True)]


def test_words_are_substituted_deleted_and_inserted_as_drawn() -> None:
    augmenter = Augmenter(Augmentation(rate=0.15, substitute=0.4, delete=0.4), UNK, np.arange(5, 99))
    # Word 0 is substituted (0.1 < 0.4), word 1 deleted with its comma (0.4 <= 0.7 < 0.8), word 2 is not touched (0.15),
    # before word 3 comes <unk> without a mark (0.8 or more).
    drawn = Dictated([[0.14, 0.0, 0.15, 0.1], [0.1, 0.7, 0.0, 0.8], [0.5] * 4])
    changed = augmenter.changed(window().words, drawn)
    assert words(changed) == [([UNK], 0), ([30], 0), ([UNK], 0), ([40, 41], 2)]


def test_a_random_piece_is_substituted_where_asked_for() -> None:
    augmenter = Augmenter(Augmentation(rate=1.0, substitute=1.0, delete=0.0, random_pieces=0.5), UNK, np.arange(5, 99))
    drawn = Dictated([[0.0] * 4, [0.0] * 4, [0.4, 0.6, 0.4, 0.6]], [72, 83])
    assert words(augmenter.changed(window().words, drawn)) == [([77], 0), ([UNK], 1), ([88], 0), ([UNK], 2)]


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


def test_a_window_never_grows() -> None:
    augmenter = Augmenter(Augmentation(rate=1.0, substitute=0.0, delete=0.0), UNK, np.arange(5, 99))
    changed = augmenter(window()).words
    assert changed.piece_ids.tolist() == [UNK, 10, UNK, 20, 21, 22]
    assert len(changed.piece_ids) + len(changed.labels) <= len(window().words.piece_ids) + 4


@pytest.mark.parametrize(("settings", "n_changed"), [(Augmentation(), 0), (Augmentation(rate=1.0, windows=0.5), 100)])
def test_only_a_share_of_windows_is_tried(settings: Augmentation, n_changed: int) -> None:
    augmenter = Augmenter(settings, UNK, np.arange(5, 99))
    windows = [window(seed=seed) for seed in range(200)]
    assert sum(augmenter(each) is not each for each in windows) == pytest.approx(n_changed, abs=25)
