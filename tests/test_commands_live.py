"""`punctuate --live`: words are written as they are decided, and kept however the program ends."""

import io
import re
import sys
from typing import Any

import pytest

from punctuation_restoration.cli import punctuate


class Dripping(io.RawIOBase):
    """Standard input that gives so many bytes at a time, then perhaps Ctrl-C."""

    def __init__(self, content: bytes, size: int, is_interrupted: bool = False) -> None:
        self.content, self.size, self.is_interrupted = content, size, is_interrupted

    def read1(self, n_bytes: int) -> bytes:
        if not self.content and self.is_interrupted:
            raise KeyboardInterrupt
        given, self.content = self.content[: self.size], self.content[self.size :]
        return given


def listen(monkeypatch: pytest.MonkeyPatch, pipeline: Any, source: Dripping) -> None:
    monkeypatch.setattr(punctuate, "load_pipeline", lambda *args, **kwargs: pipeline)
    monkeypatch.setattr(sys, "stdin", type("Stdin", (), {"buffer": source})())


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_live_words_are_written_as_they_are_decided(
    tiny_pipeline: Any, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], size: int
) -> None:
    said = "hello you are the\n\n大家好 saya awak\n"
    listen(monkeypatch, tiny_pipeline, Dripping(said.encode(), size))
    assert punctuate.main(["--live", "--look-ahead", "1"]) == 0
    written = capfd.readouterr().out
    assert re.sub("[,.?，。？]", "", written) == said
    assert written != said


def test_ctrl_c_and_broken_bytes_keep_what_was_said_live(
    tiny_pipeline: Any, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    listen(monkeypatch, tiny_pipeline, Dripping(b"hello you are", 4, is_interrupted=True))
    assert punctuate.main(["--live"]) == 1
    assert re.sub("[,.?]", "", capfd.readouterr().out) == "hello you are"
    for size in (10, 14):  # the broken byte in a reading of its own, and in one with words
        listen(monkeypatch, tiny_pipeline, Dripping(b"hello you \xff are", size))
        assert punctuate.main(["--live"]) == 1
        out, err = capfd.readouterr()
        assert re.sub("[,.?]", "", out) == "hello you "
        assert "standard input: Expected utf-8, got other bytes after 10 characters" in err
