"""Numbers, letters, times and addresses as they are said: between which words no mark can be. Knows words, no marks.

    it's four four seven oh            digits one by one; counting, `one two three go`, stays free
    nineteen eighty four, 二零二一年    years
    two hundred and five               one number in several words
    three point five, 三点五            decimals
    the b b c, at k l c c              three letters or more
    at 3 30 pm, 1 250 000, 012 345 6789
    john at gmail dot com slash help

Each word, and each part of a Han or hyphenated word, becomes one sign, its kind. So a pattern of signs tells what is
said in any language; what is written in digits, and addresses, are patterns of text.
"""

import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import regex

from .segmentation import SIMPLIFIED
from .words import Word

# The words of each kind, in the order of their values.
ENGLISH = {
    "D": "one two three four five six seven eight nine",
    "Z": "zero nought",
    "O": "oh",  # a digit between others
    "x": "double triple treble",
    "n": "ten",
    "N": "eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen",
    "t": "twenty",
    "T": "thirty forty fifty sixty seventy eighty ninety",
    "F": "first second third fourth fifth sixth seventh eighth ninth",  # ends `twenty first`
    "H": "hundred",
    "K": "thousand",
    "M": "million",
    "B": "billion trillion",
    "&": "and",
    ".": "point dot",
    "f": "half quarter quarters",
    "c": "dollar dollars pound pounds euro euros ringgit",
    "s": "cent cents pence",
    "$": "rm usd sgd myr s$ us$",
    "i": "number code pin otp tac room extension version flight",  # before digits
    "b": "is",
    "w": "at by until before after",  # before times
    "q": "am pm a.m p.m o'clock",
}
MALAY = {
    "D": "satu dua tiga empat lima enam tujuh lapan sembilan",
    "Z": "kosong sifar",
    "n": "sepuluh",
    "N": "sebelas",
    "E": "belas",
    "U": "puluh",
    "H": "ratus",
    "h": "seratus",
    "K": "ribu",
    "k": "seribu",
    "M": "juta",
    "m": "sejuta",
    "B": "bilion trilion",
    "&": "dan",
    ".": "perpuluhan titik",
    "f": "setengah suku",
    "s": "sen",
    "i": "nombor kod bilik versi",
    "j": "telefon akaun tempahan pesanan tiket rujukan kad bilik resit polisi",  # of numbers
    "p": "saya dia kami anda encik puan",
    "b": "ialah adalah",
    "w": "pukul jam",
    "q": "pagi tengah petang malam",
}
HAN = {sign: sign for sign in "零两十百千万亿点年分之半块毛"} | {
    "一": "一 二 三 四 五 六 七 八 九",
    "幺": "幺",
    "零": "零 〇",
}
LETTERS = {"a": "a i", "o": "o", "l": " ".join("bcdefghjklmnpqrstuvwxyz")}  # `a` and `i` are words
FIRST_VALUES = {"D": 1, "n": 10, "N": 11, "t": 20, "T": 30, "一": 1}  # what is counted with

KINDS = {
    word: kind
    for table in (LETTERS, HAN, MALAY, ENGLISH)
    for kind, words in table.items()
    for word in words.split()
}
VALUES = {
    word: FIRST_VALUES[kind] + index * (10 if kind == "T" else 1)
    for table in (HAN, MALAY, ENGLISH)
    for kind, words in table.items()
    if kind in FIRST_VALUES
    for index, word in enumerate(words.split())
} | {digit: int(digit) for digit in "123456789"}

_TOKENS = regex.compile(r"\p{Han}|[^\p{Han}\-]++")
# Kinds of what is in no table: numbers in digits, of which two may be an hour or minutes.
_OTHER = "-"
_TWO_DIGITS = "2"
_GROUP = "3"
_CLOCK = ":"
_NUMERAL = "#"
_SHAPES = (
    (regex.compile(r"\d"), "D"),
    (regex.compile(r"[0-5]\d"), _TWO_DIGITS),
    (regex.compile(r"\d{3,4}"), _GROUP),
    (regex.compile(r"\d{1,2}[:.][0-5]\d"), _CLOCK),
    (regex.compile(r"\d[\d.,]*+"), _NUMERAL),
)
_IN_DIGITS = f"[{_TWO_DIGITS}{_GROUP}{_CLOCK}{_NUMERAL}]"

_DIGIT = "(?:x?[DZOo])"
_ONE_BY_ONE = f"{_DIGIT}{{2,30}}x?[DZ]|[DZ]x[DZ]"
_DIGITS_NAMED = f"(?:{_DIGIT}{{2,30}}|{_GROUP}{{2,8}}|{_DIGIT}(?=\\.))"  # after `number`
_BELOW_100 = "(?:[tT][DF]?|DU(?:D(?![UEH]))?|DE|[nND])"
_BELOW_1000 = f"(?:(?:(?:{_BELOW_100}|a)H|h)(?:&?{_BELOW_100}(?!H))?|{_BELOW_100}|{_IN_DIGITS})"
_AND = "(?:&(?=[DnNtTha]))?"
_CARDINAL = (
    f"(?:(?:{_BELOW_1000}|a)B{_AND})?(?:(?:(?:{_BELOW_1000}|a)M|m){_AND})?"
    f"(?:(?:(?:{_BELOW_1000}|a)K|k){_AND})?(?:{_BELOW_1000}(?![HKMB]))?(?:(?:&a)?f)?"
)
_NUMBER = f"(?=[DnNtThkma]|{_IN_DIGITS}){_CARDINAL}"
_MINUTES = f"(?:[tT]D?|[nN]|[ZO]D|DUD?|DE|{_TWO_DIGITS})"
_HOUR = f"(?:[DnN]|DE|{_TWO_DIGITS})"
_HALF_OF_DAY = "(?:q|[al]l)"
_HAN_UNDER = "(?:[一两]千零?)?(?:[一两]百零?)?(?:一?十)?零?[一两]?"
_HAN_NUMBER = (
    f"(?=[一两十零])(?:{_HAN_UNDER}(?<=[一两十百千])亿零?)?"
    f"(?:{_HAN_UNDER}(?<=[一两十百千])万零?)?{_HAN_UNDER}"
)
# Patterns of kinds, the longer ones first. What may come before the sign that decides has a limit: the search begins at
# each word, and must not read to the end each time.
SAID = regex.compile(
    "|".join(
        (
            f"[D{_TWO_DIGITS}]点(?:[D{_TWO_DIGITS}]分?|半)?",
            f"ij?p?b?{_DIGITS_NAMED}(?:\\.{_DIGIT}{{1,30}})?",
            f"w?{_HOUR}{_MINUTES}{_HALF_OF_DAY}|w{_HOUR}{_MINUTES}(?![HKMBUE])",
            f"w?(?:{_CLOCK}|{_HOUR}){_HALF_OF_DAY}|w{_CLOCK}",
            "(?:[nNt](?:[tT](?:D|(?!T))|[nN]|[ZO]D)|(?:N|DE)(?:DUD?|DE)|DU(?:DUD|DE))(?![HKMBUE])",  # years
            f"(?:{_ONE_BY_ONE})(?![HKMBUE])",
            f"{_NUMBER}\\.(?:{_DIGIT}{{1,30}}|{_BELOW_100}|{_IN_DIGITS})",
            f"{_NUMBER}c&?{_NUMBER}s",
            f"\\$?{_NUMBER}",
            "(?!aaa)[lao]{2}(?:[lao]{0,30}[lo]|a)",
            "[一幺零]{3,30}年?(?![十百千万亿])",
            f"(?:百分之)?{_HAN_NUMBER}(?:(?<!两)点[一零]{{1,30}}|点(?:{_HAN_NUMBER}分|半))",
            f"(?:百分之)?{_HAN_NUMBER}块{_HAN_NUMBER}毛?一?",
            f"(?:百分之)?{_HAN_NUMBER}",
        )
    )
)

_DOT = r"(?:dot|titik|点)"
_DOMAIN = r"(?:com|net|org|edu|gov|io|co|my|sg|uk|cn|tw|hk|id)"
_ADDRESS = rf"(?:(?:\S+ {_DOT} ){{0,4}}\S+ at )?(?:\S+ {_DOT} ){{1,4}}{_DOMAIN}(?: {_DOT} {_DOMAIN})?(?: slash \S+)*"
# Patterns of text, whole words with one blank between them.
WRITTEN = regex.compile(
    "|".join(
        rf"(?:(?<=^| ){form}(?=$| ))"
        for form in (
            r"(?=(?:[+ \-]{0,2}\d){7,15}(?:$| \D))(?:\+\d{1,4}|60(?:1\d)?|0\d{0,3})(?: \d{2,9}(?:-\d{3,4})?){1,4}",
            r"0\d{1,3}-\d{3,4}(?: \d{3,4}){1,2}",
            r"1 [38]00(?: \d{2,4}){2,3}",
            r"1[3-9]\d \d{4} \d{4}",  # of China
            r"[3689]\d{3} \d{4}",  # of Singapore and Hong Kong
            r"\d{6} \d{2} \d{4}",  # of a Malaysian identity card
            r"(?!(?:(?:19|20)\d\d ?){4})\d{4}(?: \d{4}){3}",  # of a bank card; four years are none
            r"\d{1,3}(?: \d{3}){1,5}(?:\.\d+)?",  # 1 250 000
            rf"(?P<address>{_ADDRESS})",
        )
    )
)
# Between two words, without blanks: 约翰·史密斯, 三～五天, 中文/English.
TIES = frozenset("·・‧•～~/／\\|｜+＋&＆-－")


class Forms(NamedTuple):
    """Indices of words of a text."""

    unbroken: set[int]  # those after which no mark can be
    addresses: set[int]  # those of e-mail and web addresses, which have no capitals


def find_forms(text: str, words: Sequence[Word]) -> Forms:
    """What is found among the words of a text."""
    # İ becomes two letters when it is lowered: offsets are counted after that.
    lowered = [word.spoken.lower().translate(SIMPLIFIED) for word in words]
    unbroken, addresses = set(_within_said(lowered)), set[int]()
    joined = " ".join(lowered)
    ends = list(itertools.accumulate((len(word) + 1 for word in lowered), initial=-1))[1:]
    for match in WRITTEN.finditer(joined):
        inside = _boundaries(ends, match)
        unbroken.update(inside)
        if match["address"] is not None:
            addresses.update(inside, [inside.stop])
    if not TIES.isdisjoint(text):
        for index, (word, following) in enumerate(itertools.pairwise(words)):
            # The sign may be part of the second word: `3日～5日`.
            if text[word.end : max(following.start, word.end + 1)] in TIES:
                unbroken.add(index)
    return Forms(unbroken, addresses)


def _within_said(words: Sequence[str]) -> Iterable[int]:
    """The words inside what is said in several words, but for its last one."""
    tokens: list[str] = []
    ends = []
    for word in words:
        if word.isalpha() and word.isascii():
            tokens.append(word)
        else:
            tokens.extend(_TOKENS.findall(word))
        ends.append(len(tokens))
    kinds = "".join([KINDS.get(token) or _kind_of_numeral(token) for token in tokens])
    for match in SAID.finditer(kinds):
        if match.end() - match.start() > 1 and not _is_count(tokens, match):
            yield from _boundaries(ends, match)


def _kind_of_numeral(token: str) -> str:
    if not token[:1].isdigit():
        return _OTHER
    return next((kind for shape, kind in _SHAPES if shape.fullmatch(token)), _OTHER)


def _is_count(tokens: Sequence[str], match: regex.Match[str]) -> bool:
    """Whether the tokens of a match count up or down: `one two three`, `twenty thirty forty`, 三二一."""
    said = tokens[match.start() : match.end()]
    least = 2 if match.group() in ("nN", "NN") else 3  # `ten eleven` is no year
    if len(said) < least or not VALUES.keys() >= set(said):
        return False
    values = [VALUES[token] for token in said]
    steps = {following - value for value, following in itertools.pairwise(values)}
    return steps in ({1}, {-1}, {10})


def _boundaries(ends: Sequence[int], match: regex.Match[str]) -> range:
    """The words that end inside a match, from the ends of all of them."""
    return range(bisect_right(ends, match.start()), bisect_left(ends, match.end()))
