"""The command `punctuate`: live words, and its process from the outside."""

import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from restorers import RECORDED, Command, without_marks

from punctuation_restoration.cli import punctuate

PROGRAM = [sys.executable, "-m", "punctuation_restoration.cli.punctuate"]


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
def live(restore: Any, command: Command, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Runs `punctuate --live`; gives its exit code, its output, also without marks, and its messages."""
    monkeypatch.setattr(punctuate, "load_pipeline", lambda *args, **kwargs: restore)

    def run(*options: Any, stdin: Dripping) -> Any:
        code, out, err = command("--live", *options, stdin=stdin)
        return code, out.decode(), without_marks(out.decode()), err

    return run


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_live_words_are_written_as_they_are_decided(live: Any, size: int) -> None:
    said = "hello you are the best is the day\n\n大家好 saya awak 我们 hello you\n"
    code, out, words, err = live("--look-ahead", 1, stdin=Dripping(said.encode(), size))
    assert (code, words, err) == (0, said, "")
    assert out != said


@pytest.mark.parametrize("size", [1, 9, 1000])
def test_of_live_json_the_text_is_read_and_lines_may_be_utterances(live: Any, size: int) -> None:
    rows = (
        b'{"partial": "so far"}\n{"text": "hello you"}\n{\n  "text" : "the saya"\n}\n{"segments": [{"text": "awak"}]}\n'
    )
    code, out, words, err = live("--look-ahead", 50, stdin=Dripping(rows, size))
    assert (code, words, err) == (0, "hello you\nthe saya\nawak\n", "")
    assert live("--look-ahead", 50, "--lines", stdin=Dripping(words.encode(), size))[1] == out


def test_words_that_are_final_before_the_speech_is_do_not_end_an_utterance(live: Any) -> None:
    parts = (b"hello you are", b"the best", b"saya awak")
    heard = b'{"is_final": true, "speech_final": %s, "channel": {"alternatives": [{"transcript": "%s"}]}}\n'
    rows = b"".join(heard % (over, part) for over, part in zip((b"false", b"true", b"true"), parts, strict=True))
    spoken = live("--look-ahead", 50, stdin=Dripping(b"hello you are\nthe best\n\nsaya awak\n", 100))[1]
    assert live("--look-ahead", 50, stdin=Dripping(rows, 100))[1] == spoken.replace("\n\n", "\n")


def test_keys_name_the_text_of_live_json(live: Any) -> None:
    rows = b'{"phrase": {"said": "hello you"}}\n{"phrase": {"said": "are"}}\n'
    assert live("--keys", "text=phrase.said", stdin=Dripping(rows, 100))[::2] == (0, "hello you\nare\n")


@pytest.mark.parametrize("size", [1, 1000])
def test_of_live_json_messages_about_the_stream_are_silent_and_broken_ones_are_told(live: Any, size: int) -> None:
    rows = (
        b'{"type": "Metadata", "request_id": "8c8e", "created": "2023-10-27T15:31:00Z", "duration": 0.0}\n'
        b'{"message": "RecognitionStarted", "language_pack_info": {"word_delimiter": " "}}\n'
        b'{"text": "hello you"}\n{"type": "Termination", "audio_duration_seconds": 12}\n'
    )
    assert live(stdin=Dripping(rows, size))[::2] == (0, "hello you\n")
    broken = b'{"text": \n{"text": "so"}\nloading\n{"type": "Error", "reason": "no more money"}\n{"text": "are"}\n'
    code, _, words, err = live(stdin=Dripping(rows + broken, size))
    assert (code, words) == (1, "hello you\nso\nare\n")
    assert err.count("Left out: ") == 3
    assert "no more money" in err
    assert "standard input: Expected JSON that can be read, left out 3 of its values." in err


def test_live_words_have_the_encoding_that_is_named(live: Any, command: Command) -> None:
    said = "hello 大家好 saya awak you are"
    _, out, _ = command("--live", "--encoding", "utf-16", stdin=Dripping(said.encode("utf-16"), 3))
    assert without_marks(out.decode("utf-16")) == said


def test_ctrl_c_and_broken_bytes_keep_what_was_said_live(live: Any) -> None:
    code, _, words, _ = live(stdin=Dripping(b"hello you are", 4, is_interrupted=True))
    assert (code, words) == (1, "hello you are")
    for size in (10, 14):  # the broken byte in a reading of its own, and in one with words
        code, _, words, err = live(stdin=Dripping(b"hello you \xff are", size))
        assert (code, words) == (1, "hello you ")
        assert "standard input: Expected utf-8, got other bytes: invalid start byte. Name the encoding" in err


@pytest.mark.slow
def test_as_a_program_it_is_silent_in_a_pipe_and_changes_only_marks(tiny_checkpoint: str) -> None:
    content = (RECORDED / "talk.srt").read_bytes()
    options = ["--model", tiny_checkpoint, "--quiet", "--device", "cpu"]
    done = subprocess.run([*PROGRAM, *options], input=content, capture_output=True, timeout=600, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert without_marks(done.stdout.decode()) == without_marks(content.decode())
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
