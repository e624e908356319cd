"""Text in capitals throughout: there they tell nothing, and `truecase=True` gives it normal letters."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from punctuation_restoration.pipeline.casing import LEAST_STRETCH, without_shouting

SHOUTED = ["THE", "BEST", "OF", "US", "IT'S", "HERE", "AND", "NOW", "2020"]


def test_a_text_of_capitals_has_small_letters_and_a_mixed_one_keeps_its_acronyms() -> None:
    assert without_shouting("HELLO HOW ARE YOU".split()) == "hello how are you".split()
    assert without_shouting(["BUKAN", "3", "ITU"]) == ["BUKAN", "3", "ITU"]  # two words with letters are no text
    for mixed in ("we use NASA JPL and the USA", "NASA", "NASA JPL", "我们 用 API GPU LLM", "I AM Here", "привет США"):
        assert without_shouting(mixed.split()) == mixed.split()


@given(st.lists(st.sampled_from(SHOUTED[:-1]), min_size=LEAST_STRETCH, max_size=20))
def test_a_long_stretch_in_a_mixed_text_is_lowered_alone(stretch: list[str]) -> None:
    words = ["he", "said", "2020", *stretch, "2021", "to", "NASA"]
    assert without_shouting(words) == [*words[:3], *(word.lower() for word in stretch), *words[-3:]]
    assert without_shouting(["he", *stretch[:5], "said"]) == ["he", *stretch[:5], "said"]


def test_letters_that_have_no_single_small_letter_stay() -> None:
    assert without_shouting(["İSTANBUL", "ÖĞLE", "VE", "ŞEHIR"]) == ["İstanbul", "öğle", "ve", "şehir"]


@pytest.mark.parametrize("text", ["HELLO YOU ARE THE BEST", "HELLO, YOU ARE I'M THE! BEST 2020"])
def test_the_call_gives_what_it_gives_for_small_letters(tiny_pipeline: Any, text: str) -> None:
    shouted, small = (tiny_pipeline(one, truecase=True, sentences=True) for one in (text, text.lower()))
    assert (shouted["text"], shouted["sentences"]) == (small["text"], small["sentences"])
    assert tiny_pipeline(text)["text"].isupper()  # without the option no letter changes
    assert all(
        len(edit["removed"]) == len(edit["inserted"]) for edit in shouted["edits"] if edit["source"] == "truecase"
    )


def test_acronyms_of_a_mixed_text_stay(tiny_pipeline: Any) -> None:
    assert "NASA JPL USA" in tiny_pipeline("the NASA JPL USA are here", truecase=True, marks=[])["text"]
