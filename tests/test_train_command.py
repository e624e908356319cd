"""Whole training runs on a few sentences and a tiny model: resumed exactly, the same however they are shared out."""

import itertools
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from accelerate.state import AcceleratorState
from training_runs import arguments, same, weights

from punctuation_restoration.cli.train import main as run_training
from punctuation_restoration.training import loop
from punctuation_restoration.training.starting import is_out_of_memory
from punctuation_restoration.training.validation import Validation

ROOT = Path(__file__).parents[1]


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


def test_a_killed_run_goes_on_exactly_averages_of_weights_too(
    prepared: str, tiny_checkpoint: str, unbroken: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, broken = (
        arguments(prepared, tmp_path / name, tiny_checkpoint, "--average-decay", "0.5") for name in ("whole", "broken")
    )
    assert run_training(whole) == 0
    n_taken, total_loss = itertools.count(), loop.total_loss

    def die_at_seven(*given: Any, **named: Any) -> Any:
        if next(n_taken) == 7:
            raise KeyboardInterrupt
        return total_loss(*given, **named)

    with monkeypatch.context() as patch:
        patch.setattr(loop, "total_loss", die_at_seven)
        with pytest.raises(KeyboardInterrupt):
            run_training(broken)
    assert not (tmp_path / "broken" / "final").exists()
    assert run_training(broken) == 0
    assert same(weights(tmp_path / "broken"), weights(tmp_path / "whole"))
    assert not same(weights(tmp_path / "whole"), weights(unbroken))


def test_validation_words_are_read_once_an_evaluation_and_thresholds_are_saved_with_the_model(
    prepared: str, tiny_checkpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, seen = Validation.read, []
    monkeypatch.setattr(Validation, "read", lambda *given: seen.append(given) or read(*given))
    monkeypatch.setattr(loop, "tuned_thresholds", lambda *_: {"COMMA": 0.1 * len(seen)})
    assert run_training(arguments(prepared, tmp_path, tiny_checkpoint)) == 0
    assert len(seen) == 2
    log = [json.loads(line).get("validation") for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    means = [row["mean_f1"] for row in log if row]
    best = json.loads((tmp_path / "best" / "config.json").read_text())["thresholds"]
    assert best == {"COMMA": 0.1 * (1 + means.index(max(means)))}
    assert json.loads((tmp_path / "final" / "config.json").read_text())["thresholds"] == {"COMMA": 0.2}


def test_a_damaged_checkpoint_costs_one_interval_and_is_named(
    prepared: str, tiny_checkpoint: str, unbroken: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:

    shutil.copytree(unbroken, tmp_path / "run")
    state = tmp_path / "run" / "checkpoints" / "step-000008" / "trainer.pt"
    state.write_bytes(state.read_bytes()[:-10])
    assert run_training(arguments(prepared, tmp_path / "run", tiny_checkpoint)) == 0
    said = capsys.readouterr().out
    assert "step-000008 is damaged" in said
    assert "step-000006 (step 6)" in said
    assert same(weights(tmp_path / "run"), weights(unbroken))


def test_accumulated_batches_make_the_step_of_one_large_batch(prepared: str, no_dropout: str, tmp_path: Path) -> None:
    more = ["--dropout", "0", "--max-steps", "3"]
    large = [*arguments(prepared, tmp_path / "large", no_dropout, *more), "--pieces-per-batch", "512"]
    assert run_training(large) == 0
    assert run_training(arguments(prepared, tmp_path / "two", no_dropout, *more, "--accumulate", "2")) == 0
    assert same(weights(tmp_path / "large"), weights(tmp_path / "two"), 1e-5)


def test_a_run_in_bf16_learns_nearly_what_one_in_fp32_does(
    prepared: str, no_dropout: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("punctuation_restoration.training.precision.cpu_has_bf16", lambda: True)
    for precision in ("fp32", "bf16"):
        more = ["--dropout", "0", "--max-steps", "3", "--precision", precision]
        assert run_training(arguments(prepared, tmp_path / precision, no_dropout, *more)) == 0
        assert f"on cpu, {precision}," in capsys.readouterr().out
        AcceleratorState._reset_state(reset_partial_state=True)  # it holds on to the first format
    fp32, bf16 = weights(tmp_path / "fp32"), weights(tmp_path / "bf16")
    assert same(fp32, bf16, 1e-2)  # three steps of at most 1e-3 each, and AdamW's first ones are of that size
    assert not same(fp32, bf16)


def test_a_model_that_is_gone_on_from_is_trained_with_dropout(
    prepared: str, tiny_checkpoint: str, tmp_path: Path
) -> None:
    for dropout in ("0", "0.5"):
        call = arguments(prepared, tmp_path / dropout, tiny_checkpoint, "--dropout", dropout, "--max-steps", "1")
        assert run_training(call) == 0
    assert not same(weights(tmp_path / "0"), weights(tmp_path / "0.5"), 1e-6)


def test_no_dropout_is_none_in_the_head_either(
    prepared: str, tiny_checkpoint: str, no_dropout: str, tmp_path: Path
) -> None:
    for name, start in (
        ("with", tiny_checkpoint),
        ("without", no_dropout),
    ):  # a head that has dropout, one that has not
        assert run_training(arguments(prepared, tmp_path / name, start, "--dropout", "0", "--max-steps", "2")) == 0
    assert same(weights(tmp_path / "with"), weights(tmp_path / "without"))


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
    slow = [*more, "--encoder-rate", "3e-3", "--head-rate", "3e-3", "--average-decay", "0.9"]
    assert run_training(arguments(prepared, out, tiny_checkpoint, *slow)) == 0
    rows = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    losses = [row["loss"] for row in rows if "loss" in row]
    assert losses[-1] < 0.7 * losses[0]
    assert rows[-1]["step"] < 200


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


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--model", "nowhere"], "nowhere"),
        (["--max-steps", "0"], "max_steps of 1 or more"),
        (["--label-smoothing", "1"], "label_smoothing from 0 to below 1"),
        (["--data", "missing"], "no such file or folder"),
        (["--recipe", "missing.yaml"], "Expected a recipe file at missing.yaml"),
        (["--precision", "fp16"], "needs a GPU"),
        (["--add-pieces", "5"], "both texts (--data) and a model to extend"),
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


def test_texts_alone_are_asked_what_to_start_from(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "talk.txt").write_text("hello, you are the best. are you?")
    assert (
        run_training(["--device", "cpu", "--data", str(tmp_path / "talk.txt"), "--output", str(tmp_path / "out")]) == 1
    )
    assert "Expected a --model or an --encoder" in capsys.readouterr().err


def test_data_for_another_model_are_refused(
    prepared: str, tiny_checkpoint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:

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
    loss = loop.total_loss
    monkeypatch.setattr(loop, "total_loss", lambda *given, **named: loss(*given, **named) * float("nan"))
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
    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError(
            "[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: not enough memory: you tried to allocate"
        )

    monkeypatch.setattr(loop, "total_loss", fail)
    assert run_training(arguments(prepared, tmp_path, tiny_checkpoint)) == 1
    assert "Lower --pieces-per-batch" in capsys.readouterr().err
    assert not is_out_of_memory(RuntimeError("shapes differ"))
