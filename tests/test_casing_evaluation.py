"""How well capitals are found."""

import json
from pathlib import Path
from typing import Any

import pytest
from capitals import SAYS, TALK, with_casings
from transformers import pipeline

from punctuation_restoration.cli.commands import run
from punctuation_restoration.data.recipe import read_labels
from punctuation_restoration.evaluation.examples import cut, example_from_text, standard_labels
from punctuation_restoration.evaluation.runner import evaluate_examples, known_marks
from punctuation_restoration.pipeline.words import WordFinder
from punctuation_restoration.training.building import load_own_model, with_labels


def example(text: str, config: Any) -> Any:
    labels = standard_labels(config)
    return example_from_text("x", text, WordFinder(labels.mark_labels), labels)


def casings(found: Any) -> list[str | None]:
    return [unit.cased for unit in found.units]


def test_references_say_how_their_words_are_written(tiny_config: Any) -> None:
    found = example("We met Mary. NASA 我们 called. HE SHOUTED. He came, 3 days late.", tiny_config)
    assert found.text == "we met mary nasa 我们 called he shouted he came 3 days late"
    assert casings(found) == [
        "We", "met", "Mary", "NASA", None, None, "called", None, None, "He", "came", None, "days", "late",
    ]  # fmt: skip
    (short,) = cut([found], 4)
    assert casings(short) == ["We", "met", "Mary", "NASA"]
    assert not any(casings(example("we met mary. he came. we went.", tiny_config)))


def test_capitals_are_counted_by_hand(cased_pipeline: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    restore = with_casings(cased_pipeline, monkeypatch, SAYS)
    config = restore.model.config
    one = example("Hello Mark, I am the AB. You are Saya, the mark is ab. The iPhone is in.", config)
    labels = standard_labels(config)
    # written: Hello Mark, I am the AB. You are saya, the Mark is AB. The iPhone is in.
    scores = evaluate_examples(restore, [one], labels, with_marks=True, truecase=True)["casing"]
    assert (scores["n_correct"], scores["n_reference"], scores["n_predicted"], scores["n_words"]) == (7, 8, 9, 17)
    assert scores["f1"] == pytest.approx(14 / 17)
    # The model writes no mark, so that only the text begins with a capital: `You` and `The` are lost.
    assert evaluate_examples(restore, [one], labels, truecase=True)["casing"]["n_predicted"] == 7


def test_a_model_with_more_marks_is_told_the_basic_ones(cased_model: str) -> None:
    model = load_own_model(cased_model)
    more = with_labels(model, read_labels("recipes/all-marks.yaml")["labels"])
    restore = pipeline("punctuation-restoration", model=more, tokenizer=cased_model, device="cpu")
    one = example("Hello, Mark. You?", more.config)
    item = known_marks(restore, one)
    assert item["known"] == {0: "COMMA", 1: "PERIOD", 2: "QUESTION"}


def test_the_command_scores_capitals_with_and_without_a_head(
    cased_model: str, tiny_checkpoint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [json.dumps({"id": f"d{n}", "text": TALK * (n + 1)}) for n in range(6)]
    (tmp_path / "ted.jsonl").write_text("\n".join(rows), encoding="utf-8")
    recipe, out = tmp_path / "recipe.yaml", tmp_path / "out.json"
    source = {"path": "ted.jsonl", "language": "en", "validation": 0.99}
    recipe.write_text(json.dumps({"name": "r", "root": str(tmp_path), "sources": [source]}))
    more = ["--device", "cpu", "--recipe", str(recipe), "--output", str(out), "--benchmark", "en-casing-valid"]
    for model in (cased_model, tiny_checkpoint):
        assert run("evaluate", ["--model", model, *more]) == 0
        known, _ = json.loads(out.read_text())["casing"].values()
        # Five first words of sentences and five names in each copy of the talk, of 23 words.
        assert known["n_reference"] / 10 == known["n_words"] / 23 > 0
        # Without a head only first words get their capitals.
        assert (known["n_predicted"] > known["n_reference"] / 2) == (model == cased_model)
    assert "capitals, marks of the model" in capsys.readouterr().out
