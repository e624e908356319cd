"""The command `train.py`: trains a model on prepared data, or on plain text of one language.

    python train.py --recipe recipes/en-zh-ms.yaml --data prepared/ --output runs/first
    python train.py --model checkpoints/en-zh-ms --data my_language/ --language xx --output runs/xx
    torchrun --nproc-per-node 2 train.py ...          several processes, on GPUs or CPUs

The same command started again resumes from the last checkpoint. Every expected failure ends in one line that says what
to do. In Python: `punctuation_restoration.training.train`.
"""

import argparse
import os
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

from punctuation_restoration.data.readers import list_files
from punctuation_restoration.loading import add_trust_option
from punctuation_restoration.training.settings import TrainingSettings

OPTIONS = {
    "--recipe": "recipe file (YAML); without it the defaults hold",
    "--language": "language code of texts under --data (default xx)",
    "--model": "punctuation model to start from, folder or Hub id",
    "--labels": "file with other labels than those of --model or the recipe (YAML or JSON)",
    "--teacher-labels": "folder of another model's probabilities to learn, by the command label",
    "--device": "cpu, cuda or mps (default: a GPU where there is one)",
}


def parse_args(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line. What was not given is absent, so that the recipe and the defaults of the calls stand."""
    parser = argparse.ArgumentParser(
        prog="punctuation-restoration train",
        description="Train a punctuation model.",
        argument_default=argparse.SUPPRESS,
    )
    add = parser.add_argument
    for name, meaning in OPTIONS.items():
        add(name, help=meaning)
    add("--data", required=True, nargs="+", help="prepared folders, or texts in one language")
    add("--output", required=True, help="folder of the run; a run that was stopped there resumes")
    add_trust_option(parser)
    what = "trackers of the run's curves; without one they are drawn into curve.png"
    add("--log-with", nargs="+", choices=("tensorboard", "wandb", "trackio"), help=what)
    for setting in fields(TrainingSettings):
        kind, *_ = kinds = get_args(setting.type) or [setting.type]
        meaning = setting.metadata["help"]
        read: Any = {"type": kind}
        if isinstance(kind, str):  # of a Literal
            read = {"choices": kinds}
        if kind is bool:
            read = {"action": argparse.BooleanOptionalAction}
        elif setting.default is not None:
            meaning += f" (default {setting.default})"
        add("--" + setting.name.replace("_", "-"), **read, help=meaning)
    return parser.parse_args(argv)


def run(args: argparse.Namespace) -> None:
    """Train as the command line says."""
    given = vars(args)
    if os.environ.get("RANK", "0") == "0":  # torch takes seconds to import
        for path in given["data"]:
            list_files(Path(path))  # raises where there is nothing to read
        print(f"Training on {', '.join(given['data'])} into {given['output']}.", flush=True)
    from punctuation_restoration.training import train

    try:
        train(**given)
    except KeyboardInterrupt as stop:
        raise KeyboardInterrupt(
            f"The same command resumes from the newest checkpoint in {given['output']}."
        ) from stop
