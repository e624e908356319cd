"""The model: tensors in, tensors out."""

import json
import warnings
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModel, AutoModelForTokenClassification

from punctuation_restoration.modeling import configuration_punctuation
from punctuation_restoration.modeling.configuration_punctuation import PunctuationRestorationConfig
from punctuation_restoration.modeling.modeling_punctuation import PunctuationRestorationModel

SMALL = {"vocab_size": 60, "hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 32}
PIECES = {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, "cls_token_id": 0, "sep_token_id": 2}


@pytest.mark.parametrize("kind", ["bert", "roberta", "xlm-roberta", "modernbert"])
def test_starting_from_an_encoder_keeps_its_first_layers(kind, batch, tmp_path):
    torch.manual_seed(1)
    pretrained = AutoModel.from_config(AutoConfig.for_model(kind, **SMALL, **PIECES)).eval()
    pretrained.save_pretrained(tmp_path)
    model = PunctuationRestorationModel.from_encoder(str(tmp_path), n_layers=2, head_width=24).eval()
    assert model.config.encoder_config.num_hidden_layers == 2
    inputs = {name: batch[name] for name in ("input_ids", "attention_mask")}
    whole = pretrained(**inputs, output_hidden_states=True).hidden_states[2]
    cut = model.encoder(**inputs, output_hidden_states=True).hidden_states[2]
    if kind != "modernbert":  # which puts a final norm behind its last layer
        torch.testing.assert_close(cut, whole)
    assert str(tmp_path) not in model.config.to_json_string()
    with pytest.raises(ValueError, match="from 1 to 3, got 4"):
        PunctuationRestorationModel.from_encoder(str(tmp_path), n_layers=4)


def test_the_loss_is_the_mean_cross_entropy_of_scored_slots(tiny_model, batch):
    expected, labels = -torch.log_softmax(tiny_model(**batch).logits, dim=-1), torch.full((3, 3), -100)
    assert tiny_model(**batch, labels=labels).loss == 0
    labels[0, 0], labels[1, 0] = 1, 3
    loss = tiny_model(**batch, labels=labels).loss
    assert loss.item() == pytest.approx((expected[0, 0, 1] + expected[1, 0, 3]).item() / 2, rel=1e-5)


def test_slots_must_be_given_and_fit_the_labels(tiny_model, batch):
    with pytest.raises(ValueError, match="slot_positions"):
        tiny_model(input_ids=batch["input_ids"])
    with pytest.raises(ValueError, match="one label a slot"):
        tiny_model(**batch, labels=torch.zeros(3, 2, dtype=torch.long))


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_saving_and_loading_is_exact(tiny_model, batch, tmp_path, attention):
    tiny_model.save_pretrained(tmp_path)
    loaded = AutoModelForTokenClassification.from_pretrained(tmp_path, attn_implementation=attention)
    assert type(loaded) is PunctuationRestorationModel
    assert loaded.config.encoder_config._attn_implementation == attention
    torch.testing.assert_close(loaded(**batch).logits, tiny_model(**batch).logits, atol=1e-6, rtol=1e-5)
    for name, weight in tiny_model.state_dict().items():
        assert torch.equal(weight, loaded.state_dict()[name])
    assert {path.suffix for path in Path(tmp_path).iterdir()} <= {".json", ".safetensors", ".py"}


def test_missing_and_damaged_weights_are_errors_and_not_random(tiny_model, tmp_path):
    tiny_model.save_pretrained(tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    weights["classifier.renamed.weight"] = weights.pop("classifier.dense.weight")
    save_file(weights, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ValueError, match=r"1 are missing, such as \['classifier.dense.weight'\]"):
        PunctuationRestorationModel.from_pretrained(tmp_path)
    file = tmp_path / "model.safetensors"
    file.write_bytes(file.read_bytes()[:1000])
    with pytest.raises(OSError, match="could not read them"):
        PunctuationRestorationModel.from_pretrained(tmp_path)


def test_gradients_flow_through_checkpointed_layers(tiny_config, batch):
    model = PunctuationRestorationModel(tiny_config).train()
    enable = "activation_checkpointing_enable"
    getattr(model, enable if hasattr(model, enable) else "gradient_checkpointing_enable")()  # its name before 5.23
    model(**batch, labels=torch.tensor([[1, 2, 0]] * 3)).loss.backward()
    assert all(parameter.grad is not None for parameter in model.encoder.encoder.layer.parameters())


def test_token_embeddings_can_grow(tiny_config, batch):
    config = PunctuationRestorationConfig(**tiny_config.to_dict())
    model = PunctuationRestorationModel(config).eval()
    before = model(**batch).logits
    model.resize_token_embeddings(config.encoder_config.vocab_size + 5)
    assert model.get_input_embeddings().num_embeddings == model.config.encoder_config.vocab_size
    torch.testing.assert_close(model(**batch).logits, before)


def test_a_key_that_nobody_reads_is_left_out_of_a_file_with_a_warning(tiny_config, tmp_path, monkeypatch):
    monkeypatch.setattr(configuration_punctuation.logger, "warning", warnings.warn)
    extras = {"auto_map": {"AutoConfig": "configuration_punctuation.X"}, "custom_pipelines": {}, "_commit_hash": "0"}
    extras["use_cache"] = False  # as transformers' Trainer leaves it
    file = tmp_path / "config.json"
    file.write_text(json.dumps(tiny_config.to_dict() | extras))
    AutoConfig.from_pretrained(tmp_path, attn_implementation="eager", num_labels=4, dtype="float16")
    file.write_text(json.dumps(tiny_config.to_dict() | {"heads": "crf"}))
    with pytest.warns(UserWarning, match=r"\['heads'\], which are left out"):
        config = AutoConfig.from_pretrained(tmp_path)
    assert not hasattr(config, "heads")


def label(name, after):
    return {"name": name, "before": "", "after": after}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"labels": [{"name": "O"}]}, "a label with the texts name"),
        ({"labels": [label("", "")] * 2}, "a label with the texts name"),
        ({"labels": [{**label("O", ""), "sign": "."}] * 2}, "a label with the texts name"),
        ({"labels": [label("O", "")] * 2}, "different names"),
        ({"labels": [label("A", ","), label("O", "")]}, "labels to begin with the one that writes nothing"),
        ({"labels": [label("O", ""), label("X", "†")]}, "†"), ({"mark_labels": {",": "KOMMA"}}, "KOMMA"),
        ({"mark_labels": {"ab": "COMMA"}}, "single signs.*got 'ab': 'COMMA'"),
        ({"window": 50, "left_context": 40, "right_context": 15}, r"left_context \+ right_context, got 50"),
        ({"left_context": None}, "left_context as a whole number"), ({"window": 32.5}, "window as a whole number"),
        ({"max_window_pieces": 3}, "max_window_pieces"), ({"max_window_pieces": 20.5}, "pieces to be a whole number"),
        ({"calibration_temperature": 0}, "calibration_temperature to be above 0, got 0"),
        ({"head_width": 0}, "head_width"), ({"head_width": "wide"}, "head_width to be a whole number"),
        ({"heads": "crf"}, r"got also \['heads'\]"),
        ({"head_dropout": 1.0}, "head_dropout"),
        ({"mixed_case": ["iphone"]}, "words with capitals"),
        ({"encoder_config": {"hidden_size": 8}}, "encoder_config with a model_type"),
    ],
)  # fmt: skip
def test_a_configuration_that_cannot_work_is_refused(fields, message):
    with pytest.raises(ValueError, match=message):
        PunctuationRestorationConfig(**fields)


def test_signs_mean_the_label_that_writes_the_usual_sign_whatever_it_is_called():
    labels = [label("NONE", ""), label("PAUSE", ","), label("STOP", "."), label("ASK", "?")]
    meanings = PunctuationRestorationConfig(labels=labels).mark_labels
    assert " ".join(meanings[sign] for sign in "，、。।۔؟!;") == "PAUSE PAUSE STOP STOP STOP ASK STOP STOP"
    assert PunctuationRestorationConfig(labels=labels[:3]).mark_labels["？"] is None
