"""Capitals: what is written, and text in capitals throughout, which tells nothing."""

from typing import Any

import numpy as np
import pytest
from capitals import AS_IS, CAPITAL, MIXED, SAYS, UPPER, with_casings
from hypothesis import given
from hypothesis import strategies as st

from punctuation_restoration.pipeline.casing import LEAST_STRETCH, agreed, casing_of, recased, without_shouting
from punctuation_restoration.transcripts import restore_transcript

LISTED = {"iphone": "iPhone", "mcdonald": "McDonald", "ph.d": "Ph.D"}


@pytest.mark.parametrize(
    ("written", "casing"),
    [
        ("monday", AS_IS), ("Monday", CAPITAL), ("I", CAPITAL), ("I'm", CAPITAL), ("NASA", UPPER), ("NASA's", UPPER),
        ("U.S.", UPPER), ("THAT'S", UPPER), ("iPhone", MIXED), ("McDonald's", MIXED), ("CEOs", MIXED), ("3D", CAPITAL),
        ("1990s", AS_IS), ("2024", None), ("我们", None), ("Straße", CAPITAL), ("O'Brien", MIXED), ("X-ray", CAPITAL),
        ("Covid-19", CAPITAL), ("ПРАВДА", UPPER), ("ไทย", None),
    ],
)  # fmt: skip
def test_the_casing_of_a_written_word(written: str, casing: int | None) -> None:
    assert casing_of(written) == casing
    if casing is not None:  # and it is written so again
        mixed = {"iphone": "iPhone", "mcdonald": "McDonald", "ceos": "CEOs"}
        assert recased(written.lower(), casing, mixed) == written.replace("THAT'S", "THAT's")


@pytest.mark.parametrize(
    ("given", "casing", "restored"),
    [
        ("nasa’s", UPPER, "NASA’s"), ("u.s.", UPPER, "U.S."), ("ph.d.", MIXED, "Ph.D."), ("iphones", MIXED, "Iphones"),
        ("o'brien", MIXED, "O'Brien"), ("o’brien", CAPITAL, "O’brien"), ("smith-jones", MIXED, "Smith-Jones"),
        ("straße", UPPER, "STRAßE"), ("ßa", CAPITAL, "ßa"), ("mary", AS_IS, "mary"), ("3d", CAPITAL, "3D"),
        ("mcdonald's", MIXED, "McDonald's"), ("iphone", CAPITAL, "iPhone"), ("iphone", UPPER, "iPhone"),
        ("iphone", AS_IS, "iphone"), ("我们", UPPER, "我们"), ("", MIXED, ""),
    ],
)  # fmt: skip
def test_words_are_written_letter_for_letter(given: str, casing: int, restored: str) -> None:
    assert recased(given, casing, LISTED) == restored


def test_a_name_is_one_throughout_a_text_and_words_apart_do_not_count() -> None:
    said = np.array([[0.45, 0.55], [0.55, 0.45], [0.3, 0.7], [0.55, 0.45], [0.4, 0.6]])
    words = ["ali", "ali", "ali", "is", "it"]
    expected = said + 0.5 * np.array([[0.425, 0.575], [0.375, 0.625], [0.5, 0.5], [0, 0], [0, 0]])
    np.testing.assert_allclose(agreed(said, words), expected)
    assert agreed(said, words).argmax(axis=1).tolist() == [CAPITAL, CAPITAL, CAPITAL, AS_IS, CAPITAL]
    sure = np.array([[0.95, 0.05], [0.4, 0.6], [0.35, 0.65]])  # "march", and "March" twice
    assert agreed(sure, ["march"] * 3).argmax(axis=1).tolist() == [AS_IS, CAPITAL, CAPITAL]
    assert agreed(np.zeros((0, 4)), []).shape == (0, 4)


def test_words_get_their_letters_and_sentences_their_capitals(
    cased_pipeline: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    restore = with_casings(cased_pipeline, monkeypatch, SAYS)
    known = {3: "PERIOD"}
    text = "hello mark the ab iphone the iPhone ab@mark.k https://a.b a.b mcdonald 我们"
    item = {"text": text, "known": known}
    cased = "Hello Mark the AB. iPhone the iPhone ab@mark.k https://a.b A.B mcdonald 我们"
    assert restore(item, truecase=True)["text"] == cased
    assert restore(item)["text"] == text[:17] + "." + text[17:]
    edits = [edit for edit in restore(item, truecase=True)["edits"] if edit["source"] == "truecase"]
    assert [(edit["start"], edit["removed"], edit["inserted"]) for edit in edits][:3] == [
        (0, "h", "H"), (6, "m", "M"), (15, "a", "A"),
    ]  # fmt: skip
    assert restore("MARK MarK ab", truecase=True)["text"] == "MARK MarK AB"
    short = restore({"text": "the i'lan i'll", "known": {0: "O", 1: "O"}}, truecase=True)
    assert short["text"][:14] == "The i'lan I'll"


def test_chunks_and_streams_have_the_letters_too(cased_pipeline: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    restore = with_casings(cased_pipeline, monkeypatch, SAYS)
    chunks = [{"text": " hello", "timestamp": (0.0, 1.0)}, {"text": " ab", "timestamp": (1.0, 2.0)}]
    found = restore_transcript(restore, {"text": "hello ab", "chunks": chunks}, truecase=True)["chunks"]
    assert [chunk["text"] for chunk in found] == [" Hello", " AB"]
    parts = ["the ab is m", "ark the ab ", "hello you are", " the mark"]
    streamed = "".join(restore.stream(parts, truecase=True))
    assert streamed == restore("".join(parts), truecase=True)["text"]
    assert streamed == "The AB is Mark the AB hello you are the Mark"


SHOUTED = ["THE", "BEST", "OF", "US", "IT'S", "HERE", "AND", "NOW", "2020"]


def test_a_text_of_capitals_has_small_letters_and_a_mixed_one_keeps_its_acronyms() -> None:
    assert without_shouting("HELLO HOW ARE YOU".split()) == "hello how are you".split()
    assert without_shouting(["BUKAN", "3", "ITU"]) == ["BUKAN", "3", "ITU"]  # two words with letters are no text
    for mixed in ("we use NASA JPL and the USA", "NASA", "NASA JPL", "我们 用 API GPU LLM", "I AM Here", "привет США"):
        assert without_shouting(mixed.split()) == mixed.split()


def test_han_between_words_in_capitals_does_not_end_a_stretch() -> None:
    words = "WELCOME EVERYONE TO THE 好 那 开始 MEETING CAN YOU HEAR".split()
    assert without_shouting(words) == [word.lower() for word in words]


@given(st.lists(st.sampled_from(SHOUTED[:-1]), min_size=LEAST_STRETCH, max_size=20))
def test_a_long_stretch_in_a_mixed_text_is_lowered_alone(stretch: list[str]) -> None:
    words = ["he", "said", "2020", *stretch, "2021", "to", "NASA"]
    assert without_shouting(words) == [*words[:3], *(word.lower() for word in stretch), *words[-3:]]
    assert without_shouting(["he", *stretch[:5], "said"]) == ["he", *stretch[:5], "said"]
    # Letters that have no single small letter stay.
    assert without_shouting(["İSTANBUL", "ÖĞLE", "VE", "ŞEHIR"]) == ["İstanbul", "öğle", "ve", "şehir"]


@pytest.mark.parametrize("text", ["HELLO YOU ARE THE BEST", "HELLO, YOU ARE I'M THE! BEST 2020"])
def test_the_call_gives_what_it_gives_for_small_letters(tiny_pipeline: Any, text: str) -> None:
    shouted, small = (tiny_pipeline(one, truecase=True, sentences=True) for one in (text, text.lower()))
    assert (shouted["text"], shouted["sentences"]) == (small["text"], small["sentences"])
    assert tiny_pipeline(text)["text"].isupper()  # without the option no letter changes
    letters = [edit for edit in shouted["edits"] if edit["source"] == "truecase"]
    assert all(len(edit["removed"]) == len(edit["inserted"]) for edit in letters)
