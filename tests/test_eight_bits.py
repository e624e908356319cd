"""An encoder that is stored in 8 bits: smaller, loaded as floats, and nearly what it was."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModelForTokenClassification, AutoTokenizer

from punctuation_restoration.modeling.modeling_punctuation import PunctuationRestorationModel


@pytest.fixture(scope="module")
def stored(tiny_model: Any, tiny_checkpoint: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stored")
    tiny_model.save_pretrained(folder, stored_bits=8)
    AutoTokenizer.from_pretrained(tiny_checkpoint).save_pretrained(folder)
    return folder


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_weights_come_back_within_half_a_step(tiny_model: Any, stored: Path, dtype: torch.dtype) -> None:
    loaded = AutoModelForTokenClassification.from_pretrained(stored, dtype=dtype)
    before, after = tiny_model.state_dict(), loaded.state_dict()
    assert before.keys() == after.keys()
    for name, weight in before.items():
        assert after[name].dtype == dtype
        rounding = torch.finfo(dtype).eps * weight.abs()
        if name.startswith("encoder.") and weight.ndim == 2:
            rounding = rounding + weight.abs().amax(dim=1, keepdim=True) / 127 / 2 * 1.001
        assert ((after[name].float() - weight).abs() <= rounding).all(), name


def test_the_file_holds_whole_numbers_and_the_configuration_says_so(
    tiny_model: Any, stored: Path, tmp_path: Path, batch: Any
) -> None:
    weights, n_rows = load_file(stored / "model.safetensors"), len(tiny_model.get_input_embeddings().weight)
    assert weights["encoder.embeddings.word_embeddings.weight"].dtype == torch.int8
    assert weights["encoder.embeddings.word_embeddings.weight_scale"].shape == (n_rows, 1)
    assert json.loads((stored / "config.json").read_text())["stored_bits"] == 8
    assert tiny_model.config.stored_bits is None
    # What was loaded is saved plainly, and loads the same.
    loaded = PunctuationRestorationModel.from_pretrained(stored)
    loaded.save_pretrained(tmp_path)
    again = PunctuationRestorationModel.from_pretrained(tmp_path)
    assert all(weight.dtype == torch.float32 for weight in load_file(tmp_path / "model.safetensors").values())
    assert torch.equal(again(**batch).logits, loaded(**batch).logits)
    loaded.save_pretrained(tmp_path, stored_bits=8)
    twice = PunctuationRestorationModel.from_pretrained(tmp_path)
    torch.testing.assert_close(twice(**batch).logits, loaded(**batch).logits, atol=1e-4, rtol=1e-4)


@pytest.mark.skipif(not Path("/proc/self/maps").is_file(), reason="no list of the files in memory")
def test_no_weight_keeps_the_file_in_memory(stored: Path, tmp_path: Path) -> None:
    model = PunctuationRestorationModel.from_pretrained(shutil.copytree(stored, tmp_path / "copy"))
    assert model.dtype == torch.float32
    assert str(tmp_path) not in Path("/proc/self/maps").read_text()


def test_a_row_of_zeros_is_stored_too(tiny_config: Any, tmp_path: Path) -> None:
    model = PunctuationRestorationModel(tiny_config)
    torch.nn.init.zeros_(model.get_input_embeddings().weight[3])
    model.save_pretrained(tmp_path, stored_bits=8)
    loaded = PunctuationRestorationModel.from_pretrained(tmp_path)
    assert not loaded.get_input_embeddings().weight[3].any()


def test_a_model_that_is_made_of_its_configuration_alone_is_plain(stored: Path, tmp_path: Path) -> None:
    model = AutoModelForTokenClassification.from_config(AutoConfig.from_pretrained(stored))
    assert not any(name.endswith("_scale") for name in model.state_dict())
    model.save_pretrained(tmp_path)
    assert json.loads((tmp_path / "config.json").read_text())["stored_bits"] is None


def test_other_ways_of_storing_and_files_that_do_not_belong_together_are_refused(stored: Path, tmp_path: Path) -> None:
    model = PunctuationRestorationModel.from_pretrained(stored)
    with pytest.raises(ValueError, match="Expected stored_bits to be 8 or None, which this version can read, got 4"):
        model.save_pretrained(tmp_path, stored_bits=4)
    model.save_pretrained(tmp_path, stored_bits=8)
    fields = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(fields | {"stored_bits": 4}))
    with pytest.raises(ValueError, match="which this version can read, got 4"):
        PunctuationRestorationModel.from_pretrained(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps(fields | {"stored_bits": None}))
    with pytest.raises(ValueError, match=r"found scales of weights in 8 bits"):
        PunctuationRestorationModel.from_pretrained(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps(fields))
    weights = load_file(tmp_path / "model.safetensors")
    del weights["encoder.embeddings.word_embeddings.weight_scale"]
    save_file(weights, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ValueError, match=r"such as \['encoder.embeddings.word_embeddings.weight_scale'\]"):
        PunctuationRestorationModel.from_pretrained(tmp_path)
