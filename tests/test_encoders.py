"""Every kind of encoder that reads both ways trains, saves, loads, restores text and is exported."""

import pytest
import torch
from training_runs import run_training
from transformers import AutoConfig, AutoModel, AutoTokenizer, Cache, pipeline

from punctuation_restoration.data.preparation import prepare
from punctuation_restoration.data.recipe import recipe_for_texts
from punctuation_restoration.modeling.configuration_punctuation import PunctuationRestorationConfig
from punctuation_restoration.modeling.encoders import compile_layers
from punctuation_restoration.modeling.modeling_punctuation import PunctuationRestorationModel
from punctuation_restoration.pipeline.int8_layers import in_int8
from punctuation_restoration.training.building import set_dropout

SIZES = {
    "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24,
    "max_position_embeddings": 80,
}  # fmt: skip
KINDS = {
    "bert": SIZES,
    "roberta": SIZES,
    "xlm-roberta": SIZES,
    "electra": {**SIZES, "embedding_size": 8},
    "distilbert": {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 24, "max_position_embeddings": 80},
    "deberta-v2": {**SIZES, "relative_attention": True, "position_buckets": 8, "pos_att_type": ["p2c", "c2p"]},
    "modernbert": SIZES,
    "mpnet": SIZES,
    "gemma3_text": {
        **SIZES, "num_key_value_heads": 1, "head_dim": 8, "sliding_window": 64, "use_bidirectional_attention": True,
    },
}  # fmt: skip


def encoder_of(kind, tokenizer):
    special = {name: getattr(tokenizer, name) for name in ("pad_token_id", "bos_token_id", "eos_token_id")}
    special |= {"cls_token_id": tokenizer.cls_token_id, "sep_token_id": tokenizer.sep_token_id}
    config = AutoConfig.for_model(kind, vocab_size=len(tokenizer), **KINDS.get(kind, SIZES), **special)
    torch.manual_seed(3)
    return AutoModel.from_config(config)


@pytest.fixture(scope="module")
def folders(tiny_tokenizer, texts, tmp_path_factory):
    """Data that were prepared with the tokenizer, and a place for encoders."""
    folder = tmp_path_factory.mktemp("encoders")
    tiny_tokenizer.save_pretrained(folder / "tokenizer")
    prepare(recipe_for_texts([texts], "en", validation=0.15), folder / "prepared", str(folder / "tokenizer"), 1)
    return folder


@pytest.mark.parametrize("kind", KINDS)
def test_an_encoder_trains_restores_and_is_exported(kind, folders, tiny_tokenizer, capsys, batch):
    encoder, out, hub = folders / kind, folders / f"{kind}-run", folders / f"{kind}-hub"
    encoder_of(kind, tiny_tokenizer).save_pretrained(encoder)
    tiny_tokenizer.save_pretrained(encoder)
    steps = "--max-steps 2 --pieces-per-batch 64 --validation-words 40 --device cpu".split()
    status = run_training(
        ["--encoder", str(encoder), "--data", str(folders / "prepared"), "--output", str(out), *steps]
    )
    said = capsys.readouterr()
    assert status == 0, said.err

    text = "hello you are the best is the day you say saya awak"
    restore = pipeline("punctuation-restoration", model=str(out / "final"), device="cpu")
    exact, rounded = restore.model(**batch).logits, in_int8(restore.model)(**batch).logits
    torch.testing.assert_close(rounded, exact, atol=0.03, rtol=0.03)
    expected = restore(text, all_scores=True)
    restore.save_pretrained(hub)
    exported = pipeline("punctuation-restoration", model=str(hub), trust_remote_code=True, device="cpu")
    got = exported(text, all_scores=True)
    assert got["text"] == expected["text"]
    for word, same in zip(got["words"], expected["words"], strict=True):
        assert word["scores"] == pytest.approx(same["scores"], abs=1e-5)


@pytest.mark.filterwarnings("ignore:The .grad attribute")  # of the compiler's own
def test_layers_are_compiled_once_a_kind_and_keep_no_keys_and_values(tiny_tokenizer):
    """For batches of seven shapes, four layers of two kinds; one of each is frozen."""
    layers = {"num_hidden_layers": 4, "layer_types": ["sliding_attention", "full_attention"] * 2, "vocab_size": 40}
    encoder = AutoConfig.for_model("gemma3_text", **{**KINDS["gemma3_text"], **layers}).to_dict()
    model = PunctuationRestorationModel(PunctuationRestorationConfig(encoder_config=encoder)).train()
    set_dropout(model, 0.0)
    model.encoder.layers[:2].requires_grad_(False)
    kept, compiled = [], []
    model.encoder.register_forward_hook(lambda *seen: kept.extend(isinstance(v, Cache) for v in seen[2].values()))
    batches = []
    for length in range(20, 27):
        mask = torch.ones(length % 3 + 2, length, dtype=torch.long)
        mask[0, -3:] = 0
        ids = torch.randint(4, 40, mask.shape)
        batches.append({"input_ids": ids, "attention_mask": mask, "slot_positions": torch.ones_like(mask)})
    plain = [model(**batch).logits for batch in batches]

    def count(graph, inputs):
        compiled.append(graph)
        return graph.forward

    compile_layers(model.encoder, backend=count)
    for batch, logits in zip(batches, plain, strict=True):
        torch.testing.assert_close(model(**batch).logits, logits)
    assert 1 <= len(compiled) <= 4
    assert kept
    assert not any(kept)


def test_a_decoder_that_reads_to_the_left_alone_is_refused(folders, tiny_tokenizer, tmp_path, capsys):
    for part in (encoder_of("llama", tiny_tokenizer), tiny_tokenizer):
        part.save_pretrained(tmp_path / "llama")
    said = _said(capsys, tmp_path / "llama", folders / "prepared", tmp_path / "out")
    assert "a LlamaModel, which reads only to the left" in said


def _said(capsys, encoder, data, out):
    assert run_training(["--encoder", str(encoder), "--data", str(data), "--output", str(out), "--max-steps", "1"]) == 1
    message = capsys.readouterr().err
    assert message.startswith("train: Expected")
    return message


@pytest.fixture
def bert(folders, tiny_tokenizer, tmp_path):
    encoder_of("bert", tiny_tokenizer).save_pretrained(tmp_path / "bert")
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


def test_a_tokenizer_may_have_a_piece_that_no_text_gives_and_the_encoder_no_row_for(bert, texts, tmp_path):
    tokenizer = AutoTokenizer.from_pretrained(bert)
    n_rows = AutoModel.from_pretrained(bert).get_input_embeddings().num_embeddings
    tokenizer.add_tokens(["<image_soft_token>"], special_tokens=True)
    assert len(tokenizer) == n_rows + 1
    tokenizer.save_pretrained(bert)
    data = tmp_path / "data"
    prepare(recipe_for_texts([texts], "en"), data, str(bert), n_processes=1)
    options = ["--encoder", str(bert), "--max-steps", "1"]
    assert run_training(["--device", "cpu", "--data", str(data), "--output", str(tmp_path / "out"), *options]) == 0


def test_a_gguf_file_and_a_punctuation_model_are_refused_with_the_way_out(tiny_checkpoint, folders, tmp_path, capsys):
    (tmp_path / "model.Q4.gguf").write_bytes(b"GGUF")
    for place, way in ((tmp_path / "model.Q4.gguf", "gguf_file="), (tiny_checkpoint, "give it to train.py as --model")):
        assert way in _said(capsys, place, folders / "prepared", tmp_path / "out")
