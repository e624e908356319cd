"""The command `punctuate`: when it refuses, what it leaves behind where something fails, and how it ends."""

import errno
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from restorers import StandIn

from punctuation_restoration import whole_files
from punctuation_restoration.cli import punctuate

ROOT = Path(__file__).resolve().parents[1]


def test_existing_files_are_not_overwritten_without_force(
    stand_in: StandIn, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    source, target = tmp_path / "a.txt", tmp_path / "b.txt"
    source.write_text("a b c d")
    target.write_text("precious")
    assert punctuate.main([str(source), "-o", str(target)]) == 2
    assert "--force" in capfd.readouterr().err
    assert target.read_text() == "precious"
    assert not stand_in.calls, "refused before the model ran"
    assert punctuate.main([str(source), "-o", str(target), "--skip-existing"]) == 0
    assert target.read_text() == "precious"
    assert punctuate.main([str(source), "-o", str(source), "--force"]) == 0
    assert source.read_text() == "a b c. d"


def test_files_that_fail_are_named_and_the_others_are_done(
    stand_in: StandIn, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "good.txt").write_text("a b c d")
    (folder / "broken.srt").write_text("1\n00:00:01,000 -> 00:00:02,000\nhello\n")
    (folder / "cut.json").write_text('{"text": "a", "segments": [')
    (folder / "damaged.txt").write_bytes("大家好\n我们".encode()[:-1])
    (folder / "notes.docx").write_text("not for us")
    assert punctuate.main([str(folder), str(tmp_path / "missing.txt"), "-o", str(tmp_path / "out")]) == 1
    err = capfd.readouterr().err
    assert f"punctuate: {folder}/broken.srt:1: Expected cue times below the number 1, got none." in err
    assert f"punctuate: {folder}/cut.json:1: Expected the rest of the JSON" in err
    assert f"punctuate: {folder}/damaged.txt:2: Expected UTF-8" in err
    assert f"punctuate: {tmp_path}/missing.txt: no such file or folder" in err
    assert "1 files done, 4 not" in err
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["good.txt"]


def test_an_unreadable_file_does_not_stop_the_others(
    stand_in: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("a b c d")
    read = Path.read_bytes

    def read_unless_a(path: Path) -> bytes:
        if path.name == "a.txt":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", read_unless_a)
    assert punctuate.main([str(tmp_path), "-o", str(tmp_path / "out")]) == 1
    assert "a.txt: permission denied" in capfd.readouterr().err
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["b.txt"]


def test_a_full_disk_leaves_nothing_half_written_and_stops(
    stand_in: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for name in ("a.txt", "b.txt", "c.txt"):
        (tmp_path / name).write_text("a b c d")
    out = tmp_path / "out"
    synced: list[int] = []

    def run_out_of_space(handle: int) -> None:
        synced.append(handle)
        if len(synced) > 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(whole_files.os, "fsync", run_out_of_space)
    assert punctuate.main([str(tmp_path), "-o", str(out)]) == 1
    err = capfd.readouterr().err
    assert "out/b.txt: no space left on device; nothing was written for it, finished files are kept" in err
    assert "1 files done, 2 not" in err
    assert [path.name for path in out.iterdir()] == ["a.txt"]


def test_interrupting_keeps_what_is_done(
    stand_in: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for name in ("a.txt", "b.txt", "c.txt"):
        (tmp_path / name).write_text("a b c d")
    restore = punctuate.transcripts.restored_parts

    def interrupted_at_b(transcript: Any, *args: Any, **kwargs: Any) -> Any:
        if (tmp_path / "out" / "a.txt").exists():
            raise KeyboardInterrupt
        return restore(transcript, *args, **kwargs)

    monkeypatch.setattr(punctuate.transcripts, "restored_parts", interrupted_at_b)
    assert punctuate.main([str(tmp_path), "-o", str(tmp_path / "out")]) == 1
    assert "interrupted; 1 of 3 files are done and kept" in capfd.readouterr().err
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["a.txt"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.txt", "b.txt"], "--output FOLDER for several files"),
        (["--text", "a", "a.txt"], "Expected --text or FILES"),
        (["--format", "docx", "a.txt"], "--format: invalid choice: 'docx' (choose from"),
        (["--to", "ctm", "a.txt"], "--to: invalid choice: 'ctm' (choose from"),
        (["--json", "--to", "srt", "a.txt"], "--to: not allowed with argument --json"),
        (["--dtype", "int8", "a.txt"], "--dtype: invalid choice: 'int8' (choose from"),
        (["--threshold", "COMMA", "a.txt"], "Expected --threshold NAME=PROBABILITY"),
        (["a.txt", "c/a.txt", "-o", "out"], "Expected a place for every file"),
        (["--nonsense"], "unrecognized arguments: --nonsense"),
        (["--lines", "0", "a.txt"], "Expected a number of 1 or more, got '0'"),
        (["--pause", "long", "a.txt"], "number of 0.01 or more, got 'long'"),
        (["--live", "a.txt"], "Expected --live alone"),
        (["--jieba-dictionary", "none.txt", "a.txt"], "Expected a file for --jieba-dictionary"),
        (["a.txt", "-o", "out", "c/a.txt"], "Expected a place for every file"),
        (["--backend", "tpu", "a.txt"], "--backend: invalid choice: 'tpu' (choose from"),
        (["--encoding", "utf8000", "a.txt"], "Expected --encoding such as utf-8"),
        (["a.txt", "c/a.txt", "-o", "b.txt"], "Expected --output FOLDER for several files, got b.txt"),
        (["a.txt", "b.txt", "-o", "all.srt"], "FOLDER for several files, got all.srt, the name of a file"),
        (["a.txt", "-o", "a.ass"], "Expected --output in a format of txt, srt, vtt, json, jsonl, got a.ass"),
        (["--text", "a", "-o", "out/"], "Expected --output FILE for text without a name, got the folder out"),
        (["--text", "a", "-o", "c"], "Expected --output FILE for text without a name, got the folder c"),
    ],
)
def test_wrong_use_is_told_before_a_model_is_loaded(
    no_model: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str],
    arguments: list[str], message: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "c").mkdir()
    for name in ("a.txt", "b.txt", "c/a.txt"):
        Path(name).write_text("hello")
    assert punctuate.main(arguments) == 2
    assert message in capfd.readouterr().err


def test_what_cannot_be_written_is_named_by_its_place(
    stand_in: StandIn, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.txt").write_text("a b c d")
    assert punctuate.main([str(tmp_path / "a.txt"), "-o", str(tmp_path / "a.txt" / "b.txt")]) == 1
    assert f"punctuate: {tmp_path}/a.txt/b.txt: not a directory" in capfd.readouterr().err


def test_files_that_cannot_be_read_need_no_model(no_model: None, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{")
    (tmp_path / "empty.txt").write_text("")
    assert punctuate.main([str(tmp_path / "a.json")]) == 1
    assert punctuate.main([str(tmp_path / "empty.txt"), "-o", str(tmp_path / "o.txt")]) == 0
    assert (tmp_path / "o.txt").read_bytes() == b""


def test_a_missing_model_is_told(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert punctuate.main(["--model", str(tmp_path / "none"), "--text", "hello"]) == 1
    assert f"got {tmp_path / 'none'}, where nothing is" in capfd.readouterr().err
    assert punctuate.main(["--model", str(tmp_path), "--text", "hello"]) == 1
    assert f"Expected a model to load from {tmp_path}, got" in capfd.readouterr().err


@pytest.mark.parametrize("device", ["quantum", "cuda:99"])
def test_a_device_that_is_not_here_is_told(
    tiny_checkpoint: str, capfd: pytest.CaptureFixture[str], device: str
) -> None:
    assert punctuate.main(["--model", tiny_checkpoint, "--device", device, "--text", "hello"]) == 1
    assert f"Expected a device that is here, such as cpu, got {device}: " in capfd.readouterr().err


def test_what_a_backend_lacks_is_told_without_a_guess_at_the_model(
    tiny_checkpoint: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    assert punctuate.main(["--model", tiny_checkpoint, "--backend", "onnx-int8", "--text", "hello"]) == 1
    message = capfd.readouterr().err
    assert "'punctuation-restoration[fast]'" in message
    assert "Hub id" not in message


def test_options_that_the_model_does_not_take_are_wrong_use(
    tiny_checkpoint: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert punctuate.main(["--model", tiny_checkpoint, "--marks", "COMA", "--text", "hello"]) == 2
    assert "COMA" in capfd.readouterr().err
