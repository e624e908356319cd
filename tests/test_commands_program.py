"""`punctuate` as a program: in a pipe, and when it is interrupted."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
RECORDED = ROOT / "examples" / "transcripts"


def run(*arguments: str, stdin: bytes = b"", **more: Any) -> subprocess.CompletedProcess[bytes]:
    """The command as users run it, in a process of its own."""
    command = [sys.executable, "-m", "punctuation_restoration.cli.punctuate", *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, cwd=ROOT, timeout=600, check=False, **more)


@pytest.mark.slow
def test_as_a_program_it_is_silent_in_a_pipe_and_changes_only_marks(tiny_checkpoint: str) -> None:
    content = (RECORDED / "talk.srt").read_bytes()
    done = run("--model", tiny_checkpoint, "--quiet", "--device", "cpu", stdin=content)
    assert (done.returncode, done.stderr) == (0, b"")
    assert re.sub("[,.?，。？]", "", done.stdout.decode()) == re.sub("[,.?，。？]", "", content.decode())
    assert done.stdout != content


@pytest.mark.slow
def test_ctrl_c_ends_the_program_with_1(tmp_path: Path) -> None:
    waiting = tmp_path / "waiting.txt"
    os.mkfifo(waiting)
    command = [sys.executable, "-m", "punctuation_restoration.cli.punctuate", str(waiting)]
    # Programs inherit that Ctrl-C is ignored, as a shell has it for what runs in the background.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT)
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
