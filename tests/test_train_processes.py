"""Training in several processes: the same as one, killed and resumed; and kept from one another's folders."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from accelerate.state import AcceleratorState
from filelock import FileLock
from safetensors.torch import load_file
from training_runs import arguments, rows_of, same, weights

from punctuation_restoration.cli.train import main as run_training
from punctuation_restoration.training.precision import build_accelerator

ROOT = Path(__file__).parents[1]
TORCHRUN = "torch.distributed.run --standalone --nproc-per-node 2"
ACCELERATE = "accelerate.commands.launch --multi_gpu --num_processes 2 --num_machines 1 --mixed_precision no"


@contextmanager
def two_processes(launcher: str, call: list[str]) -> Iterator[subprocess.Popen[str]]:
    """A run in two processes, started as the documents say; they are killed in the end."""
    command = [sys.executable, "-m", *launcher.split(), "train.py", *call]
    with subprocess.Popen(command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        try:
            yield run
        finally:  # the launcher's processes would live on without it
            started = psutil.Process(run.pid).children(recursive=True) if run.poll() is None else []
            for process in [*started, run]:
                process.kill()


def said_in_the_end(launcher: str, call: list[str]) -> str:
    with two_processes(launcher, call) as run:
        said, errors = run.communicate(timeout=200)
    assert run.returncode == 0, errors[-2000:]
    return said


@pytest.mark.slow
def test_two_processes_survive_kill_9(
    prepared: str, no_dropout: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both are killed at once; two that accelerate starts go on to what one process learns from the same steps."""
    more = ["--max-steps", "12", "--dropout", "0", "--log-every", "1"]
    call = arguments(prepared, tmp_path / "two", no_dropout, *more)
    with two_processes(TORCHRUN, call) as run:
        end = time.monotonic() + 150
        while not (tmp_path / "two" / "checkpoints" / "step-000004").exists():
            assert run.poll() is None, "it ended before it could be killed"
            assert time.monotonic() < end, "it took too long"
            time.sleep(0.01)
    with monkeypatch.context() as patch:
        patch.setenv("ACCELERATE_USE_CPU", "true")
        said = said_in_the_end(ACCELERATE, call)
    assert "Resuming from" in said
    assert "2 processes" in said
    assert run_training(arguments(prepared, tmp_path / "one", no_dropout, *more, "--accumulate", "2")) == 0
    assert same(weights(tmp_path / "two"), weights(tmp_path / "one"), 1e-5)
    losses = [[row["loss"] for row in rows_of(tmp_path / name) if "loss" in row] for name in ("two", "one")]
    assert losses[0] == pytest.approx(losses[1], abs=2e-4)
    assert not same(weights(tmp_path / "two"), load_file(Path(no_dropout) / "model.safetensors"), 1e-3)


def test_the_number_format_is_accelerates_unless_one_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("punctuation_restoration.training.precision.cpu_has_bf16", lambda: True)
    for launched, asked, expected in (("no", "auto", "no"), ("bf16", "auto", "bf16"), ("bf16", "float32", "no")):
        monkeypatch.setenv("ACCELERATE_MIXED_PRECISION", launched)
        assert build_accelerator("cpu", asked).mixed_precision == expected
        AcceleratorState._reset_state(reset_partial_state=True)  # it holds on to the first format
    monkeypatch.setenv("ACCELERATE_USE_CPU", "true")
    with pytest.raises(ValueError, match=r"Expected (the device cuda, got cpu|a device that is here)"):
        build_accelerator("cuda", "float32")


def test_a_folder_takes_one_run_at_a_time(
    prepared: str, tiny_checkpoint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with FileLock(tmp_path / ".lock"):
        assert run_training(arguments(prepared, tmp_path, tiny_checkpoint, "--max-steps", "1")) == 1
        assert f"Expected {tmp_path} for this run alone" in capsys.readouterr().err
    assert run_training(arguments(prepared, tmp_path, tiny_checkpoint, "--max-steps", "1")) == 0
