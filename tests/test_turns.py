"""The program that measures changes of speaker: who says what, and what counts as kept."""

import random

import pytest

from benchmarks.half_punctuated import Document, documents
from benchmarks.turns import STYLES, changes, heard, in_turn, measure_subtitles, speeches, subtitles
from punctuation_restoration.evaluation.examples import STOPS, example_from_text
from punctuation_restoration.evaluation.labels import standard_labels

TEXT = "Hello, how are you? Saya baik. You are the best. Is he? We say hello. 我们今天在北京。你们呢？"


@pytest.fixture
def document(tiny_pipeline) -> Document:
    labels = standard_labels(tiny_pipeline.model.config)
    example = example_from_text(TEXT, tiny_pipeline.find_words, labels, id="one", source="none")
    (found,) = documents(tiny_pipeline, [example])
    return found


def test_speakers_change_at_sentence_ends_and_say_all_words(document) -> None:
    last = changes(document, random.Random(3))
    assert 0 < len(last) < 6
    assert all(document.labels[index] in STOPS for index in last)
    said = speeches(document, last)
    assert len(said) == len(last) + 1
    assert "".join(said).replace(" ", "") == document.text.replace(" ", "")
    assert "hello how are you" in speeches(document, [3])


def test_who_knows_the_changes_ends_sentences_there(tiny_pipeline, document) -> None:
    told = heard(tiny_pipeline, document, [3, 5])["with turns"]
    assert told[3] in STOPS
    assert told[5] in STOPS


def test_what_is_lost_is_missed() -> None:
    made = subtitles(["hello you", "saya", "we are"], "names and sounds")
    assert made.startswith("1\n00:00:00,000 --> 00:00:05,900\n[music]\n\n2\n00:00:06,000 --> 00:00:11,900\nANNA: hello")
    assert in_turn(made) == {"annahelloyou": 1, "bensaya": 1, "annaweare": 1}
    assert in_turn(made.replace("BEN: ", "")) == {"annahelloyousaya": 1, "annaweare": 1}
    assert in_turn(made.replace("hello you", "Hello,\nyou.")) == in_turn(made)
    assert in_turn(subtitles(["hello you", "saya", "we are"], "dashes")) == {"helloyou": 1, "saya": 1, "weare": 1}


def test_subtitles_go_through_the_command(tiny_checkpoint, tmp_path) -> None:
    found = measure_subtitles(tiny_checkpoint, ["hello you are", "saya awak", "we say"], tmp_path)
    assert list(found) == list(STYLES)
    assert {row["n_kept"] for row in found.values()} == {3}
    assert found["names and sounds"]["n_sounds_kept"] == 3
