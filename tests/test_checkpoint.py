"""The shipped checkpoints on real text: the few tests that use them."""

import json
import logging
from pathlib import Path

import pytest
from transformers import pipeline

import punctuation_restoration
from punctuation_restoration.evaluation.examples import example_from_text, standard_labels
from punctuation_restoration.evaluation.runner import evaluate_examples

ROOT = Path(__file__).resolve().parents[1]
CHECKPOINTS = {name: ROOT / "checkpoints" / name for name in ("en-zh-ms", "en-zh-ms-fast")}

IS_HERE = all((folder / "model.safetensors").exists() for folder in CHECKPOINTS.values())
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not IS_HERE, reason="the checkpoints are not in this checkout")]


@pytest.fixture(scope="module", params=CHECKPOINTS)
def restore(request):
    return pipeline("punctuation-restoration", model=str(CHECKPOINTS[request.param]), device="cpu")


def test_the_models_are_those_of_this_checkout(caplog, monkeypatch):
    expected = [*map(str, CHECKPOINTS.values())]
    assert expected == [punctuation_restoration.DEFAULT_MODEL, punctuation_restoration.FAST]
    monkeypatch.setattr(logging.getLogger("transformers"), "propagate", True)
    default = pipeline("punctuation-restoration", device="cpu")
    assert "No model was supplied" not in caplog.text
    assert default.model.name_or_path == punctuation_restoration.DEFAULT_MODEL
    assert default.model.config.label_names[0] == "O"


@pytest.mark.parametrize(("name", "megabytes"), [("en-zh-ms", 150), ("en-zh-ms-fast", 85)])
def test_the_weights_are_small_nothing_is_pickled_and_no_folder_of_a_machine_is_named(name, megabytes):
    files = [path for path in CHECKPOINTS[name].rglob("*") if path.is_file()]
    assert {path.suffix for path in files} <= {".json", ".safetensors", ".py", ".md", ".txt", ""}
    assert sum(path.stat().st_size for path in files) < megabytes * 1e6
    config = json.loads((CHECKPOINTS[name] / "config.json").read_text())
    assert not [part for part in (config, config["encoder_config"]) if "/" in part.get("_name_or_path", "")]


def test_models_that_derive_from_gemma_lie_beside_its_notice_and_terms():
    for name, told in (("NOTICE", "Built with Gemma"), ("GEMMA_TERMS_OF_USE.txt", "Gemma Terms of Use")):
        for folder in CHECKPOINTS.values():  # one is made from Gemma, the other has learned from its labels
            assert told in (folder / name).read_text(encoding="utf-8")


# Floors some points under what the default model reaches on these texts, so that a broken path shows.
@pytest.mark.parametrize(
    ("name", "floor"),
    [("en_inaugural_address_1985.txt", 0.42), ("zh_lu_xun.txt", 0.30), ("ms_hak_asasi_dan_kehidupan.txt", 0.45)],
)
def test_real_text_that_was_not_trained_on_is_restored(restore, name, floor):
    text = (ROOT / "examples/texts" / name).read_text(encoding="utf-8")[:1000]
    label_set = standard_labels(restore.model.config)
    example = example_from_text(name, text, restore.find_words, label_set)
    assert evaluate_examples(restore, [example], label_set)["scores"]["micro"]["f1"] > floor


def test_questions_are_recognised_in_three_languages(restore):
    texts = {
        "so how do we solve this problem well the answer is simple": 6,
        "你叫什么名字 我叫小明": 3,
        "siapa nama awak nama saya ali": 2,
    }
    for text, index in texts.items():
        assert restore(text)["words"][index]["label"] == "QUESTION", restore(text)["text"]
