"""The command `label`: a model's probabilities of every label of prepared text, for a smaller model to learn.

    punctuation-restoration label --model LARGE --data prepared_for_it/ --output teacher_labels/
    python train.py --encoder SMALL --data prepared/ --teacher-labels teacher_labels/ --output runs/small

`prepared_for_it/` was prepared with the large model's tokenizer. A command that was stopped resumes.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from punctuation_restoration.cli.commands import finish
from punctuation_restoration.loading import add_trust_option


def main(argv: Sequence[str] | None = None) -> int:
    """Write a model's probabilities. Gives 0, or 1 after an error message; a wrong command line ends with 2."""
    parser = argparse.ArgumentParser(
        prog="punctuation-restoration label",
        description="A model's probabilities, for a smaller one to learn.",
    )
    parser.add_argument("--model", required=True, help="a punctuation model, folder or Hub id")
    parser.add_argument(
        "--data", required=True, nargs="+", help="folders prepared with the model's tokenizer"
    )
    parser.add_argument("--output", required=True, type=Path, help="folder to write, or to resume")
    parser.add_argument(
        "--device", help="cpu, cuda, cuda:1, mps (default: a GPU where there is one)"
    )
    add_trust_option(parser)
    args = parser.parse_args(argv)
    from punctuation_restoration.training.labelling import write_probabilities
    from punctuation_restoration.training.precision import default_device

    def label() -> None:
        n_words = write_probabilities(
            args.model,
            args.data,
            args.output,
            args.device or default_device(),
            args.trust_remote_code,
        )
        print(f"{n_words:,} words labelled in {args.output}.")

    return finish("label", label)
