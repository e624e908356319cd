"""Long texts in pieces."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from punctuation_restoration.pipeline import restoration_pipeline

TEXT = "hello how are you 我们今天在北京 awak saya it's 3.5 the end\n" * 30
MARKS = str.maketrans("", "", ",?，。？")


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    monkeypatch.setattr(restoration_pipeline, "STREAM_BLOCK", 300)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(0, len(TEXT)), max_size=40))
def test_pieces_cut_anywhere_give_the_text_with_marks(tiny_pipeline, places):
    borders = [0, *sorted(places), len(TEXT)]
    pieces = [TEXT[start:end] for start, end in itertools.pairwise(borders)]
    restored = "".join(tiny_pipeline.stream(pieces))
    assert restored != TEXT
    assert restored.replace(".", "").translate(MARKS) == TEXT.replace(".", "")


def test_a_text_that_fits_one_window_is_restored_as_in_one_call(tiny_pipeline):
    text = "hello how are you saya awak"
    assert "".join(tiny_pipeline.stream(text)) == tiny_pipeline(text)["text"]


def test_an_endless_stream_gives_text_and_keeps_little(tiny_pipeline):
    stream = tiny_pipeline.stream(f"hello{number} you are " for number in itertools.count())
    texts = [next(stream) for _ in range(6)]
    assert all(len(text) > 100 for text in texts[1:])


def test_nothing_gives_nothing(tiny_pipeline):
    assert "".join(tiny_pipeline.stream([])) == ""
    assert "".join(tiny_pipeline.stream(["", " \n"])) == " \n"


def test_settings_that_cannot_work_in_a_stream_are_refused(tiny_pipeline):
    with pytest.raises(ValueError, match="replace"):
        list(tiny_pipeline.stream(["a"], existing="replace"))
