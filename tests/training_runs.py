"""What the tests of whole training runs share: their command line, their processes, how weights are compared."""

import contextlib
import os
from pathlib import Path

import torch
from safetensors.torch import load_file

from punctuation_restoration.cli.train import main as run_training


def arguments(data: str, out: Path, start: str, *more: str) -> list[str]:
    fixed = (
        "--device cpu --max-steps 8 --warmup-steps 2 --pieces-per-batch 256 --evaluate-every 4 --checkpoint-every 2 "
        "--log-every 2 --validation-words 200 --encoder-rate 1e-3 --head-rate 1e-3 "
        "--dtype float32"  # where the processor has bf16, a run's sums would depend on how its batches are cut
    )
    return ["--data", data, "--output", str(out), "--model", start, *fixed.split(), *more]


def weights(out: Path) -> dict[str, torch.Tensor]:
    return load_file(out / "final" / "model.safetensors")


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor], tolerance: float = 0.0) -> bool:
    return all((one[name] - other[name]).abs().max() <= tolerance for name in one)


def run_one_of_two(rank: int, port: int, call: list[str], said: Path) -> None:
    """One process of a run in two, with the environment that torch.distributed.run gives it; its words go to a file."""
    address = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    os.environ.update(address, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2", LOCAL_WORLD_SIZE="2")
    with said.open("w") as file, contextlib.redirect_stdout(file), contextlib.redirect_stderr(file):
        raise SystemExit(run_training(call))
