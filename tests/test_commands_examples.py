"""The examples run, and on recorded input give what they promise."""

import asyncio
import importlib
import json
import re
import struct
import wave
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from restorers import without_marks

from punctuation_restoration.cli import punctuate
from punctuation_restoration.transcripts.layouts import seconds

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def load(name: str) -> ModuleType:
    return importlib.import_module(f"examples.{name}")


def letters(text: str) -> str:
    return re.sub(r"\s", "", without_marks(text))


def test_whisper_json_becomes_subtitles(tiny_checkpoint: str, capsys: pytest.CaptureFixture[str]) -> None:
    load("whisper_to_subtitles").main(["--model", tiny_checkpoint])
    shown = capsys.readouterr().out
    assert shown.startswith("1\n00:00:00,000 --> ")
    spoken = "".join(line for line in shown.splitlines() if not line.isdigit() and "-->" not in line)
    assert letters(spoken) == letters(json.loads((EXAMPLES / "inputs" / "whisper.json").read_text())["text"])


def test_what_a_recogniser_really_heard_becomes_subtitles(tiny_checkpoint: str, tmp_path: Path) -> None:
    heard, out = EXAMPLES / "inputs" / "spoken.json", tmp_path / "out.srt"
    options = ["--model", tiny_checkpoint, "--existing", "replace", "-o", str(out)]
    assert punctuate.main([str(heard), *options]) == 0
    words = json.loads(heard.read_text(encoding="utf-8"))["chunks"]
    said = letters("".join(word["text"] for word in words))
    for made in (out, EXAMPLES / "inputs" / "spoken.srt"):
        cues = [cue.split("\n", 2) for cue in made.read_text(encoding="utf-8").strip().split("\n\n")]
        assert letters("".join(text for _, _, text in cues)).lower() == said.lower()
        begins, ends = zip(*(map(seconds, times.split(" --> ")) for _, times, _ in cues), strict=True)
        assert set(begins) <= {word["timestamp"][0] for word in words}
        assert set(ends) <= {word["timestamp"][1] for word in words}
        assert (begins[0], ends[-1]) == (words[0]["timestamp"][0], words[-1]["timestamp"][1])


def test_a_recording_is_read_as_whisper_wants_it(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime", reason="the example needs `pip install onnxruntime`")
    example = load("speech_to_words")
    with wave.open(str(tmp_path / "tone.wav"), "wb") as file:
        file.setparams((1, 2, 8000, 0, "NONE", ""))
        file.writeframes(struct.pack("<4h", 0, 2**14, 0, -(2**14)))
    assert example.read_wave(tmp_path / "tone.wav").tolist() == [0, 0.25, 0.5, 0.25, 0, -0.25, -0.5, -0.5]
    with wave.open(str(tmp_path / "two.wav"), "wb") as file:
        file.setparams((2, 2, 8000, 0, "NONE", ""))
    with pytest.raises(ValueError, match="Expected one channel of 16 bits, got 2 of 16"):
        example.read_wave(tmp_path / "two.wav")


def test_a_folder_is_restored(tiny_checkpoint: str, tmp_path: Path) -> None:
    load("folder_of_transcripts").main([str(tmp_path), "--model", tiny_checkpoint])
    for path in (EXAMPLES / "inputs" / "meetings").rglob("*.txt"):
        restored = tmp_path / path.relative_to(EXAMPLES / "inputs" / "meetings")
        assert without_marks(restored.read_text(encoding="utf-8")) == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("ending", [".jsonl", ".parquet"])
def test_an_archive_is_restored_in_parts_and_goes_on_where_it_stopped(
    tiny_checkpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    datasets = pytest.importorskip("datasets", reason="the example needs `pip install datasets`")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    example, out = load("archive"), tmp_path / "out"
    rows = [{"id": n, "text": f"you say is the day {n}", "date": "2024-01-01T00:00:00"} for n in range(5)]
    rows = datasets.Dataset.from_list(rows)
    rows = rows.add_item({"id": 5, "text": None, "date": ""})
    getattr(rows, "to_parquet" if ending == ".parquet" else "to_json")(str(tmp_path / f"rows{ending}"))
    if ending == ".jsonl":
        with open(tmp_path / "rows.jsonl", "a") as file:
            file.write('{"text": "hello", "kept": [1, "2"]}\n{"id": 6, "sign": "\\ud83d"}\n')
    command = [str(tmp_path / f"rows{ending}"), str(out), "--model", tiny_checkpoint, "--part-rows", "2"]
    for wrong in ("0/2", "3/2", "2"):
        with pytest.raises(SystemExit):
            example.main([*command, "--worker", wrong])
    example.main([*command, "--worker", "2/2"])
    assert {int(path.stem[-1]) % 2 for path in out.glob("part-*")} == {1}
    example.main(command)
    parts = sorted(out.glob("part-*"))
    if ending == ".parquet":
        done = [row for part in parts for row in datasets.Dataset.from_parquet(str(part))]
    else:
        *done, last, without = (json.loads(line) for part in parts for line in part.read_text().splitlines())
        assert (list(last), last["kept"]) == (["text", "kept"], [1, "2"])
        assert without == {"id": 6, "sign": "\ud83d"}
    assert [row["id"] for row in done] == list(range(6))
    assert done[0]["date"] == "2024-01-01T00:00:00"
    assert [without_marks(row["text"]) for row in done[:5]] == rows["text"][:5]
    assert any(row["text"] != without_marks(row["text"]) for row in done[:5])
    assert done[5]["text"] is None
    noted = sorted((out / "failures").iterdir())[0]
    assert json.loads(noted.read_text())["row"] == 5
    assert list(done[0]) == ["id", "text", "date"]
    parts[0].write_text("as it was")
    example.main(command)
    assert parts[0].read_text() == "as it was", "what is done is not done again"


def test_live_words_grow(tiny_checkpoint: str, capsys: pytest.CaptureFixture[str]) -> None:
    example = load("live_words")
    example.main(["--model", tiny_checkpoint, "--look-ahead", "2"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(example.SPOKEN.split()) + 1
    assert letters(lines[-1]) == letters(example.SPOKEN)


def test_a_code_switched_meeting(tiny_checkpoint: str, capsys: pytest.CaptureFixture[str]) -> None:
    load("code_switched_meeting").main(["--model", tiny_checkpoint])
    lines = capsys.readouterr().out.splitlines()
    assert [line[0] for line in lines] == ["A", "B", "A", "C"]
    assert without_marks(lines[1]) == "B: boleh but 我们 still waiting for ahmad"


def test_youtube_captions_are_marked_in_every_copy(tiny_checkpoint: str, capsys: pytest.CaptureFixture[str]) -> None:
    load("youtube_captions").main(["--model", tiny_checkpoint])
    captions, _, text = capsys.readouterr().out.partition("The text, one sentence a line:\n\n")
    original = (EXAMPLES / "inputs" / "youtube.vtt").read_text()
    times = re.compile(r"\d\d:\d\d\.\d{3}")
    assert without_marks(times.sub("", captions)).strip() == without_marks(times.sub("", original)).strip()
    assert times.findall(captions) == times.findall(original)
    assert letters(text) == "hieveryonewelcomebacktodaywe'regoingtobakebreadareyoureadyfirstweneedflour"


def test_the_websocket_client_sees_text_that_only_grows(tiny_pipeline: Any, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("websockets", reason="the example needs `pip install websockets`")
    server, client = load("websocket_server"), load("websocket_client")

    async def talk() -> None:
        running = await server.start(tiny_pipeline, 4, 0)
        port = running.sockets[0].getsockname()[1]
        await asyncio.to_thread(client.main, ["--url", f"ws://127.0.0.1:{port}"])
        running.close()
        await running.wait_closed()

    asyncio.run(talk())
    *steps, last = capsys.readouterr().out.splitlines()
    shown = [line.partition("|")[0].strip() for line in steps]
    assert letters(last) == "goodmorningeveryonethankyouforcominghowwasyourtrip"
    assert all(text in last for text in shown)
    assert any("four" in line for line in steps)
    assert "four" not in last, "a hypothesis that was taken back leaves nothing behind"


def test_the_document_names_every_format_and_exit_code() -> None:
    from punctuation_restoration.transcripts import FORMATS

    text = (EXAMPLES.parent / "docs" / "transcripts.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in text for name in FORMATS)
    codes = (punctuate.DONE, punctuate.FAILED, punctuate.WRONG_USE)
    assert all(f"| {code} |" in text for code in codes)
