"""Long texts in parts."""

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
def test_parts_cut_anywhere_give_the_text_with_marks(tiny_pipeline, places):
    borders = [0, *sorted(places), len(TEXT)]
    parts = [TEXT[start:end] for start, end in itertools.pairwise(borders)]
    restored = "".join(tiny_pipeline.stream(parts))
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


@pytest.mark.parametrize("options", [{}, {"existing": "replace"}, {"truecase": True, "condition": True}])
def test_edits_and_words_have_offsets_in_the_whole_text(tiny_pipeline, options):
    text = TEXT.replace("are you", "are, you.").replace("the end", "the end?! “hello”")
    results = list(tiny_pipeline.stream_results([text], **options))
    assert len(results) > 5
    parts, place = [], 0
    for edit in (edit for result in results for edit in result["edits"]):
        assert place <= edit["start"]
        parts += [text[place : edit["start"]], edit["inserted"]]
        place = edit["start"] + len(edit["removed"])
        assert text[edit["start"] : place] == edit["removed"]
    assert "".join([*parts, text[place:]]) == "".join(result["text"] for result in results) != text
    words = [word for result in results for word in result["words"]]
    assert [(word["start"], word["end"]) for word in words] == [word[:2] for word in tiny_pipeline.find_words(text)]


def test_pauses_count_in_every_block(tiny_pipeline):
    text = " ".join(["hello", "you", "are"] * 100)
    starts = range(0, len(text), 14)
    spans = [(start, min(start + 13, len(text)), (start * 10.0, start * 10.0 + 1)) for start in starts]

    def streamed(**options):
        results = tiny_pipeline.stream_results([text], marks=["COMMA"], thresholds={"COMMA": 0.0}, **options)
        return [word for result in results for word in result["words"]]

    pairs = list(zip(streamed(), streamed(spans=spans, pause=1.0), strict=True))
    assert all("timestamp" in paused for _, paused in pairs)
    raised = [word["start"] for word, paused in pairs if paused["score"] > word["score"] + 1e-6]
    assert min(raised) < 50
    assert max(raised) > len(text) - 50
    assert len(raised) < len(pairs)


def test_settings_that_cannot_work_in_a_stream_are_refused(tiny_pipeline):
    with pytest.raises(ValueError, match="condition=True beside truecase"):
        list(tiny_pipeline.stream(["a"], truecase=True))
