"""What is like a sample is chosen: the n-gram model is counted by hand and by definition, the choice end to end."""

import itertools
import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from punctuation_restoration.data.choosing import NgramModel, main
from punctuation_restoration.data.preparation import prepare
from punctuation_restoration.data.recipe import build_recipe
from punctuation_restoration.data.shards import read_index, shard_documents

TEXTS = st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=8), min_size=1, max_size=5)


def flat(texts: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    words = np.array([word for text in texts for word in text], dtype=np.uint64)
    return words, np.cumsum([0, *(len(text) for text in texts[:-1])])


def by_definition(texts: list[list[int]], order: int, context: tuple[Any, ...], word: int) -> float:
    """Interpolated Kneser-Ney with one discount for each order, as it is written in books."""
    n_words = len({word for text in texts for word in text})
    found: list[Counter[tuple[Any, ...]]] = [Counter() for _ in range(order + 1)]
    for text in texts:
        padded = ["<s>"] * (order - 1) + text
        for end in range(order, len(padded) + 1):
            found[order][tuple(padded[end - order : end])] += 1
    for length in range(order - 1, 0, -1):
        found[length].update(gram[1:] for gram in found[length + 1])
    probability = 1 / (n_words + 1)
    for length in range(1, order + 1):
        once, twice = (list(found[length].values()).count(n) for n in (1, 2))
        discount = once / (once + 2 * twice) if once else 0.5
        before = context[len(context) - length + 1 :]
        follows = {gram[-1]: n for gram, n in found[length].items() if gram[:-1] == before}
        if follows:
            kept = max(follows.get(word, 0) - discount, 0) + discount * len(follows) * probability
            probability = kept / sum(follows.values())
    return probability


@settings(max_examples=60, deadline=None)
@given(TEXTS, st.lists(st.integers(0, 5), min_size=1, max_size=6), st.integers(1, 4))
def test_probabilities_are_those_of_the_definition(texts: list[list[int]], text: list[int], order: int) -> None:
    found = np.exp(NgramModel(*flat(texts), order=order).log_probabilities(*flat([text])))
    padded = ["<s>"] * (order - 1) + text
    wanted = [by_definition(texts, order, tuple(padded[n : n + order - 1]), word) for n, word in enumerate(text)]
    assert found == pytest.approx(wanted)


TALK = ["Hello, you are the best. ", "Is the day you say? ", "You say hello. ", "Are you the best? "]
LETTER = ["Saya awak, saya awak. ", "Awak tidak kenal saya. ", "Apa kata awak, saya? ", "Kata saya awak kenal. "]


def written(path: Path, sentences: list[str], n_documents: int) -> Path:
    drawn = np.random.default_rng(len(path.name)).integers(0, len(sentences), size=(n_documents, 6))
    rows = [
        {"id": f"{path.stem}-{number}", "text": "".join(sentences[place] for place in places) + f"You {number}."}
        for number, places in enumerate(drawn)
    ]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def pool(tiny_checkpoint: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pool")
    sources = [
        {"path": written(folder / "talks.jsonl", TALK, 40).name, "language": "en"},
        {"path": written(folder / "letters.jsonl", LETTER, 40).name, "language": "en"},
        {"path": written(folder / "more.jsonl", LETTER, 10).name, "language": "ms"},
    ]
    recipe = build_recipe({"name": "pool", "root": str(folder), "sources": sources, "validation": 0.2, "test": 0.1})
    prepare(recipe, folder / "prepared", tiny_checkpoint, n_processes=1)
    return folder / "prepared"


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    path = tmp_path / "sample.txt"
    path.write_text("You say the best.\nHello, are you the best? Is the day hello?\nYou are the day.", encoding="utf-8")
    return path


def arguments(pool: Path, sample: Path, out: Path, changed: Mapping[str, Any] = MappingProxyType({})) -> list[str]:
    given = {"pool": pool, "sample": sample, "output": out, "language": "en", "words": 300, **changed}
    return [part for name, value in given.items() for part in (f"--{name}", str(value))]


def hashes(folder: Path, split: str, name: str) -> list[int]:
    (row,) = (row for row in read_index(folder)["sources"] if row["name"] == name)
    files = [shard["file"] for shard in row["splits"][split]["shards"]]
    return [document.hash for file in files for document in shard_documents(file)]


def words_chosen(folder: Path) -> dict[str, int]:
    return {row["name"]: row["splits"]["train"]["n_words"] for row in read_index(folder)["sources"]}


def test_the_nearest_documents_are_chosen_and_the_held_out_ones_kept(
    pool: Path, sample: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(arguments(pool, sample, out)) == 0
    n_words = words_chosen(out)
    assert n_words.keys() == {"talks", "letters"}
    assert n_words["letters"] == 0
    assert 300 <= n_words["talks"] < 340  # whole documents, of at most 33 words
    chosen, all_talks = (hashes(folder, "train", "talks") for folder in (out, pool))
    assert 0 < len(chosen) < len(all_talks)
    assert chosen == [hash_ for hash_ in all_talks if hash_ in set(chosen)]
    for name, split in itertools.product(n_words, ("validation", "test")):
        assert hashes(out, split, name) == hashes(pool, split, name) != []
    assert f"talks: {n_words['talks']} of " in capsys.readouterr().out
    assert main(arguments(pool, sample, out, {"words": 100})) == 0  # in the same folder
    assert sum(words_chosen(out).values()) < 140


def test_documents_of_the_sample_are_not_chosen(pool: Path, tmp_path: Path) -> None:
    assert main(arguments(pool, pool.parent / "talks.jsonl", tmp_path / "out", {"words": 100})) == 0
    n_words = words_chosen(tmp_path / "out")
    assert n_words["talks"] == 0 < n_words["letters"]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"words": 10**6}, "outside the sample, got 1,000,000"),
        ({"language": "xx"}, "Expected --language to be one of ['en', 'ms'], got 'xx'"),
        ({"words": 0}, "Expected --words from 1 to the pool's"),
        ({"sample": "nowhere.txt"}, "Expected text at nowhere.txt"),
        ({"sample": "marks.txt"}, "Expected words in the sample, got none"),
        ({"pool": "nowhere"}, "Expected prepared data in nowhere"),
        ({"output": "pool"}, "Expected --output to be another folder than the pool"),
        ({"output": "."}, "Choose another --output"),
    ],
)
def test_what_is_wrong_is_said(
    changed: dict[str, Any], message: str, pool: Path, sample: Path, monkeypatch: Any, capsys: Any
) -> None:
    monkeypatch.chdir(sample.parent)
    Path("marks.txt").write_text("?! …\n", encoding="utf-8")
    changed = {key: pool if value == "pool" else value for key, value in changed.items()}
    before = sorted(path.name for path in pool.iterdir())
    assert main(arguments(pool, sample, Path("out"), changed)) == 1
    assert message in capsys.readouterr().err
    assert not Path("out").exists()
    assert sorted(path.name for path in pool.iterdir()) == before
