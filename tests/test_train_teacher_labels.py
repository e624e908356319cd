"""A model's probabilities: written, found again by document and word, and learned by another."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file
from training_runs import arguments, first_shard, rows_of, run_training
from transformers import pipeline

from punctuation_restoration.cli.commands import run
from punctuation_restoration.data.collation import WindowCollator
from punctuation_restoration.data.preparation import prepare
from punctuation_restoration.data.recipe import Sampling, recipe_for_texts
from punctuation_restoration.data.sampling import WindowSampler
from punctuation_restoration.data.shards import WordStream, hash_words, read_index
from punctuation_restoration.data.teacher_labels import TeacherLabels
from punctuation_restoration.modeling.modeling_punctuation import NOTICES, PunctuationRestorationModel
from punctuation_restoration.pipeline.slots import SlotEncoder

NAMES = ["O", "COMMA", "PERIOD", "QUESTION"]


@pytest.fixture(scope="module")
def soft(prepared: str, tiny_checkpoint: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("soft") / "labels"
    assert run("label", ["--model", tiny_checkpoint, "--data", prepared, "--output", str(out), "--device", "cpu"]) == 0
    return out


def test_labels_of_other_texts_are_no_labels(soft, tiny_checkpoint, tmp_path, capsys):
    (tmp_path / "talk.txt").write_text("Saya say the man. Is it you? " * 9 + "\n\n" + "Here you are, hello. " * 9)
    prepare(recipe_for_texts([str(tmp_path / "talk.txt")], "en", 0.0), tmp_path / "data", tiny_checkpoint, 1)
    call = arguments(str(tmp_path / "data"), tmp_path / "run", tiny_checkpoint, "--teacher-labels", str(soft))
    assert run_training(call) == 1
    assert "got those of other texts" in capsys.readouterr().err


def test_teacher_labels_are_the_probabilities_that_the_pipeline_gives(soft, texts, prepared, tiny_checkpoint):
    stream = WordStream(first_shard(read_index(prepared)))
    stored = TeacherLabels(soft, NAMES).of_shard(stream)
    restore = pipeline("punctuation-restoration", model=tiny_checkpoint, device="cpu")
    served = {}
    for paragraph in (Path(texts) / "talks.txt").read_text().split("\n\n"):
        words = restore(paragraph, existing="replace", all_scores=True)["words"]
        served[hash_words([word["word"] for word in words])] = [list(word["scores"].values()) for word in words]
    hashes = stream.arrays["word_hashes"].tolist()
    assert len(hashes) > 10
    for (first, end), words_hash in zip(stream.borders, hashes, strict=True):
        np.testing.assert_allclose(stored[first:end], served[words_hash], atol=0.015)


def test_a_second_run_labels_only_documents_that_changed(texts, tiny_checkpoint, tmp_path, capsys):
    folder = tmp_path / "texts"
    shutil.copytree(texts, folder)
    data, out = tmp_path / "data", tmp_path / "soft"
    call = ["--model", tiny_checkpoint, "--data", str(data), "--output", str(out), "--device", "cpu"]
    prepare(recipe_for_texts([str(folder)], "en", validation=0.0), data, tiny_checkpoint, n_processes=1)
    assert run("label", call) == 0
    content = (folder / "talks.txt").read_text()
    (folder / "talks.txt").write_text(content.replace("You are a.", "You are the best."))
    prepare(recipe_for_texts([str(folder)], "en", validation=0.0), data, tiny_checkpoint, n_processes=1)
    capsys.readouterr()
    assert run("label", call) == 0
    assert 0 < int(capsys.readouterr().out.split()[0]) < 200  # of one document
    assert run("label", call) == 0
    assert capsys.readouterr().out.startswith("0 words")
    assert TeacherLabels(out, NAMES).of_shard(WordStream(first_shard(read_index(data)))).any(axis=1).all()


def test_labels_of_another_model_are_not_mixed_in(prepared, soft, tiny_checkpoint, tmp_path, capsys):
    other = tmp_path / "other"
    shutil.copytree(tiny_checkpoint, other)
    model = PunctuationRestorationModel.from_pretrained(other)
    model.classifier.out_proj.bias.data += 1
    model.save_pretrained(other)
    assert run("label", ["--model", str(other), "--data", prepared, "--output", str(soft), "--device", "cpu"]) == 1
    assert "Choose another --output" in capsys.readouterr().err
    with pytest.raises(ValueError, match=r"Expected in .* probabilities of the labels \['O', 'COMMA'\]"):
        TeacherLabels(soft, ["O", "COMMA"])


def test_batches_carry_what_was_said_of_their_words(soft, prepared, tiny_tokenizer, tiny_config):
    sampling, teacher = Sampling(lengths={48: 1.0}, utterances=0.3), TeacherLabels(soft, NAMES)
    sampler = WindowSampler(read_index(prepared), sampling, 200, 5, teacher=teacher)
    collator = WindowCollator(SlotEncoder(tiny_tokenizer, tiny_config))
    for plan in map(sampler.plan, range(12)):
        windows = [sampler.cut(plan, row) for row in range(len(plan))]
        batch = collator(windows)
        assert batch["teacher_labels"].shape == (*batch["labels"].shape, 4)
        for row, window in enumerate(windows):
            said = window.words.teacher_labels
            assert np.array_equal(batch["teacher_labels"][row, : len(said)].numpy(), said)


def _first_loss(prepared, out, start, *options):
    more = ["--log-every", "1", "--dropout", "0", "--max-steps", "1", *options]
    assert run_training(arguments(prepared, out, start, *more)) == 0
    return next(row["loss"] for row in rows_of(out) if "loss" in row)


def test_what_learns_from_labels_keeps_the_terms_of_their_model(soft, prepared, tiny_checkpoint, tmp_path):
    teacher, labels = tmp_path / "teacher", shutil.copytree(soft, tmp_path / "labels")
    teacher.mkdir()
    for name in NOTICES:
        (teacher / name).write_text(f"the {name}")
    about = json.loads((labels / "model.json").read_text())
    (labels / "model.json").write_text(json.dumps({**about, "model": str(teacher)}))
    call = arguments(prepared, tmp_path / "run", tiny_checkpoint, "--teacher-labels", str(labels), "--max-steps", "1")
    assert run_training(call) == 0
    assert [(tmp_path / "run" / "best" / name).read_text() for name in NOTICES] == [f"the {name}" for name in NOTICES]


def test_a_model_that_learns_its_own_labels_has_little_to_learn(soft, prepared, no_dropout, tmp_path):
    """Only what other windows show changes its mind: the labels were found in those of serving."""
    soft_only = ["--teacher-labels", str(soft), "--distil-weight", "1.0"]
    hard = _first_loss(prepared, tmp_path / "hard", no_dropout)
    assert _first_loss(prepared, tmp_path / "soft", no_dropout, *soft_only) < 0.5 * hard


def test_a_small_model_with_fewer_labels_learns_the_sums(tmp_path):
    names = ["O", "ENUMERATION", "COMMA", "PERIOD", "EXCLAMATION", "QUESTION"]
    basic = ["O", "COMMA", "COMMA", "PERIOD", "PERIOD", "QUESTION"]
    about = {"model": "large", "weights": "1", "labels": dict(zip(names, basic, strict=True))}
    (tmp_path / "model.json").write_text(json.dumps(about))
    content = {
        "document_hashes": np.array([7], dtype=np.uint64),
        "word_hashes": np.array([9], dtype=np.uint64),
        "document_starts": np.array([0, 2], dtype=np.uint32),
        "probabilities": np.array([[1, 2, 4, 8, 16, 32], [0, 1, 0, 0, 1, 0]], dtype=np.float16) / 64,
    }
    save_file(content, tmp_path / "labelled-0000.safetensors")
    (row,) = TeacherLabels(tmp_path, ["QUESTION", "O", "COMMA", "PERIOD"]).documents.values()
    assert (row * 64).tolist() == [[32, 1, 6, 24], [0, 0, 1, 1]]
    with pytest.raises(ValueError, match="Label with a model that has these labels"):
        TeacherLabels(tmp_path, ["O", "COMMA", "PERIOD", "QUESTION", "COLON"])
    with pytest.raises(ValueError, match="Label with a model that has these labels"):
        TeacherLabels(tmp_path, ["O", "COMMA", "PERIOD"])
