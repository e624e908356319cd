"""Models that tell a text that goes on from one that is over: only the second has its `</s>`, wherever it is made."""

from typing import Any

import numpy as np
import pytest

from punctuation_restoration.data.recipe import Sampling
from punctuation_restoration.data.sampling import WindowSampler
from punctuation_restoration.data.shards import (
    PackedDocument,
    WordStream,
    make_words,
    read_index,
    write_index,
    write_split,
)
from punctuation_restoration.modeling.configuration_punctuation import DEFAULT_LABELS
from punctuation_restoration.pipeline.slots import SlotEncoder
from punctuation_restoration.pipeline.streamer import PunctuationStreamer
from punctuation_restoration.training.validation import source_windows

STOPS = [2, 3]


def ends(restore: Any, text: Any, **options: Any) -> list[bool]:
    """Whether each window has its `</s>`."""
    return [window["input_ids"][-1] == restore.slots.eos_id for window in restore.preprocess(text, **options)]


def test_only_the_last_window_of_a_text_that_is_over_is_closed(tiny_pipeline: Any) -> None:
    text = "hello you are the best " * 12
    closed = ends(tiny_pipeline, text)
    assert len(closed) > 2
    assert closed == [False] * (len(closed) - 1) + [True]
    for given, options in (({"text": text, "final": False}, {}), (text, {"final": False})):
        assert not any(ends(tiny_pipeline, given, **options))
    assert ends(tiny_pipeline, "") == [True]


def test_a_stream_is_over_when_it_is_flushed(tiny_pipeline: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    read, forward = [], tiny_pipeline.forward
    monkeypatch.setattr(tiny_pipeline, "forward", lambda batch, **given: read.append(batch) or forward(batch, **given))
    streamer = PunctuationStreamer(tiny_pipeline, look_ahead=1)
    streamer.feed_words(["hello", "you"])
    streamer.hypothesize("are")
    streamer.flush()
    assert [batch["input_ids"][0, -1].item() == tiny_pipeline.slots.eos_id for batch in read] == [False, False, True]


@pytest.fixture
def index(tmp_path: Any) -> dict[str, Any]:
    """Documents that end with a sentence, and one that breaks off."""
    labels = [[0, 0, 1, 0, 2] * 20, [0, 0, 3] * 30, [0, 0, 2, 0, 0] * 10]
    documents = [
        PackedDocument(
            n, make_words(np.arange(len(own), dtype=np.uint16), np.ones(len(own), np.uint8), np.array(own, np.uint8))
        )
        for n, own in enumerate(labels)
    ]
    splits = {split: write_split(tmp_path, split, documents) for split in ("train", "validation")}
    row = {"name": "some", "language": "en", "weight": 1.0, "splits": splits}
    words = {"labels": DEFAULT_LABELS, "words_alone": False}
    write_index(tmp_path, {**words, "n_vocabulary": 1 << 16, "languages": ["en"], "sources": [row]})
    return read_index(tmp_path)


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        ({"sentence_ends": 1.0}, "stop"), ({"utterances": 1.0}, "stop"),
        ({"document_ends": 1.0}, "stop"),  # one of three documents breaks off
        ({"document_starts": 1.0}, "open"), ({}, "open"),
    ],
)  # fmt: skip
def test_a_window_is_over_where_it_was_cut_behind_a_sentence(
    index: dict[str, Any], shares: dict[str, float], expected: str
) -> None:
    nothing = {"document_starts": 0.0, "document_ends": 0.0, "sentence_ends": 0.0, "sentence_starts": 0.0}
    sampling = Sampling(lengths={20: 1.0}, **{**nothing, "utterances": 0.0, **shares})
    sampler = WindowSampler(index, sampling, 200, seed=1)
    plans = map(sampler.plan, range(30))
    windows = [sampler.cut(plan, row) for plan in plans for row in range(len(plan))]
    if expected == "open":
        assert not any(window.is_over for window in windows)
        assert any(window.words.labels[-1] in STOPS for window in windows)  # by chance, and the text goes on
    else:
        assert all(window.is_over == (window.words.labels[-1] in STOPS) for window in windows)
        assert any(window.is_over for window in windows)


def test_held_out_documents_are_over_at_their_end_and_not_where_they_are_cut(
    index: dict[str, Any], tiny_config: Any, tiny_tokenizer: Any
) -> None:
    config = type(tiny_config)(**{**tiny_config.to_dict(), "window": 40, "left_context": 2, "right_context": 2})
    stream = WordStream(index["sources"][0]["splits"]["validation"]["shards"][0]["file"])
    slots = SlotEncoder(tiny_tokenizer, config)
    found = [window.is_over for window in source_windows(stream, slots)]
    assert sum(found) == 3
    assert found[-1]
    assert not any(window.is_over for window in source_windows(stream, slots, n_words=90))


def test_an_item_that_is_not_final_and_a_stream_that_breaks_off_are_what_final_false_says(tiny_pipeline: Any) -> None:
    every: dict[str, Any] = {"thresholds": dict.fromkeys(("COMMA", "PERIOD", "QUESTION"), 0.0)}  # a mark everywhere
    for text in ("hello", "hello you are the", "hello you are the best " * 12):
        broken = tiny_pipeline(text, final=False, **every)
        assert tiny_pipeline({"text": text, "final": False}, **every) == broken
        assert tiny_pipeline({"text": text, "final": False}, final=False, **every) == broken
        assert "".join(tiny_pipeline.stream([text[:9], text[9:]], final=False, **every)) == broken["text"]
    at_once = PunctuationStreamer(tiny_pipeline, look_ahead=0, **every)
    assert all(at_once.feed_words(word).words[-1]["mark"] for word in ("hello", "you"))  # committed, so decided
