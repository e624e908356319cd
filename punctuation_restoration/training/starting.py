"""Starts a run: reads the recipe, prepares texts, holds the folder. Takes parsed arguments, gives validation scores."""

import json
from argparse import Namespace
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils.memory import should_reduce_batch_size
from filelock import FileLock, Timeout
from transformers import AutoTokenizer
from transformers.utils.logging import disable_progress_bar

from punctuation_restoration.data.preparation import explain, is_disk_full, prepare, recipe_for_texts
from punctuation_restoration.data.recipe import Recipe, labels_without, load_recipe, read_labels
from punctuation_restoration.data.shards import INDEX_NAME, read_index
from punctuation_restoration.data.vocabulary import NEW_PIECES_FILE, extend_model
from punctuation_restoration.modeling.encoders import PunctuationLSTM, layers_of
from punctuation_restoration.pipeline.slots import SlotEncoder
from punctuation_restoration.training.batches import batch_source
from punctuation_restoration.training.building import build_model
from punctuation_restoration.training.loop import TrainingRun, newest_checkpoint
from punctuation_restoration.training.optimisation import train_rows_only
from punctuation_restoration.training.precision import build_accelerator, use_fp32_attention
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
    accelerator, out = build_accelerator(args.device, settings.dtype), Path(args.output)
    out.mkdir(parents=True, exist_ok=True)
    # The operating system releases the lock even if the run is killed.
    with FileLock(out / ".lock", blocking=False) if accelerator.is_main_process else nullcontext():
        if accelerator.is_main_process:
            (out / "settings.json").write_text(json.dumps(asdict(settings), indent=1), encoding="utf-8")
        return build_run(args, settings, recipe, accelerator).train()


def build_run(args: Namespace, settings: TrainingSettings, recipe: Recipe, accelerator: Accelerator) -> TrainingRun:
    """A new run in the folder `args.output`, or one that resumes from the newest checkpoint there."""
    out = Path(args.output)
    start, folders = prepared_folders(args, settings, recipe, out, accelerator)
    index = read_index(*folders)
    resumed, kept = newest_checkpoint(out, accelerator.print)
    place = str(resumed or start or "")
    torch.manual_seed(settings.seed)  # a new classifier is drawn
    recipe = replace(recipe, model=labels_without(recipe.model, index.get("left_out", ())))
    model = build_model(settings, recipe, index, place)
    tokenizer = AutoTokenizer.from_pretrained(place or settings.encoder)
    slots = SlotEncoder(tokenizer, model.config)
    new_pieces = Path(start or "") / NEW_PIECES_FILE
    choose_trained(model, slots, settings, json.loads(new_pieces.read_text()) if new_pieces.is_file() else [])
    if accelerator.device.type == "cpu" and accelerator.mixed_precision == "bf16":
        use_fp32_attention(model)
    part = accelerator.process_index, accelerator.num_processes
    source = batch_source(settings, recipe, index, slots, *part, args.soft_labels)
    validation = Validation(index, slots, settings.validation_words, accelerator)
    run = TrainingRun(settings, out, accelerator, model, tokenizer, source, validation, kept)
    n_trained = sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
    config, many = model.config, "" if part[1] == 1 else "es"
    run.tell(
        f"{part[1]} process{many} on {accelerator.device.type}, mixed precision: {accelerator.mixed_precision}; "
        f"{n_trained:,} trained parameters\nslot style {config.slot_style}, head {config.head}, windows of "
        f"{config.max_window_pieces} pieces"
    )
    if resumed:
        run.tell(f"Resuming from {resumed} (step {run.state.step}).")
    return run


def choose_trained(model: Any, slots: Any, settings: TrainingSettings, new_pieces: list[int]) -> None:
    """Freeze the first layers of a model, and its word embeddings but for the rows that are new to its encoder."""
    if not isinstance(model.encoder, PunctuationLSTM):  # which was not pretrained
        # Where slots are no pieces, marks are shown as in any text: the encoder knows these pieces.
        shown = () if model.config.slot_style == "last-piece" else (slots.mask_id, *slots.fill_ids)
        train_rows_only(model, [row for row in (*shown, *new_pieces) if row is not None])
    for layer in layers_of(model.encoder)[: settings.frozen_layers] if settings.frozen_layers else ():
        layer.requires_grad_(False)


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
    if isinstance(error, MemoryError) or should_reduce_batch_size(error):
        return (
            "Expected to fit into memory, did not. Lower --pieces-per-batch and raise --accumulate by the same factor: "
            "the result stays the same."
        )
    if isinstance(error, Timeout):
        return (
            f"Expected {Path(error.lock_file).parent} for this run alone, another one is writing there. Wait for it, "
            "or end it (the processes of torchrun can outlive it), or choose another --output."
        )
    if isinstance(error, ValueError | OSError | FloatingPointError) or is_disk_full(error):
        return explain(error)
    raise error
