"""Paired marks are learned from text that has them, and labels must be there."""

import json

import numpy as np
import pytest
import torch
from spanish import IDS, LABEL_KEYS, LABELS, NAMES
from training_runs import arguments, run_training

from punctuation_restoration.data.preparation import prepare
from punctuation_restoration.data.recipe import build_recipe, recipe_for_texts
from punctuation_restoration.modeling.configuration_punctuation import PunctuationRestorationConfig
from punctuation_restoration.training.building import with_labels

PAIRED = "Hello, ¿are you the best? ¡You say the day is you! ¿Is it? ¿Why? ¡Hello! You are, saya awak, the best. "


@pytest.fixture(scope="module")
def nine_labels(tiny_model):
    """The tiny model, whose labels grew to nine."""
    return with_labels(tiny_model, LABELS, LABEL_KEYS["mark_labels"]).eval()


def write_talks(folder, text):
    paragraphs = [f"{text * 4}You are {'abcdefghij'[n % 10] * (n // 10 + 1)}." for n in range(40)]
    (folder / "talks.txt").write_text("\n\n".join(paragraphs), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def paired(tmp_path_factory):
    return write_talks(tmp_path_factory.mktemp("paired"), PAIRED)


@pytest.fixture(scope="module")
def english(tmp_path_factory):
    return write_talks(tmp_path_factory.mktemp("english"), PAIRED.replace("¿", "").replace("¡", ""))


def recipe(folder, **fields):
    source = {"path": "talks.txt", "language": "en", "validation": 0.15, **fields.pop("source", {})}
    filters = {"min_sentences": 1, "max_marks_per_word": 1.0}
    content = {"name": "r", "root": str(folder), "sources": [source], "filters": filters, "model": LABEL_KEYS}
    return build_recipe({**content, **fields})


def test_text_with_pairs_has_all_nine_labels(paired, tiny_checkpoint, tmp_path):
    (row,) = prepare(recipe(paired), tmp_path, tiny_checkpoint, 1)["sources"]
    counts = np.sum([split["n_labels"] for split in row["splits"].values()], axis=0)
    per_text = {",": 3, ".": 1, "¿": 2, "?": 2, "¿?": 1, "¡": 1, "!": 1, "¡!": 1}
    found = {short: counts[IDS[short]] - 40 * (short == ".") for short in per_text}
    assert found == {short: 160 * n for short, n in per_text.items()}


def test_labels_that_are_asked_for_and_that_no_source_has_are_an_error(english, tiny_checkpoint, tmp_path):
    wanted = "no source has any with OPEN_EXCLAMATION, FULL_EXCLAMATION, OPEN_QUESTION, FULL_QUESTION. Add text"
    with pytest.raises(ValueError, match=wanted):
        prepare(recipe(english), tmp_path / "out", tiny_checkpoint, 1)
    assert not [*tmp_path.iterdir()]


def test_nine_labels_are_learned(paired, tiny_checkpoint, tmp_path):
    prepare(recipe(paired), tmp_path / "out", tiny_checkpoint, 1)
    labels = tmp_path / "labels.json"
    labels.write_text(json.dumps(LABEL_KEYS))
    call = arguments(str(tmp_path / "out"), tmp_path / "run", tiny_checkpoint, "--labels", str(labels))
    assert run_training([*call, "--max-steps", "2"]) == 0
    assert PunctuationRestorationConfig.from_pretrained(tmp_path / "run" / "final").label_names == NAMES


def test_usual_labels_and_those_of_a_trained_model_stay_with_a_warning(
    nine_labels, english, tiny_checkpoint, tiny_tokenizer, tmp_path, capsys
):
    plain, nine = str(tmp_path / "plain.txt"), tmp_path / "nine"
    (tmp_path / "plain.txt").write_text("Hello you. You are the best. The day is you.", encoding="utf-8")
    index = prepare(recipe_for_texts([plain], "en", 0.0), tmp_path / "one", tiny_checkpoint, 1)
    assert "Warning: no source has a word with these labels: COMMA, QUESTION." in capsys.readouterr().err
    assert [label["name"] for label in index["labels"]] == ["O", "COMMA", "PERIOD", "QUESTION"]
    prepare(recipe_for_texts([str(english), plain], "en", 0.0), tmp_path / "two", tiny_checkpoint, 1)
    assert "Warning" not in capsys.readouterr().err
    for part in (nine_labels, tiny_tokenizer):
        part.save_pretrained(nine)
    prepare(recipe_for_texts([str(english)], "en", 0.0), tmp_path / "four", str(nine), 1)
    assert "Warning: no source has a word with these labels: OPEN_EXCLAMATION, " in capsys.readouterr().err


def test_a_mark_that_only_gets_another_name_starts_where_it_was(tiny_model, nine_labels):
    old, new = tiny_model.classifier.out_proj, nine_labels.classifier.out_proj
    assert torch.equal(new.bias[IDS["?"]], old.bias[3])
    assert torch.equal(new.weight[[IDS["?"], IDS["¿?"], IDS["!"], IDS["¿"]]], old.weight[[3, 3, 2, 0]])
    assert new.bias[IDS["¿?"]] < old.bias[3]
