"""The command `punctuate`: when it refuses, and what stays where something fails."""

import errno
import os
import sys
from pathlib import Path

import pytest
from restorers import Command, StandIn, write_texts

from punctuation_restoration import whole_files


def test_existing_files_are_not_overwritten_without_force(stand_in: StandIn, command: Command) -> None:
    write_texts(a="a b c d", b="precious")
    code, _, err = command("a.txt", "-o", "b.txt")
    assert code == 2
    assert "--force" in err
    assert not stand_in.calls, "refused before the model ran"
    assert command("a.txt", "-o", "b.txt", "--skip-existing")[0] == 0
    assert Path("b.txt").read_text() == "precious"
    assert b"b c." in command("a.txt", "-o", "/dev/stdout", "--skip-existing")[1]
    assert command("a.txt", "-o", "a.txt", "--force")[0] == 0
    assert Path("a.txt").read_text() == "a b c. d"


def test_files_that_fail_are_named_and_the_others_are_done(stand_in: StandIn, command: Command) -> None:
    Path("in").mkdir()
    for name, content in {
        "good.txt": b"a b c d", "broken.srt": b"1\n00:00:01,000 -> 00:00:02,000\nhello\n", "notes.docx": b"not for us",
        "cut.json": b'{"text": "a", "segments": [', "damaged.txt": "大家好\n我们".encode()[:-1],
    }.items():  # fmt: skip
        Path("in", name).write_bytes(content)
    code, _, err = command("in", "missing.txt", "-o", "out")
    assert code == 1
    assert "punctuate: in/broken.srt:1: Expected cue times below the number 1, got none." in err
    assert "punctuate: in/cut.json:1: Expected the rest of the JSON" in err
    assert "punctuate: in/damaged.txt:2: Expected UTF-8" in err
    assert "punctuate: missing.txt: no such file or directory" in err
    assert "1 files done, 4 not" in err
    assert os.listdir("out") == ["good.txt"]


def test_a_recording_has_to_be_transcribed_first(stand_in: StandIn, command: Command) -> None:
    Path("talk.wav").write_bytes(b"RIFF")
    code, _, err = command("talk.wav")
    assert (code, "talk.wav: Expected a transcript, got a recording (.wav). Transcribe it first" in err) == (1, True)


def test_an_unreadable_file_does_not_stop_the_others(
    stand_in: StandIn, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_texts(a="a b c d", b="a b c d")
    read = Path.read_bytes

    def read_unless_a(path: Path) -> bytes:
        if path.name == "a.txt":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", read_unless_a)
    code, _, err = command(".", "-o", "out")
    assert code == 1
    assert "a.txt: permission denied" in err
    assert os.listdir("out") == ["b.txt"]


def test_a_full_disk_leaves_nothing_half_written_and_stops(
    stand_in: StandIn, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_texts(a="a b c d", b="a b c d", c="a b c d")
    synced: list[int] = []

    def run_out_of_space(handle: int) -> None:
        synced.append(handle)
        if len(synced) > 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(whole_files.os, "fsync", run_out_of_space)
    code, _, err = command(".", "-o", "out")
    assert code == 1
    assert "out/b.txt: no space left on device; nothing was written for it, finished files are kept" in err
    assert "1 files done, 2 not" in err
    assert os.listdir("out") == ["a.txt"]


def test_interrupting_keeps_what_is_done(stand_in: StandIn, command: Command) -> None:
    write_texts(a="a b c d", b="ctrl c", c="a b c d")

    def interrupt(n: int, word: str) -> str:
        if word == "ctrl":
            raise KeyboardInterrupt
        return ""

    stand_in.mark_of = interrupt
    code, _, err = command(".", "-o", "out")
    assert code == 1
    assert "interrupted; 1 of 3 files are done and kept" in err
    assert os.listdir("out") == ["a.txt"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("a.txt b.txt", "--output FOLDER for several files"),
        ("--text a a.txt", "Expected --text or FILES"),
        ("--format docx a.txt", "--format: invalid choice: 'docx' (choose from"),
        ("--to tsv a.txt", "--to: invalid choice: 'tsv' (choose from"),
        ("--json --to srt a.txt", "--to: not allowed with argument --json"),
        ("--dtype int8 a.txt", "--dtype: invalid choice: 'int8' (choose from"),
        ("--threshold COMMA a.txt", "Expected --threshold NAME=PROBABILITY"),
        ("--nonsense", "unrecognized arguments: --nonsense"),
        ("--cue-lines 0 a.txt", "Expected a number of 1 or more, got '0'"),
        ("--reading-speed fast a.txt", "number of 0.1 or more, got 'fast'"),
        ("--live a.txt", "Expected --live alone"),
        ("a.txt -o out c/a.txt", "Expected a place for every file"),
        ("--backend tpu a.txt", "--backend: invalid choice: 'tpu' (choose from"),
        ("--encoding utf8000 a.txt", "--encoding: Expected the name of an encoding such as utf-8"),
        ("a.txt c/a.txt -o b.txt", "Expected --output FOLDER for several files, got b.txt"),
        ("a.txt b.txt -o all.srt", "FOLDER for several files, got all.srt, the name of a file"),
        ("a.txt -o a.ass", "Expected --output in a format of txt, srt, vtt, json, jsonl, got a.ass"),
        ("--text a -o out/", "Expected --output FILE for text without a name, got the folder out"),
        ("--text a -o c", "Expected --output FILE for text without a name, got the folder c"),
    ],
)
def test_wrong_use_is_told_before_a_model_loads(no_model: None, command: Command, arguments: str, message: str) -> None:
    Path("c").mkdir()
    write_texts(**{"a": "hello", "b": "hello", "c/a": "hello"})
    code, _, err = command(*arguments.split())
    assert code == 2
    assert message in err


def test_what_cannot_be_written_is_named_by_its_place(stand_in: StandIn, command: Command) -> None:
    write_texts(a="a b c d")
    assert command("a.txt", "-o", "a.txt/b.txt") == (1, b"", "punctuate: a.txt/b.txt: not a directory\n")


def test_files_that_cannot_be_read_need_no_model(no_model: None, command: Command) -> None:
    Path("a.json").write_text("{")
    Path("talk.ass").write_text("[Script Info]\n")
    write_texts(empty="")
    assert command("a.json")[0] == 1
    assert "a format among txt, srt, vtt, json, jsonl, got .ass" in command("talk.ass")[2]
    assert command("empty.txt", "-o", "o.txt")[0] == 0
    assert Path("o.txt").read_bytes() == b""


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        ("--model ./no/folder", 1, "got ./no/folder, where nothing is"),
        ("--model .", 1, "Expected a model's folder, got ., which has no config.json"),
        ("--model {} --device quantum", 1, "Expected a device that is here, such as cpu, got quantum: "),
        ("--model {} --device cuda:99", 1, "Expected a device that is here, such as cpu, got cuda:99: "),
        ("--model {} --marks COMA", 2, "COMA"),
        ("--model {} --jieba-dictionary none.txt", 1, "Expected a jieba dictionary in UTF-8"),
    ],
)
def test_a_model_or_option_that_cannot_be_is_told(
    tiny_checkpoint: str, command: Command, options: str, code: int, message: str
) -> None:
    found, _, err = command(*options.format(tiny_checkpoint).split(), "--text", "hello")
    assert found == code
    assert message in err


def test_what_a_backend_lacks_is_told_without_a_guess_at_the_model(
    tiny_checkpoint: str, monkeypatch: pytest.MonkeyPatch, command: Command
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    code, _, err = command("--model", tiny_checkpoint, "--backend", "onnx-int8", "--text", "hello")
    assert code == 1
    assert "Run `pip install onnx onnxruntime onnxscript`" in err
    assert "Hub id" not in err
