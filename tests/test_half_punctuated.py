"""The program that hides marks: what is written, what is scored, and what counts as changed."""

import pytest

from punctuation_restoration.evaluation.counts import add_counts
from punctuation_restoration.evaluation.examples import example_from_text
from punctuation_restoration.evaluation.labels import standard_labels
from tools.half_punctuated import HIDES, blocks, changed, documents, written

TEXT = "Hello, how are you? Saya baik. 我们今天在北京。你们呢？"
BARE = "hello how are you saya baik 我们今天在北京你们呢"


@pytest.fixture
def found(tiny_pipeline):
    labels = standard_labels(tiny_pipeline.model.config)
    example = example_from_text(TEXT, tiny_pipeline.find_words, labels, id="one", source="none")
    return list(documents(tiny_pipeline, [example]))


def test_documents_have_the_words_and_labels_of_the_text(tiny_pipeline, found):
    (document,) = found
    assert document.text == BARE
    assert [word.text for word in document.words[:6]] == BARE.split()[:6]
    assert [label for label in document.labels if label != "O"] == [
        "COMMA", "QUESTION", "PERIOD", "PERIOD", "QUESTION"
    ]  # fmt: skip


def test_long_documents_are_cut_between_words(tiny_pipeline, found):
    labels = standard_labels(tiny_pipeline.model.config)
    example = example_from_text(TEXT, tiny_pipeline.find_words, labels, id="one", source="none")
    parts = list(documents(tiny_pipeline, [example], 4))
    assert [len(part.words) for part in parts[:-1]] == [4] * (len(parts) - 1)
    assert [label for part in parts for label in part.labels] == found[0].labels


def test_only_marks_that_are_not_hidden_are_written(tiny_pipeline, found):
    (document,) = found
    n_words = len(document.words)
    assert written(tiny_pipeline, document, [True] * n_words) == BARE
    assert written(tiny_pipeline, document, [False] * n_words) == TEXT.lower()
    assert written(tiny_pipeline, document, [True] + [False] * (n_words - 1)) == TEXT.lower().replace(",", "")


@pytest.mark.parametrize("hides", HIDES.values(), ids=HIDES)
@pytest.mark.parametrize("way", ["keep", "condition"])
def test_words_that_show_their_mark_are_not_scored(tiny_pipeline, found, hides, way):
    names = tiny_pipeline.model.config.label_names
    counts = add_counts(names, [block.counts for block in blocks(tiny_pipeline, found, hides, way, names)])
    n_bare = found[0].labels.count("O")
    assert n_bare <= counts.pairs.sum() <= len(found[0].labels)
    nothing = add_counts(names, [one.counts for one in blocks(tiny_pipeline, found, lambda *_: True, way, names)])
    assert nothing.pairs.sum() == len(found[0].labels)


def test_restored_texts_do_not_change(tiny_pipeline, found):
    assert changed(tiny_pipeline, found, "keep")["restored"] == 0
