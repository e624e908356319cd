"""Talks that were trained on beside held-out ones, and the documents that quote what was measured."""

import functools
import gzip
import importlib
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from benchmarks.writing import put_between

ROOT = Path(__file__).parents[1]


def load(name: str) -> ModuleType:
    return importlib.import_module(f"benchmarks.{name}")


def test_the_learning_curve_gains_a_stage_of_one_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    module = load("curve")
    rows = [{"minutes": 1.0, "words_per_second": 500}, {"validation": {}}, {"minutes": 3.0, "words_per_second": 250}]
    log = tmp_path / "log.jsonl"
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    document = tmp_path / "log.md"
    document.write_text(f"before\n{module.BEGIN}\nold\n{module.END}\nafter\n")
    call = ["--results", str(tmp_path), "--picture", str(tmp_path / "curve.png"), "--log", str(log)]
    call += ["--document", str(document), "--how", "10 steps"]
    talks = [{"model_sha256": "b", "f1": {"iwslt2012-dev": 40.0, "seen talks": 45.25}}]
    (tmp_path / "seen_talks.json").write_text(json.dumps({"rows": talks}))
    for model, f1 in (("a", 0.5), ("b", 0.53)):
        for name in module.TARGETS:
            result = {"signature": {"model_sha256": model}, "scores": {"micro": {"f1": f1}}}
            (tmp_path / f"{name}.json").write_text(json.dumps(result))
        assert module.main([*call, "--stage", model]) == 0
    stages = json.loads((tmp_path / "curve.json").read_text())["stages"]
    assert [(row["stage"], row["words"], row["f1"]["ms-news-test"]) for row in stages] == [
        ("a", 60_000, 50.0),
        ("b", 120_000, 53.0),
    ]
    assert "ms-news-test: +3.0 points for each doubling" in capsys.readouterr().out
    assert (tmp_path / "curve.png").stat().st_size > 1000
    lines = document.read_text().splitlines()
    assert "| a | 10 steps | 0.1 | 50.0 | 50.0 | 50.0 | 50.0 | 50.0 |  |  |" in lines
    assert "| b | 10 steps | 0.1 | 53.0 | 53.0 | 53.0 | 53.0 | 53.0 | 40.0 | 45.2 |" in lines
    assert lines[-1] == "after"
    (tmp_path / "ms-news-test.json").write_text(json.dumps({**result, "signature": {"model_sha256": "c"}}))
    with pytest.raises(ValueError, match="results of one model"):
        module.main([*call, "--stage", "c"])


def test_the_document_on_a_new_language_quotes_its_results() -> None:
    module = load("new_language")
    result = json.loads((ROOT / "results" / "new_language.json").read_text(encoding="utf-8"))
    text = (ROOT / "recipes" / "indonesian.md").read_text(encoding="utf-8")
    assert module.fill(text, result) == text


@pytest.mark.parametrize("name", ["README.md", "model_card.md"])
def test_what_slots_give_and_cost_is_quoted_as_it_was_measured(name: str) -> None:
    module = load("slots")
    result = json.loads((ROOT / "results" / "slots.json").read_text(encoding="utf-8"))
    text = (ROOT / name).read_text(encoding="utf-8")
    assert put_between(text, module.BEGIN, module.END, module.table(result)) == text


def test_the_log_quotes_the_stages_as_they_were_scored() -> None:
    text = (ROOT / "docs" / "log.md").read_text(encoding="utf-8")
    assert load("curve").fill(text, ROOT / "results") == text


def test_the_log_quotes_the_arms_as_they_were_scored() -> None:
    rows = json.loads((ROOT / "results" / "experiments.json").read_text(encoding="utf-8"))["runs"]
    assert load("experiments").table(rows) in (ROOT / "docs" / "log.md").read_text(encoding="utf-8")


@pytest.fixture
def talks(tmp_path: Path) -> Path:
    """`bench` with the held-out talk, `data` with three talks to choose from, and `ids.txt` with two of them."""
    lines = [("hello", "COMMA"), ("you", "O"), ("are", "PERIOD"), ("is", "O"), ("the", "QUESTION")] * 20
    rows = [{"id": name, "text": "hello you are. Is the day? " * 20} for name in "abc"]
    for folder in ("bench", "data"):
        (tmp_path / folder / "en").mkdir(parents=True)
    (tmp_path / "bench/en/iwslt2012-dev.tsv").write_text("".join(f"{word}\t{label}\n" for word, label in lines))
    with gzip.open(tmp_path / "data/en/ted.jsonl.gz", "wt") as file:
        file.write("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "ids.txt").write_text("c\na\n")
    return tmp_path


def test_talks_trained_on_are_scored_beside_held_out_ones(talks: Path, tiny_checkpoint: str) -> None:
    module = load("seen_talks")
    out = talks / "seen.json"
    call = ["--model", tiny_checkpoint, "--bench-root", str(talks / "bench"), "--data-root", str(talks / "data")]
    call += ["--output", str(out)]
    with pytest.raises(ValueError, match="--documents"):
        module.main([*call, "--stage", "first", "--words-seen", "5"])
    assert module.main([*call, "--stage", "first", "--words-seen", "5", "--documents", str(talks / "ids.txt")]) == 0
    assert module.main([*call, "--stage", "again", "--words-seen", "7"]) == 0
    found = json.loads(out.read_text())
    (row,) = found["rows"]  # the same model has one row
    assert (row["stage"], row["words_seen"]) == ("again", 7)
    assert found["seen_talks"]["ids"] == ["a", "c"]
    assert found["n_words"] == {module.HELD_OUT: 100, module.SEEN: 240}
    for name, f1 in row["f1"].items():
        low, high = row["interval_95"][name]
        assert 0 <= low <= f1 <= high <= 100
    assert len(row["model_sha256"]) == 64


def test_rows_of_other_talks_are_not_put_together(talks: Path, tiny_config: Any) -> None:
    module = load("seen_talks")
    read = functools.partial(module.read_talks, bench_root=talks / "bench", data_root=talks / "data")
    result = module.new_result(["a"], read(tiny_config, ["a"]))
    rows = [{"stage": name, "model_sha256": name, "words_seen": n} for name, n in (("late", 9), ("b", 3))]
    for row in rows:
        result = module.add_row(result, row, read(tiny_config, ["a"]))
    assert [row["stage"] for row in result["rows"]] == ["b", "late"]
    with pytest.raises(ValueError, match="same talks"):
        module.add_row(result, rows[0], read(tiny_config, ["b"]))
    with pytest.raises(ValueError, match="Expected the talks"):
        read(tiny_config, ["a", "absent"])


def test_the_earlier_rows_keep_their_talks() -> None:
    module = load("seen_talks")
    found = json.loads((ROOT / "results" / "seen_talks.json").read_text(encoding="utf-8"))
    assert module.chosen_ids(found, None) == found["seen_talks"]["ids"]
    assert [row["words_seen"] for row in found["rows"]] == sorted(row["words_seen"] for row in found["rows"])
