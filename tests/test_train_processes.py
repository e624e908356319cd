"""Training in several processes: the same as one, killed and resumed; and kept from one another's folders."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil
import pytest
from accelerate.state import AcceleratorState
from filelock import FileLock
from safetensors.torch import load_file
from training_runs import arguments, rows_of, run_training, same, weights

from punctuation_restoration.training.precision import build_accelerator

ROOT = Path(__file__).parents[1]
TORCHRUN = (
    "torch.distributed.run --nnodes 2 --nproc-per-node 1 --node-rank {rank} "
    "--master-addr 127.0.0.1 --master-port {port}"
)
ACCELERATE = (
    "accelerate.commands.launch --multi_gpu --num_processes 2 --num_machines 2 --machine_rank {rank} "
    "--main_process_ip 127.0.0.1 --main_process_port {port} --mixed_precision no"
)
Runs = list[subprocess.Popen[str]]


@contextmanager
def two_machines(launcher: str, *calls: list[str]) -> Iterator[Runs]:
    """Two launchers of one process each, started as the documents say; all that they started is killed in the end."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with ExitStack() as stack:
        runs = Runs()
        for rank, call in enumerate(calls):
            command = [sys.executable, "-m", *launcher.format(rank=rank, port=port).split(), "train.py", *call]
            pipe = subprocess.PIPE
            run = subprocess.Popen(command, cwd=ROOT, text=True, stdout=pipe, stderr=subprocess.STDOUT)
            stack.enter_context(run)
            stack.callback(kill_all, run)
            runs.append(run)
        yield runs


def kill_all(run: subprocess.Popen[str]) -> None:
    """A launcher and its processes, which would live on without it."""
    started = psutil.Process(run.pid).children(recursive=True) if run.poll() is None else []
    for process in [*started, run]:
        process.kill()


@pytest.mark.slow
def test_two_machines_survive_the_loss_of_one(
    prepared: str, no_dropout: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one ends. Two that accelerate starts go on to what one process learns from the same steps."""
    more = ["--max-steps", "12", "--dropout", "0", "--log-every", "1"]
    call = arguments(prepared, tmp_path / "two", no_dropout, *more)
    with two_machines(TORCHRUN, call, call) as (first, second):
        end = time.monotonic() + 150
        while not (tmp_path / "two" / "checkpoints" / "step-000004").exists():
            assert first.poll() is None, "it ended before it could be killed"
            assert time.monotonic() < end, "it took too long"
            time.sleep(0.01)
        kill_all(second)
        said, _ = first.communicate(timeout=100)
        assert first.returncode, "it waits for nobody"
        assert "Error" in said
    with monkeypatch.context() as patch:
        patch.setenv("ACCELERATE_USE_CPU", "true")
        with two_machines(ACCELERATE, call, call) as runs:
            said, more_said = (run.communicate(timeout=200)[0] for run in runs)
    assert [run.returncode for run in runs] == [0, 0], said + more_said
    assert "Resuming from" in said
    assert "2 processes" in said
    assert run_training(arguments(prepared, tmp_path / "one", no_dropout, *more, "--accumulate", "2")) == 0
    assert same(weights(tmp_path / "two"), weights(tmp_path / "one"), 1e-5)
    losses = [[row["loss"] for row in rows_of(tmp_path / name) if "loss" in row] for name in ("two", "one")]
    assert losses[0] == pytest.approx(losses[1], abs=2e-4)
    assert not same(weights(tmp_path / "two"), load_file(Path(no_dropout) / "model.safetensors"), 1e-3)


def test_processes_that_do_not_see_one_folder_are_refused(
    prepared: str,
    tiny_checkpoint: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("punctuation_restoration.training.starting.gather_object", lambda steps: [*steps, 4])
    assert run_training(arguments(prepared, tmp_path, tiny_checkpoint, "--max-steps", "1")) == 1
    assert "Expected all processes to resume from one step, got [0, 4]" in capsys.readouterr().err


def test_the_number_format_is_accelerates_unless_one_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("punctuation_restoration.training.precision.cpu_has_bf16", lambda: True)
    for launched, asked, expected in (("no", "auto", "no"), ("bf16", "auto", "bf16"), ("bf16", "float32", "no")):
        monkeypatch.setenv("ACCELERATE_MIXED_PRECISION", launched)
        assert build_accelerator("cpu", asked).mixed_precision == expected
        AcceleratorState._reset_state(reset_partial_state=True)  # it holds on to the first format
    with monkeypatch.context() as patch:
        patch.setenv("ACCELERATE_USE_FSDP", "true")
        with pytest.raises(ValueError, match="Expected each process to hold the whole model, got accelerate's FSDP"):
            build_accelerator("cpu", "float32")
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
