"""Starts a run: reads the recipe, prepares texts, holds the folder. Takes parsed arguments, gives validation scores."""

import json
import os
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from filelock import FileLock, Timeout
from transformers import AutoTokenizer
from transformers.utils.logging import disable_progress_bar

from punctuation_restoration.data.preparation import explain, is_disk_full, prepare, recipe_for_texts
from punctuation_restoration.data.recipe import Recipe, labels_without, load_recipe, read_labels
from punctuation_restoration.data.shards import INDEX_NAME, read_index
from punctuation_restoration.data.vocabulary import NEW_PIECES_FILE, extend_model
from punctuation_restoration.pipeline.slots import SlotEncoder
from punctuation_restoration.training import checkpoints, optimisation
from punctuation_restoration.training.building import batch_source, build_model, choose_trained
from punctuation_restoration.training.loop import RunState, TrainingRun
from punctuation_restoration.training.precision import choose_precision, use_fp32_attention
from punctuation_restoration.training.run_log import RunLog
from punctuation_restoration.training.settings import TrainingSettings, settings_of
from punctuation_restoration.training.validation import Validation


def train(args: Namespace) -> dict[str, Any]:
    """Run a training. Gives the last validation scores.

    Raises:
        ValueError: for settings or data that cannot work.
        FloatingPointError: if the loss is not a number.
    """
    disable_progress_bar()  # of transformers: a bar for every file that is written
    recipe = load_recipe(args.recipe) if args.recipe else Recipe(name="default", sources=())
    if args.labels:
        recipe = replace(recipe, model={**recipe.model, **read_labels(args.labels)})
    settings = settings_of(vars(args), recipe.model, recipe.training)
    if settings.threads:
        torch.set_num_threads(settings.threads)
    torch.set_flush_denormal(True)  # tiny numbers make CPU arithmetic crawl
    accelerator, message = build_accelerator(args.device, settings.precision)
    out = Path(args.output)
    out.mkdir(parents=True, exist_ok=True)
    with hold_folder(out) if accelerator.is_main_process else nullcontext():
        start, folders = prepared_folders(args, settings, recipe, out, accelerator)
        if accelerator.is_main_process:
            (out / "settings.json").write_text(json.dumps(asdict(settings), indent=1), encoding="utf-8")
        new_pieces = Path(start or "") / NEW_PIECES_FILE
        rows = json.loads(new_pieces.read_text(encoding="utf-8")) if start and new_pieces.is_file() else ()
        run = build_run(settings, recipe, read_index(*folders), out, accelerator, start, args.soft_labels, rows)
        n_trained = sum(parameter.numel() for parameter in run.model.parameters() if parameter.requires_grad)
        n_processes, precision = accelerator.num_processes, accelerator.mixed_precision
        run.log.tell(
            f"{n_processes} {'process' if n_processes == 1 else 'processes'} on {accelerator.device.type}, "
            f"{'fp32' if precision == 'no' else precision}, {n_trained:,} trained parameters"
        )
        if message:
            run.log.tell(message)
        return run.train()


def build_accelerator(device: str | None, precision: str) -> tuple[Accelerator, str | None]:
    """The accelerator of a run, and a message if its number format differs from the one asked for.

    Without `device`, a GPU is used if there is one. With the precision "auto", the setting of `accelerate launch` or
    `accelerate config` is used if there is one.

    Raises:
        ValueError: if there is no such device, or it cannot compute in that format.
    """
    kind = torch.device(device).type if device else "cuda" if torch.cuda.is_available() else "cpu"
    if precision == "auto" and (launched := os.environ.get("ACCELERATE_MIXED_PRECISION")):
        precision = {"no": "fp32"}.get(launched, launched)
    chosen, message = choose_precision(precision, kind)
    accelerator = Accelerator(cpu=kind == "cpu", mixed_precision=chosen)
    if accelerator.device.type != kind:
        raise ValueError(f"Expected the device {device}, got {accelerator.device}. Give another --device, or none.")
    return accelerator, message


def build_run(
    settings: TrainingSettings,
    recipe: Recipe,
    index: Mapping[str, Any],
    out: Path,
    accelerator: Accelerator,
    start: str | None = None,
    soft_labels: str | None = None,
    new_pieces: Sequence[int] = (),
) -> TrainingRun:
    """A run in the folder `out`: a new one, or one that resumes from the newest checkpoint there.

    Args:
        recipe: its sampling, augmentation, weights and model fields are used.
        index: of prepared data, from `data.shards.read_index`.
        start: punctuation model to start from; None starts from the settings' encoder.
        soft_labels: folder of another model's probabilities, see `data.soft_labels`.
        new_pieces: ids whose word embeddings are trained besides those of the mask and the fills.
    """
    log = RunLog(out, accelerator.is_main_process, settings.max_steps)
    resumed = checkpoints.newest_checkpoint(out / "checkpoints", log.tell)
    kept = checkpoints.load_state(resumed) if resumed else None
    place = str(resumed or start or "")
    torch.manual_seed(settings.seed)  # a new classifier is drawn
    recipe = replace(recipe, model=labels_without(recipe.model, index.get("left_out", ())))
    model = build_model(settings, recipe, index, place)
    tokenizer = AutoTokenizer.from_pretrained(place or settings.encoder)
    slots = SlotEncoder(tokenizer, model.config)
    choose_trained(model, slots, settings.frozen_layers, new_pieces)
    model.to(accelerator.device)  # here, so that averages and the optimiser's state are made where the weights are
    if accelerator.device.type == "cpu" and accelerator.mixed_precision == "bf16":
        use_fp32_attention(model)
    rates = settings.encoder_rate, settings.head_rate, settings.casing_rate
    groups = optimisation.parameter_groups(model, rates, settings.weight_decay)
    optimiser = optimisation.build_optimiser(settings.optimiser, groups)
    averages = optimisation.AveragedWeights(model, settings.average_decay)
    state = RunState()
    if kept:
        optimiser.load_state_dict(kept["optimiser"])
        averages.averaged.load_state_dict(kept["averages"])
        state = RunState(**{own.name: kept[own.name] for own in fields(RunState)})
        log.tell(f"Going on from {resumed} (step {state.step}).")
    part = accelerator.process_index, accelerator.num_processes
    source = batch_source(settings, recipe, index, slots, model.config, part, soft_labels)
    validation = Validation(index, slots, model.config, settings.validation_words, accelerator)
    run = TrainingRun(settings, out, accelerator, model, tokenizer, source, validation, log, state, optimiser, averages)
    if kept and accelerator.scaler and kept["scaler"]:
        accelerator.scaler.load_state_dict(kept["scaler"])
    config = model.config
    log.tell(
        f"slot style {config.slot_style}, head {config.head}, windows of {config.max_window_pieces} pieces; layers "
        f"from {config.bidirectional_from or 0} on read both ways"
    )
    return run


@contextmanager
def hold_folder(out: Path) -> Iterator[None]:
    """Lock a folder for one run; the operating system releases the lock even if the run is killed.

    Raises:
        ValueError: if another run holds it.
    """
    try:
        with FileLock(out / ".lock", blocking=False):
            yield
    except Timeout as error:
        raise ValueError(
            f"Expected {out} for this run alone, another one is writing there. Wait for it, or end it (the processes "
            "of torchrun can outlive it), or choose another --output."
        ) from error


def prepared_folders(
    args: Namespace, settings: TrainingSettings, recipe: Recipe, out: Path, accelerator: Accelerator
) -> tuple[str | None, list[str]]:
    """What to start from, and folders of prepared data; texts among `--data` are prepared into `out` once.

    The first process does the work, the others wait for it.
    """
    texts = [path for path in args.data if not (Path(path) / INDEX_NAME).is_file()]
    folders = [path for path in args.data if path not in texts]
    start = args.model
    if args.add_pieces and not (texts and start):
        raise ValueError("Expected both texts (--data) and a model to extend (--model) for --add-pieces. Give both.")
    if not texts:
        return start, folders
    if not (start or settings.encoder):
        what = "a --model or an --encoder to start from"
        raise ValueError(f"Expected {what}, got neither. Give --model checkpoints/en-zh-ms to keep what it knows.")
    extended, prepared = out / "extended", out / "prepared"
    with accelerator.main_process_first():
        if accelerator.is_main_process and args.add_pieces and not (extended / NEW_PIECES_FILE).is_file():
            added = extend_model(start, texts, args.add_pieces, extended)
            print(f"{len(added)} pieces added to the vocabulary", flush=True)
        start = str(extended) if args.add_pieces else start
        if accelerator.is_main_process and not (prepared / INDEX_NAME).is_file():
            tokenizer = start or settings.encoder or ""
            prepare(replace(recipe_for_texts(texts, args.language), model=recipe.model), prepared, tokenizer)
    return start, [*folders, str(prepared)]


def failure_message(error: Exception) -> str:
    """What to tell of a run that failed; an error that nobody expects is raised again."""
    if isinstance(error, (ValueError, OSError, FloatingPointError)) or is_disk_full(error):
        return explain(error)
    if not is_out_of_memory(error):
        raise error
    return (
        "Expected to fit into memory, did not. Lower --pieces-per-batch and raise --accumulate by the same factor: "
        "the result stays the same."
    )


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory ran out, on a GPU or here."""
    message = str(error).lower()
    return isinstance(error, (MemoryError, torch.OutOfMemoryError)) or "not enough memory" in message
