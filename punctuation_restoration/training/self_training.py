"""Self-training: a model labels unpunctuated text, and a student learns from that and from human labels.

    python -m punctuation_restoration.training.self_training --teacher checkpoints/en-zh-ms --data prepared/ \\
        --unlabelled talks.txt --language en --rounds 2 --pseudo-weight 0.5 --pseudo-smoothing 0.1 --out runs/self

After Chen et al. (2021), "Discriminative self-training for punctuation prediction": pseudo labels count alpha times
(`--pseudo-weight`), and human and pseudo labels are smoothed each with their own beta (`--label-smoothing`,
`--pseudo-smoothing`). The student of a round is the teacher of the next. Other arguments are those of `train.py`.

    out/round-1/pseudo/    what the teacher said        out/round-1/student/    a run of train.py
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch

from punctuation_restoration.data.prepare import prepare, recipe_for_texts
from punctuation_restoration.data.recipe import load_recipe
from punctuation_restoration.data.shards import INDEX_NAME
from punctuation_restoration.training.labelling import label_folder
from punctuation_restoration.training.settings import parse_args as parse_training_args
from punctuation_restoration.training.starting import failure_message, train


def main(argv: Sequence[str] | None = None) -> int:
    """Self-train; gives 0, or 1 after an error message. What an earlier call has done is not done again."""
    args, rest = parse_args(argv)
    try:
        unlabelled = unlabelled_folder(args)
        teacher = args.teacher
        for number in range(1, args.rounds + 1):
            place = Path(args.out) / f"round-{number}"
            if not (place / "pseudo" / INDEX_NAME).is_file():
                print(f"Round {number}: {teacher} labels {unlabelled}.", flush=True)
                device = "cuda" if torch.cuda.is_available() and "--cpu" not in rest else "cpu"
                label_folder(teacher, unlabelled, place / "pseudo", device)
            start = [] if args.student == "encoder" else ["--from", args.student or args.teacher]
            folders = ["--data", *args.data, str(place / "pseudo")]
            train(parse_training_args([*folders, "--out", str(place / "student"), *start, *rest]))
            teacher = str(place / "student" / "final")
    except Exception as error:
        print(f"self_training: {failure_message(error)}", file=sys.stderr)
        return 1
    return 0


def parse_args(argv: Sequence[str] | None = None) -> tuple[argparse.Namespace, list[str]]:
    """The command line of self-training, and what goes on to `train.py`."""
    parser = argparse.ArgumentParser(prog="self_training", allow_abbrev=False)
    parser.description = "A model labels text, and a student learns from it."
    parser.add_argument("--teacher", required=True, help="model of ours that labels in the first round")
    parser.add_argument("--data", required=True, nargs="+", help="prepared folders with human labels")
    parser.add_argument(
        "--unlabelled",
        required=True,
        nargs="+",
        help="texts without marks, one prepared folder, or a recipe (.yaml) whose sources lose their marks",
    )
    parser.add_argument("--language", default="xx", help="language code of texts under --unlabelled")
    parser.add_argument(
        "--student", help="what students start from: a model of ours, or 'encoder'; default: the teacher"
    )
    parser.add_argument("--rounds", type=int, default=1, help="how many times; Chen et al. gained most in the first")
    parser.add_argument("--out", required=True, help="folder of all rounds")
    return parser.parse_known_args(argv)


def unlabelled_folder(args: argparse.Namespace) -> Path:
    """The prepared folder of unlabelled text; texts and recipes are prepared into `out/unlabelled` once."""
    first = Path(args.unlabelled[0])
    if (first / INDEX_NAME).is_file():
        if len(args.unlabelled) > 1:
            raise ValueError(f"Expected one prepared folder under --unlabelled, got {args.unlabelled}. Give one.")
        return first
    folder = Path(args.out) / "unlabelled"
    if not (folder / INDEX_NAME).is_file():
        is_recipe = first.suffix in (".yaml", ".yml")
        recipe = load_recipe(first) if is_recipe else recipe_for_texts(args.unlabelled, args.language)
        bare = tuple(replace(source, labelled=False) for source in recipe.sources)
        prepare(replace(recipe, sources=bare), folder, args.teacher)
    return folder


if __name__ == "__main__":
    raise SystemExit(main())
