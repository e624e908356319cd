"""The command `punctuate`: what it reads and writes, when it refuses, and what stays where something fails."""

import errno
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from restorers import RECORDED, StandIn

from punctuation_restoration import whole_files
from punctuation_restoration.cli import options as opt
from punctuation_restoration.cli import punctuate
from punctuation_restoration.cli.models import load_pipeline

PROGRAM = [sys.executable, "-m", "punctuation_restoration.cli.punctuate"]
Command = Callable[..., tuple[int, bytes, str]]


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Command:
    """Runs the command in an empty folder; gives its exit code, output and messages."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments: Any, stdin: Any = None) -> tuple[int, bytes, str]:
        given = stdin if isinstance(stdin, io.RawIOBase) else io.BytesIO(stdin or b"")
        monkeypatch.setattr(sys, "stdin", type("Stdin", (), {"buffer": given, "isatty": lambda self: False})())
        code = punctuate.main([str(argument) for argument in arguments])
        out, err = capfdbinary.readouterr()
        return code, out, err.decode()

    return run


def write(**files: str) -> None:
    """Files `name.txt` in the working folder."""
    for name, text in files.items():
        Path(f"{name}.txt").write_text(text, encoding="utf-8")


def bare(content: bytes) -> bytes:
    return content.replace(".".encode("utf-16-le"), b"").replace(b".", b"")


def test_text_goes_to_standard_output_and_the_version_is_told(stand_in: StandIn, command: Command) -> None:
    assert command("--text", "hello how are you") == (0, b"hello how are. you\n", "")
    assert re.fullmatch(r"punctuate \d+\.\d+\.\d+\n", command("--version")[1].decode())


@pytest.mark.parametrize(
    ("content", "options"),
    [
        (b"hello how are you\r\n", []),
        ("大家好\n".encode("gb18030") * 9, ["--encoding", "gb18030"]),
        ("大家好\n".encode("utf-16"), []),
    ],
)
def test_standard_input_goes_to_standard_output(
    stand_in: StandIn, command: Command, content: bytes, options: list[str]
) -> None:
    code, out, err = command(*options, stdin=content)
    assert (code, bare(out), err) == (0, content, "")


@pytest.mark.parametrize("name", ["talk.srt", "talk.vtt", "words.json", "code_switching.jsonl"])
def test_standard_input_may_be_subtitles_or_json(stand_in: StandIn, command: Command, name: str) -> None:
    assert command(stdin=(RECORDED / name).read_bytes()) == command(RECORDED / name)


def test_json_has_words_scores_and_sentences(stand_in: StandIn, command: Command) -> None:
    row = json.loads(command("--json", RECORDED / "words.json")[1])
    assert row["text"] == "the train is. late again why."
    assert row["words"][2] == {
        "word": "is", "start": 10, "end": 12, "mark": ".", "score": 0.8, "begins": 0.5, "ends": 0.62,
    }  # fmt: skip
    assert row["sentences"][0] == {"start": 0.0, "end": 0.62, "text": "the train is."}


def test_a_file_and_a_folder_keep_their_names(stand_in: StandIn, command: Command) -> None:
    assert command(RECORDED / "talk.srt", "-o", "out.srt")[0] == 0
    assert bare(Path("out.srt").read_bytes()) == bare((RECORDED / "talk.srt").read_bytes())
    assert command(RECORDED / "meetings", "-o", "all")[0] == 0
    written = sorted(str(path) for path in Path("all").rglob("*.txt"))
    assert written == ["all/june/tuesday.txt", "all/june/wednesday.txt", "all/monday.txt"]
    assert command(RECORDED / "talk.srt", "-o", f"new{os.sep}")[0] == 0, "a slash makes it a folder"
    assert sorted(path.name for path in Path().iterdir()) == ["all", "new", "out.srt"], "nothing is left beside"
    assert os.listdir("new") == ["talk.srt"]


@pytest.mark.parametrize(("name", "first"), [("o.srt", "1"), ("o.vtt", "WEBVTT"), ("o.txt", "hello everyone thanks.")])
def test_the_extension_of_the_output_chooses_its_format(
    stand_in: StandIn, command: Command, name: str, first: str
) -> None:
    assert command(RECORDED / "whisper.json", "-o", name)[0] == 0
    assert Path(name).read_text().splitlines()[0] == first


def test_sentences_other_formats_and_new_cues(stand_in: StandIn, command: Command) -> None:
    _, out, _ = command("--to", "txt", RECORDED / "meetings" / "monday.txt")
    assert out.decode().splitlines()[:2] == ["good morning everyone.", "shall we begin."]
    assert command(RECORDED / "meetings", "--to", "jsonl", "-o", "o")[0] == 0
    assert json.loads(Path("o/monday.jsonl").read_text())["text"].startswith("good morning everyone.")
    assert b"\nwe came back.\n" in command("--to", "srt", "-q", RECORDED / "talk.srt")[1]
    _, out, _ = command("--to", "srt", RECORDED / "whisper.json", "--line-width", 8, "--lines", 2)
    lines = [line for line in out.decode().splitlines() if "-->" not in line]
    assert "hello" in lines
    assert max(map(len, lines)) <= 8


def test_options_reach_the_pipeline(stand_in: StandIn, command: Command) -> None:
    options = (
        "--existing replace --marks COMMA,PERIOD --threshold COMMA=0.3 --threshold PERIOD=0.6 --truecase "
        "--pause 0.5 --batch-size 4"
    )
    assert command(*options.split(), "--text", "a b")[0] == 0
    assert stand_in.calls == [
        {
            "existing": "replace", "marks": ["COMMA", "PERIOD"], "thresholds": {"COMMA": 0.3, "PERIOD": 0.6},
            "truecase": True, "pause": 0.5, "batch_size": 4,
        }
    ]  # fmt: skip


def test_options_of_the_pipelines_making_reach_it(tiny_checkpoint: str, tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("爱迪生实验室 10 n\n", encoding="utf-8")
    options = {"backend": "torch", "dtype": "bfloat16", "jieba_dictionary": str(tmp_path / "words.txt")}
    restore = load_pipeline(tiny_checkpoint, "cpu", **options)
    assert [word["word"] for word in restore("我在爱迪生实验室")["words"]][-1] == "爱迪生实验室"
    assert str(restore.model.dtype) == "torch.bfloat16"
    from punctuation_restoration.pipeline.backends import BACKENDS

    assert BACKENDS == opt.BACKEND_NAMES


def test_devices_and_links_are_written_to_and_not_replaced(stand_in: StandIn, command: Command) -> None:
    os.mkfifo("pipe")
    reader = os.open("pipe", os.O_RDONLY | os.O_NONBLOCK)
    assert command("--text", "a b c d", "-o", "pipe")[0] == 0
    assert os.read(reader, 100) == b"a b c. d\n"
    os.close(reader)
    assert Path("pipe").is_fifo()
    write(file="old")
    Path("link.txt").symlink_to("file.txt")
    assert command("--text", "a b c d", "-o", "link.txt", "--force")[0] == 0
    assert Path("link.txt").is_symlink()
    assert Path("file.txt").read_text() == "a b c. d\n"


def test_formats_that_are_utf_8_by_their_standard_are_written_so(stand_in: StandIn, command: Command) -> None:
    source = (RECORDED / "talk.srt").read_text(encoding="utf-8").replace("\n", "\r\n")
    Path("a.srt").write_bytes(source.encode("utf-16"))
    for name in ("a.vtt", "a.jsonl"):
        assert command("-q", "a.srt", "-o", name)[0] == 0
        Path(name).read_text(encoding="utf-8")
    assert command("-q", "--to", "srt", "a.srt", "-o", "b.srt")[0] == 0
    written = Path("b.srt").read_bytes().decode("utf-16")
    assert written.count("\r\n") == written.count("\n") > 5


def test_a_progress_bar_is_shown_on_a_terminal_only(
    stand_in: StandIn, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    for is_terminal, options, is_shown in ((False, [], False), (True, ["-q"], False), (True, [], True)):
        monkeypatch.setattr(sys.stderr, "isatty", lambda answer=is_terminal: answer, raising=False)
        assert ("1 of 1: --text" in command(*options, "--text", "a b c d")[2]) == is_shown


def test_existing_files_are_not_overwritten_without_force(stand_in: StandIn, command: Command) -> None:
    write(a="a b c d", b="precious")
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
    assert "punctuate: missing.txt: no such file or folder" in err
    assert "1 files done, 4 not" in err
    assert os.listdir("out") == ["good.txt"]


def test_an_unreadable_file_does_not_stop_the_others(
    stand_in: StandIn, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(a="a b c d", b="a b c d")
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
    write(a="a b c d", b="a b c d", c="a b c d")
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
    write(a="a b c d", b="ctrl c", c="a b c d")

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
        ("--lines 0 a.txt", "Expected a number of 1 or more, got '0'"),
        ("--pause long a.txt", "number of 0.01 or more, got 'long'"),
        ("--live a.txt", "Expected --live alone"),
        ("--jieba-dictionary none.txt a.txt", "Expected a file for --jieba-dictionary"),
        ("a.txt -o out c/a.txt", "Expected a place for every file"),
        ("--backend tpu a.txt", "--backend: invalid choice: 'tpu' (choose from"),
        ("--encoding utf8000 a.txt", "Expected --encoding such as utf-8"),
        ("a.txt c/a.txt -o b.txt", "Expected --output FOLDER for several files, got b.txt"),
        ("a.txt b.txt -o all.srt", "FOLDER for several files, got all.srt, the name of a file"),
        ("a.txt -o a.ass", "Expected --output in a format of txt, srt, vtt, json, jsonl, got a.ass"),
        ("--text a -o out/", "Expected --output FILE for text without a name, got the folder out"),
        ("--text a -o c", "Expected --output FILE for text without a name, got the folder c"),
    ],
)
def test_wrong_use_is_told_before_a_model_is_loaded(
    no_model: None, command: Command, arguments: str, message: str
) -> None:
    Path("c").mkdir()
    write(**{"a": "hello", "b": "hello", "c/a": "hello"})
    code, _, err = command(*arguments.split())
    assert code == 2
    assert message in err


def test_what_cannot_be_written_is_named_by_its_place(stand_in: StandIn, command: Command) -> None:
    write(a="a b c d")
    assert command("a.txt", "-o", "a.txt/b.txt") == (1, b"", "punctuate: a.txt/b.txt: not a directory\n")


def test_files_that_cannot_be_read_need_no_model(no_model: None, command: Command) -> None:
    Path("a.json").write_text("{")
    Path("talk.ass").write_text("[Script Info]\n")
    write(empty="")
    assert command("a.json")[0] == 1
    assert "a format among txt, srt, vtt, json, jsonl, got .ass" in command("talk.ass")[2]
    assert command("empty.txt", "-o", "o.txt")[0] == 0
    assert Path("o.txt").read_bytes() == b""


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        ("--model ./no/folder", 1, "got ./no/folder, where nothing is"),
        ("--model .", 1, "Expected a model to load from ., got"),
        ("--model {} --device quantum", 1, "Expected a device that is here, such as cpu, got quantum: "),
        ("--model {} --device cuda:99", 1, "Expected a device that is here, such as cpu, got cuda:99: "),
        ("--model {} --marks COMA", 2, "COMA"),
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


class Dripping(io.RawIOBase):
    """Standard input that gives so many bytes at a time, then perhaps Ctrl-C."""

    def __init__(self, content: bytes, size: int, is_interrupted: bool = False) -> None:
        self.content, self.size, self.is_interrupted = content, size, is_interrupted

    def read1(self, n_bytes: int) -> bytes:
        if not self.content and self.is_interrupted:
            raise KeyboardInterrupt
        given, self.content = self.content[: self.size], self.content[self.size :]
        return given


@pytest.fixture
def live(tiny_pipeline: Any, command: Command, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Runs `punctuate --live`; gives its exit code, its output, also without marks, and its messages."""
    monkeypatch.setattr(punctuate, "load_pipeline", lambda *args, **kwargs: tiny_pipeline)

    def run(*options: Any, stdin: Dripping) -> Any:
        code, out, err = command("--live", *options, stdin=stdin)
        return code, out.decode(), re.sub("[,.?，。？]", "", out.decode()), err

    return run


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_live_words_are_written_as_they_are_decided(live: Any, size: int) -> None:
    said = "hello you are the\n\n大家好 saya awak\n"
    code, out, words, err = live("--look-ahead", 1, stdin=Dripping(said.encode(), size))
    assert (code, words, err) == (0, said, "")
    assert out != said


def test_live_words_have_the_encoding_that_is_named(live: Any, command: Command) -> None:
    said = "hello 大家好 saya awak you are"
    _, out, _ = command("--live", "--encoding", "utf-16", stdin=Dripping(said.encode("utf-16"), 3))
    assert re.sub("[,.?，。？]", "", out.decode("utf-16")) == said


def test_ctrl_c_and_broken_bytes_keep_what_was_said_live(live: Any) -> None:
    code, _, words, _ = live(stdin=Dripping(b"hello you are", 4, is_interrupted=True))
    assert (code, words) == (1, "hello you are")
    for size in (10, 14):  # the broken byte in a reading of its own, and in one with words
        code, _, words, err = live(stdin=Dripping(b"hello you \xff are", size))
        assert (code, words) == (1, "hello you ")
        assert "standard input: Expected utf-8, got other bytes after 10 characters" in err


@pytest.mark.slow
def test_as_a_program_it_is_silent_in_a_pipe_and_changes_only_marks(tiny_checkpoint: str) -> None:
    content = (RECORDED / "talk.srt").read_bytes()
    options = ["--model", tiny_checkpoint, "--quiet", "--device", "cpu"]
    done = subprocess.run([*PROGRAM, *options], input=content, capture_output=True, timeout=600, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert re.sub("[,.?，。？]", "", done.stdout.decode()) == re.sub("[,.?，。？]", "", content.decode())
    assert done.stdout != content


@pytest.mark.slow
def test_ctrl_c_ends_the_program_with_1(tmp_path: Path) -> None:
    waiting = tmp_path / "waiting.txt"
    os.mkfifo(waiting)
    # Programs inherit that Ctrl-C is ignored, as a shell has it for what runs in the background.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen([*PROGRAM, str(waiting)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    signal.signal(signal.SIGINT, before)
    try:
        writer = open_when_read(waiting, process)
        time.sleep(0.5)  # a signal between opening and reading would be seen only after the read
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=300)
        os.close(writer)
        assert process.returncode == 1
        assert out == b""
        assert err == b"punctuate: interrupted; 0 of 1 files are done and kept\n"
    finally:
        process.kill()
        process.wait()


def open_when_read(fifo: Path, process: subprocess.Popen[bytes]) -> int:
    """The writing end of a pipe, as soon as the program has opened the other."""
    for _ in range(6000):
        try:
            return os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            assert process.poll() is None, "the program ended before it read anything"
            time.sleep(0.1)
    raise AssertionError("Expected the program to open its input within ten minutes.")
