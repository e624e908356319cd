"""Self-training: a model labels text without marks, and a student learns from these labels and from human ones.

    python train.py --model checkpoints/en-zh-ms --data prepared/ --unlabelled talks/ --language en --rounds 2 \\
        --pseudo-weight 0.5 --pseudo-smoothing 0.1 --output runs/self

After Chen et al. (2021), "Discriminative self-training for punctuation prediction": pseudo labels count alpha times
(`--pseudo-weight`), and human and pseudo labels are smoothed each with their own beta (`--label-smoothing`,
`--pseudo-smoothing`). The student of a round, at its best, is the teacher of the next, until one is no better than its
teacher on the held-out words of `--data`.

    out/round-1/pseudo/    what the teacher said        out/round-1/student/    a training run
    out/rounds.json        F1 of the first teacher and of each student
"""

import json
from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from punctuation_restoration.data.preparation import prepare, recipe_for_texts
from punctuation_restoration.data.shards import INDEX_NAME
from punctuation_restoration.training.labelling import write_probabilities
from punctuation_restoration.training.precision import default_device
from punctuation_restoration.training.starting import train
from punctuation_restoration.training.validation import score_model
from punctuation_restoration.whole_files import write_whole

ROUNDS_FILE = "rounds.json"
ROUND_WORDS = 60_000  # held-out words of each language on which models are compared


def self_train(args: Namespace) -> None:
    """Rounds, until a student is no better than its teacher or there are enough. What is done is not done again.

    The first teacher is `args.model`. Students start from `args.encoder`, or else from their teacher.
    """
    if not args.model:
        raise ValueError("Expected a model that labels --unlabelled, got none. Name it by --model.")
    torch.set_num_threads(getattr(args, "threads", None) or torch.get_num_threads())
    out, device, encoder = Path(args.output), args.device or default_device(), getattr(args, "encoder", None)
    bare, record = unlabelled_folder(args), out / ROUNDS_FILE
    rounds = json.loads(record.read_text(encoding="utf-8")) if record.is_file() else []
    rounds = rounds or [judged(args, args.model, device)]
    if rounds[0]["model"] != args.model:
        raise ValueError(
            f"Expected --model {rounds[0]['model']}, with which the rounds in {out} began, got {args.model}. Give "
            "that, or another --output."
        )
    while len(rounds) <= args.rounds and (len(rounds) == 1 or rounds[-1]["f1"] > rounds[-2]["f1"]):
        teacher, place = rounds[-1]["model"], out / f"round-{len(rounds)}"
        print(f"Round {len(rounds)}: {teacher} labels {bare}.", flush=True)
        write_probabilities(teacher, [bare], place / "pseudo", device)
        given = {"output": str(place / "student"), "soft_labels": str(place / "pseudo"), "distil_weight": 0.0}
        train(Namespace(**{**vars(args), **given, "data": [*args.data, bare], "model": None if encoder else teacher}))
        rounds.append(judged(args, str(place / "student" / "best"), device))
        write_whole(record, json.dumps(rounds, indent=1).encode(), force=True)
        before, after = rounds[-2]["f1"], rounds[-1]["f1"]
        print(f"Round {len(rounds) - 1}: validation F1 {after:.2f}, its teacher's {before:.2f}.", flush=True)
    best = max(rounds, key=lambda row: row["f1"])
    print(f"The best of {len(rounds) - 1} rounds and the teacher: {best['model']}, validation F1 {best['f1']:.2f}.")


def judged(args: Namespace, model: str, device: str) -> dict[str, Any]:
    """A model with its F1 on held-out words, in points of 100: the mean of the languages, and each."""
    scores = score_model(model, args.data, ROUND_WORDS, device)
    if not scores["languages"]:
        raise ValueError(f"Expected held-out words in {args.data}, got none. Prepare them with a validation share.")
    return {"model": model, "f1": scores["mean_f1"], **{name: row["f1"] for name, row in scores["languages"].items()}}


def unlabelled_folder(args: Namespace) -> str:
    """The prepared folder of unlabelled text; texts are prepared into `out/unlabelled` once."""
    folder = Path(args.output) / "unlabelled"
    if len(args.unlabelled) == 1 and (Path(args.unlabelled[0]) / INDEX_NAME).is_file():
        return str(args.unlabelled[0])
    if not (folder / INDEX_NAME).is_file():
        recipe = recipe_for_texts(args.unlabelled, args.language)
        bare = tuple(replace(source, labelled=False) for source in recipe.sources)
        prepare(replace(recipe, sources=bare), folder, args.model)
    return str(folder)
