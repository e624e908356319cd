"""Starts a run: reads the recipe, prepares texts, holds the folder. Takes parsed arguments, gives validation scores."""

import json
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from filelock import FileLock, Timeout
from transformers.utils.logging import disable_progress_bar

from punctuation_restoration.data.prepare import explain, is_disk_full, prepare, recipe_for_texts
from punctuation_restoration.data.recipe import Recipe, load_recipe, read_labels
from punctuation_restoration.data.shards import INDEX_NAME, read_index
from punctuation_restoration.data.vocabulary import NEW_PIECES_FILE, extend_model
from punctuation_restoration.training.loop import TrainingRun
from punctuation_restoration.training.precision import choose_precision
from punctuation_restoration.training.settings import TrainingSettings, settings_of


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
    use_cpu = args.cpu or not torch.cuda.is_available()
    precision, message = choose_precision(settings.precision, "cpu" if use_cpu else "cuda")
    accelerator = Accelerator(cpu=use_cpu, mixed_precision=precision)
    out = Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    with hold_folder(out) if accelerator.is_main_process else nullcontext():
        start, folders = prepared_folders(args, settings, recipe, out, accelerator)
        if accelerator.is_main_process:
            (out / "settings.json").write_text(json.dumps(asdict(settings), indent=1), encoding="utf-8")
        new_pieces = Path(start or "") / NEW_PIECES_FILE
        rows = json.loads(new_pieces.read_text(encoding="utf-8")) if start and new_pieces.is_file() else ()
        run = TrainingRun(settings, recipe, read_index(*folders), out, accelerator, start, args.soft_labels, rows)
        n_trained = sum(parameter.numel() for parameter in run.model.parameters() if parameter.requires_grad)
        n_processes, precision = accelerator.num_processes, accelerator.mixed_precision
        run.log.tell(
            f"{n_processes} {'process' if n_processes == 1 else 'processes'} on {accelerator.device.type}, "
            f"{'fp32' if precision == 'no' else precision}, {n_trained:,} trained parameters"
        )
        if message:
            run.log.tell(message)
        return run.train()


@contextmanager
def hold_folder(out: Path) -> Iterator[None]:
    """Keep other runs out of a folder; the system lets go of it even where a run is killed.

    Raises:
        ValueError: if another run holds it.
    """
    try:
        with FileLock(out / ".lock", blocking=False):
            yield
    except Timeout as error:
        raise ValueError(
            f"Expected {out} for this run alone, another one is writing there. Wait for it, or end it (the processes "
            "of torchrun can outlive it), or choose another --out."
        ) from error


def prepared_folders(
    args: Namespace, settings: TrainingSettings, recipe: Recipe, out: Path, accelerator: Accelerator
) -> tuple[str | None, list[str]]:
    """What to start from, and folders of prepared data; texts among `--data` are prepared into `out` once.

    The first process does the work, the others wait for it.
    """
    texts = [path for path in args.data if not (Path(path) / INDEX_NAME).is_file()]
    folders = [path for path in args.data if path not in texts]
    start = args.start
    if args.add_pieces and not (texts and start):
        raise ValueError("Expected texts under --data and a model under --from to add pieces, got not both. Give both.")
    if not texts:
        return start, folders
    if not (start or settings.encoder):
        what = "a model under --from or an encoder under --encoder to start from"
        raise ValueError(f"Expected {what}, got neither. Give --from checkpoints/en-zh-ms to keep what it knows.")
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
