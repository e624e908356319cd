"""Backends give what torch gives: fp32 the same text, int8 nearly; files are made once, and never for other weights."""

import copy
import os
import pickle
import shutil
import stat
import threading

import pytest
import torch
from transformers import AutoModelForTokenClassification, BertConfig, XLMRobertaConfig, pipeline

from punctuation_restoration import export as exporting
from punctuation_restoration.modeling.configuration_punctuation import PunctuationRestorationConfig
from punctuation_restoration.modeling.modeling_punctuation import PunctuationRestorationModel
from punctuation_restoration.pipeline import backends
from punctuation_restoration.pipeline.backends import cpu_has_bf16, make_backend

TEXTS = ["hello are you the 你好我们大家今天 saya is the awak in 北京", "you are", "", "saya awak " * 40]
PAD_ID = 1


def batch_of(n_windows: int = 3, n_pieces: int = 20):
    torch.manual_seed(3)
    mask = torch.ones(n_windows, n_pieces, dtype=torch.long)
    mask[-1, n_pieces - 6 :] = 0
    input_ids = torch.where(mask.bool(), torch.randint(4, 60, mask.shape), PAD_ID)
    return {"input_ids": input_ids, "attention_mask": mask, "slot_positions": torch.tensor([[2, 5, 9]] * n_windows)}


@pytest.mark.parametrize("kind", [BertConfig, XLMRobertaConfig], ids=["bert", "xlm-roberta"])
def test_reading_only_what_slots_need_gives_what_the_whole_model_gives(kind):
    encoder = kind(
        vocab_size=64, hidden_size=32, num_hidden_layers=3, num_attention_heads=4, intermediate_size=48,
        max_position_embeddings=40, pad_token_id=PAD_ID,
    )  # fmt: skip
    model = PunctuationRestorationModel(PunctuationRestorationConfig(encoder_config=encoder.to_dict())).eval()
    batch = batch_of()
    assert model.reads_short
    for inputs in (batch, {**batch, "attention_mask": None}):
        whole = model(**inputs, output_hidden_states=True)
        torch.testing.assert_close(model(**inputs).logits, whole.logits, atol=1e-5, rtol=1e-5)
        embedded = {**inputs, "inputs_embeds": model.get_input_embeddings()(inputs["input_ids"]), "input_ids": None}
        whole = model(**embedded, output_attentions=True)
        torch.testing.assert_close(model(**embedded).logits, whole.logits, atol=1e-5, rtol=1e-5)


def test_the_last_layer_is_whole_in_training_where_attention_drops_weights_or_gradients_have_checkpoints(tiny_model):
    model = PunctuationRestorationModel(tiny_model.config).train()
    assert not model.reads_short
    for layer in model.encoder.encoder.layer:
        layer.attention.self.dropout.p = 0.0
    assert model.reads_short
    enable = "activation_checkpointing_enable"
    getattr(model, enable if hasattr(model, enable) else "gradient_checkpointing_enable")()  # its name before 5.23
    assert not model.reads_short
    assert model.eval().reads_short


def test_an_encoder_that_is_built_otherwise_is_read_by_its_own_forward_pass(tiny_model):
    model = PunctuationRestorationModel(tiny_model.config).eval()
    model.encoder.encoder.layer[-1].forward = lambda states, *args, **kwargs: 2 * states
    assert not model.reads_short
    batch = batch_of()
    states = model.encoder(batch["input_ids"], batch["attention_mask"]).last_hidden_state
    expected = model.classifier(model.slot_states(states, batch["slot_positions"]))
    torch.testing.assert_close(model(**batch).logits, expected)


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
def late_model(tiny_model):
    """The tiny model, but that masks join in its last layers: what a graph holds at the most."""
    config = type(tiny_model.config)(**{**tiny_model.config.to_dict(), "slot_style": "late-mask"})
    model = PunctuationRestorationModel(config).eval()
    model.load_state_dict(tiny_model.state_dict(), strict=False)
    torch.manual_seed(5)
    torch.nn.init.normal_(model.mask_state)
    return model


@pytest.fixture(scope="module")
def late_checkpoint(late_model, tiny_tokenizer, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("late") / "checkpoint"
    copy.deepcopy(late_model).save_pretrained(folder)
    tiny_tokenizer.save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="module")
def restorers(cache, late_checkpoint: str):
    return {
        name: pipeline("punctuation-restoration", model=late_checkpoint, device="cpu", backend=name)
        for name in backends.BACKENDS
        if name != backends.OPENVINO  # tests/test_openvino.py
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
def test_int8_gives_nearly_the_same_probabilities_in_a_smaller_file(restorers):
    batch = batch_of()
    expected, got = (restorers[name]._probabilities(**batch) for name in ("torch", "onnx-int8"))
    assert 0 < (expected - got).abs().mean() < 0.05
    sizes = [os.path.getsize(restorers[name]._probabilities.file) for name in ("onnx", "onnx-int8")]
    assert sizes[1] < sizes[0]


@pytest.mark.slow
def test_a_file_is_made_once_and_not_used_for_other_weights(cache, restorers, late_model, monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("written again")

    monkeypatch.setattr(backends, "export_onnx", refuse)
    assert make_backend("onnx", late_model, PAD_ID).file == restorers["onnx"]._probabilities.file
    other = copy.deepcopy(late_model)
    with torch.no_grad():
        other.classifier.out_proj.bias.add_(1.0)
    with pytest.raises(AssertionError, match="written again"):
        make_backend("onnx", other, PAD_ID)


@pytest.mark.slow
def test_a_file_beside_the_model_is_used_if_its_weights_are_the_same(restorers, late_checkpoint, tmp_path, monkeypatch):
    monkeypatch.setattr(backends, "CACHE_FOLDER", str(tmp_path / "cache"))
    folder = tmp_path / "model"
    shutil.copytree(late_checkpoint, folder)
    beside = folder / backends.FILES["onnx"]
    beside.parent.mkdir()
    shutil.copyfile(restorers["onnx"]._probabilities.file, beside)
    model = AutoModelForTokenClassification.from_pretrained(folder)
    assert make_backend("onnx", model, PAD_ID).file == str(beside)
    assert not (tmp_path / "cache").exists()


@pytest.mark.slow
def test_an_export_with_a_backend_is_used_as_it_is(restorers, late_checkpoint, tmp_path, monkeypatch):
    folder = tmp_path / "exported"
    monkeypatch.setattr(
        exporting, "export_onnx", lambda model, path, *args, **kwargs: _copy(restorers["onnx-int8"], path)
    )
    files = exporting.export(folder, late_checkpoint, backends=["onnx-int8"])
    assert folder / "onnx" / "model_int8.onnx" in files
    monkeypatch.setattr(backends, "CACHE_FOLDER", str(tmp_path / "cache"))
    restore = pipeline("punctuation-restoration", model=str(folder), device="cpu", backend="onnx-int8")
    assert restore._probabilities.file == str(folder / "onnx" / "model_int8.onnx")
    assert restore(TEXTS[0])["text"] == restorers["onnx-int8"](TEXTS[0])["text"]


def _copy(restore, path):
    path.parent.mkdir()
    shutil.copyfile(restore._probabilities.file, path)


@pytest.mark.slow
def test_two_first_uses_at_once_leave_one_whole_file(restorers, late_model, tmp_path, monkeypatch):
    monkeypatch.setattr(backends, "CACHE_FOLDER", str(tmp_path))
    source = restorers["onnx"]._probabilities.file
    barrier = threading.Barrier(2)

    def write(model, path, *args, **kwargs):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        beside = f"{path}.{threading.get_ident()}"
        shutil.copyfile(source, beside)
        barrier.wait(30)
        os.replace(beside, path)

    monkeypatch.setattr(backends, "export_onnx", write)
    files: list[object] = []
    threads = [
        threading.Thread(target=lambda: files.append(make_backend("onnx", late_model, PAD_ID).file)) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(files) == 2
    assert files[0] == files[1]


@pytest.mark.slow
def test_where_nothing_can_be_written_the_backend_works_and_says_so(restorers, late_model, tmp_path, monkeypatch):
    source = restorers["onnx"]._probabilities.file
    monkeypatch.setattr(backends, "CACHE_FOLDER", str(tmp_path))

    def write(model, path, *args, **kwargs):
        if str(path).startswith(str(tmp_path)):
            raise PermissionError(13, "Permission denied", str(path))
        shutil.copyfile(source, path)

    monkeypatch.setattr(backends, "export_onnx", write)
    with pytest.warns(UserWarning, match="HF_HOME"):
        backend = make_backend("onnx", late_model, PAD_ID)
    assert isinstance(backend.file, bytes)
    batch = batch_of()
    torch.testing.assert_close(backend(**batch), restorers["onnx"]._probabilities(**batch))


@pytest.mark.slow
def test_a_backend_can_be_sent_to_another_process(restorers):
    backend = restorers["onnx"]._probabilities
    batch = batch_of()
    torch.testing.assert_close(pickle.loads(pickle.dumps(backend))(**batch), backend(**batch))


@pytest.mark.slow
def test_other_users_may_read_the_file(restorers):
    assert stat.S_IMODE(os.stat(restorers["onnx"]._probabilities.file).st_mode) & stat.S_IRGRP
