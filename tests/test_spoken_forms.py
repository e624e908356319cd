"""Numbers, times and addresses in words: no mark stands inside of them, and anything may stand around them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from punctuation_restoration.pipeline.spoken_forms import find_forms


@pytest.mark.parametrize(
    "text",
    [
        "call [+60 12 345 6789]", "we meet [at 3 30 pm] tomorrow", "jumpa [pukul 8 30 malam] esok",
        "write to [john at gmail dot com] please", "emel [ali dot ahmad at yahoo dot com dot my] ya",
        "see [example dot org slash help] now", "[order number four five six seven] is late",
        "[nombor telefon saya kosong satu dua tiga] ya", "[nombor akaun ialah 1 2 3] sahaja",
        "hubungi [03-1234 5678] atau [019 876 5432]", "call [1 800 555 0199] now", "我 的 电话 是 [138 1234 5678] 请",
        "his ic is [901231 10 5566] he said", "my card is [1234 5678 9012 3456] please",
        "in 2019 2020 2021 2022 we grew", "the [number is 555 1234] ok", "between 1998 2004 and 5000 6000 people",
        "the [pin is one two three four]", "[version three point five] is out", "[tiga perpuluhan lima] peratus",
        "it costs [five dollars and fifty cents] only", "[lima ringgit lima puluh sen] sahaja", "[rm 50] sahaja",
        "我 [3 点 30 分] 来", "in 2019 300 people came", "i have 3 30 of them are red", "a big dot on the map",
        "the order number is late", "İstanbul İ [at 3 30 pm]", "between 10:30 and 11 we eat",
        "see you [at 3:30 pm] ok", "[pukul 3.30 petang] esok", "[rm 12.50] sahaja", "[usd 5] only",
        "ring [zero one two three four five six] ok", "ia [1 2 3 4 5 6 7] ya", "one two three go",
        "电话 [一三八 零零 一二 三四] 请", "一 二 三 开始", "hubungi [6012 3456789] ya", "we meet [at 3 30 p. m.] ok",
        "[otp is 1 2 3 4] ok", "call [+60 12-345 6789] now", "我 [3 点 半] 来",
    ],
)  # fmt: skip
def test_forms_go_on_until_their_last_word(text: str) -> None:
    words, inside, open_ = [], [], False
    for token in text.split():
        open_ = open_ or token.startswith("[")
        if open_ and not token.endswith("]"):
            inside.append(len(words))
        open_ = open_ and not token.endswith("]")
        words.append(token.strip("[]"))
    assert sorted(set(find_forms(words).unbroken)) == inside


def test_addresses_are_told_from_numbers() -> None:
    words = "call number four five or write to john dot smith at gmail dot com please".split()
    assert [words[index] for index in sorted(find_forms(words).addresses)] == "john dot smith at gmail dot com".split()


@given(st.lists(st.text(alphabet="ab0123 .@点", min_size=1).map(lambda word: word.replace(" ", "")).filter(bool)))
def test_any_words_are_read(words: list[str]) -> None:
    assert all(0 <= index < len(words) - 1 for index in find_forms(words).unbroken)


@pytest.mark.parametrize("words", ["x dot", "11", "ten", "five and 1", "+", "at 1"])
def test_what_never_becomes_a_form_is_read_once(words: str) -> None:  # a search that goes on to the end would not end
    assert not find_forms(words.split() * 50_000).unbroken


def test_the_pipeline_puts_no_mark_into_a_form_unless_it_stands_there(tiny_pipeline) -> None:
    every = dict.fromkeys(("COMMA", "PERIOD", "QUESTION"), 0.0)  # a mark after every word
    words = tiny_pipeline("hello 012 345 6789 you", thresholds=every)["words"]
    assert [bool(word["mark"]) for word in words] == [True, False, False, True, True]
    names = tiny_pipeline("约翰·史密斯 三～五天 hello·you are 我们/你好", thresholds=every)["words"]
    assert [word["word"] for word in names if not word["mark"]] == ["约翰", "三", "我们"]
    apart = tiny_pipeline("hello 5\n\nam you\n- 5\n- am you", thresholds=every)["words"]
    assert [word["word"] for word in apart if not word["mark"]] == []
    led = tiny_pipeline("hello\n\n...you\n- hello\n- …are you", thresholds=every)["words"]
    assert [word["source"] for word in led] == ["model"] * 5  # what leads a turn or a paragraph is no mark before it
    assert tiny_pipeline("hello 012, 345 6789 you", thresholds=every)["text"].split()[1] == "012,"
