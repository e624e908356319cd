"""Training in several processes: the same as one, or apart for a while; killed, and kept from one another's folders."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch
from accelerate import Accelerator
from safetensors.torch import load_file
from training_runs import arguments, same, weights

from punctuation_restoration.cli.train import main as run_training
from punctuation_restoration.training.starting import hold_folder

ROOT = Path(__file__).parents[1]


def start_two(call: list[str], port: int, **streams: Any) -> subprocess.Popen:
    """Start a run in two processes."""
    launch = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", str(port)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    return subprocess.Popen([*launch, str(ROOT / "train.py"), *call], env=environment, cwd=ROOT, text=True, **streams)


def run_two(call: list[str], port: int) -> str:
    """Run two processes to their end. Gives what they said."""
    run = start_two(call, port, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        said, errors = run.communicate(timeout=200)
    finally:
        kill(run)
    assert run.returncode == 0, errors[-2000:]
    return said


def kill(run: subprocess.Popen) -> None:
    """Kill a run. The launcher's processes live on without it, so each of them has to be killed."""
    if run.poll() is None:
        for process in [*psutil.Process(run.pid).children(recursive=True), run]:
            process.kill()
    run.wait()


@pytest.mark.slow
def test_two_processes_survive_kill_9(prepared: str, no_dropout: str, tmp_path: Path) -> None:
    """Both are killed at once, and the same command goes on to what one process learns from the same steps."""
    more = ["--max-steps", "12", "--dropout", "0"]
    call = arguments(prepared, tmp_path / "two", no_dropout, *more, "--log-every", "1")
    run = start_two(call, 29613, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + 150
    while not (tmp_path / "two" / "checkpoints" / "step-000004").exists():
        assert run.poll() is None, "it ended before it could be killed"
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.05)
    kill(run)
    said = run_two(call, 29613)
    assert "Going on from" in said
    assert "2 processes" in said
    assert run_training(arguments(prepared, tmp_path / "one", no_dropout, *more, "--accumulate", "2")) == 0
    assert same(weights(tmp_path / "two"), weights(tmp_path / "one"), 1e-5)
    assert not same(weights(tmp_path / "two"), load_file(Path(no_dropout) / "model.safetensors"), 1e-3)


class OneOfTwo(Accelerator):
    """One process of two that never hears of the other."""

    number = 0
    num_processes = 2

    @property
    def process_index(self) -> int:
        return self.number

    def reduce(self, tensor: torch.Tensor, *_: Any, **__: Any) -> torch.Tensor:
        return tensor


@pytest.mark.slow
def test_processes_apart_take_the_mean_of_what_each_learned(
    prepared: str, no_dropout: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And a run that goes on from their common checkpoint ends as the unbroken one did."""
    more = ["--dropout", "0", "--local-steps", "100", "--checkpoint-every", "3", "--keep-checkpoints", "9"]
    together = arguments(prepared, tmp_path / "together", no_dropout, *more)

    def at_step_3(name: str) -> dict[str, torch.Tensor]:
        return load_file(tmp_path / name / "checkpoints" / "step-000003" / "model.safetensors")

    assert "2 processes" in run_two(together, 29614)
    for number in range(2):
        monkeypatch.setattr(OneOfTwo, "number", number)
        monkeypatch.setattr("punctuation_restoration.training.starting.Accelerator", OneOfTwo)
        assert run_training(arguments(prepared, tmp_path / str(number), no_dropout, *more)) == 0
    one, other, mean = at_step_3("0"), at_step_3("1"), at_step_3("together")
    assert not same(one, other, 1e-4)
    assert same({name: (weight + other[name]) / 2 for name, weight in one.items()}, mean, 1e-6)

    unbroken = weights(tmp_path / "together")
    for step in ("000006", "000008"):
        shutil.rmtree(tmp_path / "together" / "checkpoints" / f"step-{step}")
    assert "(step 3)" in run_two(together, 29614)
    assert same(weights(tmp_path / "together"), unbroken)


def test_a_folder_takes_one_run_at_a_time(
    prepared: str, tiny_checkpoint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with hold_folder(tmp_path):
        assert run_training(arguments(prepared, tmp_path, tiny_checkpoint, "--max-steps", "1")) == 1
        assert "another one is writing there" in capsys.readouterr().err
    assert run_training(arguments(prepared, tmp_path, tiny_checkpoint, "--max-steps", "1")) == 0
