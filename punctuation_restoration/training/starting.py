"""Starts a run: reads the recipe, prepares texts, holds the folder. Takes parsed arguments, gives validation scores."""

import json
from argparse import Namespace
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from filelock import FileLock
from transformers import AutoTokenizer
from transformers.utils.logging import disable_progress_bar

from punctuation_restoration.data.preparation import prepared_folders
from punctuation_restoration.data.recipe import Recipe, labels_without, load_recipe, read_labels
from punctuation_restoration.data.shards import check_same_pieces, read_index
from punctuation_restoration.modeling.encoders import PunctuationLSTM, layers_of
from punctuation_restoration.pipeline.slots import SlotEncoder
from punctuation_restoration.training.batches import batch_source
from punctuation_restoration.training.building import build_model
from punctuation_restoration.training.loop import TrainingRun, newest_checkpoint
from punctuation_restoration.training.optimisation import train_rows_only
from punctuation_restoration.training.precision import build_accelerator, use_fp32_attention
from punctuation_restoration.training.settings import TrainingSettings, settings_of
from punctuation_restoration.training.validation import Validation
from punctuation_restoration.whole_files import write_whole

SETTINGS_FILE = "settings.json"
FIXED = (
    "data", "start", "optimiser", "weight_decay", "average_decay", "frozen_layers", "head", "casings", "slot_style",
)  # fmt: skip


def train(args: Namespace) -> dict[str, Any]:
    """Run a training. Gives the last validation scores; a `FloatingPointError` if the loss is not a number."""
    disable_progress_bar()  # of transformers: a bar for every file that is written
    recipe = load_recipe(args.recipe) if args.recipe else Recipe(name="default", sources=())
    if args.labels:
        recipe = replace(recipe, model={**recipe.model, **read_labels(args.labels)})
    settings = settings_of(vars(args), recipe)
    torch.set_flush_denormal(True)  # tiny numbers make CPU arithmetic crawl
    accelerator, out = build_accelerator(args.device, settings.dtype), Path(args.output)
    out.mkdir(parents=True, exist_ok=True)
    # The operating system releases the lock even if the run is killed.
    with FileLock(out / ".lock", blocking=False) if accelerator.is_main_process else nullcontext():
        return build_run(args, settings, recipe, accelerator).train()


def build_run(
    args: Namespace, settings: TrainingSettings, recipe: Recipe, accelerator: Accelerator
) -> TrainingRun:
    """A new run in the folder `args.output`, or one that resumes from the newest checkpoint there."""
    out, start = Path(args.output), args.model or settings.encoder
    if not start:
        what = "a --model or an --encoder to start from"
        raise ValueError(
            f"Expected {what}, got neither. Give --model checkpoints/en-zh-ms to keep what it knows."
        )
    if args.model and (unused := sorted({"layers", "encoder"} & vars(args).keys())):
        raise ValueError(
            f"Expected --{unused[0]} without --model, whose encoder stays as it is, got both. Give one."
        )
    resumed, kept = newest_checkpoint(out, accelerator.print)
    with accelerator.main_process_first():  # the others find what it has prepared
        about_texts = {
            "resumes": resumed is not None,
            "trust_remote_code": args.trust_remote_code,
            "language": args.language,
            "model": recipe.model,
        }
        folders = prepared_folders(args.data, out / "prepared", start, **about_texts)
    index = read_index(*folders)
    about = {"data": args.data, "start": start, **asdict(settings)}
    if resumed:
        check_same_run(out, about)
    if accelerator.is_main_process:
        write_whole(out / SETTINGS_FILE, json.dumps(about, indent=1).encode(), force=True)
    place = str(resumed or args.model or "")
    torch.manual_seed(settings.seed)  # a new classifier is drawn
    recipe = replace(recipe, model=labels_without(recipe.model, index.get("left_out", ())))
    model = build_model(settings, recipe, index, place, args.trust_remote_code)
    tokenizer = AutoTokenizer.from_pretrained(
        place or settings.encoder, trust_remote_code=args.trust_remote_code
    )
    check_same_pieces(index, tokenizer)
    slots = SlotEncoder(tokenizer, model.config)
    choose_trained(model, slots, settings)
    if accelerator.device.type == "cpu" and accelerator.mixed_precision == "bf16":
        use_fp32_attention(model)
    part = accelerator.process_index, accelerator.num_processes
    source = batch_source(settings, recipe, index, slots, *part, args.soft_labels)
    validation = Validation(index, slots, settings.validation_words, accelerator)
    if settings.patience and not validation.windows:
        raise ValueError(
            "Expected validation documents for --patience, got none. Prepare with --validation 0.2."
        )
    run = TrainingRun(settings, out, accelerator, model, tokenizer, source, validation, kept)
    n_trained = sum(
        parameter.numel() for parameter in model.parameters() if parameter.requires_grad
    )
    where = f"{part[1]} process{'' if part[1] == 1 else 'es'} on {accelerator.device.type}"
    run.tell(
        f"{where}, mixed precision: {accelerator.mixed_precision}; {n_trained:,} trained parameters"
    )
    if resumed:
        run.tell(f"Resuming from {resumed} (step {run.state.step}).")
        if accelerator.is_main_process:
            forget_later_rows(out / "log.jsonl", run.state.step)
    return run


def forget_later_rows(log: Path, step: int) -> None:
    """Remove what a run that was killed had logged after the step from which it resumes: it comes again."""
    rows = log.read_text(encoding="utf-8").splitlines(keepends=True) if log.is_file() else []
    kept = [
        row for row in rows if row.endswith("\n") and json.loads(row)["step"] <= step
    ]  # the last may be cut off
    if kept != rows:
        write_whole(log, "".join(kept).encode(), force=True)


def check_same_run(out: Path, about: Mapping[str, Any]) -> None:
    """Check that a run resumes with what its weights and its optimiser were made with."""
    path = out / SETTINGS_FILE
    there = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    for name in FIXED:
        if there.get(name, about[name]) != about[name]:
            wanted = f"{name} {there[name]!r}, with which the run in {out} began"
            raise ValueError(
                f"Expected {wanted}, got {about[name]!r}. Give that, or another --output."
            )


def choose_trained(model: Any, slots: Any, settings: TrainingSettings) -> None:
    """Freeze the first layers of a model, and its word embeddings but for the rows that are new to its encoder."""
    if not isinstance(model.encoder, PunctuationLSTM):  # which was not pretrained
        # Where slots are no pieces, marks are shown as in any text: the encoder knows these pieces.
        shown = () if model.config.slot_style == "last-piece" else (slots.mask_id, *slots.fill_ids)
        train_rows_only(model, [row for row in shown if row is not None])
    for layer in (
        layers_of(model.encoder)[: settings.frozen_layers] if settings.frozen_layers else ()
    ):
        layer.requires_grad_(False)
