"""Settings of a training run: from the recipe, overruled by the command line. Loads neither torch nor transformers."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from math import inf
from typing import Any, Literal, get_args, get_origin

from punctuation_restoration.data.recipe import Recipe, checked
from punctuation_restoration.loading import add_trust_option

BELOW_1 = 0.99999


def setting(default: Any, meaning: str, least: float = -inf, most: float = inf) -> Any:
    """A field with its help text, and the range of its numbers."""
    return field(default=default, metadata={"help": meaning, "range": (least, most)})


@dataclass(frozen=True, slots=True)
class TrainingSettings:
    """Everything that decides a run, but for the data and the recipe's sampling."""

    # What to start from. The model checks head and slot style.
    encoder: str | None = setting(None, "pretrained encoder to start from, folder or Hub id")
    layers: int | None = setting(None, "keep only the first N layers of the encoder", 1)
    slot_style: str | None = setting(
        None, "mask (slot filling) or last-piece (tagging); default: as in --model, or last-piece"
    )
    casings: bool = setting(False, "add a head that predicts which words have capitals")
    head: str | None = setting(
        None, "linear, bilstm, crf or bilstm-crf; default: as in --model, or linear"
    )
    frozen_layers: int = setting(
        0, "number of first layers that are frozen, as word embeddings are", 0
    )
    dropout: float | None = setting(
        None, "dropout of hidden states; default: 0.1 in encoders that have any", 0, BELOW_1
    )
    # How long
    max_steps: int = setting(6000, "steps of the optimiser", 1)
    patience: int | None = setting(None, "stop after N evaluations without a better mean F1", 1)
    # Batches
    pieces_per_batch: int = setting(2048, "pieces in one batch of one process", 1)
    accumulate: int = setting(1, "batches whose gradients are added up in a step", 1)
    # Optimiser
    optimiser: Literal["adamw", "radam"] = setting("adamw", "adamw or radam")
    encoder_rate: float = setting(2e-4, "learning rate of the encoder", 0)
    head_rate: float = setting(4e-4, "learning rate of the head", 0)
    # A single layer that begins with zeros: at the rate of the head it tells `upper` from `capital` very late.
    casing_rate: float = setting(1e-2, "learning rate of the casing head", 0)
    weight_decay: float = setting(0.01, "weight decay", 0)
    warmup_steps: int = setting(200, "steps over which the learning rate rises", 0)
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
    label_smoothing: float = setting(0.0, "label smoothing of human labels", 0, BELOW_1)
    pseudo_weight: float = setting(1.0, "weight of pseudo labels in the loss", 0)
    pseudo_smoothing: float = setting(0.0, "label smoothing of pseudo labels", 0, BELOW_1)
    focal_gamma: float = setting(
        0.0, "focal loss: (1 - p)^gamma of a label's loss counts; 0: all", 0
    )
    casing_weight: float = setting(0.3, "weight of casings in the loss, where a model has them", 0)
    distil_weight: float = setting(0.5, "share of --soft-labels in the loss", 0, 1)
    temperature: float = setting(2.0, "temperature of --soft-labels", 0.01)
    # What is written
    evaluate_every: int = setting(500, "steps between evaluations", 1)
    validation_words: int = setting(6000, "words of each language to evaluate on", 1)
    checkpoint_every: int = setting(500, "steps between checkpoints", 1)
    log_every: int = setting(20, "steps between lines of progress", 1)


# Of a recipe's `model`, and of the command line.
MODEL_KEYS = ("encoder", "layers", "slot_style", "casings", "head")


def parse_args(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line of `train.py`. Settings that were not given are absent, so that the recipe's stand."""
    parser = argparse.ArgumentParser(
        prog="punctuation-restoration train", description="Train a punctuation model."
    )
    parser.add_argument("--recipe", help="recipe file (YAML); without it the defaults hold")
    parser.add_argument(
        "--data", required=True, nargs="+", help="prepared folders, or texts in one language"
    )
    parser.add_argument("--language", default="xx", help="language code of texts under --data")
    parser.add_argument(
        "--output", required=True, help="folder of the run; a run that was stopped there resumes"
    )
    parser.add_argument("--model", help="punctuation model to start from, folder or Hub id")
    parser.add_argument(
        "--labels", help="file with other labels than those of --model or the recipe (YAML or JSON)"
    )
    parser.add_argument(
        "--soft-labels",
        help="folder of another model's probabilities to learn, by the command label",
    )
    what = "texts, or a folder prepared with `labelled: false`, that --model labels first: self-training"
    parser.add_argument("--unlabelled", nargs="+", help=what)
    parser.add_argument(
        "--rounds", type=int, default=5, help="of self-training; ends without a gain (5)"
    )
    parser.add_argument("--device", help="cpu, cuda or mps (default: a GPU where there is one)")
    add_trust_option(parser)
    for own in fields(TrainingSettings):
        choices = get_args(own.type) if get_origin(own.type) is Literal else None
        kind: Any = str if choices else (get_args(own.type) or [own.type])[0]
        read: Any = {"type": kind, "choices": choices}
        if kind is bool:
            read = {"action": argparse.BooleanOptionalAction}
        meaning = f"{own.metadata['help']} (default {own.default})"
        parser.add_argument(
            "--" + own.name.replace("_", "-"), **read, default=argparse.SUPPRESS, help=meaning
        )
    return parser.parse_args(argv)


def settings_of(arguments: Mapping[str, Any], recipe: Recipe) -> TrainingSettings:
    """Settings from the recipe, overruled by the command line; a `ValueError` for an unknown key or a wrong value."""
    from_model = {key: value for key, value in recipe.model.items() if key in MODEL_KEYS}
    given = {
        own.name: arguments[own.name] for own in fields(TrainingSettings) if own.name in arguments
    }
    settings = checked(
        TrainingSettings, {**from_model, **recipe.training, **given}, "the training settings"
    )
    for own in fields(TrainingSettings):
        value, (least, most) = getattr(settings, own.name), own.metadata["range"]
        if isinstance(value, int | float) and not least <= value <= most:
            allowed = f"of {least:g} or more" if most == inf else f"from {least:g} to {most:g}"
            raise ValueError(
                f"Expected {own.name} {allowed}, got {value}. Change it in the recipe or the command."
            )
    return settings
