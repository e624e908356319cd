"""The files in `results/`: blocks survive packing, the files are small, and each has a program that writes it."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from punctuation_restoration.evaluation.counts import add_counts, count_labels
from punctuation_restoration.evaluation.intervals import Block, bootstrap
from punctuation_restoration.evaluation.result_files import brief_scores, pack_blocks, unpack_blocks
from punctuation_restoration.evaluation.scores import score

ROOT = Path(__file__).resolve().parents[1]
NAMES = ("O", "COMMA", "PERIOD", "QUESTION")
SCORED = [
    path for path in sorted((ROOT / "results").glob("*.json")) if "benchmark" in json.loads(path.read_text("utf-8"))
]
MAX_BYTES = 120_000


def parts() -> list[Block]:
    first = count_labels([0, 1, 2], [0, 2, 2], NAMES)
    last = count_labels([3, 0, 2], [0, 0, 2], NAMES, ends_text=True)
    stray = count_labels([], [], NAMES, stray=["COMMA"] * 70_000)
    return [Block("b", "talks", 0, first), Block("b", "talks", 1, last), Block("大家", "news", 0, stray)]


def as_rows(found: list[Block]) -> list[tuple]:
    return [(part.document, part.source, part.block, part.counts.numbers.tolist()) for part in found]


def test_blocks_come_back_as_they_were_packed():
    packed = json.loads(json.dumps(pack_blocks(parts())))
    assert as_rows(unpack_blocks(packed, NAMES)) == as_rows(parts())
    assert packed["documents"] == ["b", "大家"]


def test_a_test_without_a_block_comes_back_empty():
    assert unpack_blocks(pack_blocks([]), NAMES) == []


@pytest.mark.parametrize("damage", [{"counts": [[0, 0, 0, 99, 1]]}, {"counts": "x"}, {"counts": [[7, 0, 0]]}])
def test_damaged_blocks_are_refused(damage):
    with pytest.raises(ValueError, match="Expected counts of blocks"):
        unpack_blocks({**pack_blocks(parts()), **damage}, NAMES)


def test_documents_are_told_apart_by_the_counts_of_their_blocks():
    found = brief_scores(parts(), "document")
    assert {name: (row["n_words"], row["n_marks"]) for name, row in found.items()} == {"b": (6, 4), "大家": (0, 0)}


@pytest.mark.parametrize("path", SCORED, ids=lambda path: path.stem)
def test_scores_and_intervals_follow_from_the_blocks_of_a_file(path):
    result = json.loads(path.read_text("utf-8"))
    found = unpack_blocks(result["blocks"], result["label_names"])
    scores = asdict(score(add_counts(result["label_names"], [part.counts for part in found])))
    assert scores == {key: result["scores"][key] for key in scores}
    assert brief_scores(found, "source") == result["by_source"]
    intervals = bootstrap(found)
    assert (intervals.n_units, list(intervals.micro)) == (
        result["intervals_95"]["n_units"],
        pytest.approx(result["intervals_95"]["micro"]),
    )
    assert asdict(intervals)["unit"] == result["intervals_95"]["unit"]


def test_the_files_are_small():
    assert len(SCORED) >= 7
    assert {path.name: path.stat().st_size for path in SCORED if path.stat().st_size > MAX_BYTES} == {}
