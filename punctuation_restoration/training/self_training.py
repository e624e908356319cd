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
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from punctuation_restoration.data.preparation import prepared_folders
from punctuation_restoration.data.shards import read_index
from punctuation_restoration.training.labelling import write_probabilities
from punctuation_restoration.training.precision import default_device
from punctuation_restoration.training.starting import paths_of, train
from punctuation_restoration.training.validation import score_model
from punctuation_restoration.whole_files import write_whole

ROUNDS_FILE = "rounds.json"
ROUND_WORDS = 60_000  # held-out words of each language on which models are compared


def self_train(
    data: str | Path | Sequence[str | Path],
    output: str | Path,
    *,
    unlabelled: str | Path | Sequence[str | Path],
    model: str | Path | None = None,
    encoder: str | None = None,
    rounds: int = 5,
    language: str = "xx",
    device: str | None = None,
    trust_remote_code: bool = False,
    **settings: Any,
) -> dict[str, Any]:
    """Rounds, until a student is no better than its teacher or there are enough. What is done is not done again.

    Args:
        data: prepared folders, or texts in one language, with marks.
        output: folder of all rounds.
        unlabelled: texts whose marks are not used, or folders prepared with `labelled: false`.
        model: the first teacher.
        encoder: what students start from; default: their teacher.
        rounds: most rounds.
        language, device, trust_remote_code, settings: as of `train`.

    Returns:
        The row of the best model in `rounds.json`: `"model"`, its folder, and its F1.

    Raises:
        ValueError: there is no teacher, there are several processes, or the data do not fit; and what `train` raises.
    """
    if not model:
        raise ValueError("Expected a model that labels --unlabelled, got none. Name it by --model.")
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise ValueError(
            "Expected one process for --unlabelled, got several. Start train.py without a launcher."
        )
    out, first, device = Path(output), str(model), device or default_device()
    human = paths_of(data)
    bare = prepared_folders(
        paths_of(unlabelled),
        out / "unlabelled",
        first,
        resumes=(out / "round-1").exists(),
        trust_remote_code=trust_remote_code,
        language=language,
        labelled=False,
    )

    def judged(model: str) -> dict[str, Any]:
        """A model with its F1 on held-out words, in points of 100: the mean of the languages, and each."""
        scores = score_model(model, human, ROUND_WORDS, device, trust_remote_code)
        if not scores["languages"]:
            raise ValueError(
                f"Expected held-out words in {human}, got none. Prepare them with a validation share."
            )
        by_language = {name: row["f1"] for name, row in scores["languages"].items()}
        return {"model": model, "f1": scores["mean_f1"], **by_language}

    if any(row.get("is_labelled", True) for row in read_index(*bare)["sources"]):
        raise ValueError(
            f"Expected text prepared without its marks in {bare}, got labelled data. Give the texts."
        )
    record = out / ROUNDS_FILE
    done = json.loads(record.read_text(encoding="utf-8")) if record.is_file() else []
    done = done or [judged(first)]
    if done[0]["model"] != first:
        wanted = f"--model {done[0]['model']}, with which the rounds in {out} began"
        raise ValueError(f"Expected {wanted}, got {first}. Give that, or another --output.")
    while len(done) <= rounds and (len(done) == 1 or done[-1]["f1"] > done[-2]["f1"]):
        number, teacher = len(done), done[-1]["model"]
        folder = out / f"round-{number}"
        print(f"Round {number}: {teacher} labels {', '.join(bare)}.", flush=True)
        write_probabilities(teacher, bare, folder / "pseudo", device, trust_remote_code)
        start = {"encoder": encoder} if encoder else {"model": teacher}
        given = {"soft_labels": folder / "pseudo", "distil_weight": 0.0, "device": device}
        given |= {"language": language, "trust_remote_code": trust_remote_code, **start}
        student = folder / "student"
        train([*human, *bare], student, **{**settings, **given})
        done.append(judged(str(student / "best")))
        write_whole(record, json.dumps(done, indent=1).encode(), force=True)
        before, after = done[-2]["f1"], done[-1]["f1"]
        print(
            f"Round {number}: validation F1 {after:.2f}, its teacher's {before:.2f}.",
            flush=True,
        )
    best = max(done, key=lambda row: row["f1"])
    print(
        f"The best of {len(done) - 1} rounds and the teacher: {best['model']}, validation F1 {best['f1']:.2f}."
    )
    return best
