"""Learning from other models: pseudo labels, rounds of self-training, pieces for a new language."""

import json
from pathlib import Path

import numpy as np
from safetensors.torch import load_file
from training_runs import arguments, weights
from transformers import pipeline

from punctuation_restoration.cli.train import main as run_training
from punctuation_restoration.data.prepare import prepare, recipe_for_texts
from punctuation_restoration.data.shards import open_shard
from punctuation_restoration.training import self_training
from punctuation_restoration.training.labelling import label_folder


def test_self_training_labels_and_trains_round_after_round(
    prepared: str, texts: str, tiny_checkpoint: str, tmp_path: Path
) -> None:
    fixed = "--cpu --max-steps 2 --pieces-per-batch 128 --validation-words 50 --pseudo-weight 0.5".split()
    (tmp_path / "bare.txt").write_text("hello you are the best\n\nis the day you say saya")
    call = [
        "--teacher",
        tiny_checkpoint,
        "--data",
        prepared,
        "--unlabelled",
        str(tmp_path / "bare.txt"),
        "--language",
        "en",
    ]
    out = tmp_path / "out"
    assert self_training.main([*call, "--rounds", "2", "--out", str(out), *fixed]) == 0
    assert (out / "round-2" / "student" / "final" / "model.safetensors").is_file()
    index = json.loads((out / "round-1" / "pseudo" / "index.json").read_text())
    row = index["sources"][0]
    assert (row["is_pseudo"], row["splits"]["train"]["n_words"]) == (True, 11)


def test_pseudo_labels_are_what_the_model_says(prepared: str, tiny_checkpoint: str, tmp_path: Path) -> None:
    text = "hello you are the best is the day you say saya awak " * 8
    (tmp_path / "x.txt").write_text(text + ".")
    prepare(recipe_for_texts([str(tmp_path / "x.txt")], "en", 0.0), tmp_path / "p", tiny_checkpoint, n_processes=1)
    index = label_folder(tiny_checkpoint, tmp_path / "p", tmp_path / "q")
    labels = open_shard(index["sources"][0]["splits"]["train"]["shards"][0]["file"])["labels"]
    restore = pipeline("punctuation-restoration", model=tiny_checkpoint, device="cpu")
    names = ["O", "COMMA", "PERIOD", "QUESTION"]
    served = [names.index(word["label"]) for word in restore(text)["words"]]
    assert np.mean(labels[:-1] == served[:-1]) > 0.97


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
