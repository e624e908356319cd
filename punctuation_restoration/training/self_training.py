"""Self-training: a model labels unpunctuated text, and a student learns from these labels and from human ones.

    python -m punctuation_restoration.training.self_training --teacher checkpoints/en-zh-ms --data prepared/ \\
        --unlabelled talks.txt --language en --rounds 2 --pseudo-weight 0.5 --pseudo-smoothing 0.1 --output runs/self

After Chen et al. (2021), "Discriminative self-training for punctuation prediction": pseudo labels count alpha times
(`--pseudo-weight`), and human and pseudo labels are smoothed each with their own beta (`--label-smoothing`,
`--pseudo-smoothing`). The student of a round, at its best, is the teacher of the next, until one is no better than its
teacher on the validation words of `--data`. Other arguments are those of `train.py`.

    out/round-1/pseudo/    what the teacher said        out/round-1/student/    a run of train.py
    out/rounds.json        F1 of the teacher and of each student
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from punctuation_restoration.data.preparation import prepare, recipe_for_texts
from punctuation_restoration.data.shards import INDEX_NAME
from punctuation_restoration.training.labelling import write_probabilities
from punctuation_restoration.training.precision import default_device
from punctuation_restoration.training.settings import parse_args as parse_training_args
from punctuation_restoration.training.starting import failure_message, train
from punctuation_restoration.training.validation import score_model
from punctuation_restoration.whole_files import write_whole

ROUNDS_FILE = "rounds.json"


def main(argv: Sequence[str] | None = None) -> int:
    """Self-train; gives 0, or 1 after an error message. What an earlier call has done is not done again."""
    args, rest = parse_args(argv)
    given = parse_training_args(["--data", *args.data, "--output", args.output, *rest])  # what is wrong is told at once
    torch.set_num_threads(getattr(given, "threads", None) or torch.get_num_threads())
    try:
        rounds = self_train(args, rest, given.device or default_device())
    except Exception as error:
        print(f"self_training: {failure_message(error)}", file=sys.stderr)
        return 1
    best = max(rounds, key=lambda row: row["f1"])
    print(f"The best of {len(rounds) - 1} rounds and the teacher: {best['model']}, validation F1 {best['f1']:.2f}.")
    return 0


def self_train(args: argparse.Namespace, rest: Sequence[str], device: str) -> list[dict[str, Any]]:
    """Rounds, until a student is no better than its teacher or there are enough. Gives all models in order."""
    unlabelled, record = unlabelled_folder(args), Path(args.output) / ROUNDS_FILE
    rounds = json.loads(record.read_text(encoding="utf-8")) if record.is_file() else []
    rounds = rounds or [judged(args, args.teacher, device)]
    if rounds[0]["model"] != args.teacher:
        raise ValueError(
            f"Expected --teacher {rounds[0]['model']}, with which the rounds in {args.output} began, got "
            f"{args.teacher}. Give that, or another --output."
        )
    while len(rounds) <= args.rounds and (len(rounds) == 1 or rounds[-1]["f1"] > rounds[-2]["f1"]):
        teacher, place = rounds[-1]["model"], Path(args.output) / f"round-{len(rounds)}"
        print(f"Round {len(rounds)}: {teacher} labels {unlabelled}.", flush=True)
        write_probabilities(teacher, [unlabelled], place / "pseudo", device)
        start = [] if args.student == "encoder" else ["--model", args.student or teacher]
        labels = ["--soft-labels", str(place / "pseudo"), "--distil-weight", "0"]  # the likeliest ones
        folders = ["--data", *args.data, unlabelled, "--output", str(place / "student")]
        train(parse_training_args([*folders, *start, *labels, *rest]))
        rounds.append(judged(args, str(place / "student" / "best"), device))
        write_whole(record, json.dumps(rounds, indent=1).encode(), force=True)
        before, after = rounds[-2]["f1"], rounds[-1]["f1"]
        print(f"Round {len(rounds) - 1}: validation F1 {after:.2f}, its teacher's {before:.2f}.", flush=True)
    return rounds


def judged(args: argparse.Namespace, model: str, device: str) -> dict[str, Any]:
    """A model with its validation F1 in points of 100: the mean of the languages, and each."""
    scores = score_model(model, args.data, args.round_words, device)
    if not scores["languages"]:
        raise ValueError(
            f"Expected held-out words in {args.data}, to judge models, got none. Prepare them with a validation share."
        )
    return {"model": model, "f1": scores["mean_f1"], **{name: row["f1"] for name, row in scores["languages"].items()}}


def parse_args(argv: Sequence[str] | None = None) -> tuple[argparse.Namespace, list[str]]:
    """The command line of self-training, and what goes on to `train.py`."""
    about = "A model labels text, and a student learns from it."
    parser = argparse.ArgumentParser(prog="self_training", description=about, allow_abbrev=False)
    parser.add_argument("--teacher", required=True, help="model of ours that labels in the first round")
    parser.add_argument("--data", required=True, nargs="+", help="prepared folders with human labels")
    what = "texts, or a folder prepared from sources with `labelled: false`; their marks are not read"
    parser.add_argument("--unlabelled", required=True, nargs="+", help=what)
    parser.add_argument("--language", default="xx", help="language code of texts under --unlabelled")
    parser.add_argument("--student", help="what students start from: a model or 'encoder'; default: their teacher")
    parser.add_argument("--rounds", type=int, default=5, help="at most; the first without a gain is the last (5)")
    what = "validation words of each language that rounds are judged on"
    parser.add_argument("--round-words", type=int, default=60_000, help=what)
    parser.add_argument("--output", required=True, help="folder of all rounds")
    return parser.parse_known_args(argv)


def unlabelled_folder(args: argparse.Namespace) -> str:
    """The prepared folder of unlabelled text; texts are prepared into `out/unlabelled` once."""
    folder = Path(args.output) / "unlabelled"
    if len(args.unlabelled) == 1 and (Path(args.unlabelled[0]) / INDEX_NAME).is_file():
        return args.unlabelled[0]
    if not (folder / INDEX_NAME).is_file():
        recipe = recipe_for_texts(args.unlabelled, args.language)
        bare = tuple(replace(source, labelled=False) for source in recipe.sources)
        prepare(replace(recipe, sources=bare), folder, args.teacher)
    return str(folder)


if __name__ == "__main__":
    raise SystemExit(main())
