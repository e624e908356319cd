"""Whole training runs on a few sentences and a tiny model: resumed exactly, the same however they are shared out."""

import json
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

from punctuation_restoration.training import command as command_module
from punctuation_restoration.training import self_training
from punctuation_restoration.training.command import is_out_of_memory, run_training
from punctuation_restoration.training.loop import TrainingRun

ROOT = Path(__file__).parents[1]
TEXT = "Hello, you are the best. Is the day you say? Saya awak, hello the is. We say: the best you. "


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("texts")
    paragraphs = [f"{TEXT * 4}You are {'abcdefghij'[n % 10] * (n // 10 + 1)}." for n in range(40)]
    (folder / "talks.txt").write_text("\n\n".join(paragraphs), encoding="utf-8")
    return str(folder)


@pytest.fixture(scope="module")
def prepared(texts: str, tiny_checkpoint: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    from punctuation_restoration.data.prepare import prepare, recipe_for_texts

    folder = tmp_path_factory.mktemp("prepared")
    prepare(recipe_for_texts([texts], "en", validation=0.15), folder, tiny_checkpoint, n_processes=1)
    return str(folder)


def arguments(data: str, out: Path, start: str, *more: str) -> list[str]:
    fixed = (
        "--cpu --max-steps 8 --warmup-steps 2 --pieces-per-batch 256 --evaluate-every 4 --checkpoint-every 2 "
        "--log-every 2 --validation-words 200 --encoder-rate 1e-3 --head-rate 1e-3"
    )
    return ["--data", data, "--out", str(out), "--from", start, *fixed.split(), *more]


def weights(out: Path) -> dict[str, torch.Tensor]:
    return load_file(out / "final" / "model.safetensors")


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor], tolerance: float = 0.0) -> bool:
    return all((one[name] - other[name]).abs().max() <= tolerance for name in one)


@pytest.fixture(scope="module")
def unbroken(prepared: str, tiny_checkpoint: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "unbroken"
    assert run_training(arguments(prepared, out, tiny_checkpoint)) == 0
    return out


def test_a_run_writes_a_model_that_restores_and_a_log(unbroken: Path) -> None:
    from transformers import pipeline

    restore = pipeline("punctuation-restoration", model=str(unbroken / "final"), device="cpu")
    text = restore("hello you are the best")["text"]
    assert text.replace(",", "").replace(".", "").replace("?", "") == "hello you are the best"
    rows = [json.loads(line) for line in (unbroken / "log.jsonl").read_text().splitlines()]
    assert [row["step"] for row in rows if "loss" in row] == [2, 4, 6, 8]
    assert [row["step"] for row in rows if "validation" in row] == [4, 8]
    assert set(rows[-1]["validation"]["languages"]) == {"xx"} or set(rows[-1]["validation"]["languages"]) == {"en"}
    assert rows[0]["padding"] < 0.1
    assert [path.name for path in sorted((unbroken / "checkpoints").iterdir())] == ["step-000006", "step-000008"]


def test_a_killed_run_goes_on_exactly(
    prepared: str, tiny_checkpoint: str, unbroken: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    take_step = TrainingRun._take_step

    def die_at_seven(run: TrainingRun, batches: Any, factor: float) -> Any:
        if run.step == 7:
            raise KeyboardInterrupt
        return take_step(run, batches, factor)

    with monkeypatch.context() as patch:
        patch.setattr(TrainingRun, "_take_step", die_at_seven)
        with pytest.raises(KeyboardInterrupt):
            run_training(arguments(prepared, tmp_path, tiny_checkpoint))
    assert not (tmp_path / "final").exists()
    assert run_training(arguments(prepared, tmp_path, tiny_checkpoint)) == 0
    assert same(weights(tmp_path), weights(unbroken))


def test_a_damaged_checkpoint_costs_one_interval_and_is_named(
    prepared: str, tiny_checkpoint: str, unbroken: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import shutil

    shutil.copytree(unbroken, tmp_path / "run")
    state = tmp_path / "run" / "checkpoints" / "step-000008" / "trainer.pt"
    state.write_bytes(state.read_bytes()[:-10])
    assert run_training(arguments(prepared, tmp_path / "run", tiny_checkpoint)) == 0
    said = capsys.readouterr().out
    assert "step-000008 is damaged" in said
    assert "step-000006 (step 6)" in said
    assert same(weights(tmp_path / "run"), weights(unbroken))


@pytest.fixture(scope="module")
def no_dropout(tiny_checkpoint: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The tiny model without dropout in its classifier: dropout is drawn by batch, so it hides what is to be equal."""
    from transformers import AutoTokenizer

    from punctuation_restoration.modeling.modeling_punctuation import PunctuationRestorationModel

    folder = tmp_path_factory.mktemp("no-dropout")
    PunctuationRestorationModel.from_pretrained(tiny_checkpoint, head_dropout=0.0).save_pretrained(folder)
    AutoTokenizer.from_pretrained(tiny_checkpoint).save_pretrained(folder)
    return str(folder)


def test_accumulated_batches_make_the_step_of_one_large_batch(prepared: str, no_dropout: str, tmp_path: Path) -> None:
    more = ["--dropout", "0", "--max-steps", "3"]
    large = [*arguments(prepared, tmp_path / "large", no_dropout, *more), "--pieces-per-batch", "512"]
    assert run_training(large) == 0
    assert run_training(arguments(prepared, tmp_path / "two", no_dropout, *more, "--accumulate", "2")) == 0
    assert same(weights(tmp_path / "large"), weights(tmp_path / "two"), 1e-5)


def test_a_model_that_is_gone_on_from_is_trained_with_dropout(
    prepared: str, tiny_checkpoint: str, tmp_path: Path
) -> None:
    for dropout in ("0", "0.5"):
        call = arguments(prepared, tmp_path / dropout, tiny_checkpoint, "--dropout", dropout, "--max-steps", "1")
        assert run_training(call) == 0
    assert not same(weights(tmp_path / "0"), weights(tmp_path / "0.5"), 1e-6)


def test_computing_the_last_layer_at_slots_alone_learns_the_same(
    prepared: str, no_dropout: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from punctuation_restoration.training import building

    called: list[str] = []
    for name, where in (("slots", "read_slots"), ("all", "read_all")):
        read = getattr(building, where)
        monkeypatch.setattr(building, where, lambda *given, name=name, read=read: called.append(name) or read(*given))
        more = ["--dropout", "0", "--max-steps", "3"]
        assert run_training(arguments(prepared, tmp_path / name, no_dropout, *more)) == 0
        monkeypatch.setattr(building, "reads_short", lambda *_: False)
    assert called == ["slots"] * 3 + ["all"] * 3
    assert same(weights(tmp_path / "slots"), weights(tmp_path / "all"), 1e-5)


def test_training_lowers_the_loss_and_stops_early_when_nothing_gets_better(
    prepared: str, tiny_checkpoint: str, tmp_path: Path
) -> None:
    out = tmp_path / "long"
    more = [
        "--max-steps",
        "200",
        "--evaluate-every",
        "10",
        "--patience",
        "2",
        "--log-every",
        "5",
        "--optimiser",
        "radam",
    ]
    slow = [*more, "--encoder-rate", "3e-3", "--head-rate", "3e-3", "--average-decay", "0.9", "--tensorboard"]
    assert run_training(arguments(prepared, out, tiny_checkpoint, *slow)) == 0
    rows = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    losses = [row["loss"] for row in rows if "loss" in row]
    assert losses[-1] < 0.7 * losses[0]
    assert rows[-1]["step"] < 200
    assert list((out / "tensorboard").iterdir())


def test_a_time_limit_ends_the_run(prepared: str, tiny_checkpoint: str, tmp_path: Path) -> None:
    more = ["--time-limit", "0.02", "--max-steps", "100000", "--evaluate-every", "100000"]
    assert run_training(arguments(prepared, tmp_path, tiny_checkpoint, *more)) == 0
    assert json.loads((tmp_path / "log.jsonl").read_text().splitlines()[-1])["step"] < 100000


def test_tagging_goes_on_as_slot_filling_with_its_weights(prepared: str, tiny_checkpoint: str, tmp_path: Path) -> None:
    one, two = tmp_path / "tag", tmp_path / "slot"
    assert run_training(arguments(prepared, one, tiny_checkpoint, "--slot-style", "last-piece")) == 0
    last = arguments(
        prepared, two, str(one / "final"), "--slot-style", "mask", "--encoder-rate", "0", "--head-rate", "0"
    )
    assert run_training(last) == 0
    assert same(weights(one), weights(two))
    styles = [json.loads((out / "final" / "config.json").read_text())["slot_style"] for out in (one, two)]
    assert styles == ["last-piece", "mask"]


def test_teachers_and_new_pieces_from_plain_text(texts: str, tiny_checkpoint: str, tmp_path: Path) -> None:
    start = arguments(
        texts, tmp_path / "a", tiny_checkpoint, "--add-pieces", "3", "--language", "ms", "--max-steps", "2"
    )
    assert run_training(start) == 0
    extended = str(tmp_path / "a" / "final")
    pieces = json.loads((tmp_path / "a" / "extended" / "new_pieces.json").read_text())
    before = load_file(tmp_path / "a" / "extended" / "model.safetensors")["encoder.embeddings.word_embeddings.weight"]
    after = weights(tmp_path / "a")["encoder.embeddings.word_embeddings.weight"]
    changed = set((before != after).any(1).nonzero().flatten().tolist())
    assert set(pieces) <= changed
    assert len(changed) <= len(pieces) + 5  # the mask and four fills besides
    again = arguments(str(tmp_path / "a" / "prepared"), tmp_path / "b", extended, "--teacher", extended)
    assert run_training([*again, "--max-steps", "2"]) == 0


def test_self_training_labels_and_trains_round_after_round(
    prepared: str, texts: str, tiny_checkpoint: str, tmp_path: Path
) -> None:
    fixed = "--cpu --max-steps 2 --pieces-per-batch 128 --validation-words 50 --pseudo-weight 0.5".split()
    (tmp_path / "bare.txt").write_text("hello you are the best\n\nis the day you say saya")
    call = [
        "--teacher",
        tiny_checkpoint,
        "--data",
        prepared,
        "--unlabelled",
        str(tmp_path / "bare.txt"),
        "--language",
        "en",
    ]
    out = tmp_path / "out"
    assert self_training.main([*call, "--rounds", "2", "--out", str(out), *fixed]) == 0
    assert (out / "round-2" / "student" / "final" / "model.safetensors").is_file()
    index = json.loads((out / "round-1" / "pseudo" / "index.json").read_text())
    row = index["sources"][0]
    assert (row["is_pseudo"], row["splits"]["train"]["n_words"]) == (True, 11)


def test_pseudo_labels_are_what_the_model_says(prepared: str, tiny_checkpoint: str, tmp_path: Path) -> None:
    import numpy as np
    from transformers import pipeline

    from punctuation_restoration.data.prepare import prepare, recipe_for_texts
    from punctuation_restoration.data.shards import open_shard
    from punctuation_restoration.training.labelling import label_folder

    text = "hello you are the best is the day you say saya awak " * 8
    (tmp_path / "x.txt").write_text(text + ".")
    prepare(recipe_for_texts([str(tmp_path / "x.txt")], "en", 0.0), tmp_path / "p", tiny_checkpoint, n_processes=1)
    index = label_folder(tiny_checkpoint, tmp_path / "p", tmp_path / "q")
    labels = open_shard(index["sources"][0]["splits"]["train"]["shards"][0]["file"])["labels"]
    restore = pipeline("punctuation-restoration", model=tiny_checkpoint, device="cpu")
    names = ["O", "COMMA", "PERIOD", "QUESTION"]
    served = [names.index(word["label"]) for word in restore(text)["words"]]
    assert np.mean(labels[:-1] == served[:-1]) > 0.97


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--from", "nowhere"], "nowhere"),
        (["--max-steps", "0"], "max_steps of 1 or more"),
        (["--label-smoothing", "1"], "label_smoothing from 0 to below 1"),
        (["--data", "missing"], "no such file or folder"),
        (["--recipe", "missing.yaml"], "Expected a recipe file at missing.yaml"),
        (["--precision", "fp16"], "needs a GPU"),
        (["--add-pieces", "5"], "texts under --data and a model under --from"),
    ],
)
def test_wrong_calls_end_in_one_line(
    more: list[str],
    message: str,
    prepared: str,
    tiny_checkpoint: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run_training([*arguments(prepared, tmp_path / "out", tiny_checkpoint), *more]) == 1
    said = capsys.readouterr().err
    assert message in said
    assert said.startswith("train: ")


def test_data_for_another_model_are_refused(
    prepared: str, tiny_checkpoint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import shutil

    for key, wrong, message in (
        ("n_vocabulary", 10**6, "Expected piece ids below"),
        ("lowercase", False, "Expected data with lowercase=True"),
        ("labels", [{"name": "X", "before": "", "after": "", "fill": "x"}], "Expected data with the labels"),
    ):
        folder = tmp_path / key
        shutil.copytree(prepared, folder)
        index = json.loads((folder / "index.json").read_text())
        (folder / "index.json").write_text(json.dumps({**index, key: wrong}))
        assert run_training(arguments(str(folder), tmp_path / "out", tiny_checkpoint)) == 1
        assert message in capsys.readouterr().err


def test_a_loss_that_is_no_number_stops_the_run(
    prepared: str,
    tiny_checkpoint: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    loss = TrainingRun._loss
    monkeypatch.setattr(TrainingRun, "_loss", lambda run, batch: loss(run, batch) * float("nan"))
    assert run_training(arguments(prepared, tmp_path, tiny_checkpoint)) == 1
    assert "Expected a finite loss at step 0, got nan" in capsys.readouterr().err
    assert not (tmp_path / "checkpoints").exists()


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), RuntimeError("PytorchStreamWriter failed")])
def test_a_full_disk_stops_the_run_and_the_same_command_goes_on(
    error: Exception,
    prepared: str,
    tiny_checkpoint: str,
    unbroken: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    save = torch.save

    def fill_up(state: Any, place: Path) -> None:
        if state["step"] == 6:
            place.write_bytes(b"half")
            raise error
        save(state, place)

    with monkeypatch.context() as patch:
        patch.setattr(torch, "save", fill_up)
        assert run_training(arguments(prepared, tmp_path, tiny_checkpoint)) == 1
    assert "it is full. Free some" in capsys.readouterr().err
    assert run_training(arguments(prepared, tmp_path, tiny_checkpoint)) == 0
    assert "step-000004 (step 4)" in capsys.readouterr().out
    assert same(weights(tmp_path), weights(unbroken))


def test_running_out_of_memory_says_what_to_do(
    prepared: str,
    tiny_checkpoint: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError(
            "[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: not enough memory: you tried to allocate"
        )

    monkeypatch.setattr(TrainingRun, "_take_step", fail)
    assert run_training(arguments(prepared, tmp_path, tiny_checkpoint)) == 1
    assert "Lower --pieces-per-batch" in capsys.readouterr().err
    assert not is_out_of_memory(RuntimeError("shapes differ"))


@pytest.mark.slow
def test_two_processes_survive_kill_9(prepared: str, no_dropout: str, tmp_path: Path) -> None:
    """Both are killed at once, and the same command goes on to what one process learns from the same steps."""
    more = ["--max-steps", "12", "--dropout", "0"]
    call = arguments(prepared, tmp_path / "two", no_dropout, *more, "--log-every", "1")
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", "29613"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    run = subprocess.Popen(
        [*command, str(ROOT / "train.py"), *call], env=environment, cwd=ROOT,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    end = time.monotonic() + 150
    while not (tmp_path / "two" / "checkpoints" / "step-000004").exists():
        assert run.poll() is None, "it ended before it could be killed"
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.05)
    # The launcher's processes live on without it, so each of them has to be killed.
    for process in [*psutil.Process(run.pid).children(recursive=True), run]:
        process.kill()
    run.wait()
    ended = subprocess.run(
        [*command, str(ROOT / "train.py"), *call],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert "Going on from" in ended.stdout
    assert "2 processes" in ended.stdout
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

    def run_two() -> str:
        command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", "29614"]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
        call = [*command, str(ROOT / "train.py"), *together]
        ended = subprocess.run(call, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=200)
        assert ended.returncode == 0, ended.stderr[-2000:]
        return ended.stdout

    def at_step_3(name: str) -> dict[str, torch.Tensor]:
        return load_file(tmp_path / name / "checkpoints" / "step-000003" / "model.safetensors")

    assert "2 processes" in run_two()
    for number in range(2):
        monkeypatch.setattr(OneOfTwo, "number", number)
        monkeypatch.setattr(command_module, "Accelerator", OneOfTwo)
        assert run_training(arguments(prepared, tmp_path / str(number), no_dropout, *more)) == 0
    one, other, mean = at_step_3("0"), at_step_3("1"), at_step_3("together")
    assert not same(one, other, 1e-4)
    assert same({name: (weight + other[name]) / 2 for name, weight in one.items()}, mean, 1e-6)

    unbroken = weights(tmp_path / "together")
    for step in ("000006", "000008"):
        shutil.rmtree(tmp_path / "together" / "checkpoints" / f"step-{step}")
    assert "(step 3)" in run_two()
    assert same(weights(tmp_path / "together"), unbroken)


def test_a_folder_takes_one_run_at_a_time(
    prepared: str, tiny_checkpoint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from punctuation_restoration.training.command import hold_folder

    with hold_folder(tmp_path):
        assert run_training(arguments(prepared, tmp_path, tiny_checkpoint, "--max-steps", "1")) == 1
        assert f"process {os.getpid()} is writing there" in capsys.readouterr().err
    assert run_training(arguments(prepared, tmp_path, tiny_checkpoint, "--max-steps", "1")) == 0
