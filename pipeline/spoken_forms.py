"""Numbers, times, addresses and tied words: where no mark can be. Knows words, no marks.

call me at 012 345 6789              the groups of a telephone number
at 3 30 pm, pukul 3 30 petang        hours and minutes
version 3 point 5, tiga perpuluhan lima
john at gmail dot com slash help
order number four five six seven     digits that are named before
five dollars and fifty cents
"""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import regex

from .words import Word

_DIGIT_WORD = (
    r"(?:zero|oh|one|two|three|four|five|six|seven|eight|nine|double|triple|"
    r"kosong|sifar|satu|dua|tiga|empat|lima|enam|tujuh|lapan|sembilan)"
)
_DIGIT = rf"(?:\d|{_DIGIT_WORD})"
_HAN_DIGIT = "[零〇一二三四五六七八九幺两兩]"
_NUMBER = (
    rf"(?:\d+|{_DIGIT_WORD}|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|twenty|thirty|"
    r"forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand|puluh|belas|sepuluh|sebelas|ratus|seratus|ribu|seribu)"
)
_NUMBERED = (
    r"(?:order|ticket|invoice|account|phone|telephone|reference|booking|flight|room|policy"
    r"|serial|tracking|card)"
)
_NUMBERED_MALAY = (
    r"(?:nombor (?:telefon|akaun|tempahan|pesanan|tiket|rujukan|kad|bilik|resit|polisi)"
    r"(?: (?:saya|dia|kami|anda|encik|puan))?)"
)
_BEFORE_DIGITS = "(?:number|nombor|code|kod|pin|otp|tac|room|bilik|extension|version|versi)"
_HALF_OF_DAY = r"(?:[ap]\.? ?m\.?|o'clock|pagi|tengah|petang|malam)"
_DOT = r"(?:dot|titik|点|點)"
_DOMAIN = r"(?:com|net|org|edu|gov|io|co|my|sg|uk|cn|tw|hk|id)"
_ADDRESS = rf"(?:(?:\S+ {_DOT} ){{0,4}}\S+ at )?(?:\S+ {_DOT} ){{1,4}}{_DOMAIN}(?: {_DOT} {_DOMAIN})?(?: slash \S+)*"

# Words are joined by one blank; a pattern holds whole words. No mark follows any of them but the last. What may
# come before the word that decides has a limit: the search begins at each word, and must not read to the end each time.
FORMS = regex.compile(
    "|".join(
        rf"(?:(?<=^| ){form}(?=$| ))"
        for form in (
            r"(?=(?:[+ \-]{0,2}\d){7,15}(?:$| \D))(?:\+\d{1,4}|60(?:1\d)?|0\d{0,3})(?: \d{2,9}(?:-\d{3,4})?){1,4}",
            rf"(?:\d(?: \d){{6,30}}|{_DIGIT_WORD}(?: {_DIGIT_WORD}){{6,30}})",  # digit by digit
            rf"(?=(?:{_HAN_DIGIT} ?){{6}}){_HAN_DIGIT}{{1,11}}(?: {_HAN_DIGIT}{{1,11}}){{1,20}}",
            r"0\d{1,3}-\d{3,4}(?: \d{3,4}){1,2}",
            r"1 [38]00(?: \d{2,4}){2,3}",
            r"1[3-9]\d \d{4} \d{4}",  # of China
            r"[3689]\d{3} \d{4}",  # of Singapore and Hong Kong
            r"\d{6} \d{2} \d{4}",  # of a Malaysian identity card
            r"(?!(?:(?:19|20)\d\d ?){4})\d{4}(?: \d{4}){3}",  # of a bank card; four years are none
            rf"(?:(?:pukul|jam|at) )?(?:1?\d|2[0-3])[ :.][0-5]\d {_HALF_OF_DAY}",
            rf"(?:1?\d|2[0-3]) {_HALF_OF_DAY}",
            r"(?:pukul|jam) (?:1?\d|2[0-3])[ :.][0-5]\d",
            r"(?:1?\d|2[0-3]) [点點](?: [0-5]?\d 分| 半)?",
            rf"{_NUMBER} (?:point|dot|perpuluhan|点|點) {_DIGIT}(?: {_DIGIT})*",
            rf"(?P<address>{_ADDRESS})",
            rf"(?:{_NUMBERED} number|{_NUMBERED_MALAY}|{_BEFORE_DIGITS}) "
            rf"(?:(?:is|ialah|adalah) )?(?:\d{{3,4}}(?: \d{{3,4}})+|{_DIGIT}(?: {_DIGIT})*)"
            rf"(?: (?:point|dot|perpuluhan) {_DIGIT}(?: {_DIGIT})*)?",
            rf"{_NUMBER}(?: {_NUMBER}){{0,9}} (?:dollars?|pounds?|euros?|ringgit) (?:(?:and|dan) )?"
            rf"{_NUMBER}(?: {_NUMBER})? (?:cents?|pence|sen)",
            rf"(?:rm|usd|sgd|myr|s\$|us\$) (?:{_NUMBER}|\d{{1,12}}[\d.,]{{0,12}})",
        )
    )
)


TIES = frozenset(
    "·・‧•～~/／\\|｜+＋&＆-－"
)  # between two words, without blanks: 约翰·史密斯, 三～五天, 中文/English


class Forms(NamedTuple):
    """Places of words of a text."""

    unbroken: list[int]  # those after which a number, a time or an address continues
    addresses: set[int]  # those of e-mail and web addresses, which have no capitals


def tied(text: str, words: Sequence[Word]) -> list[int]:
    """The places of words that a sign ties to the next one."""
    if TIES.isdisjoint(text):
        return []
    pairs = enumerate(
        itertools.pairwise(words)
    )  # of `3日～5日` the sign is part of the second word
    return [
        n for n, (word, other) in pairs if text[word.end : max(other.start, word.end + 1)] in TIES
    ]


def find_forms(spoken: Sequence[str]) -> Forms:
    """What is found among the words of a text."""
    lowered = [
        word.lower() for word in spoken
    ]  # İ becomes two characters: places are counted after it
    places = itertools.accumulate(
        (len(word) + 1 for word in lowered), initial=0
    )  # of words in the joined text
    starts, forms = {place: index for index, place in enumerate(places)}, Forms([], set())
    for found in FORMS.finditer(" ".join(lowered)):
        first = starts[found.start()]
        words = range(first, first + found.group().count(" ") + 1)
        forms.unbroken.extend(words[:-1])
        if found["address"] is not None:
            forms.addresses.update(words)
    return forms
