"""Settings of a training run: from the recipe, overruled by the call. Loads neither torch nor transformers."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from math import ceil, inf
from typing import Any, Literal

from punctuation_restoration.data.recipe import Fields, Recipe, checked

BELOW_1 = 0.99999
MOST_PASSES = 8  # over the text; more mostly learn it by heart
WIDE = 512  # hidden size of an encoder
FEW_WORDS = 50_000  # are read so often
PATIENCE = 5  # evaluations, half of those of a run


def setting(default: Any, meaning: str, least: float = -inf, most: float = inf) -> Any:
    """A field with its help text, and the range of its numbers."""
    return field(default=default, metadata={"help": meaning, "range": (least, most)})


@dataclass(frozen=True, slots=True)
class TrainingSettings:
    """Everything that decides a run, but for the data and the recipe's sampling.

    Lengths and rates are None until `completed` chooses those that are left open.
    """

    # What to start from
    encoder: str | None = setting(None, "pretrained encoder to start from, folder or Hub id")
    layers: int | None = setting(None, "keep only the first N layers of the encoder", 1)
    casings: bool = setting(False, "add a head that predicts which words have capitals")
    frozen_layers: int = setting(
        0, "number of first layers that are frozen, as word embeddings are", 0
    )
    dropout: float | None = setting(
        None, "dropout of hidden states; default: 0.1 in encoders that have any", 0, BELOW_1
    )
    # How long
    max_steps: int = setting(None, "steps of the optimiser; default: a few passes over the text", 1)
    patience: int | None = setting(
        None, "stop after N evaluations without a better mean F1; default: 5 without --max-steps", 1
    )
    # Batches
    pieces_per_batch: int = setting(2048, "pieces in one batch of one process", 1)
    accumulate: int = setting(1, "batches whose gradients are added up in a step", 1)
    # Optimiser
    encoder_rate: float = setting(
        None, "learning rate of the encoder; default: 2e-4, if it is wider than 512 2e-5", 0
    )
    head_rate: float = setting(
        None, "learning rate of the head; default: 4e-4, for a wide encoder 1e-4", 0
    )
    # A single layer that begins with zeros: at the rate of the head it tells `upper` from `capital` very late.
    casing_rate: float = setting(1e-2, "learning rate of the casing head", 0)
    weight_decay: float = setting(0.01, "weight decay", 0)
    warmup_steps: int = setting(
        None, "steps over which the learning rate rises; default: a tenth of all, at most 200", 0
    )
    average_decay: float = setting(
        0.0, "decay of averaged weights, evaluated and saved; 0: none", 0, BELOW_1
    )
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = setting(
        "auto", "number format to compute in; auto: as accelerate is configured"
    )
    compile: bool = setting(
        False, "compile the encoder's layers (torch.compile): a minute, then faster steps"
    )
    seed: int = setting(1, "seed")
    # Loss, see `training.losses`
    label_smoothing: float = setting(0.0, "label smoothing", 0, BELOW_1)
    casing_weight: float = setting(0.3, "weight of casings in the loss, where a model has them", 0)
    distil_weight: float = setting(0.9, "share of --teacher-labels in the loss", 0, 1)
    # What is written
    evaluate_every: int = setting(
        None, "steps between evaluations; default: a tenth of all, at most 500", 1
    )
    validation_words: int = setting(6000, "words of each language to evaluate on", 1)
    checkpoint_every: int = setting(
        None, "steps between checkpoints; default: a tenth of all, at most 500", 1
    )
    log_every: int = setting(
        None, "steps between lines of progress; default: every 25th part, at most 20", 1
    )


# Of a recipe's `model`, and of the call.
MODEL_KEYS = ("encoder", "layers", "casings")


def settings_of(given: Mapping[str, Any], recipe: Recipe) -> TrainingSettings:
    """Settings from the recipe, overruled by those given; a `ValueError` for an unknown key or a wrong value."""
    from_model = {key: value for key, value in recipe.model.items() if key in MODEL_KEYS}
    chosen = {**from_model, **recipe.training, **given}
    values = {key: value for key, value in chosen.items() if value is not None}
    settings = checked(TrainingSettings, values, "the training settings")
    for declared in fields(TrainingSettings):
        value, (least, most) = getattr(settings, declared.name), declared.metadata["range"]
        if isinstance(value, int | float) and not least <= value <= most:
            allowed = f"of {least:g} or more" if most == inf else f"from {least:g} to {most:g}"
            raise ValueError(
                f"Expected {declared.name} {allowed}, got {value}. Change it in the recipe or the command."
            )
    return settings


def completed(
    settings: TrainingSettings, hidden_size: int, n_words: int, pass_steps: float, can_stop: bool
) -> TrainingSettings:
    """The settings, and what they leave open, chosen by the size of the model and of the data.

    Up to 50,000 words are read eight times, ten times as many half as often, and so on, but once at least. Wide
    encoders take the rates of BERT-base (Devlin et al. 2019, A.3). At ten times as much the default model, of width
    768, got worse on 20,000 words of a new language, and the fast one, of width 384, better (docs/log.md).

    Args:
        settings: those given stand.
        hidden_size: of the encoder.
        n_words: of the text to train on.
        pass_steps: steps that read it once.
        can_stop: whether there is validation text, which then decides when to stop.
    """
    passes = max(1.0, MOST_PASSES * min(1.0, FEW_WORDS / n_words) ** 0.3)
    max_steps = settings.max_steps or ceil(passes * pass_steps)
    tenth = max(1, max_steps // 10)
    encoder_rate, head_rate = (2e-5, 1e-4) if hidden_size > WIDE else (2e-4, 4e-4)
    chosen: Fields = {
        "encoder_rate": encoder_rate,
        "head_rate": head_rate,
        "max_steps": max_steps,
        "patience": PATIENCE if can_stop and settings.max_steps is None else None,
        "warmup_steps": min(200, tenth),
        "evaluate_every": min(500, tenth),
        "checkpoint_every": min(500, tenth),
        "log_every": min(20, max(1, max_steps // 25)),
    }
    left_open = {key: value for key, value in chosen.items() if getattr(settings, key) is None}
    return replace(settings, **left_open)
