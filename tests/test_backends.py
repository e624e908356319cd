"""Backends give what torch gives: fp32 the same text, int8 nearly; files of other weights are not used.

Writing a model as ONNX takes 4 seconds and more: what needs one shares one, here in one file.
"""

import copy
import multiprocessing
import os
import pickle
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from test_encoders import encoder_of
from transformers import Gemma3TextConfig, pipeline

from punctuation_restoration.modeling.configuration_punctuation import PunctuationRestorationConfig
from punctuation_restoration.modeling.modeling_punctuation import PunctuationRestorationModel
from punctuation_restoration.pipeline import backends, onnx_export
from punctuation_restoration.pipeline.backends import FILES

make_backend: Any = backends.make_backend

TEXTS = ["hello are you the 你好我们大家今天 saya is the awak in 北京", "you are", "", "saya awak " * 40]
PAD_ID = 1


def test_an_unknown_backend_and_onnx_in_bf16_are_refused(tiny_model, tiny_tokenizer):
    with pytest.raises(ValueError, match=r"Expected backend to be one of .*'onnx-int8'.*got 'tensorflow'"):
        pipeline("punctuation-restoration", model=tiny_model, tokenizer=tiny_tokenizer, backend="tensorflow")
    with pytest.raises(ValueError, match=r"Expected dtype float32 for backend 'onnx', got bfloat16"):
        make_backend("onnx", copy.deepcopy(tiny_model).bfloat16(), PAD_ID)


def test_bf16_is_computed_in_fp32_where_the_processor_has_none(tiny_model, tiny_tokenizer, monkeypatch):
    monkeypatch.setattr(backends, "cpu_has_bf16", lambda: False)
    model = copy.deepcopy(tiny_model).bfloat16()
    with pytest.warns(UserWarning, match="bf16 instructions"):
        restore = pipeline("punctuation-restoration", model=model, tokenizer=tiny_tokenizer, device="cpu")
    assert restore.model.dtype == torch.float32
    monkeypatch.setattr(backends, "cpu_has_bf16", lambda: True)
    model = copy.deepcopy(tiny_model).bfloat16()
    restore = pipeline("punctuation-restoration", model=model, tokenizer=tiny_tokenizer, device="cpu")
    assert restore.model.dtype == torch.bfloat16
    assert restore(TEXTS[0])["words"]


@pytest.mark.skipif(not backends.cpu_has_int8(), reason="the processor has no 8-bit instructions")
def test_torch_computes_in_8_bits_nearly_the_same_and_leaves_the_model_as_it_is(tiny_model, tiny_tokenizer):
    build: Any = pipeline
    exact, rounded = (
        build("punctuation-restoration", model=tiny_model, tokenizer=tiny_tokenizer, device="cpu", backend=name)
        for name in ("torch", "torch-int8")
    )
    before = pickle.dumps(rounded.compute)
    scores = [
        torch.tensor([list(word["scores"].values()) for word in restore(TEXTS[3], all_scores=True)["words"]])
        for restore in (exact, rounded)
    ]
    assert 0 < (scores[0] - scores[1]).abs().mean() < 0.05
    assert pickle.dumps(rounded.compute) == before
    assert rounded.model is tiny_model
    assert not any("Int8" in type(part).__name__ for part in tiny_model.modules())


def test_torch_computes_in_floats_where_the_processor_has_no_8_bits(tiny_model, monkeypatch):
    monkeypatch.setattr("torch.cpu.get_capabilities", lambda: {"avx2": True, "avx512_vnni": True}, raising=False)
    assert backends.cpu_has_int8()
    monkeypatch.setattr("torch.cpu.get_capabilities", lambda: {"avx2": True, "avx512_vnni": False}, raising=False)
    with pytest.warns(UserWarning, match="8-bit instructions"):
        compute = make_backend("torch-int8", tiny_model, PAD_ID)
    assert compute.args == (tiny_model,)


@pytest.fixture(scope="module")
def folder(tiny_config: Any, tiny_tokenizer: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of the default one's kind, which decides casings too, with the files of its backends beside it."""
    for package in ("onnxruntime", "onnxscript"):
        pytest.importorskip(package, reason="the backends onnx and onnx-int8 need pip install '.[fast]'")
    encoder = Gemma3TextConfig(
        vocab_size=len(tiny_tokenizer), hidden_size=32, intermediate_size=48, num_attention_heads=2, head_dim=16,
        num_key_value_heads=1, num_hidden_layers=2, layer_types=["sliding_attention", "full_attention"],
        sliding_window=64, use_bidirectional_attention=True, pad_token_id=PAD_ID, initializer_range=0.2,
    )  # fmt: skip
    torch.manual_seed(4)
    config = copy.deepcopy(tiny_config)
    config.encoder_config, config.casings = encoder, True
    model = PunctuationRestorationModel(config).eval()
    for name, weight in model.encoder.named_parameters():
        if "norm" in name:
            torch.nn.init.normal_(weight, std=0.3)
    torch.nn.init.normal_(model.classifier.casings.weight)
    folder = tmp_path_factory.mktemp("backends") / "model"
    for part in (model, tiny_tokenizer):
        part.save_pretrained(folder)
    for name, file in FILES.items():
        onnx_export.export_onnx(model, folder / file, PAD_ID, in_int8=name == "onnx-int8")
    return folder


@pytest.fixture(scope="module")
def restorers(folder: Path) -> dict[str, Any]:
    build: Any = pipeline
    names = ("torch", *FILES)
    return {name: build("punctuation-restoration", model=str(folder), device="cpu", backend=name) for name in names}


@pytest.mark.slow
def test_fp32_gives_the_same_text_and_int8_nearly_the_same_scores_from_a_smaller_file(folder, restorers):
    expected = restorers["torch"](TEXTS)
    for batch_size in (None, 1, 3):
        got = restorers["onnx"](TEXTS, batch_size=batch_size)
        assert [one["text"] for one in got] == [one["text"] for one in expected]
        for one, other in zip(got, expected, strict=True):
            scores = [[word["score"] for word in result["words"]] for result in (one, other)]
            assert scores[0] == pytest.approx(scores[1], abs=1e-4)
    exact, rounded = (
        torch.tensor([list(word["scores"].values()) for word in restorers[name](TEXTS[3], all_scores=True)["words"]])
        for name in ("torch", "onnx-int8")
    )
    assert 0 < (exact - rounded).abs().mean() < 0.05
    assert (folder / FILES["onnx-int8"]).stat().st_size < (folder / FILES["onnx"]).stat().st_size


@pytest.mark.slow
def test_a_file_beside_the_model_is_used_only_if_it_is_whole_and_its_weights_are_the_same(
    folder, restorers, tmp_path, monkeypatch, caplog, batch
):
    """Other models are written, as the test below has it; here the file of the first is copied where one is written."""
    assert "found none" not in caplog.text
    expected = make_backend("torch", restorers["torch"].model, PAD_ID)(**batch)
    assert expected.shape == (3, 3, 4 + 4)  # labels and casings
    sent = pickle.loads(pickle.dumps(make_backend("onnx", restorers["onnx"].model, PAD_ID)))  # to another process
    torch.testing.assert_close(sent(**batch), expected)
    assert not caplog.records
    written = []

    def write(model, path, pad_id, in_int8):
        written.append(model)
        shutil.copyfile(folder / FILES["onnx"], path)

    monkeypatch.setattr(onnx_export, "export_onnx", write)
    other, broken = copy.deepcopy(restorers["onnx"].model), shutil.copytree(folder, tmp_path / "broken")
    with torch.no_grad():
        other.classifier.out_proj.bias[1] += 3.0
    (broken / FILES["onnx"]).write_text("version https://git-lfs.github.com/spec/v1")
    unread = PunctuationRestorationModel.from_pretrained(broken)
    for model in (other, unread):
        torch.testing.assert_close(make_backend("onnx", model, PAD_ID)(**batch), expected, atol=1e-4, rtol=1e-3)
        assert "onnx/model.onnx of these weights beside the model, found none" in caplog.text
        caplog.clear()
    assert [id(model) for model in written] == [id(other), id(unread)]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["bert", "deberta-v2", "modernbert"])  # the others were tried by hand; each takes 4 s
def test_other_encoders_give_with_onnx_what_they_give_with_torch(kind, tiny_tokenizer):
    config = PunctuationRestorationConfig(encoder_config=encoder_of(kind, tiny_tokenizer).config, max_window_pieces=64)
    model, scores = PunctuationRestorationModel(config).eval(), []
    for backend in ("torch", "onnx"):
        restore = pipeline("punctuation-restoration", model=model, tokenizer=tiny_tokenizer, backend=backend)
        rows = restore(["hello you are the best is the day you say", "saya awak hello"], all_scores=True)
        scores.append([score for row in rows for word in row["words"] for score in word["scores"].values()])
    assert scores[1] == pytest.approx(scores[0], abs=1e-4)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "register_at_fork"), reason="forks are of Unix")
@pytest.mark.parametrize("backend", ["torch", "onnx-int8"])
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_pipeline_that_was_used_works_in_a_forked_process(restorers, backend):
    restore, said = restorers[backend], "hello how are you " * 200
    expected = restore(said)["text"]
    receiver, sender = multiprocessing.Pipe(duplex=False)
    child = multiprocessing.get_context("fork").Process(target=lambda: sender.send(restore(said)["text"]))
    child.start()
    try:
        assert receiver.poll(60), "the forked process hangs"
        assert receiver.recv() == expected
    finally:
        child.kill()
        child.join()
    assert restore(said)["text"] == expected
