"""Windows with words of another language: where they are put, and that words keep their pieces and labels."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from punctuation_restoration.data.recipe import Sampling, build_recipe
from punctuation_restoration.data.sampling import CutWindow, WindowSampler
from punctuation_restoration.data.shards import PackedDocument, read_index, write_index, write_split

STOPS = [2, 3]
MALAY, ENGLISH = 1, 50_000  # the first pieces of each


@pytest.fixture
def index(tmp_path: Path) -> dict[str, Any]:
    """Malay of periods, English of questions; every word is one piece, which counts up."""
    rows = []
    for language, first, labels in (("ms", MALAY, [0, 0, 0, 1, 0, 2]), ("en", ENGLISH, [0, 0, 1, 0, 0, 3])):
        own = np.array(labels * 40, np.uint8)
        ids = (first + np.arange(len(own))).astype(np.uint16)
        document = PackedDocument(first, ids, np.ones(len(own), np.uint8), own)
        splits = {"train": write_split(tmp_path, f"{language}-train", [document]), "validation": {"shards": []}}
        splits["validation"] = write_split(tmp_path, f"{language}-validation", [])
        rows.append({"name": language, "language": language, "weight": 1.0, "splits": splits})
    content = {"labels": [], "lowercase": True, "n_vocabulary": 1 << 16, "languages": ["en", "ms"], "sources": rows}
    write_index(tmp_path, content)
    return read_index(tmp_path)


def windows(index: dict[str, Any], splices: dict[str, dict[str, float]], **shares: float) -> list[CutWindow]:
    sampling = Sampling(lengths={50: 1.0}, language_weights={"en": 1e-6}, splices=splices, **shares)
    sampler = WindowSampler(index, sampling, 200, 0, STOPS, seed=5)
    return [sampler.cut(plan, row) for step in range(30) for plan in [sampler.plan(step)] for row in range(len(plan))]


def switches(window: CutWindow) -> np.ndarray:
    """The first words in the other language."""
    return np.flatnonzero(np.diff(window.piece_ids >= ENGLISH)) + 1


def test_windows_switch_between_sentences_and_within(index: dict[str, Any]) -> None:
    found = windows(index, {"ms": {"en": 1.0}})
    before = np.concatenate([window.labels[switches(window) - 1] for window in found])
    assert {2, 3} <= set(before)  # a sentence behind a sentence
    assert 0 in before  # and words within a clause
    english = [label for window in found for label in window.labels[window.piece_ids >= ENGLISH]]
    assert {0, 1, 3} == set(english)


def test_words_keep_their_labels_and_windows_their_length(index: dict[str, Any]) -> None:
    labels = {MALAY: [0, 0, 0, 1, 0, 2], ENGLISH: [0, 0, 1, 0, 0, 3]}
    for window in windows(index, {"ms": {"en": 1.0}}):
        assert len(window.labels) == len(window.piece_ids) == len(window.piece_counts) <= 48
        for piece, label in zip(window.piece_ids.tolist(), window.labels, strict=True):
            first = ENGLISH if piece >= ENGLISH else MALAY
            assert label == labels[first][(piece - first) % 6]


def test_a_window_that_ends_with_a_sentence_still_does(index: dict[str, Any]) -> None:
    nothing = {"document_starts": 0.0, "document_ends": 0.0, "sentence_starts": 0.0}
    for window in windows(index, {"ms": {"en": 1.0}}, sentence_ends=1.0, **nothing):
        assert window.is_over
        assert window.labels[-1] in STOPS


def test_only_as_many_windows_switch_as_the_recipe_says(index: dict[str, Any]) -> None:
    assert not any(len(switches(window)) for window in windows(index, {}))
    assert not any(len(switches(window)) for window in windows(index, {"en": {"ms": 1.0}, "xx": {"en": 1.0}}))
    share = np.mean([len(switches(window)) > 0 for window in windows(index, {"ms": {"en": 0.4, "xx": 0.3}})])
    assert 0.25 < share < 0.5


def test_shares_above_1_are_refused() -> None:
    content = {"name": "x", "sources": [{"path": "a.txt", "language": "ms"}]}
    with pytest.raises(ValueError, match=r"splices of ms in .* from 0 to 1, got 1.2"):
        build_recipe({**content, "sampling": {"splices": {"ms": {"en": 0.7, "zh": 0.5}}}}, "here")
