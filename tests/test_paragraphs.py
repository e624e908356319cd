"""An empty line ends a paragraph: the text before it gets its last mark, in a call and in a stream."""

from typing import Any

import pytest


def ended(result: dict[str, Any]) -> list[str]:
    """The words that have a mark which ends a sentence."""
    return [word["word"] for word in result["words"] if word["label"] in ("PERIOD", "QUESTION")]


@pytest.fixture
def sparing(tiny_pipeline: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A pipeline whose model writes nothing of its own."""
    found = tiny_pipeline.compute

    def rarely(**inputs: Any) -> Any:
        probabilities = found(**inputs)
        probabilities[..., 0] += 100
        return probabilities / probabilities.sum(-1, keepdim=True)

    monkeypatch.setattr(tiny_pipeline, "compute", rarely)
    return tiny_pipeline


@pytest.mark.parametrize("gap", ["\n\n", "\r\n\r\n", "\n \t\n", "\n\n\n\n", "\u2029", " \n\n "])
def test_the_word_before_an_empty_line_ends_a_sentence(sparing: Any, gap: str) -> None:
    assert ended(sparing(f"hello how are you{gap}saya awak")) == ["you"]
    assert ended(sparing(f"大家好{gap}我们今天")) == ["好"]
    assert ended(sparing(f"hello{gap}you", thresholds={"PERIOD": 1.0, "QUESTION": 1.0})) == ["hello"]
    assert sparing(f"hello{gap}you", marks="sentence-ends")["text"][5] in ".?"


@pytest.mark.parametrize(
    "text", ["hello how\nare you", "hello how\r\nare you", "hello\r\n", "\n\nhello how", "hello\n\n"]
)
def test_a_line_end_alone_and_the_ends_of_the_text_say_nothing(sparing: Any, text: str) -> None:
    assert ended(sparing(text)) == []


def test_marks_that_are_there_and_what_the_caller_wants_come_first(sparing: Any) -> None:
    assert sparing("hello you!\n\nsaya awak,\n\nare")["text"] == "hello you!\n\nsaya awak,\n\nare"
    assert sparing("hello you\n\nsaya", marks=["COMMA"], thresholds={})["text"] == "hello you\n\nsaya"
    assert ended(sparing({"text": "hello you\n\nsaya", "known": {1: "O"}})) == []


def test_a_stream_ends_its_paragraphs(sparing: Any) -> None:
    parts = ["hello you\n", "\nsaya awak\n", "are\n\n", "the"]
    restored = "".join(sparing.stream(parts))
    assert restored == sparing("".join(parts))["text"]
    marked = [word for word in ("you", "awak", "are") if restored[restored.index(word) + len(word)] in ".?"]
    assert marked == ["you", "are"]


def test_the_point_of_an_abbreviation_ends_a_sentence_by_its_label(tiny_pipeline):
    text, none = "hello the U.S.A. you are", dict.fromkeys(range(5), "O")
    for label, n_sentences in (("PERIOD", 2), ("O", 1)):
        result = tiny_pipeline({"text": text, "known": {**none, 2: label}}, sentences=True)
        assert len(result["sentences"]) == n_sentences
        assert result["text"] == text
