"""The measuring programs run and write what they say, on a tiny model."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from punctuation_restoration.training.command import run_training

ROOT = Path(__file__).parents[1]


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"benchmark_{name}", ROOT / "benchmarks" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def folders(
    tiny_checkpoint: str, tiny_model: Any, tiny_tokenizer: Any, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """`old` and `new` prepared text, and `encoder`."""
    from punctuation_restoration.data.prepare import prepare, recipe_for_texts

    place = tmp_path_factory.mktemp("benchmark")
    tiny_model.encoder.save_pretrained(place / "encoder")
    tiny_tokenizer.save_pretrained(place / "encoder")
    for name, language in (("old", "en"), ("new", "id")):
        texts = place / f"{name}.txt"
        texts.write_text("\n\n".join(f"Hello, you are {letter}. Is the day? " * 6 for letter in "abcdefghijklmnopqrst"))
        prepare(recipe_for_texts([str(texts)], language, 0.3), place / name, tiny_checkpoint, 1)
    return place


def test_training_speed_compares_with_the_bare_encoder(folders: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = ["--data", str(folders / "old"), "--encoder", str(folders / "encoder"), "--rounds", "1", "--steps", "2"]
    assert load("training_speed").main([*call, "--pieces-per-batch", "256"]) == 0
    row = json.loads(capsys.readouterr().out)
    assert 0 < row["ratio"] < 2
    assert row["padding"] < 0.1


def test_a_new_language_is_scored_in_every_order(
    folders: Path, tiny_checkpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = load("new_language")
    from punctuation_restoration.training import experiments

    calls: list[list[str]] = []

    def run_here(command: list[str], **_: Any) -> None:
        calls.append(command)
        assert run_training([*command[3:], "--cpu", "--max-steps", "2", "--pieces-per-batch", "128"]) == 0

    monkeypatch.setattr(experiments, "subprocess", SimpleNamespace(run=run_here))
    call = ["--from", tiny_checkpoint, "--encoder", str(folders / "encoder"), "--layers", "1", "--threads", "1"]
    more = ["--old", str(folders / "old"), "--new", str(folders / "new"), "--minutes", "1", "--amounts", "100"]
    out = tmp_path / "out.json"
    assert module.main([*call, *more, "--work", str(tmp_path / "work"), "--out", str(out)]) == 0
    rows = json.loads(out.read_text())["runs"]
    assert [row["order"] for row in rows] == [
        "before", "new only", "old, then new", "joint", "adapted", "from the encoder",
    ]  # fmt: skip
    assert all(set(row["f1"]) == {"en", "id"} for row in rows)
    assert len(calls) == 5
    assert module.main([*call, *more, "--work", str(tmp_path / "work"), "--out", str(out)]) == 0
    assert len(calls) == 5  # started again, it trains nothing twice
    assert json.loads(out.read_text())["runs"] == rows
    index = json.loads((tmp_path / "work" / "words-100" / "index.json").read_text())
    assert 100 <= index["sources"][0]["splits"]["train"]["n_words"] < 150
