"""The command `punctuate`: what it reads and writes, when it refuses, and how it ends."""

import errno
import io
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from punctuation_restoration import whole_files
from punctuation_restoration.cli import options as opt
from punctuation_restoration.cli import punctuate
from punctuation_restoration.cli.models import load_pipeline

ROOT = Path(__file__).resolve().parents[1]
RECORDED = ROOT / "examples" / "transcripts"


class StandIn:
    """A pipeline that puts a period after every third word, and knows no language."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []

    def __call__(self, items: Iterable[Any], **options: Any) -> Iterator[dict[str, Any]]:
        self.calls.append(options)
        for item in items:
            text = item if isinstance(item, str) else item["text"]
            words, edits, parts, done = [], [], [], 0
            for n, match in enumerate(re.finditer(r"[\u4e00-\u9fff]|[^\W_\u4e00-\u9fff]+", text), start=1):
                mark = "." if n % 3 == 0 else ""
                words.append({"word": match.group(), "start": match.start(), "end": match.end(), "mark": mark})
                words[-1]["score"] = (0.95, 0.8, 0.4)[n // 3 % 3]
                if mark:
                    edits.append({"start": match.end(), "removed": "", "inserted": mark, "score": words[-1]["score"]})
                parts += [text[done : match.end()], mark]
                done = match.end()
            yield {"text": "".join([*parts, text[done:]]), "edits": edits, "words": words}


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> StandIn:
    restore = StandIn()
    monkeypatch.setattr(punctuate, "load_pipeline", lambda *args, **kwargs: restore)
    return restore


@pytest.fixture
def no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("Expected no model to be loaded.")

    monkeypatch.setattr(punctuate, "load_pipeline", load)


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


def test_color_shows_how_sure_a_mark_is(stand_in: StandIn, capfd: pytest.CaptureFixture[str]) -> None:
    assert punctuate.main(["--color", "--text", "a b c d e f g h i"]) == 0
    shown = capfd.readouterr().out
    assert re.findall(r"\x1b\[(\d+)m\x1b\[1m", shown) == ["33", "31", "32"]
    assert re.sub(r"\x1b\[\d+m", "", shown) == "a b c. d e f. g h i.\n"


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
    assert "Expected a format among txt, lines, srt, vtt, json, jsonl, tsv, ctm, got .ass" in capfd.readouterr().err


@pytest.mark.parametrize(("name", "first"), [("o.srt", "1"), ("o.vtt", "WEBVTT"), ("o.tsv", "start\tend\ttext")])
def test_the_extension_of_the_output_chooses_its_format(
    stand_in: StandIn, tmp_path: Path, name: str, first: str
) -> None:
    assert punctuate.main([str(RECORDED / "whisper.json"), "-o", str(tmp_path / name)]) == 0
    assert (tmp_path / name).read_text().splitlines()[0] == first


def test_sentences_and_other_formats_for_a_folder(
    stand_in: StandIn, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert punctuate.main(["--sentences", str(RECORDED / "meetings" / "monday.txt")]) == 0
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


def test_resegmenting_cuts_cues_at_sentence_ends(stand_in: StandIn, capfd: pytest.CaptureFixture[str]) -> None:
    assert punctuate.main(["--resegment", "-q", str(RECORDED / "talk.srt")]) == 0
    assert "\nwe came back.\n" in capfd.readouterr().out


def test_resegmenting_what_is_no_subtitles_is_told(stand_in: StandIn, capfd: pytest.CaptureFixture[str]) -> None:
    assert punctuate.main([str(RECORDED / "whisper.json"), "--resegment"]) == 0
    assert "--resegment gives new cues to subtitles only; add --to srt" in capfd.readouterr().err
    assert punctuate.main([str(RECORDED / "whisper.json"), "--resegment", "--to", "srt"]) == 0
    assert not capfd.readouterr().err


def test_options_reach_the_pipeline(stand_in: StandIn) -> None:
    arguments = (
        "--existing replace --marks COMMA,PERIOD --threshold COMMA=0.3 --threshold PERIOD=0.6 --truecase "
        "--pause 0.5 --batch-size 4 --window 60 --left-context 20 --right-context 10"
    )
    assert punctuate.main([*arguments.split(), "--text", "a b"]) == 0
    assert stand_in.calls == [
        {
            "existing": "replace", "marks": ["COMMA", "PERIOD"], "thresholds": {"COMMA": 0.3, "PERIOD": 0.6},
            "truecase": True, "pause": 0.5, "batch_size": 4, "window": 60, "left_context": 20,
            "right_context": 10,
        }
    ]  # fmt: skip


def test_options_of_the_pipelines_making_reach_it(tiny_checkpoint: str, tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("爱迪生实验室 10 n\n", encoding="utf-8")
    options = {"backend": "torch", "jieba_dictionary": str(tmp_path / "words.txt")}
    restore = load_pipeline(tiny_checkpoint, "cpu", **options)
    assert [word["word"] for word in restore("我在爱迪生实验室")["words"]][-1] == "爱迪生实验室"
    from punctuation_restoration.pipeline.backends import BACKENDS

    assert BACKENDS == opt.BACKEND_NAMES


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


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read everything")
def test_unreadable_files_are_named(stand_in: StandIn, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "a.txt").chmod(0)
    assert punctuate.main([str(tmp_path / "a.txt")]) == 1
    assert "a.txt: permission denied" in capfd.readouterr().err


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
    assert punctuate.main([str(tmp_path), "-o", str(tmp_path / "out")]) == 130
    assert "interrupted; 1 of 3 files are done and kept" in capfd.readouterr().err
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["a.txt"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.txt", "b.txt"], "--output FOLDER for several files"),
        (["--text", "a", "a.txt"], "Expected --text or FILES"),
        (["--format", "docx", "a.txt"], "--format: invalid choice: 'docx' (choose from"),
        (["--to", "ctm", "a.txt"], "--to: invalid choice: 'ctm' (choose from"),
        (["--json", "--sentences", "a.txt"], "--sentences: not allowed with argument --json"),
        (["--color", "-o", "x.txt", "a.txt"], "Expected --color for standard output only"),
        (["--threshold", "COMMA", "a.txt"], "Expected --threshold NAME=PROBABILITY"),
        (["a.txt", "c/a.txt", "-o", "out"], "Expected a place for every file"),
        (["--nonsense"], "unrecognized arguments: --nonsense"),
        (["--lines", "0", "a.txt"], "Expected a number of 1 or more, got '0'"),
        (["--live", "a.txt"], "Expected --live alone"),
        (["--live", "--review"], "Expected --live alone"),
        (["--jieba-dictionary", "none.txt", "a.txt"], "Expected a file for --jieba-dictionary"),
        (["a.txt", "-o", "out", "c/a.txt"], "Expected a place for every file"),
        (["--backend", "tpu", "a.txt"], "--backend: invalid choice: 'tpu' (choose from"),
        (["--encoding", "utf8000", "a.txt"], "Expected --encoding such as utf-8"),
        (["a.txt", "c/a.txt", "-o", "b.txt"], "Expected --output FOLDER for several files, got b.txt"),
        (["a.txt", "b.txt", "-o", "all.srt"], "FOLDER for several files, got all.srt, the name of a file"),
        (["a.txt", "-o", "a.ass"], "Expected --output in a format of txt, srt, vtt, tsv, json, jsonl, got a.ass"),
        (["--text", "a", "-o", "out/"], "Expected --output FILE for text without a name, got the folder out"),
        (["--text", "a", "-o", "c"], "Expected --output FILE for text without a name, got the folder c"),
        (["--review", "a.txt"], "got 'a.txt'. Name files before --review, or a number behind it"),
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


def test_what_cannot_be_written_is_named_by_its_place(
    stand_in: StandIn, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.txt").write_text("a b c d")
    assert punctuate.main([str(tmp_path / "a.txt"), "-o", str(tmp_path / "a.txt" / "b.txt")]) == 1
    assert f"punctuate: {tmp_path}/a.txt/b.txt: not a directory" in capfd.readouterr().err


def test_formats_that_are_utf_8_by_their_standard_are_written_so(stand_in: StandIn, tmp_path: Path) -> None:
    source = tmp_path / "a.srt"
    source.write_bytes((RECORDED / "talk.srt").read_text(encoding="utf-8").replace("\n", "\r\n").encode("utf-16"))
    for name in ("a.vtt", "a.jsonl"):
        assert punctuate.main(["-q", str(source), "-o", str(tmp_path / name)]) == 0
        (tmp_path / name).read_text(encoding="utf-8")
    assert punctuate.main(["-q", "--resegment", str(source), "-o", str(tmp_path / "b.srt")]) == 0
    written = (tmp_path / "b.srt").read_bytes().decode("utf-16")
    assert written.count("\r\n") == written.count("\n") > 5


def test_files_that_cannot_be_read_need_no_model(no_model: None, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{")
    (tmp_path / "empty.txt").write_text("")
    assert punctuate.main([str(tmp_path / "a.json")]) == 1
    assert punctuate.main([str(tmp_path / "empty.txt"), "-o", str(tmp_path / "o.txt")]) == 0
    assert (tmp_path / "o.txt").read_bytes() == b""


def test_a_missing_model_has_its_own_exit_code(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for option in ("--model", "--ensemble"):
        assert punctuate.main([option, str(tmp_path / "none"), "--text", "hello"]) == 3
        assert f"got {tmp_path / 'none'}, where nothing is" in capfd.readouterr().err
    assert punctuate.main(["--model", str(tmp_path), "--text", "hello"]) == 3
    assert f"Expected a model to load from {tmp_path}, got" in capfd.readouterr().err


@pytest.mark.parametrize("device", ["quantum", "cuda:99"])
def test_a_device_that_is_not_here_is_told(
    tiny_checkpoint: str, capfd: pytest.CaptureFixture[str], device: str
) -> None:
    assert punctuate.main(["--model", tiny_checkpoint, "--device", device, "--text", "hello"]) == 3
    assert f"Expected a device that is here, such as cpu, got {device}: " in capfd.readouterr().err


def test_what_a_backend_lacks_is_told_without_a_guess_at_the_model(
    tiny_checkpoint: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert punctuate.main(["--model", tiny_checkpoint, "--backend", "openvino-int8", "--text", "hello"]) == 3
    message = capfd.readouterr().err
    assert "or use backend 'onnx-int8'" in message
    assert "Hub id" not in message


def test_options_that_the_model_does_not_take_are_wrong_use(
    tiny_checkpoint: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert punctuate.main(["--model", tiny_checkpoint, "--marks", "COMA", "--text", "hello"]) == 2
    assert "COMA" in capfd.readouterr().err


def test_a_progress_bar_is_shown_on_a_terminal_only(
    stand_in: StandIn, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    for is_terminal, options, is_shown in ((False, [], False), (True, ["-q"], False), (True, [], True)):
        monkeypatch.setattr(sys.stderr, "isatty", lambda answer=is_terminal: answer, raising=False)
        assert punctuate.main([*options, "--text", "a b c d"]) == 0
        assert ("1 of 1: --text" in capfd.readouterr().err) == is_shown
