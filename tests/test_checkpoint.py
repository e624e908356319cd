"""The shipped checkpoint on real text: the few tests that use it."""

import json
from pathlib import Path

import pytest
from transformers import pipeline

import punctuation_restoration
from punctuation_restoration.evaluation.examples import example_from_text, standard_labels
from punctuation_restoration.evaluation.runner import evaluate_examples
from punctuation_restoration.evaluation.scores import score

ROOT = Path(__file__).resolve().parents[1]
CHECKPOINT = ROOT / "checkpoints" / "en-zh-ms"

pytestmark = pytest.mark.skipif(
    not (CHECKPOINT / "model.safetensors").exists(), reason="the default checkpoint is not in this checkout"
)


@pytest.fixture(scope="module")
def restore():
    return pipeline("punctuation-restoration", device="cpu")


def test_the_default_model_is_the_one_of_this_checkout(restore):
    assert str(CHECKPOINT) == punctuation_restoration.DEFAULT_MODEL
    assert restore.model.config.label_names == ["O", "COMMA", "PERIOD", "QUESTION"]


def test_the_weights_are_small_nothing_is_pickled_and_no_folder_of_a_machine_is_named():
    assert {path.suffix for path in CHECKPOINT.rglob("*") if path.is_file()} <= {".json", ".safetensors", ".py", ".md"}
    assert sum(path.stat().st_size for path in CHECKPOINT.rglob("*")) < 85e6
    config = json.loads((CHECKPOINT / "config.json").read_text())
    assert not [part for part in (config, config["encoder_config"]) if "/" in part.get("_name_or_path", "")]


# Floors some points under what this checkpoint reaches on these texts, so that a broken path shows.
@pytest.mark.parametrize(
    ("name", "floor"),
    [("en_inaugural_address_1985.txt", 0.42), ("zh_lu_xun.txt", 0.30), ("ms_hak_asasi_dan_kehidupan.txt", 0.45)],
)
def test_real_text_that_was_not_trained_on_is_restored(restore, name, floor):
    text = (ROOT / "examples/texts" / name).read_text(encoding="utf-8")[:4000]
    label_set = standard_labels(restore.model.config)
    example = example_from_text(name, text, restore.find_words, label_set)
    counts = evaluate_examples(restore, [example], label_set).counts
    assert score(counts, label_set.names)["micro"]["f1"] > floor


def test_questions_are_recognised_in_three_languages(restore):
    texts = {
        "so how do we solve this problem well the answer is simple": 6,
        "你叫什么名字 我叫小明": 3,
        "siapa nama awak nama saya ali": 2,
    }
    for text, index in texts.items():
        assert restore(text)["words"][index]["label"] == "QUESTION", restore(text)["text"]
