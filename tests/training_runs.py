"""What the tests of whole training runs share: their command line, and how weights are compared."""

import functools
import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file

from punctuation_restoration.cli.commands import run

run_training = functools.partial(run, "train")


def arguments(data: str, out: Path, start: str, *more: str) -> list[str]:
    fixed = (
        "--device cpu --max-steps 8 --warmup-steps 2 --pieces-per-batch 256 --evaluate-every 4 --checkpoint-every 2 "
        "--log-every 2 --validation-words 200 --encoder-rate 1e-3 --head-rate 1e-3 "
        "--dtype float32"  # where the processor has bf16, a run's sums would depend on how its batches are cut
    )
    return ["--data", data, "--output", str(out), "--model", start, *fixed.split(), *more]


def first_shard(index: dict[str, Any]) -> Path:
    """The first shard to train on of prepared data."""
    return Path(index["sources"][0]["splits"]["train"]["shards"][0]["file"])


def rows_of(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]


def weights(out: Path) -> dict[str, torch.Tensor]:
    return load_file(out / "final" / "model.safetensors")


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor], tolerance: float = 0.0) -> bool:
    return all((one[name] - other[name]).abs().max() <= tolerance for name in one)
