"""Checkpoints to ship."""

import json

import torch
from safetensors.torch import load_file
from transformers import pipeline

from tools.shipping import main


def test_a_shipped_checkpoint_replaces_the_old_one_is_small_read_in_fp32_and_restores_the_same(
    tiny_checkpoint, tiny_pipeline, tmp_path
):
    target = tmp_path / "shipped"
    target.mkdir()
    (target / "stale.json").write_text("{}")
    thresholds = tmp_path / "thresholds.json"
    thresholds.write_text('{"thresholds": {"COMMA": 0.3}}')
    assert main([tiny_checkpoint, str(target), "--left-context", "7", "--thresholds", str(thresholds)]) == 0
    assert {weight.dtype for weight in load_file(target / "model.safetensors").values()} == {torch.float16}
    config = json.loads((target / "config.json").read_text())
    assert "auto_map" not in config
    assert (config["left_context"], config["thresholds"]) == (7, {"COMMA": 0.3})
    assert not [*target.glob("*.py"), *target.glob("stale.json")]
    restore = pipeline("punctuation-restoration", model=str(target), device="cpu")
    assert restore.model.dtype == torch.float32
    text = "hello how are you 我们今天在北京"
    labels = [entry["label"] for entry in restore(text, thresholds={})["words"]]
    assert labels == [entry["label"] for entry in tiny_pipeline(text)["words"]]
