"""Numbers, letters, times and addresses as they are said: no mark stands inside of them, anything may around them."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from punctuation_restoration.pipeline.spoken_forms import Forms, find_forms
from punctuation_restoration.pipeline.words import WordFinder

FIND_WORDS = WordFinder(",.?")


def forms_of(text: str) -> tuple[list[str], Forms]:
    words = FIND_WORDS(text)
    return [word.text for word in words], find_forms(text, words)


@pytest.mark.parametrize(
    "text",
    [
        "call [+60 12 345 6789]", "we meet [at 3 30 pm] tomorrow", "jumpa [pukul 8 30 malam] esok",
        "write to [john at gmail dot com] please", "emel [ali dot ahmad at yahoo dot com dot my] ya",
        "see [example dot org slash help] now", "order [number four five six seven] is late",
        "[nombor telefon saya kosong satu dua tiga] ya", "[nombor akaun ialah 1 2 3] sahaja",
        "hubungi [03-1234 5678] atau [019 876 5432]", "call [1 800 555 0199] now", "我的电话是 [138 1234 5678] 请",
        "his ic is [901231 10 5566] he said", "my card is [1234 5678 9012 3456] please",
        "in 2019 2020 2021 2022 we grew", "the [number is 555 1234] ok", "between 1998 2004 and 5000 6000 people",
        "the [pin is one two three four]", "[version three point five] is out", "[tiga perpuluhan lima] peratus",
        "it costs [five dollars and fifty cents] only", "[lima ringgit lima puluh sen] sahaja", "[rm 50] sahaja",
        "我 [3 点 30 分] 来", "in 2019 300 people came", "i have 3 30 of them are red", "a big dot on the map",
        "the order number is late", "İstanbul İ [at 3 30 pm]", "between 10:30 and 11 we eat",
        "see you [at 3:30 pm] ok", "[pukul 3.30 petang] esok", "[rm 12.50] sahaja", "[usd 5] only",
        "ring [zero one two three four five six] ok", "ia [1 2 3 4 9 6 7] ya", "one two three go",
        "电话[一三八零零一二三四]请", "一二三开始", "hubungi [6012 3456789] ya", "we meet [at 3 30 p. m]. ok",
        "[otp is 1 2 3 4] ok", "call [+60 12-345 6789] now", "我 [3 点 半] 来",
        # Digits one by one, in which nobody counts.
        "it's [four four seven oh two] ok", "[flight six double five] is late", "say [nine oh one] oh well",
        "kod itu [lapan kosong tiga satu] ya", "three two one go", "satu dua tiga mula", "dua atau tiga orang",
        "we need two three people", "[7 7 0 2] please", "ten twenty thirty forty", "三四个人", "一二三四五",
        # Years.
        "born in [twenty twenty four] here", "in [nineteen eighty four] we", "in [twenty oh five] or", "1 ten eleven 2",
        "[二零二一年]我", "tahun [dua ribu tiga] itu", "[sembilan belas lapan puluh empat] dulu", "[一九八四年]七月",
        # One number.
        "[two hundred and five] people", "[two hundred] and then", "[one hundred] [two hundred] [three hundred]",
        "[one thousand] [two thousand]", "[a million two hundred thousand and six] of", "[twenty-one thousand] now",
        "[dua puluh tiga] orang", "[seribu dua ratus] dan lain", "sepuluh [dua puluh] [tiga puluh]",
        "[一千二百五十万]人", "[一百][两百][三百]", "[百分之三十五点二]的人", "十分好", "万一他来",
        "[三点五]和[三点十五分]", "[two and a half] years", "has [1 250 000] people", "paid [12 500] euros",
        "[3.5 million] people", "the [twenty first] of may",
        # Letters.
        "the [b b c] said", "at [k l c c] i met him", "the [f b i] came", "so i i i think",
        "plan a or b", "i a am",
        # What follows is said of something else.
        "at one point two people left", "make one point one thing is missing", "pada satu titik dua orang keluar",
        "it was [one point two] million", "at [three point five] percent", "so number one one of us and",
        "in room two two of them are sick", "at nine half of us are late", "is it seven am i late",
        "we meet [at seven am] ok", "[twenty five] of them", "[two hundred and five] of them",
        "有 三点一是预算", "第一点一般来说", "快一点一会儿就迟到", "八点一直没有人", "香蕉五块一共十五块",
        "[三点一四]和",
    ],
)  # fmt: skip
def test_no_word_inside_a_form_but_its_last_one_has_a_mark(text: str) -> None:
    plain = text.replace("[", "").replace("]", "")
    words = FIND_WORDS(plain)
    inside, offset = set(), 0
    for index, part in enumerate(text.replace("]", "[").split("[")):
        end = offset + len(part)
        inside.update(n for n, word in enumerate(words) if index % 2 and offset < word.end < end)
        offset = end
    assert find_forms(plain, words).unbroken == inside


def test_addresses_are_told_from_numbers() -> None:
    words, forms = forms_of("call number four five or write to john dot smith at gmail dot com please")
    assert [words[index] for index in sorted(forms.addresses)] == "john dot smith at gmail dot com".split()


@given(st.text(alphabet="ab0123 .@点一百-·"))
def test_any_words_are_read(text: str) -> None:
    words, forms = forms_of(text)
    assert all(0 <= index < len(words) - 1 for index in forms.unbroken)


@pytest.mark.parametrize(
    "words", ["x dot", "11", "five and 1", "+", "at 1", "oh", "a i", "one", "double", "百", "二 三 ", "and a"]
)
def test_what_goes_on_and_on_is_read_once(words: str) -> None:  # a search that goes on to the end would not end
    seconds = []
    for n_times in (200, 1_600):
        spoken = FIND_WORDS(f"{words} " * n_times)
        begins = time.process_time()
        find_forms("", spoken)
        seconds.append(time.process_time() - begins)
    assert seconds[1] < 30 * max(seconds[0], 0.0016)  # eight times the words; 64 times as long if it were quadratic


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
