"""The command `label`: a model's probabilities of every label of prepared text, for a smaller model to learn.

    punctuation-restoration label --model LARGE --data prepared_for_it/ --output teacher_labels/
    python train.py --encoder SMALL --data prepared/ --teacher-labels teacher_labels/ --output runs/small

`prepared_for_it/` was prepared with the large model's tokenizer. A command that was stopped resumes.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from punctuation_restoration.loading import add_trust_option


def parse_args(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="punctuation-restoration label",
        description="A model's probabilities, for a smaller one to learn.",
    )
    add = parser.add_argument
    add("--model", required=True, help="a punctuation model, folder or Hub id")
    add("--data", required=True, nargs="+", help="folders prepared with the model's tokenizer")
    add("--output", required=True, type=Path, help="folder to write, or to resume")
    add("--device", help="cpu, cuda, cuda:1, mps (default: a GPU where there is one)")
    add_trust_option(parser)
    return parser.parse_args(argv)


def run(args: argparse.Namespace) -> None:
    """Write the probabilities."""
    from punctuation_restoration.training.labelling import write_probabilities

    n_words = write_probabilities(
        args.model, args.data, args.output, args.device, args.trust_remote_code
    )
    print(f"{n_words:,} words labelled in {args.output}.")
