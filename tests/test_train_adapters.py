"""Adapters: a run that trains them, stopped and resumed, and the model that they and their encoder make."""

import json
import shutil

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoTokenizer

from punctuation_restoration.cli.train import main as train
from punctuation_restoration.modeling.modeling_punctuation import PunctuationRestorationModel
from punctuation_restoration.training.adapters import add_adapters, choose_trained, main, merged_weights
from punctuation_restoration.training.settings import TrainingSettings

STEPS = ["--pieces-per-batch", "96", "--validation-words", "40", "--cpu", "--threads", "1", "--precision", "fp32"]


def _logits(model):
    ids = torch.arange(10, 22).repeat(2, 1)
    with torch.inference_mode():
        return model.eval()(input_ids=ids, slot_positions=torch.tensor([[2, 5, 8]] * 2)).logits


@pytest.fixture(scope="module")
def run(tiny_encoder, prepared, tmp_path_factory):
    out = tmp_path_factory.mktemp("adapters") / "run"
    options = ["--adapter-rank", "4", "--frozen-layers", "1", "--max-steps", "4", "--encoder-rate", "0.01"]
    assert train(["--encoder", str(tiny_encoder), "--data", prepared, "--out", str(out), *options, *STEPS]) == 0
    return out


def test_new_adapters_change_nothing_and_only_they_are_trained(no_dropout):
    model = PunctuationRestorationModel.from_pretrained(no_dropout)
    before = _logits(model)
    add_adapters(model, 3, first_layer=1)
    torch.testing.assert_close(_logits(model), before)
    trained = {name for name, weight in model.encoder.named_parameters() if weight.requires_grad}
    assert trained
    assert all("lora_" in name and "layer.1." in name for name in trained)
    assert all(weight.requires_grad for weight in model.classifier.parameters())


def test_merged_weights_compute_what_the_adapters_do(no_dropout):
    model = PunctuationRestorationModel.from_pretrained(no_dropout)
    names = set(model.state_dict())
    add_adapters(model, 3)
    torch.manual_seed(2)
    for name, weight in model.named_parameters():
        if "lora_B" in name:
            weight.data.normal_(std=0.1)
    merged = merged_weights(model)
    assert set(merged) == names
    plain = PunctuationRestorationModel.from_pretrained(no_dropout)
    assert not torch.allclose(_logits(plain), _logits(model), atol=1e-3)
    plain.load_state_dict(merged)
    torch.testing.assert_close(_logits(plain), _logits(model), atol=1e-4, rtol=1e-4)


def test_frozen_layers_stay_as_they_are(no_dropout):
    model = PunctuationRestorationModel.from_pretrained(no_dropout)
    assert choose_trained(model, TrainingSettings(frozen_layers=1), (), "") is None
    frozen = {name for name, weight in model.named_parameters() if not weight.requires_grad}
    assert frozen == {n for n, _ in model.named_parameters() if "layer.0." in n or "word_embeddings" in n}


def test_a_run_changes_the_upper_layers_alone(run, tiny_encoder):
    before, after = load_file(tiny_encoder / "model.safetensors"), load_file(run / "final" / "model.safetensors")
    changed = {name for name in before if not torch.equal(before[name], after[f"encoder.{name}"])}
    assert changed
    assert {".".join(name.split(".")[:3]) for name in changed} == {
        "encoder.layer.1",
        "embeddings.word_embeddings.weight",
    }


def test_adapters_and_encoder_make_the_model_of_the_run(run, tiny_encoder, tmp_path):
    out = tmp_path / "whole"
    assert main([str(run / "final" / "adapters"), "--out", str(out)]) == 0
    made, trained = (load_file(folder / "model.safetensors") for folder in (out, run / "final"))
    assert set(made) == set(trained)
    for name, weight in trained.items():
        torch.testing.assert_close(made[name], weight, atol=1e-4, rtol=1e-3)  # kept in half precision
    assert json.loads((out / "config.json").read_text())["slot_style"] == "late-mask"
    assert AutoTokenizer.from_pretrained(out).mask_token == "<mask>"
    moved = tmp_path / "moved"
    shutil.copytree(tiny_encoder, moved)
    assert main([str(run / "final" / "adapters"), "--base", str(moved), "--out", str(tmp_path / "again")]) == 0


def test_a_resumed_run_learns_what_the_unbroken_one_does(run, tiny_encoder, prepared, tmp_path):
    out = tmp_path / "run"
    options = ["--adapter-rank", "4", "--frozen-layers", "1", "--max-steps", "4", "--encoder-rate", "0.01"]
    command = [
        "--encoder",
        str(tiny_encoder),
        "--data",
        prepared,
        "--out",
        str(out),
        "--checkpoint-every",
        "2",
        *options,
        *STEPS,
    ]
    assert train(command) == 0
    shutil.rmtree(out / "checkpoints" / "step-000004")
    shutil.rmtree(out / "final")
    assert {path.name for path in (out / "checkpoints" / "step-000002").iterdir()} >= {"adapters.safetensors"}
    assert train(command) == 0
    resumed, unbroken = (load_file(folder / "final" / "model.safetensors") for folder in (out, run))
    for name, weight in unbroken.items():
        torch.testing.assert_close(resumed[name], weight, atol=1e-6, rtol=1e-5)


def test_adapters_on_a_punctuation_model(tiny_checkpoint, prepared, tmp_path):
    out = tmp_path / "run"
    options = ["--adapter-rank", "2", "--max-steps", "1", *STEPS]
    assert train(["--from", tiny_checkpoint, "--data", prepared, "--out", str(out), *options]) == 0
    assert main([str(out / "final" / "adapters"), "--out", str(tmp_path / "whole")]) == 0
    made, trained = (load_file(f / "model.safetensors") for f in (tmp_path / "whole", out / "final"))
    for name, weight in trained.items():
        torch.testing.assert_close(made[name], weight, atol=1e-4, rtol=1e-3)


def test_a_run_goes_on_from_adapters(run, tiny_encoder, prepared, tmp_path, capsys):
    adapters = run / "final" / "adapters"
    options = ["--frozen-layers", "1", "--max-steps", "1", "--encoder-rate", "0", "--head-rate", "0", *STEPS]
    call = ["--encoder", str(tiny_encoder), "--from", str(adapters), "--data", prepared, *options]
    assert train([*call, "--adapter-rank", "4", "--out", str(tmp_path / "more")]) == 0
    before, after = (load_file(f / "final" / "model.safetensors") for f in (run, tmp_path / "more"))
    for name, weight in before.items():  # nothing was learned, so nothing changed
        torch.testing.assert_close(after[name], weight, atol=1e-4, rtol=1e-3)
    capsys.readouterr()
    assert train([*call, "--adapter-rank", "3", "--out", str(tmp_path / "other")]) == 1
    assert "the rank of" in capsys.readouterr().err


def _refused(capsys, *arguments):
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    assert ended.value.code == 2
    return capsys.readouterr().err


def test_another_encoder_is_refused(run, tiny_encoder, tmp_path, capsys):
    other = tmp_path / "other"
    shutil.copytree(tiny_encoder, other)
    from transformers import AutoModel

    model = AutoModel.from_pretrained(other)
    model.encoder.layer[0].output.dense.weight.data += 0.1
    model.save_pretrained(other)
    message = _refused(capsys, run / "final" / "adapters", "--base", other, "--out", tmp_path / "out")
    assert "its weights differ" in message
    assert not (tmp_path / "out").exists()


def test_a_folder_without_adapters_is_refused(tmp_path, capsys):
    assert "Expected a folder of adapters" in _refused(capsys, tmp_path, "--out", tmp_path / "out")


def test_a_broken_file_is_refused(run, tmp_path, capsys):
    broken = tmp_path / "broken"
    shutil.copytree(run / "final" / "adapters", broken)
    (broken / "adapters.safetensors").write_bytes(b"\x08")
    assert "could not read them" in _refused(capsys, broken, "--out", tmp_path / "out")
