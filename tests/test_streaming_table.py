"""The program that measures live speech by look-ahead: what is decided, counted, and quoted by the document."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from punctuation_restoration.evaluation.result_files import shown_model
from punctuation_restoration.pipeline.items import Item
from punctuation_restoration.pipeline.streamer import PunctuationStreamer
from tools import streaming
from tools.documents import put_between

ROOT = Path(__file__).resolve().parents[1]


def test_words_are_decided_from_the_texts_that_streamers_show_the_model(tiny_pipeline: Any) -> None:
    def read(text: str) -> dict[str, Any]:
        """Labels each word with the whole text that was shown."""
        shown = [{"start": w.start, "end": w.end, "label": text} for w in tiny_pipeline.find_words(text)]
        return {"text": text, "edits": [], "words": shown}

    class ShownText(SimpleNamespace):
        def __call__(self, items: Any, **options: Any) -> Any:
            return read(items.text) if isinstance(items, Item) else (read(item.text) for item in items)

    restore = ShownText(model=tiny_pipeline.model, find_words=tiny_pipeline.find_words)
    spoken = ["hello", "you", "are", "the", "saya", "awak", "it's"] * 6
    text = " ".join(spoken)
    measured = streaming.streamed_labels(restore, streaming.Document(text, tiny_pipeline.find_words(text), []))
    for look_ahead in (0, 1, 2, 4):
        streamer = PunctuationStreamer(restore, look_ahead)
        committed = [entry["label"] for word in spoken for entry in streamer.feed_words([word]).words]
        assert len(committed) == len(spoken) - look_ahead
        assert measured[look_ahead][: len(committed)] == committed
        assert len(measured[look_ahead]) == len(spoken)
    config = tiny_pipeline.model.config
    assert len(measured[0][-1].split()) == config.left_context + config.right_context + 2


def test_marks_that_are_taken_back_and_stops_that_are_right_by_hand() -> None:
    shown = {0: ["PERIOD", "O", "COMMA", "O"], 1: ["O", "O", "PERIOD", "O"], 2: ["O", "COMMA", "PERIOD", "O"]}
    assert streaming.taken_back(shown, 0) == 50.0  # the first period and the comma, of four words
    assert streaming.taken_back(shown, 1) == 0.0
    assert streaming.stop_precision(["O", "O", "PERIOD"], ["PERIOD", "COMMA", "PERIOD"]) == 0.5
    assert streaming.stop_precision(["PERIOD"], ["O"]) == 1.0


def test_a_source_is_measured(tiny_pipeline: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "LOOK_AHEADS", (0, 1, 2, 4))  # the tiny model sees no more words
    texts, recipe = tmp_path / "talk.jsonl", tmp_path / "recipe.yaml"
    row = {"text": "Hello you are, the man. Saya awak hello. " * 9}
    texts.write_text("\n".join(json.dumps({"id": f"d{n}", **row}) for n in range(3)), encoding="utf-8")
    source = {"path": "talk.jsonl", "language": "ms", "validation": 0.99}
    recipe.write_text(json.dumps({"name": "r", "root": str(tmp_path), "sources": [source]}), encoding="utf-8")
    found = streaming.measure(tiny_pipeline, "talk", recipe, n_words=100)
    assert found["n_words"] == 100
    assert [row["look_ahead"] for row in found["look_aheads"]] == [0, 1, 2, 4]
    assert found["look_aheads"][-1]["taken_back"] == 0
    texts.write_text('{"id": "d", "text": "Hello."}', encoding="utf-8")
    with pytest.raises(ValueError, match="held-out documents of talk"):
        streaming.measure(tiny_pipeline, "talk", recipe, n_words=100)


def test_the_table_in_the_document_is_that_of_the_results() -> None:
    report = json.loads((ROOT / "results" / "streaming.json").read_text(encoding="utf-8"))
    document = (ROOT / "docs" / "transcripts.md").read_text(encoding="utf-8")
    filled = put_between(document, "streaming", streaming.table(report))
    expected = shown_model(str(ROOT / "checkpoints" / "en-zh-ms"))
    assert filled == document, "run `python -m tools.streaming`"
    assert expected.items() <= report.items(), "the model has changed: run `python -m tools.streaming`"
