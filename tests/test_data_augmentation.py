"""Augmentation against hand-computed windows: every draw is dictated, and shares are counted."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from punctuation_restoration.data.augmentation import Augmenter, pack, unpack
from punctuation_restoration.data.recipe import Augmentation
from punctuation_restoration.data.sampling import CutWindow

UNK = 3
#        word 0    word 1      word 2  word 3
PIECES = [[10], [20, 21, 22], [30], [40, 41]]
LABELS = [0, 1, 0, 2]


def window(pieces: Sequence[Sequence[int]] = PIECES, labels: Sequence[int] = LABELS, seed: int = 0) -> CutWindow:
    return CutWindow(
        np.array([piece for word in pieces for piece in word], dtype=np.uint16),
        np.array([len(word) for word in pieces], dtype=np.uint8),
        np.array(labels, dtype=np.uint8),
        0,
        (seed,),
    )


class Dictated:
    """A generator that gives the numbers it was told."""

    def __init__(self, rows: Sequence[Sequence[float]], integers: Sequence[int] = ()):
        self.rows, self.ints = list(rows), list(integers)

    def random(self, n: int | None = None) -> Any:
        row = self.rows.pop(0)
        assert n is None or len(row) == n
        return np.array(row) if n is not None else row[0]

    def integers(self, *_: int) -> int:
        return self.ints.pop(0)


def words(changed: Any) -> list[tuple[list[int], int]]:
    return [(list(word.pieces), word.label) for word in changed]


def test_unpacking_and_packing_gives_the_window_back() -> None:
    again = pack(window(), unpack(window()))
    assert again.piece_ids.tolist() == window().piece_ids.tolist()
    assert again.piece_counts.tolist() == [1, 3, 1, 2]
    assert again.labels.tolist() == LABELS


def test_alam_substitutes_deletes_and_inserts_as_drawn() -> None:
    augmenter = Augmenter(Augmentation(rate=0.15, substitute=0.4, delete=0.4), UNK, range(5, 99))
    # Word 0 is substituted (0.1 < 0.4), word 1 deleted with its comma (0.4 <= 0.7 < 0.8), word 2 is not touched (0.15),
    # before word 3 comes <unk> without a mark (0.8 or more).
    drawn = Dictated([[0.14, 0.0, 0.15, 0.1], [0.1, 0.7, 0.0, 0.8], [0.5]])
    changed = augmenter.alam(unpack(window()), drawn)  # type: ignore[arg-type]
    assert words(changed) == [([UNK], 0), ([30], 0), ([UNK], 0), ([40, 41], 2)]


def test_alam_substitutes_a_random_piece_where_asked_for() -> None:
    augmenter = Augmenter(Augmentation(rate=1.0, substitute=1.0, delete=0.0, random_pieces=0.5), UNK, range(5, 99))
    drawn = Dictated([[0.0] * 4, [0.0] * 4, [0.4], [0.6], [0.4], [0.6]], [72, 83])
    changed = augmenter.alam(unpack(window()), drawn)  # type: ignore[arg-type]
    assert words(changed) == [([77], 0), ([UNK], 1), ([88], 0), ([UNK], 2)]


def test_alam_never_removes_the_last_word_left() -> None:
    augmenter = Augmenter(Augmentation(rate=1.0, substitute=0.0, delete=1.0), UNK, range(5, 99))
    assert words(augmenter.alam(unpack(window()), np.random.default_rng(0))) == [([10], 0)]


def test_noise_does_what_speakers_and_recognisers_do() -> None:
    settings = Augmentation(fillers=0.1, repeats=0.1, cut_offs=0.1, losses=0.1)
    augmenter = Augmenter(settings, UNK, range(5, 99), {0: [[7], [8, 9]]})
    # Filler number 1 before word 0; word 1 twice; word 2 has one piece, so nothing can be cut off; word 3 is lost and
    # leaves its period to word 2.
    drawn = Dictated([[0.05, 0.15, 0.25, 0.35]], [1])
    changed = augmenter.noise(unpack(window()), 0, drawn)  # type: ignore[arg-type]
    assert words(changed) == [([8, 9], 0), ([10], 0), ([20, 21, 22], 0), ([20, 21, 22], 1), ([30], 2)]


def test_noise_cuts_words_off_and_keeps_the_mark_of_the_word_before() -> None:
    augmenter = Augmenter(Augmentation(cut_offs=0.5, losses=0.5), UNK, range(5, 99))
    # Word 1 is started, cut off after two pieces, and said; word 3 is lost, but word 2 has no mark to lose.
    drawn = Dictated([[0.9, 0.1, 0.1, 0.1]], [2, 1])
    changed = augmenter.noise(unpack(window(labels=[0, 1, 1, 2])), 0, drawn)  # type: ignore[arg-type]
    assert words(changed) == [([20, 21], 0), ([20, 21, 22], 1), ([30], 1), ([40], 0), ([40, 41], 2)]
    drawn = Dictated([[0.1, 0.9, 0.1, 0.9]], [])
    changed = augmenter.noise(unpack(window(labels=[1, 2, 1, 2])), 0, drawn)  # type: ignore[arg-type]
    assert words(changed) == [([10], 1), ([30], 1)]


def test_rates_are_kept_and_a_window_always_changes_alike() -> None:
    n_words = 4000
    long = window([[10]] * n_words, [0] * n_words)
    augmenter = Augmenter(Augmentation(rate=0.15, substitute=1.0, delete=0.0), UNK, range(5, 99))
    changed = augmenter(long)
    assert 0.13 < (changed.piece_ids == UNK).mean() < 0.17
    assert augmenter(long).piece_ids.tolist() == changed.piece_ids.tolist()


def test_a_window_never_grows() -> None:
    augmenter = Augmenter(Augmentation(rate=1.0, substitute=0.0, delete=0.0), UNK, range(5, 99))
    changed = augmenter(window())
    assert changed.piece_ids.tolist() == [UNK, 10, UNK, 20, 21, 22]
    assert len(changed.piece_ids) + len(changed.labels) <= len(window().piece_ids) + 4


@pytest.mark.parametrize(("settings", "n_changed"), [(Augmentation(), 0), (Augmentation(rate=1.0, windows=0.5), 100)])
def test_only_a_share_of_windows_is_tried(settings: Augmentation, n_changed: int) -> None:
    augmenter = Augmenter(settings, UNK, range(5, 99))
    windows = [window(seed=seed) for seed in range(200)]
    assert sum(augmenter(each) is not each for each in windows) == pytest.approx(n_changed, abs=25)
