"""The arms of a paper: read from YAML, trained once, scored, compared and shown in a table."""

import importlib
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import yaml
from accelerate.state import AcceleratorState

from punctuation_restoration.data.shards import PackedDocument, Words, read_index
from tools import papers

FILES = sorted((Path(__file__).resolve().parents[1] / "recipes" / "papers").glob("*.yaml"))
TEXT = "Hello, you are {letter}. Is the day? You, the best, say hello. "


@pytest.fixture
def place(tiny_encoder: Path, tmp_path: Path) -> Path:
    """A folder with texts, and a paper of four arms."""
    rows = [{"id": letter, "text": TEXT.format(letter=letter) * 4} for letter in "abcdefghijklmnopqrst"]
    (tmp_path / "talks.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    (tmp_path / "test.txt").write_text(TEXT.format(letter="z") * 8, encoding="utf-8")
    source = {"path": "talks.jsonl", "name": "talks", "language": "en"}
    paper: dict[str, Any] = {
        "paper": "A. N. Author 2020",
        "recipe": {
            "root": str(tmp_path), "sources": [source], "validation": 0.3, "filters": {"max_marks_per_word": 0.9},
            "model": {"slot_style": "last-piece", "layers": 1},
        },
        "encoder": str(tiny_encoder),
        "arguments": {"max-steps": 4, "pieces-per-batch": 128, "evaluate-every": 2, "dtype": "float32"},
        "sets": [str(tmp_path / "test.txt")],
        "made": {"data": {}, "{each} words": {"each": [100], "part_of": "data", "words": "{each}"}},
        "arms": {
            "all text": {},
            "twice": {"arguments": {"model": "{all text}"}},
            "masks": {"recipe": {"model": {"slot_style": "mask"}}, "sets": []},
            "{each} words of text": {"each": [100], "data": ["{each} words"], "steps": 0.5},
        },
        "published": {"their system": {str(tmp_path / "test.txt"): 81.25}},
    }  # fmt: skip
    (tmp_path / "tiny.yaml").write_text(yaml.safe_dump(paper, sort_keys=False), encoding="utf-8")
    return tmp_path


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Every command that is run; they run in this process, but not one that names what is `broken`."""
    called: list[list[str]] = []

    def run(command: list[str], **_: Any) -> None:
        called.append(command)
        AcceleratorState._reset_state(reset_partial_state=True)
        if any("broken" in word for word in command):
            raise OSError("the lights went out")
        assert importlib.import_module(command[2]).main(command[3:]) == 0

    monkeypatch.setattr(papers, "subprocess", SimpleNamespace(run=run, CalledProcessError=OSError))
    return called


def run(place: Path, *more: str) -> int:
    call = [str(place / "tiny.yaml"), "--work", str(place / "work"), "--output", str(place / "out"), "--device", "cpu"]
    return papers.main([*call, *more])


def test_arms_are_run_once_scored_and_compared(
    place: Path, commands: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(place, "--arms", "twice") == 0  # what it starts from is trained first
    assert [Path(one[one.index("--output") + 1]).name for one in commands] == ["data", "all-text-1", "twice-1"]
    assert run(place) == 0
    n_commands = len(commands)
    assert run(place) == 0
    assert len(commands) == n_commands == 5  # nothing is done twice
    found = json.loads((place / "out" / "tiny.json").read_text(encoding="utf-8"))
    rows = {row["arm"]: row for row in found["runs"]}
    assert [(name, row["step"]) for name, row in rows.items()] == [
        ("all text", 4), ("twice", 4), ("masks", 4), ("100 words of text", 2),
    ]  # fmt: skip
    test = str(place / "test.txt")
    assert set(rows["twice"]["against_baseline"]) == {test}
    assert rows["masks"]["sets"] == {} == rows["all text"]["against_baseline"]
    assert {"micro", "macro", "weighted", "marks"} == set(rows["all text"]["sets"][test])
    assert set(rows["all text"]["held_out"]) == {"en"}
    shown = capsys.readouterr().out
    assert f"| arm (micro F1) | seeds | `{test}` | held-out en | minutes |" in shown
    assert "| published: their system |  | 81.2 |  |  |" in shown
    train = read_index(place / "work" / "tiny" / "100-words")["sources"][0]["splits"]["train"]
    assert 100 <= train["n_words"] < 200
    settings = json.loads((place / "work" / "tiny" / "masks-1" / "settings.json").read_text(encoding="utf-8"))
    assert (settings["slot_style"], settings["layers"]) == ("mask", 1)


def test_a_run_that_breaks_or_has_other_settings_is_told_and_the_next_goes_on(
    place: Path, commands: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    file = place / "tiny.yaml"
    content = yaml.safe_load(file.read_text(encoding="utf-8"))
    content["arms"] = {"all text": {}, "twice": {"arguments": {"model": "broken"}}, "again": {}}
    file.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    assert run(place) == 1
    assert "twice, seed 1: the lights went out" in capsys.readouterr().err
    rows = json.loads((place / "out" / "tiny.json").read_text(encoding="utf-8"))["runs"]
    assert [row["arm"] for row in rows] == ["all text", "again"]
    content["arguments"]["max-steps"] = 6
    file.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    assert run(place, "--arms", "all text") == 1
    assert "--max-steps 6" in capsys.readouterr().err
    content["arguments"]["max-steps"] = 4
    content["recipe"]["filters"] = {"min_sentences": 2}
    file.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    assert run(place, "--arms", "all text") == 1
    assert "or with another recipe. Move it away" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("average", "averages", "averages"),
        ("'{all text}'", "'{nothing}'", "nothing"),
        ("part_of: data", "part_of: date", "date"),
        ("steps: 0.5", "steps: half", "steps"),
    ],
)
def test_a_wrong_file_is_refused(
    place: Path, old: str, new: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (place / "tiny.yaml").read_text(encoding="utf-8") + "average: micro\n"
    assert old in text
    (place / "tiny.yaml").write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(SystemExit) as done:
        run(place)
    assert done.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_arms_of_the_papers_can_be_read(path: Path) -> None:
    paper = papers.read_paper(path)
    assert paper.baseline in paper.arms
    assert Path(paper.recipe["base"]).is_file()


def test_pieces_as_words_keep_the_mark_at_the_last_piece() -> None:
    counts, labels = np.array([2, 1, 1], np.uint8), np.array([1, 0, 2], np.uint8)
    words = Words(np.array([11, 12, 13, 14]), counts, labels, np.zeros(3, np.uint8), np.zeros((3, 0), np.uint8))
    pieces = papers.by_pieces(PackedDocument(7, words)).words
    assert pieces.labels.tolist() == [0, 1, 0, 2]
    assert pieces.piece_counts.tolist() == [1, 1, 1, 1]
    assert pieces.piece_ids.tolist() == [11, 12, 13, 14]


def test_a_gain_is_shown_where_every_interval_leaves_zero_out() -> None:
    sure = {"micro": 0.02, "interval_95": [0.01, 0.03]}
    assert papers.cell([71.0, 72.0], [sure, sure]) == "71.5 (+2.0)"
    for low in (-0.01, 0.0):
        assert papers.cell([71.0], [sure, {"micro": 0.0, "interval_95": [low, 0.01]}]) == "71.0"
    assert papers.cell([]) == ""
