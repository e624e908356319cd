"""The speed benchmark: what its peer reads, what one run finds, what its tables say; what backends change."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForTokenClassification, AutoTokenizer

from punctuation_restoration.evaluation.examples import Example, Unit
from tools import backends, speed

ROOT = Path(__file__).resolve().parents[1]


def run_of(threads: int, processor: str, **words_per_second: float) -> dict[str, Any]:
    systems = {
        name: {
            "start_up_s": 1.0, "peak_memory_mb": 500, "size_mb": 62.0,
            "texts": {"talk": {"words_per_second": own}, "sentence": {"p50_ms": 20.0}},
        }
        for name, own in words_per_second.items()
    }  # fmt: skip
    return {"threads": threads, "systems": systems, "signature": {"machine": {"processor": processor}}}


def test_texts_have_as_many_words_as_they_say_and_windows_of_peers_cover_them_and_overlap() -> None:
    talk = speed.spoken_text(5000)
    assert len(talk.split()) == 5000
    assert not set(talk) & set(".,?!:;-")
    assert speed.windows_by_pieces([[1, 2]] * 10, size=8, overlap=2) == [(0, 4), (3, 7), (6, 10)]
    assert speed.windows_by_pieces([[1] * 20, [1]], size=8, overlap=2)[0] == (0, 1)


def test_a_system_is_timed_on_every_text(tiny_checkpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed, "N_WORDS", {"sentence": 20, "talk": 60})
    found = speed.measure_one("torch", tiny_checkpoint, 1, "cpu", time.time())
    assert {name: len(times) for name, times in found["texts"].items()} == speed.N_TIMES
    assert found["size_mb"] == (Path(tiny_checkpoint) / "model.safetensors").stat().st_size / 1e6
    assert speed.summary([1.0, 2.0, 3.0], 100) == {"words_per_second": 50, "p50_ms": 2000, "p99_ms": 2000, "times": 3}


def test_the_tables_have_the_talk_of_every_run_and_what_backends_change() -> None:
    first = run_of(2, "Plain", torch=400.0, onnx=500.0, **{"onnx-int8": 800.0, "xlmr-base": 100.0})
    lines = speed.table([first, run_of(1, "Modern", torch=100.0, **{"xlmr-base": 50.0})]).splitlines()
    assert lines[0].startswith("| system | Plain, 2 threads | Modern, 1 thread | one sentence |")
    assert lines[2].startswith("| `torch` | 400 (4.0 ×) | 100 (2.0 ×) | 20 ms |")
    accuracy = [
        {"backend": "torch", "f1": {"en": 60.0, "zh": 50.0}, "changed_percent": {"en": 0, "zh": 0}, "mean_f1": 55.0},
        {"backend": "onnx-int8", "f1": {"en": 60.5, "zh": 49.0}, "changed_percent": {"en": 1.0, "zh": 2.0},
         "mean_f1": 54.75},
    ]  # fmt: skip
    *_, line = speed.backends_table(first, {"rows": accuracy}).splitlines()
    assert {"800 (2.0 ×)", "1.50 %"} <= set(line.split(" | "))
    assert "-0.25, at worst -1.00" in line


def test_the_document_quotes_the_speed_as_it_was_measured() -> None:
    text = (ROOT / "docs" / "speed.md").read_text(encoding="utf-8")
    files = ((ROOT / "results" / f"{name}.json").read_text(encoding="utf-8") for name in ("speed", "backends"))
    assert speed.fill(text, *map(json.loads, files)) == text, (
        "run `python -m tools.speed --join results/speed.json --fill`"
    )


def test_decisions_that_a_backend_changes_are_counted() -> None:
    """By hand: of three marks the reference finds two, the backend one; one of the two changes of four units."""
    names = ("O", "COMMA", "PERIOD", "QUESTION")
    marks = {"a": "COMMA", "b": "O", "c": "PERIOD", "d": "PERIOD"}
    example = Example("x", [Unit(text, label, " ") for text, label in marks.items()])
    reference, found = {"own": ["COMMA", "O", "PERIOD", "O"]}, {"own": ["COMMA", "O", "O", "O"]}
    row = backends.compare(found, reference, {"own": [example]}, names)
    assert row == {"f1": {"own": 50.0}, "mean_f1": 50.0, "changed_percent": {"own": 25.0}}
    assert backends.compare(reference, reference, {"own": [example]}, names)["f1"] == {"own": 80.0}


def test_models_are_compared_with_the_first(tiny_checkpoint: str, texts: str, tmp_path: Path) -> None:
    other = AutoModelForTokenClassification.from_pretrained(tiny_checkpoint)
    with torch.no_grad():
        other.classifier.out_proj.bias.copy_(torch.tensor([0.0, 0.0, 9.0, 0.0]))  # a period everywhere
    other.save_pretrained(tmp_path / "other")
    AutoTokenizer.from_pretrained(tiny_checkpoint).save_pretrained(tmp_path / "other")
    given = ["--model", tiny_checkpoint, "--before", str(tmp_path / "other"), "--backends", "torch", "--limit", "90"]
    out = tmp_path / "found.json"
    assert backends.main([*given, "--benchmark", str(Path(texts) / "talks.txt"), "--output", str(out)]) == 0
    before, after = json.loads(out.read_text())["rows"]
    assert [before["backend"], after["backend"]] == ["before", "torch"]
    assert list(before["changed_percent"].values()) == [0]
    assert after["changed_percent"] != before["changed_percent"]
