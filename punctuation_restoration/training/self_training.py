"""Self-training: a model labels text without marks, and a student learns from these labels and from human ones.

    python train.py --model checkpoints/en-zh-ms --data prepared/ --unlabelled talks/ --language en --rounds 2 \\
        --pseudo-weight 0.5 --pseudo-smoothing 0.1 --output runs/self

After Chen et al. (2021): pseudo labels count alpha times (`--pseudo-weight`), and human and pseudo labels are smoothed
each with their own beta. The best student of a round is the teacher of the next, until one is no better than its
teacher on the held-out words of `--data`.

    out/round-1/pseudo/    what the teacher said        out/round-1/student/    a training run
    out/rounds.json        F1 of the first teacher and of each student
"""

import json
import os
from argparse import Namespace
from pathlib import Path
from typing import Any

from punctuation_restoration.data.preparation import prepared_folders
from punctuation_restoration.data.shards import read_index
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
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise ValueError(
            "Expected one process for --unlabelled, got several. Start train.py without a launcher."
        )
    out, device, encoder = (
        Path(args.output),
        args.device or default_device(),
        getattr(args, "encoder", None),
    )
    record = out / ROUNDS_FILE
    about_texts = {
        "resumes": (out / "round-1").exists(),
        "trust_remote_code": args.trust_remote_code,
        "language": args.language,
        "labelled": False,
    }
    bare = prepared_folders(args.unlabelled, out / "unlabelled", args.model, **about_texts)
    if any(row.get("is_labelled", True) for row in read_index(*bare)["sources"]):
        raise ValueError(
            f"Expected text prepared without its marks in {bare}, got labelled data. Give the texts."
        )
    rounds = json.loads(record.read_text(encoding="utf-8")) if record.is_file() else []
    rounds = rounds or [judged(args, args.model, device)]
    if rounds[0]["model"] != args.model:
        wanted = f"--model {rounds[0]['model']}, with which the rounds in {out} began"
        raise ValueError(f"Expected {wanted}, got {args.model}. Give that, or another --output.")
    while len(rounds) <= args.rounds and (len(rounds) == 1 or rounds[-1]["f1"] > rounds[-2]["f1"]):
        teacher, place = rounds[-1]["model"], out / f"round-{len(rounds)}"
        print(f"Round {len(rounds)}: {teacher} labels {', '.join(bare)}.", flush=True)
        write_probabilities(teacher, bare, place / "pseudo", device, args.trust_remote_code)
        given = {
            "output": str(place / "student"),
            "soft_labels": str(place / "pseudo"),
            "distil_weight": 0.0,
        }
        train(
            Namespace(
                **{
                    **vars(args),
                    **given,
                    "data": [*args.data, *bare],
                    "model": None if encoder else teacher,
                }
            )
        )
        rounds.append(judged(args, str(place / "student" / "best"), device))
        write_whole(record, json.dumps(rounds, indent=1).encode(), force=True)
        before, after = rounds[-2]["f1"], rounds[-1]["f1"]
        print(
            f"Round {len(rounds) - 1}: validation F1 {after:.2f}, its teacher's {before:.2f}.",
            flush=True,
        )
    best = max(rounds, key=lambda row: row["f1"])
    print(
        f"The best of {len(rounds) - 1} rounds and the teacher: {best['model']}, validation F1 {best['f1']:.2f}."
    )


def judged(args: Namespace, model: str, device: str) -> dict[str, Any]:
    """A model with its F1 on held-out words, in points of 100: the mean of the languages, and each."""
    scores = score_model(model, args.data, ROUND_WORDS, device, args.trust_remote_code)
    if not scores["languages"]:
        raise ValueError(
            f"Expected held-out words in {args.data}, got none. Prepare them with a validation share."
        )
    return {
        "model": model,
        "f1": scores["mean_f1"],
        **{name: row["f1"] for name, row in scores["languages"].items()},
    }
