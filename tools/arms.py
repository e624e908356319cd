"""Training runs as experiments. Takes arguments of `train.py`, gives validation F1 and cost; nothing is trained twice.

Every run is a process of its own, so that one cannot disturb the next.
"""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch

from punctuation_restoration.data.readers import json_rows
from punctuation_restoration.data.shards import PackedDocument, read_index, shard_documents, write_index, write_split
from punctuation_restoration.training.validation import score_model
from punctuation_restoration.whole_files import write_whole


def run(
    place: Path, folders: Sequence[str | Path], validation: Sequence[str | Path], *arguments: str
) -> dict[str, Any]:
    """Train and score a model, unless `place` holds the score of an earlier call.

    Args:
        place: folder of the run; the result is kept there in `score.json`.
        folders: prepared data to train on.
        validation: prepared data to score on.
        arguments: of `train.py`, beside data and place; `--validation-words` and `--threads` count for the scoring too.

    Raises:
        ValueError: if `place` holds a run of other data or arguments.
    """
    check_call(place, [*map(str, folders)], [*map(str, validation)], [*arguments])
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
        "--output",
        str(place),
        "--data",
    ]
    subprocess.run([*command, *map(str, folders)], check=True)
    given = dict(zip(arguments[::2], arguments[1::2], strict=False))
    words, threads = int(given.get("--validation-words", 6000)), int(given.get("--threads", 1))
    found = {**cost(place), "f1": score(place / "final", validation, words, threads)}
    done.write_text(json.dumps(found), encoding="utf-8")
    return found


def flags(given: Mapping[str, Any]) -> list[str]:
    """Arguments of `train.py`, one word after the other, of a table by name."""
    return [str(part) for pair in given.items() for part in pair]


def check_call(place: Path, folders: list[str], validation: list[str], arguments: list[str]) -> None:
    """Note what a run is made of; a run without such a note, of an earlier version, is taken for this one.

    Raises:
        ValueError: if it is another run that the folder holds.
    """
    noted, call = place / "call.json", {"data": folders, "validation": validation, "arguments": arguments}
    if not noted.is_file():
        write_whole(noted, json.dumps(call, indent=1).encode())
    there = json.loads(noted.read_text(encoding="utf-8"))
    if there != call:
        wanted, got = ({key: one[key] for key in call if there[key] != call[key]} for one in (call, there))
        raise ValueError(
            f"Expected in {place} a run of {wanted}, it holds one of {got}. Move it away, or name another folder."
        )


def cut_folder(folder: str | Path, out: Path, share: float) -> Path:
    """A prepared folder with a share of each source's training words: its first documents, one at least.

    Held-out documents stay as they are. A folder that is there already is not made again.
    """
    if (out / "index.json").is_file():
        return out
    index: dict[str, Any] = read_index(folder)
    out.mkdir(parents=True, exist_ok=True)
    for row in index["sources"]:
        train = row["splits"]["train"]
        row["splits"]["train"] = write_split(out, f"{row['name']}-train", first_documents(train, share))
        for shard in (one for split in row["splits"].keys() - {"train"} for one in row["splits"][split]["shards"]):
            shard["file"] = str(Path(shard["file"]).resolve())
    write_index(out, index)
    return out


def write_resolved(index: Mapping[str, Any], folder: Path) -> None:
    """Write an index in another folder than that of its shards."""
    for split in (split for row in index["sources"] for split in row["splits"].values()):
        split["shards"] = [{**shard, "file": str(Path(shard["file"]).resolve())} for shard in split["shards"]]
    folder.mkdir(parents=True, exist_ok=True)
    write_index(folder, index)


def first_documents(counts: Mapping[str, Any], share: float) -> Iterator[PackedDocument]:
    """The first documents of a split, until they have a share of its words; one at least."""
    left = share * counts["n_words"]
    for shard in counts["shards"]:
        for document in shard_documents(shard["file"]):
            if left <= 0:
                return
            yield document
            left -= len(document.words.labels)


def score(model_name: str | Path, folders: Sequence[str | Path], n_words: int, threads: int) -> dict[str, float]:
    """Validation micro-F1 of a model by language, in points of 100, on `n_words` words of each language at most."""
    torch.set_num_threads(threads)
    scores = score_model(model_name, folders, n_words)
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
        while "step" in row and kept and (kept[-1]["step"], kept[-1].keys() == row.keys()) >= (row["step"], True):
            kept.pop()
        kept.append(row)
    return kept


def seen(rows: Sequence[Mapping[str, Any]], unit: str) -> int:
    """How many `unit`, "words" or "pieces", a run was trained on, from the speeds in the rows of its log."""
    progress = [row for row in rows if f"{unit}_per_second" in row]
    minutes = [0.0, *(row["minutes"] for row in progress)]
    spans = (end - start for start, end in pairwise(minutes))
    return round(sum(60 * span * row[f"{unit}_per_second"] for span, row in zip(spans, progress, strict=True)))
