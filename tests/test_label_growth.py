"""Labels that grow: rows by name, thresholds of their own, basic marks against all, and the way there and back."""

import copy
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from test_properties import FRAGMENTS, assert_only_marks_were_inserted, through_the_model
from training_runs import arguments, rows_of, run_training
from transformers import pipeline

from punctuation_restoration.data.recipe import Recipe, load_recipe, read_labels
from punctuation_restoration.data.shards import read_index
from punctuation_restoration.evaluation.examples import own_labels, standard_labels
from punctuation_restoration.modeling.configuration_punctuation import PunctuationRestorationConfig
from punctuation_restoration.pipeline.decisions import decode, make_choice
from punctuation_restoration.training.building import build_model, with_labels
from punctuation_restoration.training.settings import TrainingSettings
from punctuation_restoration.training.validation import Reading, set_tuned
from tools.averaging import average_models

RECIPE = Path(__file__).parents[1] / "recipes" / "all-marks.yaml"
LABELS = read_labels(RECIPE)["labels"]
NAMES = ["O", "ENUMERATION", "COMMA", "COLON", "SEMICOLON", "PERIOD", "EXCLAMATION", "QUESTION"]
CONFIG = PunctuationRestorationConfig(labels=LABELS)
BASIC = {"O", "COMMA", "PERIOD", "QUESTION"}
ALL_MARKS = "Hello! You are: the, best; we say. Is the day you? Saya say the day is 你好、awak hello! "
TEXT = "hello you are the best 我们大家今天 saya awak say the day is on you hello we are 你好北京人 ing the is"


@pytest.fixture(scope="module")
def grown(tiny_model):
    return with_labels(tiny_model, LABELS).eval()


@pytest.fixture(scope="module")
def knowing(grown, tiny_tokenizer):
    """A pipeline with eight labels, of which each comes: the classifier of the grown model is drawn anew."""
    model = with_labels(grown, LABELS[::-1][-1:] + LABELS[1:], {**CONFIG.mark_labels, "~": None}).eval()
    torch.manual_seed(3)
    with torch.no_grad():
        model.classifier.out_proj.weight.normal_(0, 0.5)
        model.classifier.out_proj.bias.zero_()
    return pipeline("punctuation-restoration", model=model, tokenizer=tiny_tokenizer, device="cpu")


def test_the_recipe_has_the_marks_of_the_literature_and_says_what_each_sign_means():
    config = PunctuationRestorationConfig(labels=load_recipe(RECIPE).model["labels"])
    assert config.label_names == NAMES
    signs = {"ENUMERATION": "、", "COMMA": ",，—", "COLON": ":：", "SEMICOLON": ";；", "PERIOD": ".。…",
             "EXCLAMATION": "!！", "QUESTION": "?？"}  # fmt: skip
    meanings = {name: {config.mark_labels[sign] for sign in own} for name, own in signs.items()}
    assert meanings == {name: {name} for name in signs}
    assert config.basic_labels == [0, 2, 2, 2, 5, 5, 5, 7]
    assert PunctuationRestorationConfig().basic_labels == [0, 1, 2, 3]


def test_a_label_without_a_basic_one_stands_alone_or_means_none():
    def label(name, before, after):
        return {"name": name, "before": before, "after": after}

    config = PunctuationRestorationConfig(
        labels=[LABELS[0], label("OPEN", "¿", ""), label("DANDA", "", "।"), label("TILDE", "", "~")],
        mark_labels={"¿": "OPEN", "।": "DANDA", "~": "TILDE"},
    )
    assert config.basic_labels == [0, 0, 2, 0]
    assert standard_labels(config).renamed == {"O": "O", "OPEN": "O", "DANDA": "PERIOD", "TILDE": "O"}


def test_rows_are_copied_by_name_and_a_new_mark_starts_from_its_nearest(tiny_model):
    grown, rows, rarer = with_labels(tiny_model, LABELS), [0, 1, 1, 1, 2, 2, 2, 3], math.log(0.1)
    assert grown.config.label_names == NAMES
    old, new = tiny_model.state_dict(), grown.state_dict()
    shifts = torch.tensor([0, rarer, 0, rarer, rarer, 0, rarer, 0])  # 、 and : meant a comma, ; and ! a period
    for name, weight in old.items():
        if name.startswith("classifier.") and len(weight) == 4:
            weight = weight[rows] + (shifts if weight.ndim == 1 else 0)
        assert torch.allclose(new[name], weight), name


def test_a_sign_that_was_no_mark_starts_from_none_and_labels_may_go(tiny_model):
    tilde = {"name": "TILDE", "before": "", "after": "~"}
    fewer = with_labels(tiny_model, [LABELS[0], LABELS[5], tilde], {".": "PERIOD", ",": None, "~": "TILDE"})
    assert fewer.config.label_names == ["O", "PERIOD", "TILDE"]
    assert torch.equal(fewer.classifier.out_proj.weight, tiny_model.classifier.out_proj.weight[[0, 2, 0]])
    assert with_labels(tiny_model, tiny_model.config.labels) is tiny_model


def test_basic_marks_get_what_the_model_thinks_of_the_others():
    row = [0.3, 0.05, 0.2, 0.05, 0.05, 0.1, 0.2, 0.05]  # in the order of NAMES
    for marks, label, score in (
        ("all", "O", 0.3),
        ("basic", "PERIOD", 0.35),  # 0.05 of ; + 0.1 + 0.2 of !; the comma has 0.3
        ("sentence-ends", "O", 0.6),  # the three commas' 0.3 go to no mark; the period has 0.15 with that of ;
        (["COMMA"], "O", 0.7),
        (["COLON"], "O", 0.95),
    ):
        labels, shared = decode([row], make_choice(CONFIG, marks))
        assert (NAMES[labels[0]], shared[0, labels[0]]) == (label, pytest.approx(score)), marks
    # Thresholds of labels that are not written change nothing.
    assert decode([row], make_choice(CONFIG, "basic", {"EXCLAMATION": 0.0}))[0] == [5]
    assert decode([row], make_choice(CONFIG, "all", {"EXCLAMATION": 0.2}))[0] == [6]


def test_basic_is_the_default_and_all_is_every_label(knowing, tiny_pipeline):
    everything, basic = knowing(TEXT, marks="all"), knowing(TEXT, marks="basic")
    assert {word["label"] for word in everything["words"]} - BASIC
    assert {word["label"] for word in basic["words"]} <= BASIC
    assert knowing(TEXT) == basic == knowing(TEXT, thresholds={})
    assert tiny_pipeline(TEXT) == tiny_pipeline(TEXT, marks="all") == tiny_pipeline(TEXT, marks="basic")


def test_the_enumeration_comma_stands_where_it_belongs(knowing):
    known = {0: "ENUMERATION", 1: "ENUMERATION", 2: "EXCLAMATION"}
    assert knowing({"text": "你好 hello 北京", "known": known})["text"] == "你好、 hello, 北京！"
    assert knowing({"text": "あ سلام a", "known": known})["text"] == "あ、 سلام، a!"
    known = {0: "COLON", 1: "SEMICOLON", 2: "QUESTION"}
    assert knowing({"text": "北京hello大家", "known": known})["text"] == "北京：hello；大家？"


@through_the_model
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=12).map("".join), st.sampled_from(["basic", "all"]))
def test_restored_text_restored_again_stays_the_same(knowing, text, marks):
    restored = knowing(text, marks=marks)
    assert_only_marks_were_inserted(text, restored["text"])
    again = knowing(restored["text"], marks=marks)
    written = [word["mark"] for word in restored["words"]]
    assert [word["word"] for word in again["words"]][: len(written)] == [word["word"] for word in restored["words"]]
    assert all(word["source"] == "input" for word, mark in zip(again["words"], written, strict=True) if mark)
    assert knowing(restored["text"], marks=[])["text"] == restored["text"]  # all is read that was written


def test_files_hold_labels_as_recipes_do(tmp_path):
    file = tmp_path / "labels.json"
    file.write_text(json.dumps({"labels": LABELS, "mark_labels": {"~": None}}))
    assert read_labels(file) == {"labels": LABELS, "mark_labels": {"~": None}}
    for content in ("{}", "labels: 3", "labels: []", "labels: []\nname: x", "- a", "model: {encoder: x}", "model: 3"):
        file.write_text(content)
        with pytest.raises(ValueError, match="Expected"):
            read_labels(file)
    with pytest.raises(ValueError, match="--labels"):
        read_labels(tmp_path / "missing.yaml")
    with pytest.raises(ValueError, match="Expected a label with the texts name, before and after, got 'COMMA'"):
        PunctuationRestorationConfig(labels=list[Any](["COMMA", "PERIOD"]))


def test_a_model_with_other_weights_drops_the_thresholds_and_temperature_of_its_old_ones(
    prepared, tiny_model, tiny_tokenizer, tmp_path
):
    model = with_labels(tiny_model, tiny_model.config.labels, {**tiny_model.config.mark_labels, "~": None})
    model.config.thresholds, model.config.calibration_temperature = {"COMMA": 0.4}, 1.5
    for part in (model, tiny_tokenizer):
        part.save_pretrained(tmp_path)
    average_models([str(tmp_path)], tmp_path / "mean")
    mean = PunctuationRestorationConfig.from_pretrained(tmp_path / "mean")
    tuned_further = build_model(TrainingSettings(), Recipe("r", ()), read_index(prepared), str(tmp_path)).config
    for config in (mean, tuned_further, with_labels(model, LABELS).config):
        assert (config.thresholds, config.calibration_temperature) == (None, 1.0)
    windows = {"window": 60, "left_context": 9, "right_context": 5, "max_window_pieces": 99}
    served = build_model(TrainingSettings(), Recipe("r", (), model=windows), read_index(prepared), str(tmp_path)).config
    assert windows.items() <= served.to_dict().items()


def tuned(model, labels, rows):
    """The temperature and the thresholds that a run finds where its model says `rows` of words with these labels."""
    config, n_words = copy.deepcopy(model.config), len(labels)
    casings = np.full((n_words, 2), -100)
    set_tuned(config, Reading(np.full(n_words, "en"), np.array(labels), np.array(rows), casings))
    return config.calibration_temperature, config.thresholds


def test_temperature_and_thresholds_are_found_on_the_validation_words(tiny_model):
    """A model that is as sure of three right answers as of a wrong one: three to one is what it should say."""
    assert tuned(tiny_model, [1, 1, 1, 0], [[0.1, 0.9, 0.0, 0.0]] * 4) == (pytest.approx(2.0, rel=0.03), None)
    # Two true commas of three, both unsure. At a temperature above 1 their 0.4 is nearer to a half.
    temperature, thresholds = tuned(tiny_model, [1, 1, 0, 0], [[0.6, 0.4, 0, 0]] * 2 + [[0.9, 0.1, 0, 0]] * 2)
    comma = 0.4 ** (1 / temperature) / (0.4 ** (1 / temperature) + 0.6 ** (1 / temperature))
    assert 0.2 <= thresholds["COMMA"] <= comma
    config = copy.deepcopy(tiny_model.config)
    set_tuned(config, None)
    assert (config.calibration_temperature, config.thresholds) == (1.0, None)


def test_further_labels_get_thresholds_beside_those_of_the_basic_marks(grown):
    """Of four words the second has `!`, with 0.3; the period's 0.3 is added to that for basic marks, which suffices."""
    rows = np.full((4, 8), 1e-9)
    rows[:, 0] = [1, 0.4, 1, 1]
    rows[1, [5, 6]] = 0.3
    _, found = tuned(grown, [0, 6, 0, 0], rows)
    assert list(found) == ["EXCLAMATION"]
    assert found["EXCLAMATION"] <= 0.35


def test_a_rare_mark_is_found_for_its_own_f1_though_all_marks_together_lose(grown):
    """Twenty periods are sure, and one of three unsure `!` is true. With it F1 of all marks is 42/44, without 40/41."""
    rows = np.full((23, 8), 1e-9)
    rows[:20, 2] = 1
    rows[20:, 0], rows[20:, 6] = 0.7, 0.3
    _, found = tuned(grown, [2] * 20 + [6, 0, 0], rows)
    assert 0.2 <= found["EXCLAMATION"] <= 0.35


def test_a_model_learns_new_labels_from_text_end_to_end(tiny_checkpoint, tmp_path):
    (tmp_path / "texts").mkdir()
    paragraphs = [f"{ALL_MARKS * 3}You are {'abcdefghij'[n % 10] * (n // 10 + 1)}." for n in range(40)]
    (tmp_path / "texts" / "talks.txt").write_text("\n\n".join(paragraphs), encoding="utf-8")
    (tmp_path / "labels.json").write_text(json.dumps({"labels": LABELS}))
    command = arguments(str(tmp_path / "texts"), tmp_path / "run", tiny_checkpoint)
    more = f"--labels {tmp_path / 'labels.json'} --max-steps 16 --evaluate-every 8 --checkpoint-every 8".split()
    assert run_training([*command, *more]) == 0
    assert PunctuationRestorationConfig.from_pretrained(tmp_path / "run" / "best").label_names == NAMES
    assert {*NAMES[1:]} <= set(rows_of(tmp_path / "run")[-1]["validation"]["languages"]["xx"])
    restore = pipeline("punctuation-restoration", model=str(tmp_path / "run" / "final"), device="cpu")
    bias = restore.model.classifier.out_proj.bias  # half of all stops are `!`, which started at a tenth of a period
    assert bias[6] - bias[5] > math.log(0.1) + 0.003
    assert {word["label"] for word in restore("hello you are the best we say")["words"]} <= BASIC
    assert own_labels(restore.model.config).names == NAMES
    assert run_training([*command, *more]) == 0  # goes on from its own last checkpoint, which has the labels already
