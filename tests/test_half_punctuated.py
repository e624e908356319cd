"""The program that hides marks: what is written, what is scored, and what counts as changed."""

from typing import Any

import pytest

from punctuation_restoration.evaluation.examples import example_from_text, standard_labels
from tools.half_punctuated import HIDES, WAYS, Document, bare_words, documents, measure, table, written

TEXT = "Hello, how are you? Saya baik. 我们今天在北京。你们呢？"
BARE = "hello how are you saya baik 我们今天在北京你们呢"


@pytest.fixture
def document(tiny_pipeline: Any) -> Document:
    example = example_from_text("one", TEXT, tiny_pipeline.find_words, standard_labels(tiny_pipeline.model.config))
    (whole,) = documents(tiny_pipeline, [example])
    parts = list(documents(tiny_pipeline, [example], 4))
    assert [len(part.words) for part in parts[:-1]] == [4] * (len(parts) - 1)
    assert [label for part in parts for label in part.labels] == whole.labels
    return whole


def test_only_marks_that_are_not_hidden_are_written_and_others_scored(tiny_pipeline: Any, document: Document) -> None:
    n_words = len(document.words)
    assert document.text == written(tiny_pipeline, document, [True] * n_words) == BARE
    assert written(tiny_pipeline, document, [False] * n_words) == TEXT.lower()
    assert written(tiny_pipeline, document, [True] + [False] * (n_words - 1)) == TEXT.lower().replace(",", "")
    for way in WAYS:
        reference, restored = bare_words(tiny_pipeline, document, [False] * n_words, way)
        assert reference == ["O"] * document.labels.count("O")
        assert len(restored) == len(reference)
        assert bare_words(tiny_pipeline, document, [True] * n_words, way)[0] == document.labels


def test_all_ways_are_measured_and_restored_texts_do_not_change(tiny_pipeline: Any, document: Document) -> None:
    row = measure(tiny_pipeline, [document], tiny_pipeline.model.config.label_names)
    assert row["changed"]["keep"] == 0
    assert [row["f1"][name]["keep"]["above_keep"]["micro"] for name in HIDES] == [0, 0]
    assert len(table({"x": row}).splitlines()) == 2 + len(WAYS)
