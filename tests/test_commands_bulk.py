"""Archives: parts are written whole, failures are noted, and a killed job goes on where it stopped."""

import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from punctuation_restoration.cli import bulk
from punctuation_restoration.cli.bulk_parts import plan_parts

ROOT = Path(__file__).resolve().parents[1]
RECORDED = ROOT / "examples" / "transcripts"
MODULE = "punctuation_restoration.cli.bulk"


def mark_third_words(items: Iterable[Any], **options: Any) -> Iterator[dict[str, Any]]:
    """A stand-in for a pipeline; it cannot restore the word "crash"."""
    for text in items:
        if "crash" in text:
            raise ValueError("Expected other words, got crash.")
        count = iter(range(1, 10**6))
        marked = re.sub(r"\w+", lambda m, n=count: m.group() + ("." if next(n) % 3 == 0 else ""), text)
        words = [{"start": m.start(), "end": m.end(), "score": 0.9} for m in re.finditer(r"\w+", text)]
        edits = [{"start": word["end"], "removed": "", "inserted": ".", "score": 0.9} for word in words[2::3]]
        yield {"text": marked, "edits": edits, "words": words}


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "load_restorer", lambda *args: mark_third_words)


def write_rows(path: Path, n_rows: int) -> Path:
    rows = [{"id": n, "text": f"hello there you are number {n} in this list"} for n in range(n_rows)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def outputs(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "_job.json"
    }


def test_jsonl_is_restored_in_parts_that_join_to_the_whole(stand_in: None, tmp_path: Path) -> None:
    source = write_rows(tmp_path / "rows.jsonl", 25)
    assert bulk.main([str(source), str(tmp_path / "out"), "--lines", "10"]) == 0
    parts = outputs(tmp_path / "out")
    assert list(parts) == [f"rows.jsonl/part-0000{n}.jsonl" for n in range(3)]
    rows = [json.loads(line) for line in b"".join(parts.values()).splitlines()]
    assert [row["id"] for row in rows] == list(range(25))
    assert rows[3]["text"] == "hello there you. are number 3. in this list."


def test_a_folder_keeps_names_and_formats(stand_in: None, tmp_path: Path) -> None:
    assert bulk.main([str(RECORDED / "meetings"), str(tmp_path / "out")]) == 0
    assert list(outputs(tmp_path / "out")) == ["june/tuesday.txt", "june/wednesday.txt", "monday.txt"]


def test_parquet_keeps_its_other_columns(stand_in: None, tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow reads Parquet")
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow reads Parquet")
    table = pyarrow.table({"id": [1, 2, 3], "text": ["a b c d", None, "e f crash"], "x": [0.5, 1.5, 2.5]})
    parquet.write_table(table, tmp_path / "rows.parquet", row_group_size=2)
    assert bulk.main([str(tmp_path / "rows.parquet"), str(tmp_path / "out")]) == 1
    written = parquet.read_table(tmp_path / "out" / "rows.parquet")
    assert written.to_pydict() == {"id": [1, 2, 3], "text": ["a b c. d", None, "e f crash"], "x": [0.5, 1.5, 2.5]}
    assert written.schema.equals(table.schema)
    (noted,) = (tmp_path / "out" / "failures" / "rows.parquet").iterdir()
    assert json.loads(noted.read_text())["item"] == "e f crash"


def test_rows_that_fail_are_noted_and_the_others_are_done(
    stand_in: None, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "rows.jsonl"
    lines = ['{"text": "a b c"}', '{"text": "a b', '{"text": "d crash e"}', '{"no": 1}', '{"text": "f g h"}']
    source.write_text("\n".join(lines) + "\n")
    assert bulk.main([str(source), str(tmp_path / "out")]) == 1
    assert (
        tmp_path / "out" / "rows.jsonl" / "part-00000.jsonl"
    ).read_text() == '{"text": "a b c."}\n{"text": "f g h."}\n'
    noted = tmp_path / "out" / "failures" / "rows.jsonl" / "part-00000.jsonl.failures.jsonl"
    failures = [json.loads(line) for line in noted.read_text().splitlines()]
    assert [failure["item"] for failure in failures] == ['{"text": "a b', '{"no": 1}', '{"text": "d crash e"}']
    assert failures[0]["line"] == 2
    assert failures[0]["error"].startswith("Expected the rest of the JSON")
    assert "5 items done now, 3 items failed" in capfd.readouterr().err


def test_a_file_that_fails_is_tried_again_the_next_time(stand_in: None, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.txt").write_text("a b c")
    (folder / "b.srt").write_text("broken")
    assert bulk.main([str(folder), str(tmp_path / "out")]) == 1
    assert list(outputs(tmp_path / "out")) == ["a.txt", "failures/b.srt.failures.jsonl"]
    (folder / "b.srt").write_text("1\n00:00:01,000 --> 00:00:02,000\na b c\n")
    assert bulk.main([str(folder), str(tmp_path / "out")]) == 0
    assert list(outputs(tmp_path / "out")) == ["a.txt", "b.srt"]


def test_what_is_done_is_not_done_again(stand_in: None, tmp_path: Path) -> None:
    source = write_rows(tmp_path / "rows.jsonl", 30)
    assert bulk.main([str(source), str(tmp_path / "out"), "--lines", "10"]) == 0
    whole = outputs(tmp_path / "out")
    second = tmp_path / "out" / "rows.jsonl" / "part-00001.jsonl"
    second.unlink()
    first = tmp_path / "out" / "rows.jsonl" / "part-00000.jsonl"
    os.utime(first, (1, 1))
    unfinished = tmp_path / "out" / "rows.jsonl" / ".part-00001.jsonl.x.part"
    unfinished.mkdir()
    (unfinished / "part-00001.jsonl").write_text("left by a run that was killed")
    assert bulk.main([str(source), str(tmp_path / "out"), "--lines", "10"]) == 0
    assert outputs(tmp_path / "out") == whole
    assert first.stat().st_mtime == 1


def test_another_job_does_not_go_on_in_the_same_folder(
    stand_in: None, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    source = write_rows(tmp_path / "rows.jsonl", 3)
    assert bulk.main([str(source), str(tmp_path / "out")]) == 0
    assert bulk.main([str(source), str(tmp_path / "out"), "--lines", "7", "--existing", "replace"]) == 2
    assert "differs in existing, lines" in capfd.readouterr().err


def test_an_input_without_anything_to_restore_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="nothing of the kind"):
        plan_parts(tmp_path, tmp_path / "out", 10)
    assert bulk.main([str(tmp_path), str(tmp_path / "out")]) == 2


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_killed_at_any_time_it_goes_on_to_the_same_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = write_rows(tmp_path / "rows.jsonl", 160)

    def slowly(items: Iterable[Any], **options: Any) -> Iterator[dict[str, Any]]:
        time.sleep(0.005)
        yield from mark_third_words(items)

    monkeypatch.setattr(bulk, "load_restorer", lambda *args: slowly)
    n_done = 0
    for seconds in (0.05, 0.11, 0.23, 0.31):
        child = os.fork()
        if child == 0:
            bulk.main([str(source), str(tmp_path / "killed"), "--lines", "4"])
            os._exit(0)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and n_done == len(list((tmp_path / "killed").glob("rows.jsonl/part-*"))):
            time.sleep(0.001)
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        n_done = len(list((tmp_path / "killed").glob("rows.jsonl/part-*")))
        if n_done == 40:
            break
    assert n_done > 0
    assert bulk.main([str(source), str(tmp_path / "killed"), "--lines", "4"]) == 0
    assert bulk.main([str(source), str(tmp_path / "whole"), "--lines", "4"]) == 0
    assert outputs(tmp_path / "killed") == outputs(tmp_path / "whole")


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed: pip install ray[data]")
@pytest.mark.skipif("TEST_RAY" not in os.environ, reason="Ray needs minutes to start on few cores: set TEST_RAY=1")
def test_two_workers_of_ray_give_the_same_as_one_process(tiny_checkpoint: str, tmp_path: Path) -> None:
    source = write_rows(tmp_path / "rows.jsonl", 16)
    arguments = ["--lines", "4", "--model", tiny_checkpoint]
    command = [sys.executable, "-m", MODULE, str(source), str(tmp_path / "two"), *arguments, "--workers", "2"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert bulk.main([str(source), str(tmp_path / "one"), *arguments]) == 0
    assert outputs(tmp_path / "two") == outputs(tmp_path / "one")
    assert len(outputs(tmp_path / "one")) == 4


def test_more_workers_without_ray_say_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    source = write_rows(tmp_path / "rows.jsonl", 2)
    assert bulk.main([str(source), str(tmp_path / "out"), "--workers", "2"]) == 3
    assert "pip install 'punctuation-restoration[ray]'" in capfd.readouterr().err
