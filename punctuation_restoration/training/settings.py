"""Settings of a training run: from the recipe, overruled by the command line.

Takes arguments and a recipe, gives one frozen, checked object. Reads no data.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, get_args, get_type_hints

from punctuation_restoration.data.recipe import checked
from punctuation_restoration.modeling.configuration_punctuation import HEADS, SLOT_STYLES
from punctuation_restoration.training.optimisation import OPTIMISERS
from punctuation_restoration.training.precision import PRECISIONS

RANGES = {
    "of 1 or more": lambda value: value >= 1,
    "of 0 or more": lambda value: value >= 0,
    "above 0": lambda value: value > 0,
    "from 0 to 1": lambda value: 0 <= value <= 1,
    "from 0 to below 1": lambda value: 0 <= value < 1,
}


def setting(default: Any, meaning: str, limits: str | tuple[str, ...] | None = None) -> Any:
    """A field with its help text, and the name of its range in `RANGES` or its choices."""
    return field(default=default, metadata={"help": meaning, "limits": limits})


@dataclass(frozen=True, slots=True)
class TrainingSettings:
    """Everything that decides a run, but for the data and the recipe's sampling."""

    # What to start from
    encoder: str | None = setting(None, "pretrained encoder to start from, folder or Hub id")
    layers: int | None = setting(None, "keep only the first N layers of the encoder", "above 0")
    slot_style: str | None = setting(
        None, "mask (slot filling) or last-piece (tagging); default: as in --model, or last-piece", SLOT_STYLES
    )
    casings: bool = setting(False, "add a head that predicts which words have capitals")
    head: str | None = setting(None, "what labels the slots; default: as in --model, or linear", HEADS)
    bidirectional_from: int | None = setting(None, "first decoder layer to read both ways; default: the middle one")
    frozen_layers: int = setting(0, "number of first layers that are frozen, as word embeddings are", "of 0 or more")
    dropout: float = setting(0.1, "dropout of hidden states", "from 0 to below 1")
    # How long
    max_steps: int = setting(6000, "steps of the optimiser", "of 1 or more")
    time_limit: float | None = setting(None, "minutes until the run ends, its learning rate at 0", "above 0")
    patience: int | None = setting(None, "stop after N evaluations without progress in any language", "above 0")
    # Batches
    pieces_per_batch: int = setting(2048, "pieces in one batch of one process", "of 1 or more")
    accumulate: int = setting(1, "batches whose gradients are added up in a step", "of 1 or more")
    local_steps: int = setting(
        1, "steps of each process between averages of all weights (local SGD); 1 shares gradients", "of 1 or more"
    )
    # Optimiser
    optimiser: str = setting("adamw", "adamw or radam", OPTIMISERS)
    encoder_rate: float = setting(2e-4, "learning rate of the encoder", "of 0 or more")
    head_rate: float = setting(4e-4, "learning rate of the head", "of 0 or more")
    # A single layer that begins with zeros: at the rate of the head it tells `upper` from `capital` very late.
    casing_rate: float = setting(1e-2, "learning rate of what tells casings", "of 0 or more")
    weight_decay: float = setting(0.01, "weight decay", "of 0 or more")
    warmup_steps: int = setting(200, "steps over which the learning rate rises", "of 0 or more")
    max_norm: float = setting(1.0, "gradients are clipped to this norm; 0 does not clip", "of 0 or more")
    average_decay: float = setting(0.0, "decay of averaged weights, evaluated and saved; 0: none", "from 0 to below 1")
    precision: str = setting("auto", "fp32, bf16, fp16; auto: as accelerate is configured", PRECISIONS)
    compile: bool = setting(False, "compile the encoder (torch.compile): a minute at the start, then faster steps")
    seed: int = setting(1, "seed")
    # Loss, see `training.losses`
    label_smoothing: float = setting(0.0, "label smoothing of human labels", "from 0 to below 1")
    pseudo_weight: float = setting(1.0, "weight of pseudo labels in the loss", "of 0 or more")
    pseudo_smoothing: float = setting(0.0, "label smoothing of pseudo labels", "from 0 to below 1")
    focal_gamma: float = setting(0.0, "focal loss: (1 - p)^gamma of a label's loss counts; 0: all", "of 0 or more")
    casing_weight: float = setting(0.3, "weight of casings in the loss, where a model has them", "of 0 or more")
    distil_weight: float = setting(0.5, "share of --soft-labels in the loss", "from 0 to 1")
    temperature: float = setting(2.0, "temperature of --soft-labels", "above 0")
    # What is written
    evaluate_every: int = setting(500, "steps between evaluations", "of 1 or more")
    validation_words: int = setting(6000, "words of each language to evaluate on", "of 1 or more")
    checkpoint_every: int = setting(500, "steps between checkpoints", "of 1 or more")
    keep_checkpoints: int = setting(2, "number of checkpoints to keep", "of 1 or more")
    log_every: int = setting(20, "steps between lines of progress", "of 1 or more")
    threads: int | None = setting(None, "threads that torch computes with on a CPU", "above 0")


# Of a recipe's `model`, and of the command line.
MODEL_KEYS = ("encoder", "layers", "slot_style", "casings", "head", "bidirectional_from")


def parse_args(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line of `train.py`. Settings that were not given are absent, so that the recipe's stand."""
    parser = argparse.ArgumentParser(prog="punctuation-restoration train", description="Train a punctuation model.")
    parser.add_argument("--recipe", help="recipe file (YAML); without it the defaults hold")
    parser.add_argument("--data", required=True, nargs="+", help="prepared folders, or texts in one language")
    parser.add_argument("--language", default="xx", help="language code of texts under --data")
    parser.add_argument("--add-pieces", type=int, default=0, help="pieces of the texts to add to --model")
    parser.add_argument("--output", required=True, help="folder of the run; a run that was stopped there resumes")
    parser.add_argument("--model", help="punctuation model to start from, folder or Hub id")
    parser.add_argument("--labels", help="file with other labels than those of --model or the recipe (YAML or JSON)")
    parser.add_argument("--soft-labels", help="folder of another model's probabilities to learn, by the command label")
    parser.add_argument("--device", help="cpu, cuda or mps (default: a GPU where there is one)")
    hints = get_type_hints(TrainingSettings)
    for own in fields(TrainingSettings):
        limits, meaning = own.metadata["limits"], f"{own.metadata['help']} (default {own.default})"
        kind = (get_args(hints[own.name]) or [hints[own.name]])[0]
        choices = None if limits in RANGES else limits
        name = "--" + own.name.replace("_", "-")
        read: Any = {"action": "store_true"} if kind is bool else {"type": kind, "choices": choices}
        parser.add_argument(name, **read, default=argparse.SUPPRESS, help=meaning)
    return parser.parse_args(argv)


def settings_of(
    arguments: Mapping[str, Any], recipe_model: Mapping[str, Any], recipe_training: Mapping[str, Any]
) -> TrainingSettings:
    """Settings from the recipe's `model` and `training`, overruled by what the command line gives.

    Raises:
        ValueError: for an unknown key, a value of the wrong type or out of range.
    """
    limits = {own.name: own.metadata["limits"] for own in fields(TrainingSettings)}
    from_model = {key: value for key, value in recipe_model.items() if key in MODEL_KEYS}
    given = {key: value for key, value in arguments.items() if key in limits}
    settings = checked(TrainingSettings, {**from_model, **recipe_training, **given}, "the training settings")
    for name, limit in limits.items():
        value = getattr(settings, name)
        if limit in RANGES and value is not None and not RANGES[limit](value):
            raise ValueError(f"Expected {name} {limit}, got {value}. Correct it.")
    return settings
