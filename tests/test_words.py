"""Where words are found, what is spoken of them, and where their marks go."""

import pytest

from punctuation_restoration.modeling.configuration_punctuation import DEFAULT_MARK_LABELS
from punctuation_restoration.pipeline.words import WordFinder

find_words = WordFinder(DEFAULT_MARK_LABELS)


def _texts(text):
    return [word.text for word in find_words(text)]


def _spoken(text):
    return [word.spoken for word in find_words(text)]


def _places(text):
    """The text with a bar wherever a mark may be written."""
    for word in reversed(find_words(text)):
        text = f"{text[: word.mark_at]}|{text[word.mark_at :]}"
    return text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("it's the dogs' bone", ["it's", "the", "dogs", "bone"]), ("Paris–London", ["Paris", "London"]),
        (".NET .5 C++ C# AT&T", [".NET", ".5", "C++", "C#", "AT&T"]), ("etc... Dr.. J..", ["etc", "Dr", "J"]),
        (
            "U.S.'s U.K.’s U.S.-based Inc.-owned 9a.m.-5p.m.",
            ["U.S.'s", "U.K.’s", "U.S.-based", "Inc.-owned", "9a.m.-5p.m."],
        ),
        ("'U.S.' U.S. 'so' Pn. it.'s no.'s", ["U.S.", "U.S.", "so", "Pn.", "it", "s", "no", "s"]),
        ("https://a.b/c_(d)?e=f,g.", ["https://a.b/c_(d)?e=f,g"]),
        ("(www.a.com), http://a.b👍", ["www.a.com", "http://a.b"]),
        ("☺ ™ ok™ → € €5", ["ok™", "€5"]), ("a\x00b\ud800c", ["a", "b", "c"]),
        ("いい天気ですね。天気 か\u3099東京", ["いい天気ですね", "天", "気", "か\u3099東京"]),
        ("APIを使う「東京」 私は，学生です", ["APIを使う", "東京", "私は", "学生です"]),
        ("今天我们学习一下日语の发音", ["今天", "我们", "学习", "一下", "日语", "の发音"]),
        ("", []), (" \n\t… — -- !? “”", []),
    ],
)  # fmt: skip
def test_words(text, words):
    assert _texts(text) == words


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("isn’t isn‘t isn´t isn`t isnʼt", ["isn't"] * 5), ("well‑known well‐known", ["well-known", "well-known"]),
        ("co\u00adop a\u200bb \ufeffc", ["coop", "ab", "c"]), ("می\u200cخواهم", ["می\u200cخواهم"]),
        ("Dr. e.g. U.S.", ["Dr", "e.g", "U.S"]), ("大 家 好", ["大家", "好"]), ("大，家", ["大", "家"]),
        ("今\u200b天", ["今天"]),
    ],
)  # fmt: skip
def test_what_the_encoder_is_shown(text, spoken):
    assert _spoken(text) == spoken


@pytest.mark.parametrize(
    "places",
    [
        "大家|好|　今天|", "hello|   there|", "“(a)”| [b]| {c}| «d»| „e“| »f«| ‚g‘| `h`| ‹i›|",
        "aa|(bbb)| a|“b”| a|「b」|", '说|"你好"|然后|', "it’s| ‘so’| dogs’|", 'a."| b', "\u2067אב\u2069| a|",
        "葛\U000e0100|飾|",
    ],
)  # fmt: skip
def test_a_mark_goes_behind_what_closes_after_its_word(places):
    assert _places(places.replace("|", "")).rstrip("|") == places.rstrip("|")


def test_something_before_a_word_goes_in_front_of_what_opens():
    for text, place in (('a "(b)"', 2), ("a ¿b", 2), ("“a", 0), ("»a«", 0), ("a”b", 2), ("a b", 2)):
        assert find_words(text)[-1].mark_from == place


@pytest.mark.parametrize(
    ("text", "scripts"),
    [
        ("hello 你好", "Latin Han"), ("用Python写 Python 好", "Han Han Han Latin Han"),
        ("2020年 2020", "Han Han Latin"), ("a-b你c", "Han Han Han"), ("“hello”他", "Han Han"),
        ("私は API", "Kana Latin"), ("いい天気 2020年は 你好", "Kana Kana Han"), ("عندي 5", "Arabic Arabic"),
        ("घर 5 தமிழ்", "Devanagari Devanagari Latin"), ("5 6", "Latin Latin"),
    ],
)  # fmt: skip
def test_scripts(text, scripts):
    assert [word.script for word in find_words(text)] == scripts.split()


def test_marks_are_read_over():
    plain = "he said hello 我们今天很好 in 2020年 ok"
    marked = "he, said: hello! 我们，今天，很好。 in; 2020？年… ok."
    assert [(w.spoken, w.script) for w in find_words(marked)] == [(w.spoken, w.script) for w in find_words(plain)]


@pytest.mark.parametrize(
    "text", ["アー我们今天我们今天", "我们今天我们今天アー", "2 アー我们今天，我们今天", "我们。今天アー"]
)
def test_a_mark_in_a_long_han_run_joins_no_part_of_it_to_kana(text):
    words = _texts(text)
    assert "アー" in words
    for word in find_words(text):
        assert _texts(f"{text[: word.mark_at]}。{text[word.mark_at :]}") == words


def test_hyphens_may_be_marks():
    find = WordFinder(".-")
    assert [word.text for word in find("well-known - a well- b")] == ["well-known", "a", "well", "b"]


def test_plain_prose_takes_the_short_way_to_the_same_words():
    prose = "It's what he said and nobody's dog knew "
    assert _texts(prose * 3) == prose.split() * 3
    assert _texts(prose.replace(" ", "\n")) == prose.split()  # the long way


# What is repeated up to 50,000 characters, and what stands before and after it.
UNITS = (
    'a a\' a. a- - " a" ， a:// www. http://)a a?b 1, 1️⃣ 👍\u200d \u0301 :( (a) a( ア \x00 “ a“ \u2067 b+ あa'.split()
)
AROUND = "你|，| http://|)| a?|x| a\"|\u0301|b A.|，| |'|a a|'|a a|.|a |a|1️⃣ |a|://".split()
HOSTILE = [*(f"|{unit}|" for unit in [*UNITS, " ", "a ", "a  ", " :)", "A. ", "no. "]), *AROUND, " :|(|a", "a |…| a"]


@pytest.mark.parametrize("parts", HOSTILE, ids=ascii)
def test_long_hostile_texts_are_read_to_their_end(parts):
    # Half a second at most; work that grows with the square of the length would take minutes.
    before, unit, after = parts.split("|")
    text = before + unit * (50_000 // len(unit)) + after
    ends = [0, *(place for word in find_words(text) for place in (word.start, word.end)), len(text)]
    assert ends == sorted(ends)
    assert not any(character.isalpha() for character in text[ends[-2] :])


@pytest.mark.parametrize(
    "unit", ["你", "你，", "你 ", "你a", "你'", "你の", "你你你你你你你の", "の你，", "你，你，の", "の你，，"]
)
def test_long_han_texts_are_read_to_their_end(unit):
    text = unit * (20_000 // len(unit))
    assert "".join(word.text for word in find_words(text)).count("你") == text.count("你")
