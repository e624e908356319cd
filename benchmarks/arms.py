"""Training runs as experiments. Takes arguments of `train.py`, gives validation F1 and cost; nothing is trained twice.

Every run is a process of its own, so that one cannot disturb the next.
"""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from transformers import AutoTokenizer

from punctuation_restoration.data.readers import json_rows
from punctuation_restoration.data.shards import ShardWriter, read_index, shard_documents, write_index
from punctuation_restoration.pipeline.slots import SlotEncoder
from punctuation_restoration.training.building import load_own_model
from punctuation_restoration.training.validation import Validation


def run(
    place: Path, folders: Sequence[str | Path], validation: Sequence[str | Path], *arguments: str
) -> dict[str, Any]:
    """Train and score a model, unless `place` holds the score of an earlier call.

    Args:
        place: folder of the run; the result is kept there in `score.json`.
        folders: prepared data to train on.
        validation: prepared data to score on.
        arguments: of `train.py`, beside data and place; `--validation-words` and `--threads` count for the scoring too.
    """
    done = place / "score.json"
    if done.is_file():
        return dict(json.loads(done.read_text(encoding="utf-8")))
    quiet = ["--evaluate-every", "1000000", "--log-every", "25"]  # scored below; arguments may ask for a curve
    command = [
        sys.executable,
        "-m",
        "punctuation_restoration.cli.train",
        *quiet,
        *arguments,
        "--out",
        str(place),
        "--data",
    ]
    subprocess.run([*command, *map(str, folders)], check=True)
    given = dict(zip(arguments[::2], arguments[1::2], strict=False))
    words, threads = int(given.get("--validation-words", 6000)), int(given.get("--threads", 1))
    found = {**cost(place), "f1": score(place / "final", validation, words, threads)}
    done.write_text(json.dumps(found), encoding="utf-8")
    return found


def cut_folder(folder: str | Path, out: Path, share: float) -> Path:
    """A prepared folder with a share of each source's training words: its first documents, one at least.

    Held-out documents stay as they are. A folder that is there already is not made again.
    """
    if (out / "index.json").is_file():
        return out
    index: dict[str, Any] = read_index(folder)
    out.mkdir(parents=True, exist_ok=True)
    for source_id, row in enumerate(index["sources"]):
        writer = ShardWriter(out, f"{row['name']}-train", index["languages"].index(row["language"]), source_id)
        left = share * row["splits"]["train"]["n_words"]
        for shard in row["splits"]["train"]["shards"]:
            for document in shard_documents(shard["file"]) if left > 0 else ():
                if left > 0:
                    writer.add(document)
                    left -= len(document.labels)
        row["splits"]["train"] = {**writer.finish(), "n_labels": []}
        for shard in (one for split in row["splits"].keys() - {"train"} for one in row["splits"][split]["shards"]):
            shard["file"] = str(Path(shard["file"]).resolve())
    write_index(out, index)
    return out


def score(model_name: str | Path, folders: Sequence[str | Path], n_words: int, threads: int) -> dict[str, float]:
    """Validation micro-F1 of a model by language, in points of 100, on `n_words` words of each language at most."""
    torch.set_num_threads(threads)
    model = load_own_model(str(model_name)).eval()
    slots = SlotEncoder(AutoTokenizer.from_pretrained(model_name), model.config)
    validation = Validation(read_index(*folders), slots, model.config, n_words)
    scores = validation.scores(validation.counts(model))
    return {language: round(row["f1"], 2) for language, row in scores["languages"].items()}


def pieces_per_word(folders: Sequence[str | Path]) -> float:
    """Pieces that a word of the training text has on average, as a tokenizer splits it."""
    train = [row["splits"]["train"] for row in read_index(*folders)["sources"]]
    return sum(row["n_pieces"] for row in train) / sum(row["n_words"] for row in train)


def cost(place: Path) -> dict[str, Any]:
    """Steps, minutes, words and pieces that a run took, from its log."""
    rows = read_log(place / "log.jsonl")
    minutes = next((row["minutes"] for row in reversed(rows) if "minutes" in row), 0.0)
    return {
        "steps": rows[-1]["step"],
        "minutes": round(minutes, 1),
        "words": seen(rows, "words"),
        "pieces": seen(rows, "pieces"),
    }


def read_log(log: Path) -> list[dict[str, Any]]:
    """The rows of a run's `log.jsonl`, without those that a run which was stopped has done again."""
    kept: list[dict[str, Any]] = []
    for _, row in json_rows(log):
        while kept and (kept[-1]["step"], kept[-1].keys() == row.keys()) >= (row["step"], True):
            kept.pop()
        kept.append(row)
    return kept


def seen(rows: Sequence[Mapping[str, Any]], unit: str) -> int:
    """How many `unit`, "words" or "pieces", a run was trained on, from the speeds in the rows of its log."""
    progress = [row for row in rows if f"{unit}_per_second" in row]
    minutes = [0.0, *(row["minutes"] for row in progress)]
    spans = (end - start for start, end in pairwise(minutes))
    return round(sum(60 * span * row[f"{unit}_per_second"] for span, row in zip(spans, progress, strict=True)))
