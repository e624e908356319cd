"""Traditional text is read as if it were Simplified, and stays as it is."""

from typing import Any

import pytest

from punctuation_restoration.data.conversion import Converter
from punctuation_restoration.data.readers import SourceDocument
from punctuation_restoration.pipeline.simplified import SIMPLIFIED, SIMPLIFIED_FORMS, TRADITIONAL

PAIRS = [
    ("我們說你們這樣大家不開心", "我们说你们这样大家不开心"),
    ("衞生署裏面嘅電話唔好打", "卫生署里面的电话不好打"),
]


def test_each_character_has_one_form_which_has_no_other() -> None:
    assert len(set(TRADITIONAL)) == len(TRADITIONAL) == len(SIMPLIFIED_FORMS) > 2500
    assert set(TRADITIONAL).isdisjoint(SIMPLIFIED_FORMS)
    assert not any(character.isascii() for character in TRADITIONAL + SIMPLIFIED_FORMS)


@pytest.mark.parametrize(("given", "expected"), PAIRS)
def test_the_table_turns_what_it_should(given: str, expected: str) -> None:
    assert given.translate(SIMPLIFIED) == expected


@pytest.mark.parametrize("text", ["什么著名的后面只有台湾的里程和干净的面", "呢度系边度呀", "広い天気の辺り"])
def test_what_is_no_traditional_form_stays(text: str) -> None:
    assert text.replace("係", "系").translate(SIMPLIFIED) == text.replace("係", "系")


@pytest.mark.parametrize(("given", "simplified"), PAIRS)
def test_traditional_text_gets_the_marks_of_simplified_text_and_keeps_its_characters(
    tiny_pipeline: Any, given: str, simplified: str
) -> None:
    found, expected = (tiny_pipeline(text, all_scores=True) for text in (given, simplified))
    assert [word["word"] for word in found["words"]] != [word["word"] for word in expected["words"]]
    for one, other in zip(found["words"], expected["words"], strict=True):
        same = ("start", "end", "label", "scores")
        assert [one[key] for key in same] == [other[key] for key in same]
        assert one["word"] == given[one["start"] : one["end"]]
    assert "".join(sign for sign in found["text"] if sign not in "，。？") == given


def test_prepared_documents_are_those_that_serving_shows_the_encoder(tiny_tokenizer: Any, tiny_config: Any) -> None:
    converter = Converter(tiny_tokenizer, tiny_config)
    packed = []
    for text in PAIRS[0]:
        words, labels = converter.words_and_labels(SourceDocument("a", f"{text}，{text}。", ""), "zh")
        assert "".join(words) == text * 2
        packed.append(converter.pack("a", words, labels))
    one, other = packed
    assert one.words.piece_ids.tolist() == other.words.piece_ids.tolist()
    assert one.words.piece_counts.tolist() == other.words.piece_counts.tolist()
    assert one.words.labels.tolist() == other.words.labels.tolist()
    assert one.words.labels.any()
    assert one.word_hash == other.word_hash  # so that a copy in other characters is found
