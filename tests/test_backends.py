"""Backends give what torch gives: fp32 the same text, int8 nearly; files are made once, and never for other weights."""

import copy
import os
import pickle
import shutil
import stat
from typing import Any

import pytest
import torch
from transformers import AutoModelForTokenClassification, Gemma3TextConfig, pipeline

from punctuation_restoration.modeling.configuration_punctuation import PunctuationRestorationConfig
from punctuation_restoration.modeling.modeling_punctuation import PunctuationRestorationModel
from punctuation_restoration.pipeline import backends, onnx_export
from punctuation_restoration.pipeline.backends import cpu_has_bf16

make_backend: Any = backends.make_backend

TEXTS = ["hello are you the 你好我们大家今天 saya is the awak in 北京", "you are", "", "saya awak " * 40]
PAD_ID = 1


def batch_of(n_windows: int = 3, n_pieces: int = 20):
    torch.manual_seed(3)
    mask = torch.ones(n_windows, n_pieces, dtype=torch.long)
    mask[-1, n_pieces - 6 :] = 0
    input_ids = torch.where(mask.bool(), torch.randint(4, 60, mask.shape), PAD_ID)
    return {"input_ids": input_ids, "attention_mask": mask, "slot_positions": torch.tensor([[2, 5, 9]] * n_windows)}


def test_an_unknown_backend_is_refused(tiny_model, tiny_tokenizer):
    with pytest.raises(ValueError, match=r"Expected backend to be one of .*'onnx-int8'.*got 'tensorflow'"):
        pipeline("punctuation-restoration", model=tiny_model, tokenizer=tiny_tokenizer, backend="tensorflow")


def test_bf16_is_computed_in_fp32_where_the_processor_has_none(tiny_model, tiny_tokenizer, monkeypatch):
    assert cpu_has_bf16("flags : sse avx512_bf16 avx")
    assert not cpu_has_bf16("flags : sse avx2")
    monkeypatch.setattr(backends, "cpu_has_bf16", lambda: False)
    model = copy.deepcopy(tiny_model).bfloat16()
    with pytest.warns(UserWarning, match="bf16 instructions"):
        restore = pipeline("punctuation-restoration", model=model, tokenizer=tiny_tokenizer, device="cpu")
    assert restore.model.dtype == torch.float32
    monkeypatch.setattr(backends, "cpu_has_bf16", lambda: True)
    restore = pipeline(
        "punctuation-restoration", model=copy.deepcopy(tiny_model).bfloat16(), tokenizer=tiny_tokenizer, device="cpu"
    )
    assert restore.model.dtype == torch.bfloat16
    assert restore(TEXTS[0])["words"]


def test_a_missing_package_is_named(tiny_model, monkeypatch, tmp_path):
    monkeypatch.setattr(backends, "CACHE_FOLDER", str(tmp_path))
    monkeypatch.setitem(__import__("sys").modules, "onnxruntime", None)
    monkeypatch.setitem(__import__("sys").modules, "onnxscript", None)
    with pytest.raises(ImportError, match=r"pip install 'punctuation-restoration\[fast\]'"):
        make_backend("onnx", tiny_model, PAD_ID)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory):
    """A cache of backends of its own, empty."""
    pytest.importorskip("onnxruntime", reason="the backends onnx and onnx-int8 need pip install '.[fast]'")
    pytest.importorskip("onnxscript", reason="the backends onnx and onnx-int8 need pip install '.[fast]'")
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(backends, "CACHE_FOLDER", str(folder))
        yield folder


@pytest.fixture(scope="module")
def made(cache, tiny_model):
    """Each backend of the tiny model."""
    return {name: make_backend(name, tiny_model, PAD_ID) for name in backends.BACKENDS}


@pytest.fixture(scope="module")
def restorers(cache, tiny_checkpoint: str):
    return {
        name: pipeline("punctuation-restoration", model=tiny_checkpoint, device="cpu", backend=name)
        for name in backends.BACKENDS
    }


@pytest.mark.slow
def test_fp32_backends_give_the_same_text(restorers):
    expected = restorers["torch"](TEXTS)
    for batch_size in (None, 1, 3):
        got = restorers["onnx"](TEXTS, batch_size=batch_size)
        assert [one["text"] for one in got] == [one["text"] for one in expected]
        for one, other in zip(got, expected, strict=True):
            assert [word["score"] for word in one["words"]] == pytest.approx(
                [word["score"] for word in other["words"]], abs=1e-4
            )


@pytest.mark.slow
def test_int8_gives_nearly_the_same_probabilities_in_a_smaller_file(made):
    batch = batch_of()
    expected, got = (made[name](**batch) for name in ("torch", "onnx-int8"))
    assert 0 < (expected - got).abs().mean() < 0.05
    sizes = [os.path.getsize(made[name].file) for name in ("onnx", "onnx-int8")]
    assert sizes[1] < sizes[0]


@pytest.mark.slow
def test_a_file_is_made_once_and_not_used_for_other_weights(made, tiny_model, monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("written again")

    monkeypatch.setattr(onnx_export, "export_onnx", refuse)
    assert make_backend("onnx", tiny_model, PAD_ID).file == made["onnx"].file
    other = copy.deepcopy(tiny_model)
    with torch.no_grad():
        other.classifier.out_proj.bias.add_(1.0)
    with pytest.raises(AssertionError, match="written again"):
        make_backend("onnx", other, PAD_ID)


@pytest.mark.slow
def test_a_file_beside_the_model_is_used_if_its_weights_are_the_same(made, tiny_checkpoint, tmp_path, monkeypatch):
    monkeypatch.setattr(backends, "CACHE_FOLDER", str(tmp_path / "cache"))
    folder = tmp_path / "model"
    shutil.copytree(tiny_checkpoint, folder)
    beside = folder / backends.FILES["onnx"]
    beside.parent.mkdir()
    shutil.copyfile(made["onnx"].file, beside)
    model = AutoModelForTokenClassification.from_pretrained(folder)
    assert make_backend("onnx", model, PAD_ID).file == str(beside)
    assert not (tmp_path / "cache").exists()


def test_where_nothing_can_be_written_it_says_what_to_set(tiny_model, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setattr(backends, "CACHE_FOLDER", str(tmp_path / "file"))
    with pytest.raises(OSError, match="Set HF_HOME"):
        make_backend("onnx", tiny_model, PAD_ID)


@pytest.mark.slow
def test_a_backend_can_be_sent_to_another_process(made):
    backend = made["onnx"]
    batch = batch_of()
    torch.testing.assert_close(pickle.loads(pickle.dumps(backend))(**batch), backend(**batch))


@pytest.mark.slow
def test_other_users_may_read_the_file(made):
    assert stat.S_IMODE(os.stat(made["onnx"].file).st_mode) & stat.S_IRGRP


@pytest.mark.slow
def test_onnx_runtime_computes_an_encoder_like_gemma_with_casings(cache):
    encoder = Gemma3TextConfig(
        vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=2, head_dim=16,
        num_key_value_heads=1, sliding_window=64, layer_types=["sliding_attention", "full_attention"],
        use_bidirectional_attention=True, pad_token_id=PAD_ID, initializer_range=0.2,
    )  # fmt: skip
    torch.manual_seed(4)
    fields = {"slot_style": "last-piece", "head_width": 24, "casings": True}
    config = PunctuationRestorationConfig(encoder_config=encoder, **fields)
    model = PunctuationRestorationModel(config).eval()
    for name, weight in model.encoder.named_parameters():
        if "norm" in name:
            torch.nn.init.normal_(weight, std=0.3)
    torch.nn.init.normal_(model.classifier.casings.weight)
    batch = batch_of()
    expected = make_backend("torch", model, PAD_ID)(**batch)
    assert expected.shape == (3, 3, 4 + 4)  # labels and casings
    got = {name: make_backend(name, model, PAD_ID)(**batch) for name in ("onnx", "onnx-int8")}
    torch.testing.assert_close(got["onnx"], expected, atol=1e-4, rtol=1e-3)
    assert (got["onnx-int8"] - expected).abs().mean() < 0.05
