"""The benchmark of self-training: its arms differ in the loss alone, and nothing is done twice."""

import importlib
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from punctuation_restoration.cli.train import main as run_training
from punctuation_restoration.data.prepare import prepare
from punctuation_restoration.data.recipe import load_recipe
from punctuation_restoration.data.shards import read_index
from punctuation_restoration.training.self_training import main as run_self_training

TEXT = "Hello, you are the best. Is the day you say? Saya awak, hello the is. We say: the best you. "


@pytest.fixture
def call(tiny_encoder: Path, tmp_path: Path) -> list[str]:
    for name in ("talks", "calls"):
        (tmp_path / f"{name}.txt").write_text("\n\n".join(TEXT * 4 + f"You are {name} {n}." for n in range(30)))
    sources = "".join(f"- {{path: {tmp_path}/{name}.txt, name: {name}, language: en}}\n" for name in ("talks", "calls"))
    (tmp_path / "recipe.yaml").write_text(f"name: tiny\nvalidation: 0.2\nsources:\n{sources}")
    (tmp_path / "hidden.yaml").write_text("name: hidden\nbase: recipe.yaml\nonly: [calls]\n")
    prepare(load_recipe(tmp_path / "recipe.yaml"), tmp_path / "data", str(tiny_encoder), n_processes=1)
    (tmp_path / "set.txt").write_text("\n\n".join([TEXT * 3] * 4))
    given = {
        "--data": "data", "--recipe": "recipe.yaml", "--hidden": "hidden.yaml", "--sets": "set.txt", "--work": "work",
        "--out": "out.json", "--document": "log.md", "--encoder": tiny_encoder,
    }  # fmt: skip
    numbers = "--words 300 --human-words 400 --hidden-words 300 --pieces-per-batch 128 --layers 1 --validation-words 50"
    return [*(str(part) for key, own in given.items() for part in (key, tmp_path / own)), *numbers.split()]


def test_five_arms_learn_the_same_labels_and_are_compared(
    call: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, arms = (importlib.import_module(f"benchmarks.{name}") for name in ("pseudo_labels", "arms"))
    calls: list[list[str]] = []

    def run_here(command: list[str], **_: Any) -> None:
        calls.append(command[3:])
        run = run_training if command[2].endswith("train") else run_self_training
        assert run([*command[3:], "--cpu", "--warmup-steps", "0", "--head-rate", "1e-3"]) == 0

    for one in (module, arms):
        monkeypatch.setattr(one, "subprocess", SimpleNamespace(run=run_here))
    (tmp_path / "log.md").write_text(f"before\n{module.BEGIN}\n{module.END}\n")
    more = ["--rounds", "1", "--round-words", "100", "--arms", module.VANILLA, "weight and discriminative smoothing"]
    for _ in range(2):
        assert module.main([*call, *more, "--seeds", "1", "2"]) == 0
    found = json.loads((tmp_path / "out.json").read_text())
    assert [(row["arm"], row["seed"], len(row["rounds"])) for row in found["runs"]] == [
        (name, seed, 0 if name == "teacher" else 2) for seed in (1, 2) for name in ("teacher", *more[-2:])
    ]
    assert sum("--unlabelled" not in one for one in calls) == 2  # teachers are trained once
    steps = {row["steps"] for row in found["runs"]}
    assert steps == {round(300 / found["signature"]["settings"]["words_a_step"])}
    losses = {one[one.index("--out") + 1] for one in calls if "--pseudo-smoothing" in one}
    assert losses == {str(tmp_path / "work" / f"weight-and-discriminative-smoothing-{seed}") for seed in (1, 2)}
    both = [read_index(tmp_path / "work" / f"{module.place_name(name, 1)}/round-1/pseudo") for name in more[-2:]]
    files = [Path(one["sources"][0]["splits"]["train"]["shards"][0]["file"]).resolve() for one in both]
    assert files[0] == files[1]
    human, hidden = (read_index(tmp_path / "work" / name)["sources"] for name in ("human-400", "hidden-300"))
    assert [row["name"] for row in (*human, *hidden)] == ["talks", "calls"]
    assert hidden[0]["is_labelled"] is False
    assert 400 <= found["text"]["human"] < 600
    student, ensemble = found["runs"][2], found["ensembles"][0]
    gain = student["against_teacher"]["set.txt"]["micro"]
    f1 = [row["f1"]["set.txt"] for row in found["runs"]]
    assert 100 * gain == pytest.approx(f1[2] - f1[0], abs=0.011)
    assert 100 * ensemble["against_alone"]["set.txt"]["micro"] == pytest.approx(
        ensemble["f1"]["set.txt"] - f1[0], abs=0.011
    )
    assert "| teacher, 2 models averaged |" in (tmp_path / "log.md").read_text()


def test_a_difference_inside_its_interval_is_shown_as_none() -> None:
    cell = importlib.import_module("benchmarks.pseudo_labels").cell
    sure = {"micro": 0.01, "interval_95": [0.002, 0.018]}
    unsure = {"micro": 0.01, "interval_95": [-0.002, 0.022]}
    assert cell([71.0, 72.0], [sure, sure]) == "71.5 (+1.0)"
    assert cell([71.0, 72.0], [sure, unsure]) == "71.5"
    assert cell([71.0], [None]) == "71.0"
