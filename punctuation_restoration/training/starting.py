"""Starts a run: reads the recipe, prepares texts, holds the folder. Takes what a caller gives; says what came of it."""

import json
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import gather_object
from filelock import FileLock
from transformers import AutoTokenizer
from transformers.utils.logging import disable_progress_bar

from punctuation_restoration.data.preparation import is_prepared, prepared_folders
from punctuation_restoration.data.recipe import Fields, Recipe, load_recipe, read_labels
from punctuation_restoration.data.shards import (
    check_same_pieces,
    check_shards,
    n_train_words,
    read_index,
)
from punctuation_restoration.data.teacher_labels import TeacherLabels
from punctuation_restoration.default_models import find_model
from punctuation_restoration.generated_card import origin_of
from punctuation_restoration.modeling.encoders import layers_of
from punctuation_restoration.modeling.modeling_punctuation import notices_beside
from punctuation_restoration.pipeline.slots import SlotEncoder
from punctuation_restoration.training.batches import batch_source
from punctuation_restoration.training.building import build_model
from punctuation_restoration.training.checkpoints import newest_checkpoint
from punctuation_restoration.training.loop import TrainingResult, TrainingRun
from punctuation_restoration.training.precision import build_accelerator, use_fp32_attention
from punctuation_restoration.training.reporting import RunReport, check_trackers
from punctuation_restoration.training.settings import (
    MOST_PASSES,
    TrainingSettings,
    completed,
    settings_of,
)
from punctuation_restoration.training.validation import Validation
from punctuation_restoration.whole_files import write_whole

AnyPath = str | Path
SETTINGS_FILE = "settings.json"
# What may change when a run resumes. Everything else decides what is learned, and stays.
MAY_CHANGE = (
    "max_steps", "patience", "evaluate_every", "checkpoint_every", "log_every", "dtype", "compile", "pieces_per_batch",
    "accumulate",
)  # fmt: skip


def train(
    data: AnyPath | Sequence[AnyPath],
    output: AnyPath,
    *,
    model: AnyPath | None = None,
    recipe: AnyPath | Recipe | None = None,
    language: str = "xx",
    labels: AnyPath | None = None,
    teacher_labels: AnyPath | None = None,
    device: str | None = None,
    log_with: str | Sequence[Any] = (),
    trust_remote_code: bool = False,
    **settings: Any,
) -> TrainingResult:
    """Train a model, and say on standard output how it goes. The same call resumes a run that was stopped.

    Args:
        data: prepared folders, or texts in one language: files or folders of `.txt`, `.jsonl` or `.tsv`.
        output: folder of the run; `best` in it is the model with the best F1 on held-out text.
        model: punctuation model to start from, folder or Hub id. Without it, `encoder` names a pretrained encoder.
        recipe: a recipe or its file; without one the defaults hold.
        language: code of the language of texts.
        labels: file with other labels than those of the model or the recipe.
        teacher_labels: folder of another model's probabilities to learn, as the command `label` writes it.
        device: "cpu", "cuda" or "mps"; default: a GPU where there is one.
        log_with: "tensorboard", "wandb", "trackio", or several; trackers of accelerate may be given too. Without one,
            the curves are drawn into `curve.png`.
        trust_remote_code: whether Python code beside an encoder may run.
        settings: fields of `TrainingSettings` (`encoder`, `max_steps`, `seed` ...), which overrule the recipe.

    Raises:
        ValueError: data, model or settings are wrong, or do not go with the run that began in `output`.
        OSError: something cannot be read or written.
        ImportError: the package of a tracker is missing.
        FloatingPointError: the loss is not a number.
    """
    disable_progress_bar()  # of transformers: a bar for every file that is written
    if not isinstance(recipe, Recipe):
        recipe = load_recipe(recipe) if recipe else Recipe(name="default", sources=())
    if labels:
        recipe = replace(recipe, model={**recipe.model, **read_labels(labels)})
    if model and (unused := sorted({"layers", "encoder"} & settings.keys())):
        raise ValueError(
            f"Expected --{unused[0]} without --model, whose encoder stays as it is, got both. Give one."
        )
    chosen = settings_of(settings, recipe)
    if not (model or chosen.encoder):
        raise ValueError(
            "Expected a --model or an --encoder to start from, got neither. Give --model checkpoints/en-zh-ms to keep "
            "what it knows."
        )
    trackers = [log_with] if isinstance(log_with, str) else list(log_with)
    check_trackers(trackers)
    torch.set_flush_denormal(True)  # tiny numbers make CPU arithmetic crawl
    out = Path(output)
    accelerator = build_accelerator(device, chosen.dtype, trackers, out)
    out.mkdir(parents=True, exist_ok=True)
    # The operating system releases the lock even if the run is killed.
    with FileLock(out / ".lock", blocking=False) if accelerator.is_main_process else nullcontext():
        return build_run(
            accelerator,
            chosen,
            recipe,
            out,
            data=[str(path) for path in ([data] if isinstance(data, AnyPath) else data)],
            own_start=find_model(str(model)) if model else "",
            language=language,
            teacher_labels=teacher_labels,
            trust_remote_code=trust_remote_code,
        ).train()


def build_run(
    accelerator: Accelerator,
    settings: TrainingSettings,
    recipe: Recipe,
    out: Path,
    *,
    data: list[str],
    own_start: str,
    language: str,
    teacher_labels: AnyPath | None,
    trust_remote_code: bool,
) -> TrainingRun:
    """A new run in the folder `out`, or one that resumes from the newest whole checkpoint there.

    It starts from `own_start`, a punctuation model, or where that is empty from the encoder of the settings.
    """
    start = own_start or str(settings.encoder)
    resumed, kept = newest_checkpoint(out, accelerator.print)
    steps = gather_object([kept.get("step", 0)])
    if len(set(steps)) > 1:
        raise ValueError(
            f"Expected all processes to resume from one step, got {steps}. Give all of them one folder as --output."
        )
    step_pieces = settings.pieces_per_batch * settings.accumulate * accelerator.num_processes
    weights = [(source.name, source.weight) for source in recipe.sources]
    about: Fields = {
        "data": data,
        "start": start,
        "step_pieces": step_pieces,
        "language": language,
        "teacher_labels": str(teacher_labels or ""),
        "recipe": repr((recipe.sampling, recipe.augmentation, recipe.model, weights)),
        "made_from": [
            read_index(folder).get("made_from") for folder in data if is_prepared(folder)
        ],
    }
    if resumed:
        settings = settings_that_began(out, settings, about)
    with accelerator.main_process_first():  # the others find what it has prepared
        folders = prepared_folders(
            data,
            out / "prepared",
            start,
            resumes=resumed is not None,
            trust_remote_code=trust_remote_code,
            language=language,
            model=recipe.model,
            spoken_forms=recipe.spoken_forms,
            leak_check=recipe.leak_check,
        )
    index = read_index(*folders)
    torch.manual_seed(settings.seed)  # a new classifier is drawn
    model = build_model(settings, recipe, index, str(resumed or own_start), trust_remote_code)
    tokenizer = AutoTokenizer.from_pretrained(resumed or start, trust_remote_code=trust_remote_code)
    embeddings = model.get_input_embeddings()
    check_same_pieces(index, tokenizer, embeddings.num_embeddings)
    slots = SlotEncoder(tokenizer, model.config)
    freeze_layers(model, settings.frozen_layers)
    names = model.config.label_names
    teacher = TeacherLabels(Path(teacher_labels), names) if teacher_labels else None
    if teacher and Path(teacher.model).is_dir() and not model.notices:
        model.notices = notices_beside(teacher.model)  # Gemma's terms hold for what learns from it
    if accelerator.device.type == "cpu" and accelerator.mixed_precision == "bf16":
        use_fp32_attention(model)
    n_pieces = check_shards(index)
    validation = Validation(index, slots, settings.validation_words)
    if settings.patience and not validation.windows:
        raise ValueError(
            "Expected validation documents for --patience, got none. Prepare with --validation 0.2."
        )
    n_words = n_train_words(index)
    pass_steps, can_stop = n_pieces / step_pieces, bool(validation.windows)
    settings = completed(settings, embeddings.embedding_dim, n_words, pass_steps, can_stop)
    source = batch_source(settings, recipe, index, slots, teacher)
    about |= asdict(settings)
    if accelerator.is_main_process:
        write_whole(out / SETTINGS_FILE, json.dumps(about, indent=1).encode(), force=True)
    report = RunReport(out, accelerator, about, kept.get("step", -1))
    n_trained = model.num_parameters(only_trainable=True)
    n_processes = accelerator.num_processes
    report.tell(
        f"{n_processes} process{'' if n_processes == 1 else 'es'} on {accelerator.device.type}, mixed precision: "
        f"{accelerator.mixed_precision}; {n_trained:,} trained parameters"
    )
    if resumed:
        report.tell(f"Resuming from {resumed} (step {kept['step']}).")
    tell_passes(report, settings, step_pieces, n_words, settings.max_steps / pass_steps)
    origin = {
        **origin_of(start),
        "started_from": start,
        "languages": index["languages"],
        "n_words": n_words,
        "seed": settings.seed,
    }
    return TrainingRun(
        settings, out, accelerator, model, tokenizer, source, validation, report, origin, kept
    )


def tell_passes(
    report: RunReport, settings: TrainingSettings, step_pieces: int, n_words: int, passes: float
) -> None:
    """Say how often the run reads its words, with a warning where that teaches them by heart."""
    report.tell(
        f"{settings.max_steps:,} steps of {step_pieces:,} pieces read the {n_words:,} words {passes:.1f} times"
        + (", or fewer where validation stops getting better." if settings.patience else ".")
    )
    if passes > MOST_PASSES + 1:
        report.tell(
            f"Warning: more than {MOST_PASSES} times mostly teaches a text by heart. Leave out --max-steps, or add "
            "--patience 3."
        )


def settings_that_began(out: Path, settings: TrainingSettings, about: Fields) -> TrainingSettings:
    """The settings of a run that resumes: what is left open is as it began, and what decides its weights must be."""
    path = out / SETTINGS_FILE
    try:
        began = json.loads(path.read_bytes()) if path.is_file() else {}
    except ValueError as error:
        raise ValueError(
            f"Expected the settings of the run in {path}, could not read them ({error}). Remove that file: the run "
            "then goes on with the settings that you give."
        ) from error
    left_open: Fields = {
        name: began.get(name) for name, now in asdict(settings).items() if now is None
    }
    settings = replace(settings, **left_open)
    for name, now in {**asdict(settings), **about}.items():
        then = began.get(name, now)
        if name not in MAY_CHANGE and now not in (None, then):
            raise ValueError(
                f"Expected {name} {then!r}, with which the run in {out} began ({path}), got {now!r}. "
                "Give that, or another --output."
            )
    return settings


def freeze_layers(model: Any, n_layers: int) -> None:
    """Freeze the word embeddings of a model and its first layers."""
    model.get_input_embeddings().weight.requires_grad_(False)
    if not n_layers:
        return
    layers = layers_of(model.encoder)
    if n_layers > len(layers):
        raise ValueError(
            f"Expected --frozen-layers of at most {len(layers)}, which the encoder has, got {n_layers}. Lower it."
        )
    for layer in layers[:n_layers]:
        layer.requires_grad_(False)
