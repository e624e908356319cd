"""The programs that measure small streaming models, on tiny ones."""

import importlib
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from punctuation_restoration.cli.train import main as run_training
from punctuation_restoration.data.prepare import main as prepare

RECIPE = """
name: tiny
root: {root}
sources: [{{path: talks.txt, name: talks, language: en, validation: 0.4}}]
filters: {{min_sentences: 1}}
model: {{head_width: 16, digits_as_zero: true}}
sampling: {{lengths: {{40: 1.0}}}}
"""


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The trainings that a program starts, which run here and are short."""
    from benchmarks import arms

    found: list[list[str]] = []

    def run_here(command: list[str], **_: Any) -> None:
        found.append(command)
        assert run_training([*command[3:], "--cpu", "--max-steps", "2", "--pieces-per-batch", "128"]) == 0

    monkeypatch.setattr(arms, "subprocess", SimpleNamespace(run=run_here))
    return found


@pytest.fixture
def small(texts: str, tmp_path: Path) -> tuple[Path, Path, Path]:
    """A recipe, a model from nothing, and data prepared for it."""
    from examples.from_nothing import main as start

    recipe, model, data = tmp_path / "recipe.yaml", tmp_path / "start", tmp_path / "prepared"
    recipe.write_text(RECIPE.format(root=texts))
    sizes = ["--pieces", "90", "--embedding-size", "8", "--hidden-size", "16"]
    assert start(["--recipe", str(recipe), "--out", str(model), *sizes]) == 0
    assert prepare(["--recipe", str(recipe), "--tokenizer", str(model), "--out", str(data), "--processes", "1"]) == 0
    return recipe, model, data


@pytest.mark.slow
def test_every_shift_is_trained_once_and_measured(
    small: tuple[Path, Path, Path], calls: list[list[str]], texts: str, tmp_path: Path
) -> None:
    pytest.importorskip("onnxscript")
    module = importlib.import_module("benchmarks.lstm")
    recipe, model, data = small
    out, document = tmp_path / "out.json", tmp_path / "doc.md"
    document.write_text(f"Before.\n{module.BEGIN}\n{module.END}\n")
    talks, work = f"{texts}/talks.txt", tmp_path / "work"
    call = (
        f"--start {model} --data {data} --recipe {recipe} --out {out} --shifts 1 3 --files {talks} --words 30".split()
    )
    call += f"--benchmarks {talks} --work {work}".split()
    for _ in range(2):
        assert module.main([*call, "--document", str(document)]) == 0
    assert len(calls) == 2
    rows = json.loads(out.read_text())["shifts"]
    assert [row["shift"] for row in rows] == [1, 3]
    for row in rows:
        assert row["bytes"]["onnx/model_int8.onnx"] < row["bytes"]["model.safetensors"] + 60_000
        streams = {(one["backend"], one["way"]): one for one in row["streams"]}
        assert len(streams) == 4
        assert all(one["n_words"] == 30 for one in streams.values())
        (benchmark,) = row["benchmarks"].values()
        assert set(benchmark["end_text_marks"]) == {"COMMA", "PERIOD", "QUESTION"}
    assert "| shift | en |" in document.read_text()


def test_a_curve_has_a_point_for_every_amount_arm_and_seed(
    small: tuple[Path, Path, Path], calls: list[list[str]], tmp_path: Path
) -> None:
    module = importlib.import_module("benchmarks.amounts")
    recipe, model, data = small
    out, document = tmp_path / "out.json", tmp_path / "doc.md"
    document.write_text(f"{module.BEGIN}\n{module.END}\n")
    call = ["--arm", f"from nothing={data}:{model}", "--rates", "from nothing=--encoder-rate 0.01"]
    call += f"--recipe {recipe} --amounts 0 100 1000000 --evaluate-every 1 --patience 3 --work {tmp_path / 'w'}".split()
    call += f"--out {out} --picture {tmp_path / 'p.png'} --document {document}".split()
    for _ in range(2):
        assert module.main(call) == 0
    assert len(calls) == 4  # two amounts and two seeds; nothing twice, and nothing for 0 words
    assert all("0.01" in command for command in calls)
    points = json.loads(out.read_text())["points"]
    assert [point["seed"] for point in points] == [0, 1, 2, 1, 2]
    amounts = [point["n_words"] for point in points]
    assert 0 == amounts[0] < amounts[1] == amounts[2] < amounts[3]
    assert len(document.read_text().splitlines()) == 2 + 2 + 3
    with pytest.raises(ValueError, match="NAME=PREPARED:START"):
        module.main([*call, "--arm", "nothing"])
