"""A teacher's labels: written, found again by document and word, and learned by a student with other pieces."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from training_runs import arguments
from transformers import pipeline

from punctuation_restoration.cli.train import main as run_training
from punctuation_restoration.data.augmentation import pack, unpack
from punctuation_restoration.data.collation import WindowCollator
from punctuation_restoration.data.prepare import prepare, recipe_for_texts
from punctuation_restoration.data.recipe import Sampling
from punctuation_restoration.data.sampling import WindowSampler
from punctuation_restoration.data.shards import document_borders, hash_words, open_shard, read_index
from punctuation_restoration.data.soft_labels import (
    LabelMapping,
    SoftLabels,
    as_bytes,
    as_probabilities,
    soft_labels_of_shard,
)
from punctuation_restoration.modeling.configuration_punctuation import DEFAULT_LABELS, DEFAULT_MARK_LABELS
from punctuation_restoration.pipeline.slots import SlotEncoder
from punctuation_restoration.training import labelling


@pytest.fixture(scope="module")
def soft(prepared: str, tiny_checkpoint: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("soft") / "labels"
    assert labelling.main(["--teacher", tiny_checkpoint, "--data", prepared, "--out", str(out), "--cpu"]) == 0
    return out


def _shard(prepared: str) -> Path:
    return Path(read_index(prepared)["sources"][0]["splits"]["train"]["shards"][0]["file"])


def _mapping(soft: Path) -> list[tuple[SoftLabels, LabelMapping]]:
    labels = SoftLabels(soft)
    return [(labels, LabelMapping(labels.teacher, DEFAULT_LABELS, DEFAULT_MARK_LABELS))]


@given(st.lists(st.lists(st.floats(0, 1), min_size=4, max_size=4).filter(lambda row: sum(row) > 0.01), min_size=1))
def test_a_byte_a_label_keeps_probabilities(rows):
    probabilities = np.array(rows) / np.sum(rows, axis=1, keepdims=True)
    kept = as_probabilities(as_bytes(probabilities))
    assert np.abs(kept - probabilities).max() < 0.015
    np.testing.assert_allclose(kept.sum(1), 1, atol=1e-5)


def test_nothing_stored_means_nothing_said():
    assert as_probabilities(np.zeros((2, 4), dtype=np.uint8)).tolist() == [[0.0] * 4] * 2


def test_soft_labels_are_the_probabilities_that_the_pipeline_gives(soft, texts, prepared, tiny_checkpoint):
    path = _shard(prepared)
    stored = as_probabilities(soft_labels_of_shard(path, _mapping(soft), 4))
    restore = pipeline("punctuation-restoration", model=tiny_checkpoint, device="cpu")
    served = {}
    for paragraph in (Path(texts) / "talks.txt").read_text().split("\n\n"):
        words = restore(paragraph, existing="replace", all_scores=True)["words"]
        served[hash_words([word["word"] for word in words])] = [list(word["scores"].values()) for word in words]
    arrays = open_shard(path)
    hashes = arrays["word_hashes"].tolist()
    assert len(hashes) > 10
    for (first, end), words_hash in zip(document_borders(arrays), hashes, strict=True):
        np.testing.assert_allclose(stored[first:end], served[words_hash], atol=0.015)


def test_a_second_run_labels_only_documents_that_changed(texts, tiny_checkpoint, tmp_path, capsys):
    folder = tmp_path / "texts"
    shutil.copytree(texts, folder)
    data, out = tmp_path / "data", tmp_path / "soft"
    call = ["--teacher", tiny_checkpoint, "--data", str(data), "--out", str(out), "--cpu"]
    prepare(recipe_for_texts([str(folder)], "en", validation=0.0), data, tiny_checkpoint, n_processes=1)
    assert labelling.main(call) == 0
    first = SoftLabels(out)
    content = (folder / "talks.txt").read_text()
    (folder / "talks.txt").write_text(content.replace("You are a.", "You are the best."))
    prepare(recipe_for_texts([str(folder)], "en", validation=0.0), data, tiny_checkpoint, n_processes=1)
    assert labelling.main(call) == 0
    second = SoftLabels(out)
    assert len(second.parts) == len(first.parts) + 1
    assert len(second.parts[-1]["document_hashes"]) == 1
    assert labelling.main(call) == 0
    assert len(SoftLabels(out).parts) == len(second.parts)
    assert "(100%) are labelled" in capsys.readouterr().out


def test_a_stopped_run_goes_on(prepared, tiny_checkpoint, soft, tmp_path, monkeypatch):
    monkeypatch.setattr(labelling, "WORDS_PER_PART", 200)
    write, written = labelling.write_part, []

    def write_two(out, arrays):
        if len(written) == 2:
            raise KeyboardInterrupt
        written.append(arrays)
        write(out, arrays)

    monkeypatch.setattr(labelling, "write_part", write_two)
    out = tmp_path / "soft"
    with pytest.raises(KeyboardInterrupt):
        labelling.label_folder_softly(tiny_checkpoint, [prepared], out)
    assert len(SoftLabels(out).parts) == 2
    monkeypatch.setattr(labelling, "write_part", write)
    done = labelling.label_folder_softly(tiny_checkpoint, [prepared], out)
    assert done["n_labelled"] == done["n_words"]
    whole, resumed = (soft_labels_of_shard(_shard(prepared), _mapping(folder), 4) for folder in (soft, out))
    assert np.abs(whole.astype(int) - resumed).max() <= 1


def test_a_time_limit_ends_it_and_says_how_much_is_done(prepared, tiny_checkpoint, tmp_path, monkeypatch):
    monkeypatch.setattr(labelling, "WORDS_PER_PART", 200)
    done = labelling.label_folder_softly(tiny_checkpoint, [prepared], tmp_path / "soft", minutes=1e-9)
    assert 0 < done["n_labelled"] < done["n_words"]


def test_labels_of_another_teacher_are_not_mixed_in(
    prepared, no_dropout, tiny_checkpoint, tiny_model, tmp_path, capsys
):
    out = tmp_path / "soft"
    other = tmp_path / "other"
    shutil.copytree(tiny_checkpoint, other)
    from punctuation_restoration.modeling.modeling_punctuation import PunctuationRestorationModel

    model = PunctuationRestorationModel.from_pretrained(other)
    model.classifier.out_proj.bias.data += 1
    model.save_pretrained(other)
    call = ["--data", prepared, "--out", str(out), "--cpu"]
    assert labelling.main(["--teacher", tiny_checkpoint, *call]) == 0
    assert labelling.main(["--teacher", str(other), *call]) == 1
    assert "Choose another --out" in capsys.readouterr().err


def test_a_students_further_labels_take_what_the_teacher_gives_their_mark():
    more = [*DEFAULT_LABELS, {"name": "EXCLAMATION", "before": "", "after": "!", "fill": "!"}]
    marks = {**DEFAULT_MARK_LABELS, "!": "EXCLAMATION"}
    teacher = {
        "model": "m",
        "labels": [label["name"] for label in DEFAULT_LABELS],
        "mark_labels": DEFAULT_MARK_LABELS,  # to the teacher, an exclamation mark is a period
    }
    mapping = LabelMapping(teacher, more, marks)
    said = np.array([[0.1, 0.2, 0.6, 0.1]] * 3)
    np.testing.assert_allclose(
        mapping(said, np.array([4, 2, 0])),
        [[0.1, 0.2, 0.0, 0.1, 0.6], [0.1, 0.2, 0.6, 0.1, 0.0], [0.1, 0.2, 0.6, 0.1, 0.0]],
    )


def test_a_teachers_label_that_the_student_lacks_is_an_error():
    teacher = {"model": "m", "labels": ["O", "COMMA", "PERIOD", "QUESTION"], "mark_labels": DEFAULT_MARK_LABELS}
    with pytest.raises(ValueError, match="QUESTION"):
        LabelMapping(teacher, DEFAULT_LABELS[:3], {",": "COMMA", ".": "PERIOD", "?": None})


def test_windows_carry_what_was_said_of_their_words(soft, prepared, tiny_tokenizer, tiny_config):
    stored = soft_labels_of_shard(_shard(prepared), _mapping(soft), 4)
    said = lambda path: stored  # noqa: E731
    sampler = WindowSampler(
        read_index(prepared), Sampling(lengths={48: 1.0}, utterances=0.3), 200, 1, [2, 3], 5, None, said
    )
    arrays = open_shard(_shard(prepared))
    slots = SlotEncoder(tiny_tokenizer, tiny_config)
    ids = arrays["piece_ids"].tolist()
    for step in range(12):
        plan = sampler.plan(step)
        windows = [sampler.cut(plan, row) for row in range(len(plan))]
        for window in windows:
            assert len(window.soft) == len(window.labels)
            again = pack(window, unpack(window))
            assert np.array_equal(again.soft, window.soft)
            # The words of the window stand somewhere in the shard, with the same labels of the teacher.
            text = window.piece_ids.tolist()
            starts = [at for at in range(len(ids)) if ids[at : at + len(text)] == text]
            ends = np.cumsum(arrays["piece_counts"], dtype=np.int64)
            firsts = [int(np.searchsorted(ends, at, side="right")) for at in starts]
            wraps = not starts  # round the end of the shard
            assert wraps or any(np.array_equal(stored[n : n + len(window.soft)], window.soft) for n in firsts)
        batch = WindowCollator(slots)(windows)
        assert batch["soft_labels"].shape == (*batch["labels"].shape, 4)
        for row, window in enumerate(windows):
            assert np.array_equal(batch["soft_labels"][row, : len(window.soft)].numpy(), as_probabilities(window.soft))


def _first_loss(prepared, out, start, *options):
    more = ["--log-every", "1", "--precision", "fp32", "--dropout", "0", "--max-steps", "1", *options]
    assert run_training(arguments(prepared, out, start, *more)) == 0
    rows = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    return next(row["loss"] for row in rows if "loss" in row)


def test_a_student_that_is_its_own_teacher_has_little_to_learn(soft, prepared, no_dropout, tmp_path):
    """Only what other windows show changes its mind: the labels were found in those of serving."""
    soft_only = ["--soft-labels", str(soft), "--distil-weight", "1.0", "--temperature", "1.0"]
    hard = _first_loss(prepared, tmp_path / "hard", no_dropout)
    assert _first_loss(prepared, tmp_path / "soft", no_dropout, *soft_only) < 0.5 * hard


def test_what_is_no_folder_of_soft_labels_is_refused(prepared, tiny_checkpoint, tmp_path, capsys):
    call = arguments(prepared, tmp_path / "run", tiny_checkpoint, "--soft-labels", str(tmp_path), "--max-steps", "1")
    assert run_training(call) == 1
    assert "Expected a folder of soft labels" in capsys.readouterr().err
    unknown = ["--teacher", tiny_checkpoint, "--data", prepared, "--out", str(tmp_path / "o"), "--sources", "x"]
    assert labelling.main(unknown) == 1
    assert "Correct --sources" in capsys.readouterr().err
