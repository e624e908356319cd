"""Whole training runs on a few sentences and a tiny model: resumed exactly, the same however they are shared out."""

import errno
import json
import shutil
from collections.abc import Callable
from concurrent.futures.process import BrokenProcessPool
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from accelerate.state import AcceleratorState
from accelerate.tracking import GeneralTracker
from safetensors import SafetensorError
from safetensors.numpy import save_file
from safetensors.torch import load_file
from training_runs import arguments, rows_of, run_training, same, weights
from transformers import AutoTokenizer, pipeline

from punctuation_restoration.cli.commands import run
from punctuation_restoration.cli.train import parse_args
from punctuation_restoration.data.preparation import prepare
from punctuation_restoration.data.recipe import Recipe, recipe_for_texts
from punctuation_restoration.data.shards import open_shard, read_index
from punctuation_restoration.pipeline.slots import SlotEncoder
from punctuation_restoration.training import train as call_training
from punctuation_restoration.training.batches import batch_source
from punctuation_restoration.training.building import build_model
from punctuation_restoration.training.checkpoints import newest_checkpoint
from punctuation_restoration.training.optimisation import build_optimiser, rate_factor
from punctuation_restoration.training.settings import TrainingSettings, completed, settings_of
from punctuation_restoration.training.starting import freeze_layers

Train = Callable[..., tuple[Path, str]]


@pytest.fixture
def train(prepared: str, tiny_checkpoint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Train:
    """A run in a folder of this name with more options. Gives the folder, and what was said; it may have to fail."""

    def run(name: str, *more: str, start: str = tiny_checkpoint, data: str = prepared, code: int = 0) -> Any:
        AcceleratorState._reset_state(reset_partial_state=True)  # it holds on to the first format
        assert run_training(arguments(data, tmp_path / name, start, *more)) == code
        said = capsys.readouterr()
        return tmp_path / name, said.err if code else said.out

    return run


@pytest.fixture(scope="module")
def unbroken(prepared: str, tiny_checkpoint: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "unbroken"
    assert run_training(arguments(prepared, out, tiny_checkpoint, "--average-decay", "0.5")) == 0
    return out


def test_a_run_writes_a_model_that_restores_and_a_log(unbroken: Path, tiny_checkpoint: str) -> None:
    embeddings = "encoder.embeddings.word_embeddings.weight"
    before = load_file(Path(tiny_checkpoint) / "model.safetensors")[embeddings]
    assert torch.equal(weights(unbroken)[embeddings], before)  # they are frozen
    restore = pipeline("punctuation-restoration", model=str(unbroken / "final"), device="cpu")
    text = restore("hello you are the best")["text"]
    assert text.replace(",", "").replace(".", "").replace("?", "") == "hello you are the best"
    assert restore.model.config.calibration_temperature != 1.0
    rows = rows_of(unbroken)
    assert [row["step"] for row in rows if "loss" in row] == [2, 4, 6, 8]
    assert [row["step"] for row in rows if "validation" in row] == [0, 4, 8]
    assert list(rows[-1]["validation"]["languages"]) == ["en"]
    counts = [(row["words"], row["pieces"]) for row in rows if "loss" in row]
    assert counts == sorted(set(counts))
    assert [path.name for path in sorted((unbroken / "checkpoints").iterdir())] == ["step-000006", "step-000008"]


def test_a_run_takes_the_steps_of_a_plain_loop(train: Train, prepared: str, no_dropout: str, tmp_path: Path) -> None:
    """One that reads each loss at once, for a batch of which the model itself computes it."""
    more = ("--dropout", "0", "--log-every", "1", "--max-steps", "3")
    out, _ = train("out", *more, start=no_dropout)
    given = vars(parse_args(arguments(prepared, tmp_path, no_dropout, *more)))
    given = {name: given[name] for name in given.keys() - {"data", "output", "model", "device", "trust_remote_code"}}
    recipe, index = Recipe(name="none", sources=()), read_index(prepared)
    settings = settings_of(given, recipe)
    model = build_model(settings, recipe, index, no_dropout).train()
    slots = SlotEncoder(AutoTokenizer.from_pretrained(no_dropout), model.config)
    freeze_layers(model, settings.frozen_layers)
    source, optimiser = batch_source(settings, recipe, index, slots), build_optimiser(model, settings)
    losses = []
    for step in range(3):
        for group in optimiser.param_groups:
            group["lr"] = 1e-3 * rate_factor(step, settings.warmup_steps, settings.max_steps)
        (batch,) = source[step]
        loss = model(**batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad()
        losses.append(loss.item())
    assert [row["loss"] for row in rows_of(out) if "loss" in row] == pytest.approx(losses, abs=1e-4)
    assert same(weights(out), model.state_dict(), 1e-5)


def test_a_run_that_breaks_resumes_exactly_averages_of_weights_too(
    train: Train, unbroken: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full when it writes its third checkpoint."""
    save, averaged = torch.save, ("--average-decay", "0.5")

    def fill_up(state: Any, place: Path) -> None:
        if state["step"] == 6:
            place.write_bytes(b"half")
            raise OSError(errno.ENOSPC, "No space left on device")
        save(state, place)

    def stop(state: Any, place: Path) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(torch, "save", fill_up)
        out, said = train("out", *averaged, code=1)
    assert "it is full, or a limit" in said
    with monkeypatch.context() as patch:
        patch.setattr(torch, "save", stop)
        said = train("out", *averaged, code=130)[1]
    assert said.splitlines()[-1] == f"train: Stopped. The same command resumes from the newest checkpoint in {out}."
    (out / "checkpoints" / ".step-000099.x.part" / "step-000099").mkdir(parents=True)  # left by a kill
    with open(out / "log.jsonl", "a") as log:
        log.write('{"step": 7, "los')
    said = train("out", *averaged)[1]
    assert "step-000004 (step 4)" in said
    assert "words only: F1 and thresholds are rough" in said
    assert same(weights(out), weights(unbroken))
    assert len(list((out / "checkpoints").iterdir())) == 2
    steps, wanted = ([(row["step"], row["words"]) for row in rows_of(run)] for run in (out, unbroken))
    assert steps == wanted  # no step twice
    assert (out / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_a_run_resumes_only_with_what_it_began_with(
    train: Train, unbroken: Path, no_dropout: str, prepared: str, tmp_path: Path
) -> None:
    shutil.copytree(unbroken, tmp_path / "run")
    other = str(shutil.copytree(prepared, tmp_path / "other"))
    assert "Expected weight_decay 0.01, with which" in train("run", "--weight-decay", "0.1", code=1)[1]
    assert "Expected average_decay 0.5, with which" in train("run", code=1)[1]
    (tmp_path / "other.yaml").write_text("name: other\nsampling: {sentence_ends: 0.4}\n")
    (tmp_path / "windows.yaml").write_text("name: windows\nmodel: {window: 50}\n")
    changed = (
        "--casings", "--seed 2", "--encoder-rate 1e-4", "--pieces-per-batch 300", "--label-smoothing 0.1",
        "--language fr", "--validation-words 100", f"--teacher-labels {tmp_path}",
        *(f"--recipe {tmp_path / name}" for name in ("other.yaml", "windows.yaml")),
    )  # fmt: skip
    for more in changed:
        said = train("run", "--average-decay", "0.5", *more.split(), code=1)[1]
        assert f"with which the run in {tmp_path / 'run'} began" in said
    for more in ({"start": no_dropout}, {"data": other}):
        assert "Give that, or another --output" in train("run", "--average-decay", "0.5", **more, code=1)[1]
    train("short", "--max-steps", "1", data=other)
    index = Path(other, "index.json")
    index.write_text(index.read_text().replace('"made_from": "', '"made_from": "0'))
    assert "Expected made_from" in train("short", "--max-steps", "2", data=other, code=1)[1]
    same_batch = "--average-decay 0.5 --max-steps 9 --pieces-per-batch 128 --accumulate 2".split()
    assert "Resuming from" in train("run", *same_batch)[1]
    (tmp_path / "run" / "settings.json").write_text("{")
    assert "settings.json, could not read them" in train("run", *same_batch, code=1)[1]


def test_a_damaged_checkpoint_costs_one_interval_and_is_named(train: Train, unbroken: Path, tmp_path: Path) -> None:
    shutil.copytree(unbroken, tmp_path / "run")
    newest = tmp_path / "run" / "checkpoints" / "step-000008"
    for name in ("trainer.pt", "config.json", "tokenizer.json", "model.safetensors"):
        told, content = [], (newest / name).read_bytes()
        (newest / name).write_bytes(content.replace(content[-9:], b"", 1))
        folder, state = newest_checkpoint(tmp_path / "run", told.append)
        assert (folder.name, state["step"], name in told[0]) == ("step-000006", 6, True)
        if name != "model.safetensors":
            (newest / name).write_bytes(content)
    out, said = train("run", "--average-decay", "0.5")
    assert "step-000008 is damaged (model.safetensors has changed" in said
    assert "step-000006 (step 6)" in said
    assert same(weights(out), weights(unbroken))
    for folder in (out / "checkpoints").iterdir():
        (folder / "config.json").unlink()
    assert f"Expected a whole checkpoint in {out / 'checkpoints'}" in train("run", "--average-decay", "0.5", code=1)[1]


def test_a_run_from_python_gives_what_came_of_it_and_tells_trackers(
    prepared: str, tiny_checkpoint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told: list[tuple[int, dict[str, float]]] = []

    class Tracker(GeneralTracker):
        name, requires_logging_directory, tracker = "ours", False, None

        def store_init_configuration(self, values: dict[str, Any]) -> None:
            assert values["seed"] == "3"

        def log(self, values: dict[str, float], step: int, **more: Any) -> None:
            told.append((step, values))

    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "log.jsonl").write_text('{"step": 2, "loss": 1.0}\n')  # killed before its first checkpoint
    fields = {
        "max_steps": 12,
        "evaluate_every": 6,
        "pieces_per_batch": 256,
        "encoder_rate": 3e-3,
        "head_rate": 3e-3,
        "dtype": "float32",
    }
    result = call_training(
        prepared, tmp_path / "run", model=tiny_checkpoint, device="cpu", seed=3, log_with=[Tracker()], **fields
    )
    rows = rows_of(tmp_path / "run")
    f1s = [row["validation"]["mean_f1"] for row in rows if "validation" in row]
    assert (result.f1_before, result.f1, result.steps) == (f1s[0], max(f1s[1:]), 12)
    assert pipeline("punctuation-restoration", model=str(result.best), device="cpu")("hello")["text"]
    assert [row["step"] for row in rows if "loss" in row] == list(range(1, 13))
    assert [step for step, values in told if "loss" in values] == list(range(1, 13))
    assert told[0][1]["validation/languages/en/f1"] == f1s[0]
    said = capsys.readouterr().out
    assert f"F1 {f1s[0]:.1f} → {max(f1s[1:]):.1f}, saved in {result.best}" in said
    assert "read the 2,822 words 0.7 times." in said
    with pytest.raises(ValueError, match='can not match "max_step"'):
        call_training(prepared, tmp_path / "run", model=tiny_checkpoint, max_step=3)
    with pytest.raises(ImportError, match="pip install wandb"):
        call_training(prepared, tmp_path / "run", model=tiny_checkpoint, log_with="wandb")


@pytest.mark.parametrize(
    ("given", "n_words", "pass_steps", "expected"),
    [
        ({}, 20_000, 15.5, (124, 5, 12, 12, 12, 4)),  # eight times
        ({}, 500_000, 400, (1604, 5, 160, 160, 160, 20)),  # four times
        ({}, 10**9, 10**6, (10**6, 5, 200, 500, 500, 20)),  # once
        ({"max_steps": 6000}, 20_000, 15.5, (6000, None, 200, 500, 500, 20)),
        ({"max_steps": 5, "log_every": 2, "patience": 3}, 20_000, 15.5, (5, 3, 1, 1, 1, 2)),
    ],
)
def test_steps_follow_from_the_words(given: Any, n_words: int, pass_steps: float, expected: tuple[Any, ...]) -> None:
    chosen = completed(TrainingSettings(**given), 384, n_words, pass_steps, can_stop=True)
    names = ("max_steps", "patience", "warmup_steps", "evaluate_every", "checkpoint_every", "log_every")
    assert tuple(getattr(chosen, name) for name in names) == expected
    assert completed(TrainingSettings(), 384, n_words, pass_steps, can_stop=False).patience is None


def test_a_limit_on_the_size_of_files_and_a_damaged_shard_are_named(
    train: Train, prepared: str, tmp_path: Path
) -> None:
    resource = pytest.importorskip("resource", reason="not on Windows")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, limits[1]))
    try:
        said = train("out", code=1)[1]
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert "ulimit -f" in said
    assert "step-000002" in said
    data = shutil.copytree(prepared, tmp_path / "data")
    shard = next(data.glob("*train*.safetensors"))
    arrays = {name: array.copy() for name, array in open_shard(shard).items()}
    save_file({**arrays, "labels": np.full_like(arrays["labels"], 200)}, shard)
    assert f"Expected labels below 4 in {shard}" in train("out", data=str(data), code=1)[1]


def test_a_run_in_bf16_learns_nearly_what_one_in_fp32_does(
    train: Train, no_dropout: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("punctuation_restoration.training.precision.cpu_has_bf16", lambda: True)
    learned = []
    for dtype, format_name in (("float32", "no"), ("bfloat16", "bf16")):
        out, said = train(dtype, "--dropout", "0", "--max-steps", "3", "--dtype", dtype, start=no_dropout)
        assert f"on cpu, mixed precision: {format_name};" in said
        assert "; a guess of '" in said
        learned.append(weights(out))
    assert same(*learned, 1e-2)  # three steps of at most 1e-3 each, and AdamW's first ones are of that size
    assert not same(*learned)


def test_a_model_trained_further_has_dropout_again_or_none_in_the_head_either(train: Train, no_dropout: str) -> None:
    half, none = (weights(train(share, "--dropout", share, "--max-steps", "2")[0]) for share in ("0.5", "0"))
    had = weights(train("had", "--dropout", "0", "--max-steps", "2", start=no_dropout)[0])
    assert not same(none, half, 1e-6)
    assert same(none, had)


def test_training_lowers_the_loss_and_stops_early_when_nothing_gets_better(train: Train) -> None:
    steps = "--max-steps 200 --evaluate-every 10 --checkpoint-every 50 --patience 2 --log-every 5".split()
    more = "--average-decay 0.9 --encoder-rate 3e-3 --head-rate 3e-3".split()
    rows = rows_of(train("out", *steps, *more)[0])
    losses = [row["loss"] for row in rows if "loss" in row]
    assert losses[-1] < 0.7 * losses[0]
    f1s = [row["validation"]["mean_f1"] for row in rows if "validation" in row and row["step"]]
    assert rows[-1]["step"] < 200
    assert f1s.index(max(f1s)) == len(f1s) - 3


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("--model nowhere", "nowhere"), ("--model no/where/best", "Expected a model's folder or Hub id"),
        ("--frozen-layers 99", "Expected --frozen-layers of at most 2"), ("--max-steps 0", "max_steps of 1 or more"),
        ("--label-smoothing 1", "label_smoothing from 0 to 0.99999"), ("--data missing", "no such file or folder"),
        ("--recipe missing.yaml", "Expected a recipe file at missing.yaml"),
        ("--dtype float16", "Choose --dtype float32"), ("--layers 1", "Expected --layers without --model"),
        ("--teacher-labels nowhere", "Expected a folder that the command label wrote"),
        ("--encoder-rate 1e30", "Expected a finite loss up to step 2, got nan"),
        ("--device nothing", "Expected a device that is here"),
    ],
)  # fmt: skip
def test_wrong_calls_end_in_one_line(train: Train, more: str, message: str) -> None:
    said = train("out", *more.split(), code=1)[1]
    assert message in said
    assert said.startswith("train: ")


def test_an_encoder_given_as_a_model_is_told_from_one(train: Train, tiny_encoder: Path) -> None:
    assert "Give an encoder to start from as --encoder" in train("out", "--model", str(tiny_encoder), code=1)[1]


def test_a_misspelt_field_of_the_model_in_a_recipe_is_named(train: Train, tmp_path: Path) -> None:
    (tmp_path / "wrong.yaml").write_text("name: wrong\nmodel: {open_end: true}\n")
    said = train("out", "--recipe", str(tmp_path / "wrong.yaml"), code=1)[1]
    assert "'model' in the recipe, got ['open_end']" in said


def test_patience_asks_for_validation_documents(train: Train, tiny_checkpoint: str, tmp_path: Path) -> None:
    (tmp_path / "talk.txt").write_text("hello, you are the best. are you? " * 30)
    command = ["--texts", str(tmp_path / "talk.txt"), "--language", "en", "--tokenizer", tiny_checkpoint]
    assert run("prepare", [*command, "--validation", "0", "--output", str(tmp_path / "data")]) == 0
    said = train("out", "--patience", "2", data=str(tmp_path / "data"), code=1)[1]
    assert "Expected validation documents for --patience" in said


def test_texts_of_which_none_is_held_out_give_a_best_model_too(
    train: Train, tiny_checkpoint: str, tmp_path: Path
) -> None:
    (tmp_path / "one.txt").write_text("hello, you are the best. are you the man? " * 30)
    data = prepare(recipe_for_texts([str(tmp_path / "one.txt")], "en", 0.0), tmp_path / "data", tiny_checkpoint, 1)
    assert data["sources"][0]["splits"]["validation"]["n_words"] == 0
    out, said = train("run", data=str(tmp_path / "data"))
    assert "no validation documents; best is the last" in said
    assert "F1 was not measured" in said
    assert same(weights(out), load_file(out / "best" / "model.safetensors"))


def test_a_recipe_says_of_plain_texts_what_they_may_not_repeat_and_how_numbers_are_said(
    train: Train, tmp_path: Path
) -> None:
    talk = "hello, you are the best. are you the man? "
    (tmp_path / "bench.txt").write_text(talk * 30)
    asked = [f"is it 1,250, or {name}? " * 9 for name in "abcdefghijkl"]
    (tmp_path / "texts.txt").write_text("\n\n".join([talk * 30, *asked]))
    (tmp_path / "own.yaml").write_text(
        f"name: own\nleak_check: [{tmp_path / 'bench.txt'}]\nspoken_forms: {{numbers: 1}}"
    )
    more = ("--language", "en", "--recipe", str(tmp_path / "own.yaml"), "--max-steps", "1")
    out, said = train("run", *more, data=str(tmp_path / "texts.txt"))
    assert "in a benchmark" in said
    (source,) = read_index(out / "prepared")["sources"]
    n_words = sum(split["n_words"] for split in source["splits"].values())
    assert n_words == len(asked) * 9 * len("is it one thousand two hundred and fifty or you".split())


def test_texts_alone_are_asked_what_to_start_from(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "talk.txt").write_text("hello, you are the best. are you?")
    assert run_training(["--data", str(tmp_path / "talk.txt"), "--output", str(tmp_path / "out")]) == 1
    assert "Expected a --model or an --encoder" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_vocabulary": 10**6}, "Expected piece ids below"),
        ({"pieces": "of another tokenizer"}, "Expected data with the pieces of this model"),
        ({"words_alone": True}, "Expected data with words_alone=False"),
        (
            {"labels": [{"name": "X", "before": "", "after": ""}]},
            "Expected data with the labels of the model",
        ),
    ],
)
def test_data_for_another_model_are_refused(
    train: Train, wrong: dict[str, Any], message: str, prepared: str, tmp_path: Path
) -> None:
    folder = shutil.copytree(prepared, tmp_path / "data")
    index = json.loads((folder / "index.json").read_text())
    (folder / "index.json").write_text(json.dumps({**index, **wrong}))
    assert message in train("out", data=str(folder), code=1)[1]


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (
            OSError(errno.ENOSPC, "No space left on device", "/disk/shard"),
            "the disk for /disk/shard, it is full, or",
        ),
        (SafetensorError("I/O error: No space left on device (os error 28)"), "it is full, or a limit"),
        (RuntimeError("[enforce fail] . PytorchStreamWriter failed writing file data/3"), "it is full, or a limit"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), "lower --pieces-per-batch"),
        (BrokenProcessPool("a process was terminated"), "lower --processes"),
        (RuntimeError("shapes differ"), None),
    ],
)
def test_what_may_happen_to_anybody_is_told_and_what_nobody_expects_is_raised(
    error: Exception, message: str | None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parse_args.__module__ + ".list_files", Mock(side_effect=error))
    with nullcontext() if message else pytest.raises(type(error)):
        assert run_training(["--data", "x", "--output", "out"]) == 1
    assert (message or "") in capsys.readouterr().err
