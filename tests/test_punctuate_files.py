"""The command `punctuate`: what it reads, and where and in which format it writes."""

import gc
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from restorers import RECORDED, Command, StandIn, write_texts

from punctuation_restoration.cli.options import BACKEND_NAMES
from punctuation_restoration.loading import ModelError, load_pipeline
from punctuation_restoration.pipeline.backends import BACKENDS


def bare(content: bytes) -> bytes:
    return content.replace(".".encode("utf-16-le"), b"").replace(b".", b"")


def test_text_goes_to_standard_output_and_the_version_is_told(stand_in: StandIn, command: Command) -> None:
    assert command("--text", "hello how are you") == (0, b"hello how are. you\n", "")
    assert re.fullmatch(r"punctuate \d+\.\d+\.\d+\n", command("--version")[1].decode())


def test_standard_input_goes_to_standard_output(stand_in: StandIn, command: Command) -> None:
    mandarin, named = "大家好\n", ["--encoding", "gb18030"]
    for content, options in (
        (b"hello how are you\r\n", []), (mandarin.encode("gb18030") * 9, named), (mandarin.encode("utf-16"), []),
    ):  # fmt: skip
        code, out, err = command(*options, stdin=content)
        assert (code, bare(out), err) == (0, content, "")


@pytest.mark.parametrize("name", ["talk.srt", "talk.vtt", "words.json", "code_switching.jsonl"])
def test_standard_input_may_be_subtitles_or_json(stand_in: StandIn, command: Command, name: str) -> None:
    assert command(stdin=(RECORDED / name).read_bytes()) == command(RECORDED / name)


def test_names_of_keys_may_be_told(stand_in: StandIn, command: Command, monkeypatch: Any, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in").mkdir()
    rows = [{"say": text, "t0": n} for n, text in enumerate(["hello how", "are you"])]
    Path("in/ours.json").write_text(json.dumps({"rows": rows}), encoding="utf-8")
    Path("in/broken.json").write_text('{"say": "a", "deep": ' + "[" * 600 + "]" * 600 + "}", encoding="utf-8")
    code, _, err = command("in", "-o", "out/", "--keys", "text=say,start=t0")
    assert (code, os.listdir("out")) == (1, ["ours.json"])  # what fails is that one file
    assert "in/broken.json:1: Expected JSON nested at most 100 deep" in err
    assert "are." in Path("out/ours.json").read_text(encoding="utf-8")
    assert "got the keys rows, rows.say, rows.t0. Name the text's" in command("in/ours.json")[2]
    assert command("--keys", "texts=say", "in/ours.json")[0] == 2


def test_json_has_words_scores_and_sentences(stand_in: StandIn, command: Command) -> None:
    row = json.loads(command("--json", RECORDED / "words.json")[1])
    assert row["text"] == "the train is. late again why."
    assert row["words"][2] == {
        "word": "is", "start": 10, "end": 12, "mark": ".", "score": 0.8, "begins": 0.5, "ends": 0.62,
        "label": "", "source": "model",
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
def test_the_extension_of_the_output_is_its_format(stand_in: StandIn, command: Command, name: str, first: str) -> None:
    assert command(RECORDED / "whisper.json", "-o", name)[0] == 0
    assert Path(name).read_text().splitlines()[0] == first


def test_sentences_other_formats_and_new_cues(stand_in: StandIn, command: Command) -> None:
    _, out, _ = command("--to", "txt", RECORDED / "meetings" / "monday.txt")
    assert out.decode().splitlines()[:2] == ["good morning everyone.", "shall we begin."]
    assert command(RECORDED / "meetings", "--to", "jsonl", "-o", "o")[0] == 0
    assert json.loads(Path("o/monday.jsonl").read_text())["text"].startswith("good morning everyone.")
    assert b"\nwe came back.\n" in command("--to", "srt", "-q", RECORDED / "talk.srt")[1]
    _, out, _ = command("--to", "srt", RECORDED / "whisper.json", "--line-width", 8, "--cue-lines", 2)
    lines = [line for line in out.decode().splitlines() if "-->" not in line]
    assert "hello" in lines
    assert max(map(len, lines)) <= 8


def test_options_reach_the_pipeline(stand_in: StandIn, command: Command) -> None:
    options = "--existing replace --marks COMMA,PERIOD --threshold COMMA=0.3 --threshold PERIOD=0.6 --truecase"
    assert command(*options.split(), "--batch-size", 4, "--text", "a b")[0] == 0
    assert stand_in.calls == [
        {
            "existing": "replace", "marks": ["COMMA", "PERIOD"], "thresholds": {"COMMA": 0.3, "PERIOD": 0.6},
            "truecase": True, "batch_size": 4,
        }
    ]  # fmt: skip


def test_options_of_the_pipelines_making_reach_it(tiny_checkpoint: str, tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("爱迪生实验室 10 n\n", encoding="utf-8")
    options = {"backend": "torch", "dtype": "bfloat16", "jieba_dictionary": str(tmp_path / "words.txt")}
    restore = load_pipeline(tiny_checkpoint, "cpu", **options)
    assert [word["word"] for word in restore("我在爱迪生实验室")["words"]][-1] == "爱迪生实验室"
    assert str(restore.model.dtype) == "torch.bfloat16"
    with pytest.raises(ModelError, match="Expected a model"):
        load_pipeline(str(tmp_path / "none"))
    assert gc.isenabled()  # it is off while a model is loaded
    gc.disable()
    try:
        load_pipeline(tiny_checkpoint, "cpu")
        assert not gc.isenabled()
    finally:
        gc.enable()
    assert BACKENDS == BACKEND_NAMES


def test_each_line_may_be_an_utterance(tiny_pipeline: Any, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("punctuation_restoration.cli.punctuate.load_pipeline", lambda *args, **kwargs: tiny_pipeline)
    said = "are you the\n[00:01] hello the you\n\nsaya\r\n是的\nawak\n"
    out = command("--lines", stdin=said.encode())[1].decode()
    *lines, _ = (line.rstrip() for line in out.splitlines() if line.strip())
    assert all(line[-1] in ".?。？" for line in lines)
    assert re.sub("[,.?，。？]", "", out) == said


@pytest.mark.parametrize("name", ["talk.srt", "talk.vtt", "whisper.json", "code_switching.jsonl"])
def test_what_has_the_name_of_a_text_is_read_by_its_content(stand_in: StandIn, command: Command, name: str) -> None:
    Path("a.txt").write_bytes((RECORDED / name).read_bytes())
    assert command("a.txt", "-o", "b.txt") == (0, b"", "")
    assert Path("b.txt").read_bytes() == command(RECORDED / name)[1]
    Path("a.txt").write_text("[so] hello\nyou there\n")
    assert command("a.txt")[1] == b"[so] hello\nyou. there\n"


def test_patterns_are_files_and_what_is_private_stays_so(stand_in: StandIn, command: Command) -> None:
    write_texts(one="a b c d", two="e f g h")
    Path("two.txt").chmod(0o600)
    assert command("*.txt", "-o", "all/")[0] == 0
    modes = [path.stat().st_mode & 0o77 for path in (Path("one.txt"), Path("two.txt"))]
    assert [path.stat().st_mode & 0o77 for path in sorted(Path("all").iterdir())] == modes
    Path("all/two.txt").chmod(0o644)
    assert command("t*.txt", "-o", "all/", "--force", "--to", "json")[0] == 0
    assert command("t*.txt", "-o", "all/", "--force")[0] == 0
    assert [Path(f"all/two.{name}").stat().st_mode & 0o777 for name in ("json", "txt")] == [0o600, 0o600]
    assert command("no*.txt") == (1, b"", "punctuate: no*.txt: no such file or directory\n")


def test_devices_and_links_are_written_to_and_not_replaced(stand_in: StandIn, command: Command) -> None:
    os.mkfifo("pipe")
    reader = os.open("pipe", os.O_RDONLY | os.O_NONBLOCK)
    assert command("--text", "a b c d", "-o", "pipe")[0] == 0
    assert os.read(reader, 100) == b"a b c. d\n"
    os.close(reader)
    assert Path("pipe").is_fifo()
    write_texts(file="old")
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
