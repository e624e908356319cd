"""Means of models, and checkpoints to ship."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import pipeline

from punctuation_restoration.modeling.configuration_punctuation import PunctuationRestorationConfig
from punctuation_restoration.modeling.modeling_punctuation import PunctuationRestorationModel
from punctuation_restoration.training.building import load_own_model, with_labels
from tools.averaging import average_models, main
from tools.shipping import main as ship


@pytest.fixture
def moved(tiny_checkpoint: str, tmp_path: Path) -> str:
    """The tiny checkpoint with every weight 1 higher."""
    place = tmp_path / "moved"
    main([tiny_checkpoint, "--output", str(place)])
    weights = {name: weight + 1 for name, weight in load_file(place / "model.safetensors").items()}
    save_file(weights, place / "model.safetensors", metadata={"format": "pt"})
    return str(place)


def test_the_mean_lies_between_its_models_and_has_the_head_of_casings_of_the_first(
    tiny_checkpoint: str, moved: str, tiny_tokenizer: Any, tmp_path: Path
) -> None:
    assert main([tiny_checkpoint, moved, tiny_checkpoint, moved, "--output", str(tmp_path / "mean")]) == 0
    model = load_own_model(moved, casings=True)
    torch.nn.init.ones_(model.classifier.casings.weight)
    more = with_labels(model, [*model.config.labels, {"name": "DASH", "before": "", "after": "—"}])
    for name, own in (("cased", model), ("more", more)):
        own.save_pretrained(tmp_path / name)
        tiny_tokenizer.save_pretrained(tmp_path / name)
    average_models([str(tmp_path / "cased"), tiny_checkpoint], tmp_path / "cased-mean")
    average_models([str(tmp_path / "more"), str(tmp_path / "cased")], tmp_path / "more-mean")
    assert load_own_model(str(tmp_path / "more-mean")).classifier.out_proj.weight.equal(more.classifier.out_proj.weight)
    main([str(tmp_path / "more"), "--labels", *model.config.label_names, "--output", str(tmp_path / "fewer")])
    fewer = load_own_model(str(tmp_path / "fewer"))
    assert (fewer.config.labels, fewer.config.mark_labels) == (model.config.labels, model.config.mark_labels)
    assert fewer.classifier.out_proj.bias.equal(model.classifier.out_proj.bias)
    folders = (Path(tiny_checkpoint), tmp_path / "mean", tmp_path / "cased-mean")
    before, mean, cased = (load_file(folder / "model.safetensors") for folder in folders)
    assert cased.pop("classifier.casings.weight").eq(1).all()
    assert cased.pop("classifier.casings.bias") is not None
    assert before.keys() == mean.keys() == cased.keys()
    for name, weight in before.items():
        torch.testing.assert_close(mean[name], weight + 0.5)
        torch.testing.assert_close(cased[name], weight + 0.5)


def test_models_that_do_not_fit_have_no_mean(
    tiny_checkpoint: str, moved: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target, file = tmp_path / "mean", Path(moved, "config.json")
    target.mkdir()

    def told(*models: str, output: Path = target) -> str:
        with pytest.raises(SystemExit):
            main([*models, "--output", str(output)])
        return capsys.readouterr().err

    assert "it holds something else" in told(tiny_checkpoint, tiny_checkpoint, output=tmp_path)
    (target / "model.safetensors").write_text("of another day")
    config, fields = PunctuationRestorationConfig.from_pretrained(moved), json.loads(file.read_text())
    fields["labels"][1], fields["labels"][2] = fields["labels"][2], fields["labels"][1]
    file.write_text(json.dumps(fields))
    assert "moved the labels of" in told(tiny_checkpoint, moved)
    config.head_width += 1
    PunctuationRestorationModel(config).save_pretrained(moved)
    assert "one architecture" in told(tiny_checkpoint, moved)
    assert "nothing" in told(str(tmp_path / "nothing"))
    assert "got ['DOT']" in told(tiny_checkpoint, "--labels", "O", "DOT")
    assert (target / "model.safetensors").read_text() == "of another day"


def test_a_shipped_checkpoint_replaces_the_old_one_is_small_read_in_fp32_and_restores_the_same(
    tiny_checkpoint, tiny_pipeline, tmp_path
):
    target = tmp_path / "shipped"
    target.mkdir()
    for name in ("stale.json", "NOTICE", "README.md", "config.json", "model.safetensors"):
        (target / name).write_text("{}")
    thresholds = tmp_path / "thresholds.json"
    thresholds.write_text('{"thresholds": {"COMMA": 0.3}}')
    with pytest.raises(FileExistsError, match="it holds something else"):
        ship([tiny_checkpoint, str(tmp_path)])
    assert ship([tiny_checkpoint, str(target), "--thresholds", str(thresholds)]) == 0
    assert {weight.dtype for weight in load_file(target / "model.safetensors").values()} == {torch.float16}
    config = json.loads((target / "config.json").read_text())
    assert "auto_map" not in config
    assert config["thresholds"] == {"COMMA": 0.3}
    assert not [*target.glob("*.py"), *target.glob("stale.json")]
    restore = pipeline("punctuation-restoration", model=str(target), device="cpu")
    assert restore.model.dtype == torch.float32
    text = "hello how are you 我们今天在北京"
    labels = [entry["label"] for entry in restore(text, thresholds={})["words"]]
    assert labels == [entry["label"] for entry in tiny_pipeline(text)["words"]]
    assert ship([tiny_checkpoint, str(target), "--stored-bits", "8"]) == 0
    assert (target / "NOTICE").read_text() == (target / "README.md").read_text() == "{}"
    assert torch.int8 in {weight.dtype for weight in load_file(target / "model.safetensors").values()}
