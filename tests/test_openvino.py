"""OpenVINO in int8 gives nearly what torch gives, from a file that only the export writes, for its weights alone."""

import logging
import pickle
import shutil
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import torch
from conftest import PUNCTUATED
from test_lstm import make_model
from transformers import AutoModelForTokenClassification, pipeline

from punctuation_restoration import export as exporting
from punctuation_restoration.modeling.configuration_punctuation import PunctuationRestorationConfig
from punctuation_restoration.modeling.modeling_punctuation import PunctuationRestorationModel
from punctuation_restoration.pipeline.backends import FILES, OPENVINO, OpenVinoBackend, make_backend

TEXT = "hello are you the 你好我们大家今天 saya is the awak in 北京 " * 6
REPOSITORY, COMMIT = "some-one/tiny-openvino", "0123456789abcdef0123456789abcdef01234567"
N_LABELS, N_CASINGS = 4, 4


@pytest.fixture(scope="module")
def full_model(tiny_config: Any, tiny_tokenizer: Any, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A model with late masks, casings and learned pauses, all random: what a graph holds at the most.

    It is so large that an attention mask which OpenVINO takes for something else changes what it says.
    """
    encoder = {"hidden_size": 128, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 256}
    settings = {"slot_style": "late-mask", "casings": True, "pause_edges": [0.1, 0.5, 1.0]}
    settings["encoder_config"] = {**tiny_config.encoder_config.to_dict(), **encoder}
    torch.manual_seed(4)
    model = PunctuationRestorationModel(PunctuationRestorationConfig(**{**tiny_config.to_dict(), **settings}))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3.0)
        model.classifier.out_proj.weight.mul_(4.0)
        model.classifier.pauses.weight[1:] = torch.randn(4, 128)
        model.classifier.casings.weight.normal_(std=0.2)
    folder = tmp_path_factory.mktemp("full")
    model.save_pretrained(folder)
    tiny_tokenizer.save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="module")
def exported(full_model: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model as the command writes it, with OpenVINO's file."""
    for name in ("openvino", "nncf", "onnx", "onnxscript"):
        pytest.importorskip(name, reason="the backend openvino-int8 needs pip install '.[openvino-export]'")
    texts = tmp_path_factory.mktemp("calibration") / "texts.txt"
    texts.write_text(f"{PUNCTUATED * 20}{TEXT}", encoding="utf-8")
    out, disabled = tmp_path_factory.mktemp("openvino") / "out", logging.root.manager.disable
    command = [str(out), "--model", full_model, "--backend", OPENVINO, "--calibration", str(texts)]
    assert exporting.main(command) == 0
    assert logging.root.manager.disable == disabled
    return out


@pytest.fixture(scope="module")
def backends(exported: Path) -> dict[str, Any]:
    model = AutoModelForTokenClassification.from_pretrained(exported).eval()
    return {name: make_backend(name, model, 1) for name in ("torch", OPENVINO)}


def probabilities(compute: Any, inputs: dict[str, Any]) -> tuple[torch.Tensor, ...]:
    """Those of labels, and those of casings."""
    with torch.inference_mode():
        found = compute(**inputs)
    assert found.shape[-1] == N_LABELS + N_CASINGS
    return found[..., :N_LABELS], found[..., N_LABELS:]


@pytest.mark.slow
@pytest.mark.parametrize("has_mask", [True, False])
@pytest.mark.parametrize("has_pauses", [True, False])
def test_probabilities_are_nearly_those_of_torch(backends, batch, has_mask, has_pauses):
    inputs = batch if has_mask else {**batch, "attention_mask": None}
    inputs = {**inputs, "pauses": torch.tensor([[4, 1, 2]] * 3)} if has_pauses else inputs
    pairs = zip(*(probabilities(backends[name], inputs) for name in ("torch", OPENVINO)), strict=True)
    for expected, got in pairs:
        assert expected.argmax(-1).unique().numel() > 1
        assert 0 < (expected - got).abs().mean() < 0.04


@pytest.mark.slow
def test_the_pipeline_takes_it_from_the_export_and_writes_nearly_the_same(exported, backends):
    assert backends[OPENVINO].file == str(exported / FILES[OPENVINO])
    assert {path.name for path in (exported / "openvino").iterdir()} == {"model_int8.xml", "model_int8.bin"}
    restorers = [
        pipeline("punctuation-restoration", model=str(exported), device="cpu", backend=name)
        for name in ("torch", OPENVINO)
    ]
    labels = [[word["label"] for word in restore(TEXT)["words"]] for restore in restorers]
    assert len(set(labels[0])) > 1
    n_same = sum(one == other for one, other in zip(*labels, strict=True))
    # All 84 where the processor multiplies int8 in 32 bits (VNNI), 74 once in CI. Other weights: about a third.
    assert n_same >= 0.75 * len(labels[0])


@pytest.mark.slow
def test_answers_stay_when_others_follow_and_threads_do_not_meet(backends, batch):
    compute = backends[OPENVINO]
    assert isinstance(compute, OpenVinoBackend)
    first = compute(**batch)
    kept = first.clone()
    compute(**{**batch, "input_ids": batch["input_ids"].flip(1)})
    assert torch.equal(first, kept)
    torch.testing.assert_close(pickle.loads(pickle.dumps(compute))(**batch), kept)
    answers: list[torch.Tensor] = []
    threads = [threading.Thread(target=lambda: answers.extend(compute(**batch) for _ in range(20))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(answers) == 60
    assert all(torch.equal(answer, kept) for answer in answers)


@pytest.mark.slow
def test_a_file_of_other_weights_or_half_a_file_is_refused_with_the_command_that_makes_it(exported, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(exported, folder)
    model = AutoModelForTokenClassification.from_pretrained(folder)
    assert make_backend(OPENVINO, model, 1).file == str(folder / FILES[OPENVINO])
    with torch.no_grad():
        model.classifier.out_proj.bias.add_(1.0)
    command = rf"punctuation_restoration.export OUT --model {folder} --backend openvino-int8` and load OUT"
    with pytest.raises(ValueError, match=f"found those of others. Run `python -m {command}"):
        make_backend(OPENVINO, model, 1)
    (folder / FILES[OPENVINO]).with_suffix(".bin").unlink()
    with pytest.raises(ValueError, match=f"found none. Run `python -m {command}"):
        make_backend(OPENVINO, AutoModelForTokenClassification.from_pretrained(folder), 1)


@pytest.mark.slow
def test_both_files_are_found_in_the_cache_of_the_hub(exported, tmp_path, monkeypatch):
    entry = tmp_path / f"models--{REPOSITORY.replace('/', '--')}"
    shutil.copytree(exported, entry / "snapshots" / COMMIT)
    (entry / "refs").mkdir()
    (entry / "refs" / "main").write_text(COMMIT)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    restore = pipeline("punctuation-restoration", model=REPOSITORY, device="cpu", backend=OPENVINO)
    assert restore._probabilities.file == str(entry / "snapshots" / COMMIT / FILES[OPENVINO])


def test_a_model_that_was_never_exported_is_refused(tiny_model):
    pytest.importorskip("openvino", reason="the backend openvino-int8 needs pip install '.[openvino]'")
    with pytest.raises(ValueError, match=r"found none. Run `python -m punctuation_restoration\.export OUT --model M"):
        make_backend(OPENVINO, tiny_model, 1)


def test_missing_packages_are_named(tiny_model, tiny_checkpoint, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "openvino", None)
    with pytest.raises(ImportError, match=r"`pip install openvino`, or .*'punctuation-restoration\[openvino\]'"):
        make_backend(OPENVINO, tiny_model, 1)
    monkeypatch.setitem(sys.modules, "nncf", None)
    assert exporting.main([str(tmp_path / "out"), "--model", tiny_checkpoint, "--backend", OPENVINO]) == 2
    assert "nncf is not installed" in (told := capsys.readouterr().err)
    assert "'punctuation-restoration[openvino-export]'" in told
    assert not list(tmp_path.iterdir())


def test_without_texts_nothing_is_calibrated(tiny_checkpoint, tmp_path, monkeypatch, capsys):
    (tmp_path / "empty.txt").write_text("\n. ,\n")
    command = [str(tmp_path / "out"), "--model", tiny_checkpoint, "--backend", OPENVINO]
    assert exporting.main([*command, "--calibration", str(tmp_path / "empty.txt")]) == 2
    assert "Expected texts with words" in capsys.readouterr().err
    monkeypatch.setattr(exporting, "project_file", tmp_path.joinpath)
    assert exporting.main(command) == 2
    assert "found no checkout with examples. Name with --calibration" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_model_with_a_memory_is_refused(tiny_tokenizer, tmp_path, capsys):
    make_model(tiny_tokenizer).save_pretrained(tmp_path / "lstm")
    tiny_tokenizer.save_pretrained(tmp_path / "lstm")
    assert exporting.main([str(tmp_path / "out"), "--model", str(tmp_path / "lstm"), "--backend", OPENVINO]) == 2
    assert "without a memory, for OpenVINO, got PunctuationLSTM. Use backend 'onnx-int8'." in capsys.readouterr().err
