"""The command `train.py`: trains a model on prepared data, or on plain text of one language.

    python train.py --recipe recipes/en-zh-ms.yaml --data prepared/ --output runs/first
    python train.py --model checkpoints/en-zh-ms --data my_language/ --language xx --output runs/xx
    torchrun --nproc-per-node 2 train.py ...          several processes, on GPUs or CPUs

The same command started again resumes from the last checkpoint. Every expected failure ends in one line that says what
to do.
"""

from collections.abc import Sequence

from punctuation_restoration.cli.commands import finish
from punctuation_restoration.training.settings import parse_args


def main(argv: Sequence[str] | None = None) -> int:
    """Train as the command line says. Gives 0, or 1 after an error message; a wrong command line ends with 2."""
    args = parse_args(argv)
    from punctuation_restoration.training.self_training import self_train
    from punctuation_restoration.training.starting import train

    return finish("train", lambda: (self_train if args.unlabelled else train)(args))


if __name__ == "__main__":
    raise SystemExit(main())
