"""Masks that join in the last layers: they begin as tagging, read the words, and are read by nobody."""

import copy

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import BertConfig, DistilBertConfig, XLMRobertaConfig, pipeline

from punctuation_restoration.modeling.configuration_punctuation import PunctuationRestorationConfig
from punctuation_restoration.modeling.modeling_punctuation import PunctuationRestorationModel
from punctuation_restoration.pipeline.onnx_export import fingerprint

PAD_ID = 1
N_LAYERS = 3


def model_with(kind=XLMRobertaConfig, **fields):
    torch.manual_seed(5)
    encoder = kind(
        vocab_size=64, hidden_size=32, num_hidden_layers=N_LAYERS, num_attention_heads=4, intermediate_size=48,
        max_position_embeddings=40, pad_token_id=PAD_ID,
    )  # fmt: skip
    fields = {"slot_style": "late-mask", "encoder_config": encoder.to_dict(), **fields}
    return PunctuationRestorationModel(PunctuationRestorationConfig(**fields)).eval()


@pytest.fixture(params=range(1, N_LAYERS + 1))
def model(request):
    model = model_with(mask_layers=request.param)
    torch.nn.init.normal_(model.mask_state)
    return model


@torch.no_grad()
def test_a_new_mask_is_the_last_piece_of_its_word(tmp_path, batch):
    tagging = model_with(slot_style="last-piece")
    tagging.save_pretrained(tmp_path)
    late = PunctuationRestorationModel.from_pretrained(tmp_path, slot_style="late-mask").eval()
    assert not late.mask_state.any()
    torch.testing.assert_close(late(**batch).logits, tagging(**batch).logits, atol=1e-5, rtol=1e-5)
    torch.nn.init.normal_(late.mask_state)
    assert (late(**batch).logits - tagging(**batch).logits).abs().max() > 1e-3


@torch.no_grad()
@pytest.mark.parametrize("kind", [BertConfig, XLMRobertaConfig], ids=["bert", "xlm-roberta"])
def test_the_last_layer_at_the_slots_alone_gives_what_the_whole_one_gives(kind, batch):
    model = model_with(kind)
    torch.nn.init.normal_(model.mask_state)
    assert model.reads_short
    for mask in (batch["attention_mask"], None):
        inputs = {**batch, "attention_mask": mask}
        whole = model(**inputs, output_hidden_states=True)
        assert len(whole.hidden_states) == N_LAYERS + 1
        torch.testing.assert_close(model(**inputs).logits, whole.logits, atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_every_number_of_mask_layers_is_read_alike(model, batch):
    whole = model(**batch, output_hidden_states=True)
    torch.testing.assert_close(model(**batch).logits, whole.logits, atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_a_slot_does_not_depend_on_the_other_slots(model, batch):
    whole = model(**batch).logits
    alone = model(**{**batch, "slot_positions": batch["slot_positions"][:, 1:2]}).logits
    torch.testing.assert_close(alone, whole[:, 1:2], atol=1e-5, rtol=1e-5)


def test_the_mask_is_trained_saved_and_read_again(model, batch, tmp_path):
    model.train()(**batch, labels=torch.tensor([[0, 1, 2]] * 3)).loss.backward()
    assert model.mask_state.grad.abs().sum() > 0
    model.eval().save_pretrained(tmp_path)
    again = PunctuationRestorationModel.from_pretrained(tmp_path).eval()
    assert again.config.mask_layers == model.config.mask_layers
    torch.testing.assert_close(again(**batch).logits, model(**batch).logits)


def test_another_mask_or_style_needs_another_file():
    model = model_with()
    tagging = model_with(slot_style="last-piece")
    tagging.load_state_dict(model.state_dict(), strict=False)
    known = {fingerprint(model), fingerprint(tagging)}
    torch.nn.init.normal_(model.mask_state)
    assert len({*known, fingerprint(model)}) == 3


def test_known_marks_are_seen_and_kept(tiny_model, tiny_tokenizer):
    config = type(tiny_model.config)(**{**tiny_model.config.to_dict(), "slot_style": "late-mask"})
    torch.manual_seed(1)
    model = PunctuationRestorationModel(config).eval()
    restore = pipeline("punctuation-restoration", model=model, tokenizer=tiny_tokenizer)
    text = "hello you are the saya awak hello"
    plain = restore(text)
    told = restore({"text": text, "known": {1: "COMMA", 3: "O"}})
    assert [told["words"][n]["label"] for n in (1, 3)] == ["COMMA", "O"]
    scores = [[word["score"] for word in result["words"]] for result in (plain, told)]
    assert scores[0][5] != scores[1][5]
    assert restore([text, text + " the"])[0]["text"] == plain["text"]


def test_a_checkpoint_of_late_masks_must_have_its_mask(tmp_path):
    model_with().save_pretrained(tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    del weights["mask_state"]
    save_file(weights, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ValueError, match=r"such as \['mask_state'\]"):
        PunctuationRestorationModel.from_pretrained(tmp_path)


def test_what_cannot_work_is_refused():
    with pytest.raises(ValueError, match="mask_layers from 1 to the encoder's 3 layers, got 4"):
        model_with(mask_layers=N_LAYERS + 1)
    other = DistilBertConfig(vocab_size=64, dim=32, n_layers=2, n_heads=4, hidden_dim=48)
    fields = {"slot_style": "late-mask", "encoder_config": other.to_dict()}
    with pytest.raises(ValueError, match=r"got DistilBertModel. Use slot_style 'mask'"):
        PunctuationRestorationModel(PunctuationRestorationConfig(**fields))


def test_a_copy_keeps_the_mask(model):
    assert torch.equal(copy.deepcopy(model).mask_state, model.mask_state)
