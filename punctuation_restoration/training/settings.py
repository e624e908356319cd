"""Settings of a training run: from the recipe, overruled by the command line.

Takes arguments and a recipe, gives one frozen, checked object. Reads no data.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from punctuation_restoration.data.recipe import settings_from
from punctuation_restoration.modeling.configuration_punctuation import SLOT_STYLES
from punctuation_restoration.training.optimisation import OPTIMISERS
from punctuation_restoration.training.precision import PRECISIONS


@dataclass(frozen=True, slots=True)
class TrainingSettings:
    """Everything that decides a run, but for the data and the recipe's sampling."""

    # What to start from
    encoder: str | None = None
    layers: int | None = None
    slot_style: str | None = None
    bidirectional_from: int | None = None
    frozen_layers: int = 0
    adapter_rank: int = 0
    dropout: float = 0.1  # of the encoder's hidden states
    attention_dropout: float = 0.0  # with any, torch has no fast attention on a CPU
    train_word_embeddings: bool = False
    # How long
    max_steps: int = 6000
    time_limit: float | None = None  # minutes
    patience: int | None = None  # evaluations without a better language before stopping
    # Batches
    pieces_per_batch: int = 2048  # of one process, one accumulated batch
    accumulate: int = 1
    local_steps: int = 1  # of each process, between means of the weights
    # Optimiser
    optimiser: str = "adamw"
    encoder_rate: float = 2e-4
    head_rate: float = 4e-4
    weight_decay: float = 0.01
    warmup_steps: int = 200
    max_norm: float = 1.0
    average_decay: float = 0.0
    precision: str = "auto"
    seed: int = 1
    # Loss, see `training.losses`
    label_smoothing: float = 0.0
    pseudo_weight: float = 1.0
    pseudo_smoothing: float = 0.0
    distil_weight: float = 0.5
    temperature: float = 2.0
    # What is written
    evaluate_every: int = 500
    validation_words: int = 6000  # of each language
    checkpoint_every: int = 500
    keep_checkpoints: int = 2
    log_every: int = 20
    tensorboard: bool = False
    threads: int | None = None


_HELP = {
    "encoder": "pretrained encoder to start from, folder or Hub id",
    "layers": "keep only the first N layers of the encoder",
    "slot_style": "mask (slot filling), late-mask (masks join in the last layers) or last-piece (tagging)",
    "bidirectional_from": "first layer of a causal encoder that reads to the right too; default: the middle one",
    "frozen_layers": "so many of the first layers keep their weights, as do the word embeddings",
    "adapter_rank": "train low-rank adapters of this rank in place of the encoder's weights; 0 trains the weights",
    "dropout": "dropout of the encoder's hidden states, or of what adapters read",
    "attention_dropout": "dropout of attention weights; above 0 slow on a CPU",
    "train_word_embeddings": "train all word embeddings, not only the rows of mask and fills",
    "max_steps": "steps of the optimiser",
    "time_limit": "minutes after which the run ends; the learning rate reaches 0 by then",
    "patience": "stop after so many evaluations in which no language got better",
    "pieces_per_batch": "pieces in one batch of one process",
    "accumulate": "batches whose gradients are added up in a step",
    "local_steps": "steps that each process takes alone before all take the mean of their weights; 1 shares gradients",
    "optimiser": "adamw or radam",
    "encoder_rate": "learning rate of the encoder",
    "head_rate": "learning rate of the classifier",
    "warmup_steps": "steps over which the learning rate rises",
    "max_norm": "gradients are clipped to this norm; 0 does not clip",
    "average_decay": "decay of the moving average of weights that is evaluated and saved; 0 turns it off",
    "precision": "auto, fp32, bf16 or fp16",
    "label_smoothing": "label smoothing of human labels",
    "pseudo_weight": "weight of pseudo labels in the loss",
    "pseudo_smoothing": "label smoothing of pseudo labels",
    "distil_weight": "share of the teachers' soft labels in the loss, where there are --soft-labels",
    "temperature": "temperature of the teachers' soft labels",
    "evaluate_every": "steps between evaluations",
    "validation_words": "words of each language to evaluate on",
    "checkpoint_every": "steps between checkpoints",
    "keep_checkpoints": "how many checkpoints are kept",
    "log_every": "steps between lines of progress",
    "tensorboard": "write TensorBoard events to OUT/tensorboard",
    "threads": "threads that torch computes with on a CPU",
}
_CHOICES = {
    "optimiser": OPTIMISERS,
    "precision": PRECISIONS,
    "slot_style": SLOT_STYLES,
}
MODEL_KEYS = ("encoder", "layers", "slot_style", "bidirectional_from")  # of a recipe's `model`, and of the command line
_KINDS = {"int": int, "float": float, "str": str}


def parse_args(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line of `train.py`. Settings that were not given are absent, so that the recipe's stand."""
    parser = argparse.ArgumentParser(prog="train.py", description="Train a punctuation model.")
    parser.add_argument("--recipe", help="recipe file (YAML); without it the defaults hold")
    parser.add_argument(
        "--data", required=True, nargs="+", help="folders that data.prepare wrote, or texts in one language to prepare"
    )
    parser.add_argument("--language", default="xx", help="language code of texts under --data")
    parser.add_argument(
        "--add-pieces", type=int, default=0, help="add so many pieces from the texts to the vocabulary of --from"
    )
    parser.add_argument("--out", required=True, help="folder of the run; a run that is there goes on")
    parser.add_argument("--from", dest="start", help="checkpoint of ours to go on from, folder or Hub id")
    parser.add_argument(
        "--soft-labels", nargs="+", default=(), help="folders of teachers' labels to learn, by training.labelling"
    )
    parser.add_argument("--cpu", action="store_true", help="compute on the CPU even if there is a GPU")
    for field in dataclasses.fields(TrainingSettings):
        flag = "--" + field.name.replace("_", "-")
        kind = str(field.type).split(" | ")[0]
        help_text = f"{_HELP.get(field.name, field.name.replace('_', ' '))} (default {field.default})"
        if kind == "bool":
            parser.add_argument(flag, action="store_true", default=argparse.SUPPRESS, help=help_text)
        else:
            parser.add_argument(
                flag, type=_KINDS[kind], default=argparse.SUPPRESS, choices=_CHOICES.get(field.name), help=help_text
            )
    return parser.parse_args(argv)


def settings_of(arguments: Mapping[str, Any], recipe_model: Mapping[str, Any], recipe_training: Mapping[str, Any]):
    """Settings from the recipe's `model` and `training`, overruled by what the command line gives.

    Raises:
        ValueError: for an unknown key, a value of the wrong type or out of range.
    """
    names = {field.name for field in dataclasses.fields(TrainingSettings)}
    own = {key: value for key, value in recipe_model.items() if key in MODEL_KEYS}
    given = {key: value for key, value in arguments.items() if key in names}
    settings = settings_from(TrainingSettings, {**own, **recipe_training, **given}, "the training settings")
    _check(settings)
    return settings


def _check(settings: TrainingSettings) -> None:
    at_least_one = (
        "max_steps", "pieces_per_batch", "accumulate", "local_steps", "evaluate_every", "checkpoint_every",
        "keep_checkpoints", "log_every", "validation_words",
    )  # fmt: skip
    for name in at_least_one:
        if getattr(settings, name) < 1:
            raise ValueError(f"Expected {name} of 1 or more, got {getattr(settings, name)}. Raise it.")
    for name in ("dropout", "attention_dropout", "average_decay", "label_smoothing", "pseudo_smoothing"):
        if not 0 <= getattr(settings, name) < 1:
            raise ValueError(f"Expected {name} from 0 to below 1, got {getattr(settings, name)}. Correct it.")
    if not 0 <= settings.distil_weight <= 1:
        raise ValueError(f"Expected distil_weight from 0 to 1, got {settings.distil_weight}. Correct it.")
    for name in (
        "frozen_layers",
        "adapter_rank",
        "encoder_rate",
        "head_rate",
        "weight_decay",
        "warmup_steps",
        "max_norm",
        "pseudo_weight",
    ):
        if getattr(settings, name) < 0:
            raise ValueError(f"Expected {name} of 0 or more, got {getattr(settings, name)}. Correct it.")
    for name in ("time_limit", "patience", "threads", "layers", "temperature"):
        value = getattr(settings, name)
        if value is not None and value <= 0:
            raise ValueError(f"Expected {name} above 0, got {value}. Correct it.")
