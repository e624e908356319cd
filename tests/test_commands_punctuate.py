"""The command `punctuate`: what it reads and writes."""

import io
import json
import os
import re
import sys
from pathlib import Path

import pytest
from restorers import RECORDED, StandIn

from punctuation_restoration.cli import options as opt
from punctuation_restoration.cli import punctuate
from punctuation_restoration.cli.models import load_pipeline

ROOT = Path(__file__).resolve().parents[1]


def give_stdin(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


def test_text_goes_to_standard_output(stand_in: StandIn, capfd: pytest.CaptureFixture[str]) -> None:
    assert punctuate.main(["--text", "hello how are you"]) == 0
    assert capfd.readouterr() == ("hello how are. you\n", "")


def test_standard_input_goes_to_standard_output(
    stand_in: StandIn, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    for content, options in (
        (b"hello how are you\r\n", []),
        ("大家好\n".encode("gb18030") * 9, ["--encoding", "gb18030"]),
        ("大家好\n".encode("utf-16"), []),
    ):
        give_stdin(monkeypatch, content)
        assert punctuate.main(options) == 0
        out, err = capfdbinary.readouterr()
        assert err == b""
        assert out.replace(".".encode("utf-16-le"), b"").replace(b".", b"") == content


def test_standard_input_may_be_subtitles_or_json(
    stand_in: StandIn, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for name in ("talk.srt", "talk.vtt", "words.json", "code_switching.jsonl"):
        give_stdin(monkeypatch, (RECORDED / name).read_bytes())
        assert punctuate.main([]) == 0
        from_stdin = capfd.readouterr().out
        assert punctuate.main([str(RECORDED / name)]) == 0
        assert capfd.readouterr().out == from_stdin


def test_json_has_words_scores_and_sentences(stand_in: StandIn, capfd: pytest.CaptureFixture[str]) -> None:
    assert punctuate.main(["--json", str(RECORDED / "words.json")]) == 0
    row = json.loads(capfd.readouterr().out)
    assert row["text"] == "the train is. late again why."
    assert row["words"][2] == {
        "word": "is", "start": 10, "end": 12, "mark": ".", "score": 0.8, "begins": 0.5, "ends": 0.62,
    }  # fmt: skip
    assert row["sentences"][0] == {"start": 0.0, "end": 0.62, "text": "the train is."}


def test_a_file_and_a_folder_keep_their_names(stand_in: StandIn, tmp_path: Path) -> None:
    assert punctuate.main([str(RECORDED / "talk.srt"), "-o", str(tmp_path / "out.srt")]) == 0
    assert (tmp_path / "out.srt").read_bytes().replace(b".", b"") == (RECORDED / "talk.srt").read_bytes().replace(
        b".", b""
    )
    assert punctuate.main([str(RECORDED / "meetings"), "-o", str(tmp_path / "all")]) == 0
    written = sorted(str(path.relative_to(tmp_path / "all")) for path in (tmp_path / "all").rglob("*.txt"))
    assert written == ["june/tuesday.txt", "june/wednesday.txt", "monday.txt"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["all", "out.srt"], "nothing is left beside"


def test_a_slash_behind_the_output_makes_it_a_folder(stand_in: StandIn, tmp_path: Path) -> None:
    assert punctuate.main([str(RECORDED / "talk.srt"), "-o", f"{tmp_path / 'new'}{os.sep}"]) == 0
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["talk.srt"]


def test_files_of_kinds_that_are_not_read_are_refused(
    no_model: None, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "talk.ass").write_text("[Script Info]\n")
    assert punctuate.main([str(tmp_path / "talk.ass")]) == 1
    assert "a format among txt, srt, vtt, json, jsonl, got .ass" in capfd.readouterr().err


@pytest.mark.parametrize(("name", "first"), [("o.srt", "1"), ("o.vtt", "WEBVTT")])
def test_the_extension_of_the_output_chooses_its_format(
    stand_in: StandIn, tmp_path: Path, name: str, first: str
) -> None:
    assert punctuate.main([str(RECORDED / "whisper.json"), "-o", str(tmp_path / name)]) == 0
    assert (tmp_path / name).read_text().splitlines()[0] == first


def test_sentences_and_other_formats_for_a_folder(
    stand_in: StandIn, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert punctuate.main(["--to", "txt", str(RECORDED / "meetings" / "monday.txt")]) == 0
    assert capfd.readouterr().out.splitlines()[:2] == ["good morning everyone.", "shall we begin."]
    assert punctuate.main([str(RECORDED / "meetings"), "--to", "jsonl", "-o", str(tmp_path / "o")]) == 0
    assert json.loads((tmp_path / "o" / "monday.jsonl").read_text())["text"].startswith("good morning everyone.")


def test_new_subtitles_keep_the_limits_asked_for(
    stand_in: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    give_stdin(monkeypatch, (RECORDED / "whisper.json").read_bytes())
    assert punctuate.main(["-o", str(tmp_path / "a.srt"), "--line-width", "8", "--lines", "2"]) == 0
    lines = [line for line in (tmp_path / "a.srt").read_text().splitlines() if "-->" not in line]
    assert "hello" in lines
    assert max(map(len, lines)) <= 8


def test_the_version_is_told(capfd: pytest.CaptureFixture[str]) -> None:
    assert punctuate.main(["--version"]) == 0
    assert re.fullmatch(r"punctuate \d+\.\d+\.\d+\n", capfd.readouterr().out)


def test_subtitles_get_new_cues_that_end_with_sentences(stand_in: StandIn, capfd: pytest.CaptureFixture[str]) -> None:
    assert punctuate.main(["--to", "srt", "-q", str(RECORDED / "talk.srt")]) == 0
    assert "\nwe came back.\n" in capfd.readouterr().out


def test_options_reach_the_pipeline(stand_in: StandIn) -> None:
    arguments = (
        "--existing replace --marks COMMA,PERIOD --threshold COMMA=0.3 --threshold PERIOD=0.6 --truecase "
        "--pause 0.5 --batch-size 4"
    )
    assert punctuate.main([*arguments.split(), "--text", "a b"]) == 0
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


def test_a_device_is_written_to_and_not_replaced(stand_in: StandIn, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    assert punctuate.main(["--text", "a b c d", "-o", str(pipe)]) == 0
    assert os.read(reader, 100) == b"a b c. d\n"
    os.close(reader)
    assert pipe.is_fifo()


def test_a_link_still_leads_to_the_file_that_was_overwritten(stand_in: StandIn, tmp_path: Path) -> None:
    (tmp_path / "file.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to(tmp_path / "file.txt")
    assert punctuate.main(["--text", "a b c d", "-o", str(tmp_path / "link.txt"), "--force"]) == 0
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "file.txt").read_text() == "a b c. d\n"


def test_formats_that_are_utf_8_by_their_standard_are_written_so(stand_in: StandIn, tmp_path: Path) -> None:
    source = tmp_path / "a.srt"
    source.write_bytes((RECORDED / "talk.srt").read_text(encoding="utf-8").replace("\n", "\r\n").encode("utf-16"))
    for name in ("a.vtt", "a.jsonl"):
        assert punctuate.main(["-q", str(source), "-o", str(tmp_path / name)]) == 0
        (tmp_path / name).read_text(encoding="utf-8")
    assert punctuate.main(["-q", "--to", "srt", str(source), "-o", str(tmp_path / "b.srt")]) == 0
    written = (tmp_path / "b.srt").read_bytes().decode("utf-16")
    assert written.count("\r\n") == written.count("\n") > 5


def test_a_progress_bar_is_shown_on_a_terminal_only(
    stand_in: StandIn, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    for is_terminal, options, is_shown in ((False, [], False), (True, ["-q"], False), (True, [], True)):
        monkeypatch.setattr(sys.stderr, "isatty", lambda answer=is_terminal: answer, raising=False)
        assert punctuate.main([*options, "--text", "a b c d"]) == 0
        assert ("1 of 1: --text" in capfd.readouterr().err) == is_shown
