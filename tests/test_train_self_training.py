"""Learning from other models: pseudo labels, rounds of self-training, pieces for a new language."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.torch import load_file
from training_runs import arguments, weights

from punctuation_restoration.cli.train import main as run_training
from punctuation_restoration.data.preparation import prepare, recipe_for_texts
from punctuation_restoration.data.shards import read_index
from punctuation_restoration.data.soft_labels import SoftLabels
from punctuation_restoration.training import self_training
from punctuation_restoration.training.labelling import write_probabilities
from punctuation_restoration.training.validation import score_model

NAMES = ["O", "COMMA", "PERIOD", "QUESTION"]


@pytest.fixture
def call(prepared: str, tiny_checkpoint: str, tmp_path: Path) -> list[str]:
    """A command line of self-training on a text of eleven words, without the number of rounds."""
    (tmp_path / "bare.txt").write_text("hello you are the best\n\nis the day you say saya")
    fixed = "--device cpu --max-steps 2 --pieces-per-batch 128 --validation-words 50 --pseudo-weight 0.5".split()
    texts = [
        "--data",
        prepared,
        "--unlabelled",
        str(tmp_path / "bare.txt"),
        "--language",
        "en",
        "--output",
        str(tmp_path / "out"),
    ]
    return ["--teacher", tiny_checkpoint, *texts, *fixed]


def test_rounds_go_on_until_a_student_is_no_better_than_its_teacher(
    call: list[str], tiny_checkpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    out = tmp_path / "out"
    scores = {tiny_checkpoint: 50.0, str(out / "round-1/student/best"): 60.0, str(out / "round-2/student/best"): 60.0}
    asked, starts = [], []

    def scored(name: str, *_: Any) -> dict[str, Any]:
        asked.append(name)
        return {"mean_f1": scores[name], "languages": {"en": {"f1": scores[name]}}}

    def train(args: Any) -> None:
        starts.append(args.model)
        run_student(args)

    run_student = self_training.train
    monkeypatch.setattr(self_training, "score_model", scored)
    monkeypatch.setattr(self_training, "train", train)
    assert self_training.main([*call, "--rounds", "1"]) == 0
    assert self_training.main([*call, "--rounds", "4"]) == 0  # goes on with the second, and stops there
    assert asked == list(scores)
    assert starts == list(scores)[:2]
    assert not (out / "round-3").exists()
    assert f"{out}/round-1/student/best, validation F1 60.00" in capsys.readouterr().out
    best = str(out / "round-1/student/best")  # was the teacher of the second
    assert write_probabilities(best, [str(out / "unlabelled")], out / "again") == 11
    path = read_index(out / "unlabelled")["sources"][0]["splits"]["train"]["shards"][0]["file"]
    says = [SoftLabels(folder, NAMES).of_shard(path) for folder in (out / "again", out / "round-2" / "pseudo")]
    assert np.array_equal(*says)


def test_a_round_is_judged_by_what_validation_gives(call: list[str], prepared: str, tmp_path: Path) -> None:
    assert self_training.main([*call, "--rounds", "1", "--round-words", "200"]) == 0
    rounds = json.loads((tmp_path / "out" / "rounds.json").read_text())
    assert [row["f1"] for row in rounds] == [row["en"] for row in rounds]
    best = score_model(rounds[1]["model"], [prepared], 200)["languages"]["en"]
    assert (rounds[1]["f1"], best["n_words"]) == (best["f1"], 200)


def test_self_training_refuses_another_teacher_and_data_without_held_out_words(
    call: list[str], texts: str, tiny_checkpoint: str, tmp_path: Path, capsys: Any
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "rounds.json").write_text('[{"model": "other", "f1": 1.0}]')
    assert self_training.main(call) == 1
    assert "Expected --teacher other, with which the rounds" in capsys.readouterr().err
    prepare(recipe_for_texts([texts], "en", 0.0), tmp_path / "p", tiny_checkpoint, n_processes=1)
    assert self_training.main([*call, "--data", str(tmp_path / "p"), "--output", str(tmp_path / "new")]) == 1
    assert "Expected held-out words" in capsys.readouterr().err


def test_new_pieces_from_plain_text(texts: str, tiny_checkpoint: str, tmp_path: Path) -> None:
    start = arguments(
        texts, tmp_path / "a", tiny_checkpoint, "--add-pieces", "3", "--language", "ms", "--max-steps", "2"
    )
    assert run_training(start) == 0
    pieces = json.loads((tmp_path / "a" / "extended" / "new_pieces.json").read_text())
    before = load_file(tmp_path / "a" / "extended" / "model.safetensors")["encoder.embeddings.word_embeddings.weight"]
    after = weights(tmp_path / "a")["encoder.embeddings.word_embeddings.weight"]
    changed = set((before != after).any(1).nonzero().flatten().tolist())
    assert set(pieces) <= changed
    assert len(changed) <= len(pieces) + 5  # the mask and four fills besides
