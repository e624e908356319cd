"""Writes numbers, amounts, ordinals, telephone numbers, links and abbreviations as recognisers hear them.

Takes and gives punctuated text in one language; marks around a replacement stay, and no mark is added. For training
text only (`spoken_forms` in a recipe); the text that users restore is never changed.

num2words speaks English and Indonesian, of which Malay is made. Mandarin is written here. Other languages that it knows
get plain numbers only. What can be read in several ways, such as `3/4/2020`, stays.
"""

import re
from collections.abc import Callable
from decimal import Decimal
from random import Random

from num2words import CONVERTER_CLASSES, num2words

from punctuation_restoration.data.recipe import SpokenForms

# Dewan Bahasa dan Pustaka's usage: lapan, bilion, trilion, perpuluhan; digits of telephone numbers say kosong.
MALAY_FROM_INDONESIAN = {
    "delapan": "lapan", "miliar": "bilion", "triliun": "trilion", "kuadriliun": "kuadrilion", "nol": "kosong",
    "koma": "perpuluhan", "min": "negatif",
}  # fmt: skip
HAN_DIGITS = "零一二三四五六七八九"
HAN_UNITS = ("", "十", "百", "千")
HAN_GROUPS = ("", "万", "亿", "万亿")
# How a language says a percentage, the signs of a link, and currencies.
LINK_SIGNS = (".", "/", "@")
SIGNS = ("%", *LINK_SIGNS, "$", "US$", "S$", "£", "€", "¥", "￥", "RM", "Rp")
WORDINGS = {
    "en": "{} percent|dot|slash|at|dollars|dollars|dollars|pounds|euros|yuan|yuan|ringgit|rupiah",
    "ms": "{} peratus|titik|garis miring|di|dolar|dolar|dolar|paun|euro|yuan|yuan|ringgit|rupiah",
    "id": "{} persen|titik|garis miring|at|dolar|dolar|dolar|pound|euro|yuan|yuan|ringgit|rupiah",
    "zh": "百分之{}|点|斜杠|at|美元|美元|新元|英镑|欧元|元|元|令吉|盾",
}
WITH_POINT = ("en", "ms", "zh")  # before decimals; elsewhere `1.500` may be fifteen hundred

_LINK = r"(?P<link>(?:https?://|www\.)[^\s<>\"，。、？！]*[\w/]|[\w.+-]+@[\w-]+(?:\.[\w-]+)+)"
_NUMBER = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"
_PHONE = (
    r"(?P<phone>(?:(?<![\w.,+])(?:\+?\d{1,4}(?:[- ]\d{2,4}){0,2}[- ]\d{3,4}[- ]?\d{3,8}|\+\d{7,14})"
    r"|(?<![A-Za-z\d.,+])(?:0\d{8,10}|1[3-9]\d{9}))(?![A-Za-z\d_-]))"
)
_SCALE = "million|billion|trillion|thousand|juta|ribu|bilion|miliar|trilion|triliun|万亿|万|亿"
_MONEY = (
    rf"(?P<money>(?<![A-Za-z])(?P<sign>US\$|S\$|RM|Rp|[$£€¥￥])\.?\s?(?P<amount>{_NUMBER})"
    rf"(?P<scale>\s?(?:{_SCALE}))?(?![A-Za-z]|[.,]?\d))"
)
_ORDINAL = r"(?P<ordinal>(?<![A-Za-z\d.,])(?P<rank>\d+)(?:st|nd|rd|th)(?![A-Za-z])|\bke-(?P<urutan>\d+)(?!\d))"
_PERCENT = rf"(?P<percent>(?<![A-Za-z\d.,])(?P<share>{_NUMBER})\s?[%％])"
_YEAR = r"(?P<year>(?<!\d)(?:1[5-9]|20)\d\d(?=年))"
# A number that touches letters (B2B, 3D, MP3) or signs (AS$3, 5°C, v=2) is a part of something; Han letters may touch
# it. 12:30 and 1/2 stay as they are.
_PLAIN = (
    rf"(?P<plain>(?<![A-Za-z\d.,:/\-–$£€¥￥#@_=+&°~^*])(?:{_NUMBER})"
    r"(?![A-Za-z\d:/\-–$£€¥￥#@_=+&°~^*]|[.,]\d))"
)
# BBC and KLCC are read letter by letter; NASA, with a vowel in four letters or more, is a word, as OK and TED are.
# Beside another word in capitals it may be shouted.
_LETTERS = (
    r"(?P<letters>(?<![\w.'’&-])(?<![A-Z] )(?!(?:OK|TED|I+|[A-Z]*[AEIOU][A-Z]*(?<=[A-Z]{4}))\b)"
    r"[A-Z]{2,5}(?![A-Za-z\d_'’&-]|\.\w| [A-Z]{2}))"
)
_ANY = re.compile("|".join((_LINK, _MONEY, _PERCENT, _ORDINAL, _PHONE, _YEAR, _PLAIN, _LETTERS)))
Spell = Callable[[str], str]  # digits -> words
_IDENTIFIER = re.compile(r"(?!1[1-9]\d\d$|20\d\d$)\d{3,10}")  # digits that are no year


class NumberSpeller:
    """Spells out numbers; of `en`, `ms`, `id` and `zh` amounts, percentages and links too.

    `share` says how much of it: by default all numbers, and no abbreviation.
    """

    def __init__(self, language: str, share: SpokenForms | None = None):
        self.language = language
        self.share = share or SpokenForms(numbers=1.0)
        self.spell = han_number if language == "zh" else number_words(language)
        self.joint = "" if language == "zh" else " "
        wordings = WORDINGS.get(language, "").split("|")
        self.said_for = dict(zip(SIGNS, wordings, strict=False))

    def __call__(self, text: str, seed: int = 0) -> str:
        """The text with numbers in words. Marks are neither added nor lost. `seed` draws which ones, and how."""
        draw = Random(seed)
        return _ANY.sub(lambda match: self._replace(match, draw), text)

    def _replace(self, match: re.Match[str], draw: Random) -> str:
        kind, text = match.lastgroup, match.group()
        if draw.random() >= (self.share.letters if kind == "letters" else self.share.numbers):
            return text
        if kind == "letters":
            return " ".join(text)
        is_known = self.language in WITH_POINT or kind == "link"
        if not is_known and re.search(r"\d[.,]\d", text):
            return text
        is_identifier = kind == "plain" and _IDENTIFIER.fullmatch(text)
        if kind == "phone" or (is_identifier and draw.random() < self.share.digits):
            return self._digit_by_digit(text, draw)
        if kind == "year" and self.language == "zh":
            return _han_digits(text)
        if kind in ("year", "plain"):
            return self.spell(text)
        if match["rank"] and self.language == "en":  # 21st -> twenty first
            return _plain_words(num2words(int(match["rank"]), to="ordinal"))
        if match["urutan"] and self.language in ("ms", "id"):  # ke-3 -> ketiga
            return "pertama" if match["urutan"] == "1" else "ke" + self.spell(match["urutan"])
        if kind == "ordinal" or self.language not in WORDINGS:
            return text
        if kind == "percent":
            return self.said_for["%"].format(self.spell(match["share"]))
        if kind == "link":  # www.example.com/a -> www dot example dot com slash a
            parts = re.split(r"([./@])", re.sub(r"^https?://", "", text).rstrip("/"))
            return " ".join(
                self.said_for[part] if part in LINK_SIGNS else part for part in parts if part
            )
        amount = self.spell(match["amount"]) + (match["scale"] or "")
        return amount + self.joint + self.said_for[match["sign"]]

    def _digit_by_digit(self, digits: str, draw: Random) -> str:
        """The digits of a telephone number or an identifier, each as a word. English says 0 as zero or as oh."""
        said = self.joint.join(map(self.spell, re.findall(r"\d", digits)))
        says_oh = self.language == "en" and draw.random() < self.share.oh
        return said.replace("zero", "oh") if says_oh else said


def number_words(language: str) -> Spell:
    """A function from digits (`1,200.5`) to words without hyphens or commas, in a language of num2words."""
    spoken = "id" if language == "ms" else language
    if spoken not in CONVERTER_CLASSES:
        raise ValueError(
            f"Expected a language that num2words speaks, got {language!r}. Remove spoken_forms from this recipe."
        )
    malay = MALAY_FROM_INDONESIAN if language == "ms" else {}

    def spell(digits: str) -> str:
        # A plain number of four digits in this range is nearly always a year, and read as one.
        is_year = spoken == "en" and re.fullmatch(r"1[1-9]\d\d|20\d\d", digits)
        number: Decimal | int = Decimal(digits.replace(",", ""))
        if number >= 10**15:  # so long a number is an identifier: its digits are read one by one
            return " ".join(map(spell, re.findall(r"\d", digits)))
        if "." not in digits:
            number = int(number)
        words = _plain_words(num2words(number, lang=spoken, to="year" if is_year else "cardinal"))
        return " ".join(malay.get(word, word) for word in words.split())

    return spell


def _plain_words(said: str) -> str:
    return said.replace(",", "").replace("-", " ")


def _han_digits(digits: str) -> str:
    return "".join(HAN_DIGITS[int(digit)] for digit in digits)


def han_number(digits: str) -> str:
    """A number in digits as Mandarin says it: `1203` -> 一千二百零三, `3.5` -> 三点五."""
    whole, _, decimals = digits.replace(",", "").partition(".")
    tail = f"点{_han_digits(decimals)}" if decimals else ""
    if len(whole.lstrip("0")) > 16:  # an identifier: its digits are read one by one
        return _han_digits(whole) + tail
    said = ""
    for index, digit in enumerate(whole):
        n_groups, n_left = divmod(len(whole) - 1 - index, 4)  # after this digit
        said += HAN_DIGITS[int(digit)] + HAN_UNITS[n_left] * (digit != "0")
        if not n_left and int(whole[max(0, index - 3) : index + 1]):
            said = said.rstrip("零") + HAN_GROUPS[n_groups]
    # One for each run of zeros, none at the ends.
    said = re.sub("零+", "零", said).strip("零") or "零"
    return re.sub("^一十", "十", said) + tail
