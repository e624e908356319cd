"""Models that get more layers of their encoder."""

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from transformers import BertConfig, BertModel, pipeline

from benchmarks.growing import main


@pytest.fixture
def encoder(tiny_config: Any, tmp_path: Path) -> str:
    """An encoder of five layers of the tiny model's kind."""
    torch.manual_seed(5)
    fields = {**tiny_config.encoder_config.to_dict(), "num_hidden_layers": 5}
    BertModel(BertConfig(**fields)).save_pretrained(tmp_path / "encoder")
    return str(tmp_path / "encoder")


def grow(model: str, encoder: str, layers: int, out: Path) -> int:
    return main(["--model", model, "--encoder", encoder, "--layers", str(layers), "--out", str(out)])


def test_the_model_keeps_what_it_had_and_gets_the_encoder_s_next_layers(
    tiny_checkpoint: str, encoder: str, tmp_path: Path
) -> None:
    assert grow(tiny_checkpoint, encoder, 4, tmp_path / "grown") == 0
    before, pretrained, after = (
        load_file(Path(folder) / "model.safetensors") for folder in (tiny_checkpoint, encoder, tmp_path / "grown")
    )
    new = {f"encoder.{name}": one for name, one in pretrained.items() if "layer.2." in name or "layer.3." in name}
    assert len(new) == 32
    assert after.keys() == before.keys() | new.keys()
    for name, weight in {**before, **new}.items():
        torch.testing.assert_close(after[name], weight, msg=name)
    restore = pipeline("punctuation-restoration", model=str(tmp_path / "grown"), device="cpu")
    assert restore.model.config.encoder_config.num_hidden_layers == 4
    assert restore.model.config.thresholds is None
    assert len(restore("hello how are you")["words"]) == 4


@pytest.mark.parametrize("layers", [2, 6])
def test_layers_that_are_there_or_nowhere_are_refused(
    tiny_checkpoint: str, encoder: str, tmp_path: Path, layers: int, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        grow(tiny_checkpoint, encoder, layers, tmp_path / "grown")
    assert f"more layers than the 2 of {tiny_checkpoint} and at most the 5" in capsys.readouterr().err
    assert not (tmp_path / "grown").exists()


def test_an_encoder_of_another_width_is_refused(
    tiny_checkpoint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wide = BertConfig(vocab_size=50, hidden_size=64, num_hidden_layers=4, num_attention_heads=2, intermediate_size=64)
    BertModel(wide).save_pretrained(tmp_path / "wide")
    with pytest.raises(SystemExit):
        grow(tiny_checkpoint, str(tmp_path / "wide"), 4, tmp_path / "grown")
    assert "bert of width 32, got bert of width 64" in capsys.readouterr().err
