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
from punctuation_restoration.training.labelling import write_probabilities
from punctuation_restoration.training.validation import score_model

NAMES = ["O", "COMMA", "PERIOD", "QUESTION"]


@pytest.fixture
def call(prepared: str, tiny_checkpoint: str, tmp_path: Path) -> list[str]:
    """A command line of self-training on a text of eleven words, without the number of rounds."""
    (tmp_path / "bare.txt").write_text("hello you are the best\n\nis the day you say saya")
    fixed = "--device cpu --max-steps 2 --pieces-per-batch 128 --validation-words 50 --pseudo-weight 0.5".split()
    texts = ["--data", prepared, "--unlabelled", str(tmp_path / "bare.txt"), "--language", "en"]
    return ["--model", tiny_checkpoint, *texts, "--output", str(tmp_path / "out"), *fixed]


def test_rounds_go_on_until_a_student_is_no_better_than_its_teacher(
    call: list[str], prepared: str, tmp_path: Path, capsys: Any
) -> None:
    out, record = tmp_path / "out", tmp_path / "out" / "rounds.json"
    assert run_training([*call, "--rounds", "1"]) == 0
    rounds = json.loads(record.read_text())
    student = str(out / "round-1/student/best")
    best = score_model(student, [prepared], 1000)["languages"]["en"]
    assert rounds[1] == {"model": student, "f1": best["f1"], "en": best["f1"]}
    record.write_text(json.dumps([{**rounds[0], "f1": -1.0}, {**rounds[1], "f1": 200.0}]))  # a gain, and the last one
    assert run_training([*call, "--rounds", "4"]) == 0
    assert [row["model"] for row in json.loads(record.read_text())[1:]] == [student, str(out / "round-2/student/best")]
    assert not (out / "round-3").exists()
    assert f"{student}, validation F1 200.00" in capsys.readouterr().out
    assert write_probabilities(student, [str(out / "unlabelled")], out / "again") == 11
    path = read_index(out / "unlabelled")["sources"][0]["splits"]["train"]["shards"][0]["file"]
    says = [SoftLabels(folder, NAMES).of_shard(path) for folder in (out / "again", out / "round-2" / "pseudo")]
    assert np.array_equal(*says)  # it was the teacher of the second round


def test_self_training_refuses_another_teacher_and_data_without_held_out_words(
    call: list[str], texts: str, tiny_checkpoint: str, tmp_path: Path, capsys: Any
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "rounds.json").write_text('[{"model": "other", "f1": 1.0}]')
    assert run_training(call) == 1
    assert "Expected --model other, with which the rounds" in capsys.readouterr().err
    prepare(recipe_for_texts([texts], "en", 0.0), tmp_path / "p", tiny_checkpoint, n_processes=1)
    assert run_training([*call, "--data", str(tmp_path / "p"), "--output", str(tmp_path / "new")]) == 1
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
