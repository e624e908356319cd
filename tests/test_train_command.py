"""Whole training runs on a few sentences and a tiny model: resumed exactly, the same however they are shared out."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from accelerate.state import AcceleratorState
from training_runs import arguments, same, weights
from transformers import pipeline

from punctuation_restoration.cli.train import main as run_training
from punctuation_restoration.training.starting import failure_message


@pytest.fixture(scope="module")
def unbroken(prepared: str, tiny_checkpoint: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "unbroken"
    assert run_training(arguments(prepared, out, tiny_checkpoint, "--average-decay", "0.5")) == 0
    return out


def rows_of(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]


def test_a_run_writes_a_model_that_restores_and_a_log(unbroken: Path) -> None:
    restore = pipeline("punctuation-restoration", model=str(unbroken / "final"), device="cpu")
    text = restore("hello you are the best")["text"]
    assert text.replace(",", "").replace(".", "").replace("?", "") == "hello you are the best"
    assert restore.model.config.calibration_temperature != 1.0
    rows = rows_of(unbroken)
    assert [row["step"] for row in rows if "loss" in row] == [2, 4, 6, 8]
    assert [row["step"] for row in rows if "validation" in row] == [4, 8]
    assert list(rows[-1]["validation"]["languages"]) == ["en"]
    counts = [(row["words"], row["pieces"]) for row in rows if "loss" in row]
    assert counts == sorted(set(counts))
    assert [path.name for path in sorted((unbroken / "checkpoints").iterdir())] == ["step-000006", "step-000008"]


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), RuntimeError("PytorchStreamWriter failed")])
def test_a_run_that_breaks_resumes_exactly_averages_of_weights_too(
    error: Exception,
    prepared: str,
    tiny_checkpoint: str,
    unbroken: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The disk is full when it writes its third checkpoint."""
    save, call = torch.save, arguments(prepared, tmp_path, tiny_checkpoint, "--average-decay", "0.5")

    def fill_up(state: Any, place: Path) -> None:
        if state["step"] == 6:
            place.write_bytes(b"half")
            raise error
        save(state, place)

    with monkeypatch.context() as patch:
        patch.setattr(torch, "save", fill_up)
        assert run_training(call) == 1
    assert "it is full. Free some" in capsys.readouterr().err
    (tmp_path / "checkpoints" / ".step-000099.x.part" / "step-000099").mkdir(parents=True)  # left by a kill
    assert run_training(call) == 0
    assert "step-000004 (step 4)" in capsys.readouterr().out
    assert same(weights(tmp_path), weights(unbroken))
    assert len(list((tmp_path / "checkpoints").iterdir())) == 2
    resumed, whole = (
        next(row["words"] for row in rows_of(out)[::-1] if "words" in row) for out in (tmp_path, unbroken)
    )
    assert resumed == whole


def test_a_damaged_checkpoint_costs_one_interval_and_is_named(
    prepared: str, tiny_checkpoint: str, unbroken: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(unbroken, tmp_path / "run")
    state = tmp_path / "run" / "checkpoints" / "step-000008" / "trainer.pt"
    state.write_bytes(state.read_bytes()[:-10])
    assert run_training(arguments(prepared, tmp_path / "run", tiny_checkpoint, "--average-decay", "0.5")) == 0
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
    for dtype, said in (("float32", "no"), ("bfloat16", "bf16")):
        more = ["--dropout", "0", "--max-steps", "3", "--dtype", dtype]
        assert run_training(arguments(prepared, tmp_path / dtype, no_dropout, *more)) == 0
        assert f"on cpu, mixed precision: {said};" in capsys.readouterr().out
        AcceleratorState._reset_state(reset_partial_state=True)  # it holds on to the first format
    fp32, bf16 = weights(tmp_path / "float32"), weights(tmp_path / "bfloat16")
    assert same(fp32, bf16, 1e-2)  # three steps of at most 1e-3 each, and AdamW's first ones are of that size
    assert not same(fp32, bf16)


def test_a_model_that_is_trained_further_has_dropout_again_or_none_in_the_head_either(
    prepared: str, tiny_checkpoint: str, no_dropout: str, tmp_path: Path
) -> None:
    starts = {"half": tiny_checkpoint, "none": tiny_checkpoint, "had": no_dropout}
    for (name, start), share in zip(starts.items(), ("0.5", "0", "0"), strict=True):
        call = arguments(prepared, tmp_path / name, start, "--dropout", share, "--max-steps", "2")
        assert run_training(call) == 0
    assert not same(weights(tmp_path / "none"), weights(tmp_path / "half"), 1e-6)
    assert same(weights(tmp_path / "none"), weights(tmp_path / "had"))


def test_training_lowers_the_loss_and_stops_early_when_nothing_gets_better(
    prepared: str, tiny_checkpoint: str, tmp_path: Path
) -> None:
    more = "--max-steps 200 --evaluate-every 10 --patience 2 --log-every 5 --optimiser radam --average-decay 0.9"
    rates = ["--encoder-rate", "3e-3", "--head-rate", "3e-3"]
    assert run_training(arguments(prepared, tmp_path, tiny_checkpoint, *more.split(), *rates)) == 0
    rows = rows_of(tmp_path)
    losses = [row["loss"] for row in rows if "loss" in row]
    assert losses[-1] < 0.7 * losses[0]
    f1s = [row["validation"]["mean_f1"] for row in rows if "validation" in row]
    assert rows[-1]["step"] < 200
    assert f1s.index(max(f1s)) == len(f1s) - 3


def test_a_time_limit_ends_the_run(prepared: str, tiny_checkpoint: str, tmp_path: Path) -> None:
    more = ["--time-limit", "0.02", "--max-steps", "100000", "--evaluate-every", "100000"]
    assert run_training(arguments(prepared, tmp_path, tiny_checkpoint, *more)) == 0
    assert rows_of(tmp_path)[-1]["step"] < 100000


def test_tagging_goes_on_as_slot_filling_with_its_weights(prepared: str, tiny_checkpoint: str, tmp_path: Path) -> None:
    one, two = tmp_path / "tag", tmp_path / "slot"
    assert run_training(arguments(prepared, one, tiny_checkpoint, "--slot-style", "last-piece")) == 0
    rates = ["--encoder-rate", "0", "--head-rate", "0", "--max-steps", "1"]
    assert run_training(arguments(prepared, two, str(one / "final"), "--slot-style", "mask", *rates)) == 0
    assert same(weights(one), weights(two))
    styles = [json.loads((out / "final" / "config.json").read_text())["slot_style"] for out in (one, two)]
    assert styles == ["last-piece", "mask"]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--model", "nowhere"], "nowhere"),
        (["--max-steps", "0"], "max_steps of 1 or more"),
        (["--label-smoothing", "1"], "label_smoothing from 0 to 0.99999"),
        (["--data", "missing"], "no such file or folder"),
        (["--recipe", "missing.yaml"], "Expected a recipe file at missing.yaml"),
        (["--dtype", "float16"], "Choose --dtype float32"),
        (["--head", "crfs"], "'crfs'"),
        (["--add-pieces", "5"], "both texts (--data) and a model to extend"),
        (["--soft-labels", "nowhere"], "Expected a folder that the command label wrote"),
        (["--encoder-rate", "1e30"], "Expected a finite loss at step 1, got nan"),
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
    assert run_training(["--data", str(tmp_path / "talk.txt"), "--output", str(tmp_path / "out")]) == 1
    assert "Expected a --model or an --encoder" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("key", "wrong", "message"),
    [
        ("n_vocabulary", 10**6, "Expected piece ids below"),
        ("lowercase", False, "Expected data with lowercase=True"),
        ("labels", [{"name": "X", "before": "", "after": "", "fill": "x"}], "Expected data with the labels"),
    ],
)
def test_data_for_another_model_are_refused(
    key: str, wrong: Any, message: str, prepared: str, tiny_checkpoint: str, tmp_path: Path, capsys: Any
) -> None:
    folder = shutil.copytree(prepared, tmp_path / "data")
    index = json.loads((folder / "index.json").read_text())
    (folder / "index.json").write_text(json.dumps({**index, key: wrong}))
    assert run_training(arguments(str(folder), tmp_path / "out", tiny_checkpoint)) == 1
    assert message in capsys.readouterr().err


def test_running_out_of_memory_says_what_to_do_and_what_nobody_expects_is_raised() -> None:
    with pytest.raises(RuntimeError) as caught:
        torch.empty(2**50)
    assert "Lower --pieces-per-batch" in failure_message(caught.value)
    with pytest.raises(RuntimeError, match="shapes differ"):
        failure_message(RuntimeError("shapes differ"))
