"""Every kind of encoder trains, saves, loads, restores text and is exported; causal ones read to the right."""

import pytest
import torch
from transformers import AutoConfig, AutoModel, AutoTokenizer, pipeline

from punctuation_restoration.cli.train import main
from punctuation_restoration.data.preparation import prepare, recipe_for_texts
from punctuation_restoration.modeling.configuration_punctuation import PunctuationRestorationConfig
from punctuation_restoration.modeling.encoder_layers import is_causal
from punctuation_restoration.modeling.modeling_punctuation import PunctuationRestorationModel

SIZES = {
    "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24,
    "max_position_embeddings": 80,
}  # fmt: skip
MASKED = {
    "bert": SIZES,
    "roberta": SIZES,
    "xlm-roberta": SIZES,
    "electra": {**SIZES, "embedding_size": 8},
    "distilbert": {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 24, "max_position_embeddings": 80},
    "deberta-v2": {**SIZES, "relative_attention": True, "position_buckets": 8, "pos_att_type": ["p2c", "c2p"]},
    "modernbert": SIZES,
    "mpnet": SIZES,
}
CAUSAL = {
    "llama": {**SIZES, "num_key_value_heads": 1},
    "qwen2": {**SIZES, "num_key_value_heads": 1},
    "qwen3": {**SIZES, "num_key_value_heads": 1, "head_dim": 8},
    "gemma3_text": {**SIZES, "num_key_value_heads": 1, "head_dim": 8, "sliding_window": 64},
    "gpt2": {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 80},
}


def _encoder(kind, tokenizer):
    special = {name: getattr(tokenizer, name) for name in ("pad_token_id", "bos_token_id", "eos_token_id")}
    special |= {"cls_token_id": tokenizer.cls_token_id, "sep_token_id": tokenizer.sep_token_id}
    config = AutoConfig.for_model(kind, vocab_size=len(tokenizer), **{**MASKED, **CAUSAL}[kind], **special)
    torch.manual_seed(3)
    return AutoModel.from_config(config)


@pytest.fixture(scope="module")
def folders(tiny_tokenizer, texts, tmp_path_factory):
    """Data that were prepared with the tokenizer, and a place for encoders."""
    folder = tmp_path_factory.mktemp("encoders")
    tiny_tokenizer.save_pretrained(folder / "tokenizer")
    prepare(recipe_for_texts([texts], "en", validation=0.15), folder / "prepared", str(folder / "tokenizer"), 1)
    return folder


@pytest.mark.parametrize("kind", [*MASKED, *CAUSAL])
def test_an_encoder_trains_restores_and_is_exported(kind, folders, tiny_tokenizer, capsys):
    encoder, out, hub = folders / kind, folders / f"{kind}-run", folders / f"{kind}-hub"
    _encoder(kind, tiny_tokenizer).save_pretrained(encoder)
    tiny_tokenizer.save_pretrained(encoder)
    steps = "--max-steps 2 --pieces-per-batch 64 --validation-words 40 --device cpu --threads 1".split()
    status = main(["--encoder", str(encoder), "--data", str(folders / "prepared"), "--output", str(out), *steps])
    said = capsys.readouterr()
    assert status == 0, said.err
    assert "slot style last-piece" in said.out
    assert f"layers from {int(kind in CAUSAL)} on read both ways" in said.out

    text = "hello you are the best is the day you say saya awak"
    restore = pipeline("punctuation-restoration", model=str(out / "final"), device="cpu")
    assert restore.model.config.slot_style == "last-piece"
    expected = restore(text, all_scores=True)
    restore.save_pretrained(hub)
    exported = pipeline("punctuation-restoration", model=str(hub), trust_remote_code=True, device="cpu")
    got = exported(text, all_scores=True)
    assert got["text"] == expected["text"]
    for word, same in zip(got["words"], expected["words"], strict=True):
        assert word["scores"] == pytest.approx(same["scores"], abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["deberta-v2", "modernbert", "llama"])  # the others were tried by hand; each takes 4 s
def test_onnx_gives_what_torch_gives(kind, tiny_tokenizer, tmp_path, monkeypatch):
    monkeypatch.setattr("punctuation_restoration.pipeline.backends.CACHE_FOLDER", str(tmp_path))
    config = _encoder(kind, tiny_tokenizer).config
    first = 1 if kind in CAUSAL else None
    model = PunctuationRestorationModel(
        PunctuationRestorationConfig(encoder_config=config, bidirectional_from=first, max_window_pieces=64)
    ).eval()
    texts = ["hello you are the best is the day you say", "saya awak hello"]
    by_backend = {}
    for backend in ("torch", "onnx"):
        restore = pipeline(
            "punctuation-restoration", model=model, tokenizer=tiny_tokenizer, device="cpu", backend=backend
        )
        by_backend[backend] = [[word["scores"] for word in row["words"]] for row in restore(texts, all_scores=True)]
    for rows, same in zip(by_backend["onnx"], by_backend["torch"], strict=True):
        for row, other in zip(rows, same, strict=True):
            assert row == pytest.approx(other, abs=1e-4)


def _logits(model, ids, mask=None):
    slots = torch.tensor([[1, 3, 5]] * len(ids))
    with torch.inference_mode():
        return model(input_ids=ids, attention_mask=mask, slot_positions=slots).logits


@pytest.mark.parametrize("kind", CAUSAL)
@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_unmasked_layers_read_to_the_right_but_not_the_padding(kind, attention, tiny_tokenizer):
    config = _encoder(kind, tiny_tokenizer).config
    assert is_causal(_encoder(kind, tiny_tokenizer))
    ids = torch.arange(20, 32).repeat(2, 1)
    changed = ids.clone()
    changed[:, 8] = 40  # to the right of all three slots
    for first, reads_right in ((None, False), (1, True), (0, True), (2, False)):
        torch.manual_seed(5)
        fields = {"encoder_config": config, "slot_style": "last-piece", "bidirectional_from": first}
        model = PunctuationRestorationModel(PunctuationRestorationConfig(**fields)).eval()
        model.encoder.set_attn_implementation(attention)
        for parameter in model.parameters():
            parameter.data.mul_(3)
        assert (not torch.allclose(_logits(model, ids), _logits(model, changed))) == reads_right
        padded = torch.cat([ids, torch.full((2, 4), 1)], dim=1)
        mask = torch.tensor([[1] * 12 + [0] * 4, [1] * 16])
        torch.testing.assert_close(_logits(model, padded, mask)[0], _logits(model, ids)[0], atol=1e-4, rtol=1e-4)


def test_layers_that_read_both_ways_are_not_unmasked(tiny_config):
    fields = {**tiny_config.to_dict(), "bidirectional_from": 1}
    with pytest.raises(ValueError, match="reads both ways already"):
        PunctuationRestorationModel(PunctuationRestorationConfig(**fields))
    with pytest.raises(ValueError, match="bidirectional_from between 0 and"):
        PunctuationRestorationConfig(**{**fields, "bidirectional_from": 3})


def _said(capsys, encoder, data, out):
    assert main(["--encoder", str(encoder), "--data", str(data), "--output", str(out), "--max-steps", "1"]) == 1
    message = capsys.readouterr().err
    assert message.startswith("train: Expected")
    return message


@pytest.fixture
def bert(folders, tiny_tokenizer, tmp_path):
    _encoder("bert", tiny_tokenizer).save_pretrained(tmp_path / "bert")
    tiny_tokenizer.save_pretrained(tmp_path / "bert")
    return tmp_path / "bert"


@pytest.mark.parametrize(
    ("missing", "message"),
    [(["tokenizer.json", "tokenizer_config.json"], "Expected an encoder with its tokenizer beside it"),
     (["model.safetensors"], "weights of an encoder"), (["config.json"], "Expected an encoder")],
)  # fmt: skip
def test_an_encoder_that_is_not_whole_is_refused(missing, message, bert, folders, tmp_path, capsys):
    for name in missing:
        (bert / name).unlink()
    assert message in _said(capsys, bert, folders / "prepared", tmp_path / "out")


def test_data_with_pieces_that_the_encoder_has_no_row_for_are_refused(bert, folders, tmp_path, capsys):
    model = AutoModel.from_pretrained(bert)
    model.resize_token_embeddings(20)
    model.save_pretrained(bert)
    assert "Expected piece ids below 20" in _said(capsys, bert, folders / "prepared", tmp_path / "out")


def test_a_tokenizer_may_have_a_piece_that_no_text_gives_and_the_encoder_no_row_for(bert, texts, tmp_path):
    tokenizer = AutoTokenizer.from_pretrained(bert)
    n_rows = AutoModel.from_pretrained(bert).get_input_embeddings().num_embeddings
    tokenizer.add_tokens(["<image_soft_token>"], special_tokens=True)
    assert len(tokenizer) == n_rows + 1
    tokenizer.save_pretrained(bert)
    data = tmp_path / "data"
    prepare(recipe_for_texts([texts], "en"), data, str(bert), n_processes=1)
    options = ["--encoder", str(bert), "--max-steps", "1"]
    assert main(["--device", "cpu", "--data", str(data), "--output", str(tmp_path / "out"), *options]) == 0


def test_a_gguf_file_is_refused_with_the_way_out(folders, tmp_path, capsys):
    (tmp_path / "model.Q4.gguf").write_bytes(b"GGUF")
    message = _said(capsys, tmp_path / "model.Q4.gguf", folders / "prepared", tmp_path / "out")
    assert "gguf_file=" in message


def test_a_punctuation_model_is_no_encoder(tiny_checkpoint, folders, tmp_path, capsys):
    assert "give it to train.py as --model" in _said(capsys, tiny_checkpoint, folders / "prepared", tmp_path / "out")
