"""Writes numbers, amounts, ordinals, dates, times, units, telephone numbers and links in words, as recognisers without
number formatting do.

Takes and gives punctuated text in one language; marks around a replacement stay, and no mark is added. For training
text only (`spell_numbers: true` in a recipe); the text that users restore is never changed.

num2words speaks English and Indonesian. Malay is made from its Indonesian: the two count alike but for the words in
`MALAY_FROM_INDONESIAN`. Mandarin is written here. Other languages that num2words knows get numbers, dates, times and
units only. The names of months and units are those of the Unicode CLDR, through Babel, in the language's own order.
Only what can be read in one way is touched: `3/4/2020` is not.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from babel import Locale, UnknownLocaleError
from babel.dates import format_date
from babel.units import format_unit
from num2words import CONVERTER_CLASSES, num2words

# Dewan Bahasa dan Pustaka's usage: lapan, bilion, trilion, perpuluhan; digits of telephone numbers say kosong.
MALAY_FROM_INDONESIAN = {
    "delapan": "lapan",
    "miliar": "bilion",
    "triliun": "trilion",
    "kuadriliun": "kuadrilion",
    "nol": "kosong",
    "koma": "perpuluhan",
    "min": "negatif",
}
HAN_DIGITS = "零一二三四五六七八九"
HAN_UNITS = ("", "十", "百", "千")
HAN_GROUPS = ("", "万", "亿", "万亿")


@dataclass(frozen=True, slots=True)
class Wording:
    """How a language says what is not a plain number; `{}` is where the number goes."""

    percent: str
    dot: str
    slash: str
    at: str
    currencies: str  # names, in the order of `CURRENCY_SIGNS`


CURRENCY_SIGNS = ("$", "US$", "S$", "£", "€", "¥", "￥", "RM", "Rp")
WORDINGS = {
    "en": Wording("{} percent", "dot", "slash", "at", "dollars dollars dollars pounds euros yuan yuan ringgit rupiah"),
    "ms": Wording("{} peratus", "titik", "garis miring", "di", "dolar dolar dolar paun euro yuan yuan ringgit rupiah"),
    "id": Wording("{} persen", "titik", "garis miring", "at", "dolar dolar dolar pound euro yuan yuan ringgit rupiah"),
    "zh": Wording("百分之{}", "点", "斜杠", "at", "美元 美元 新元 英镑 欧元 元 元 令吉 盾"),
}

# What stands behind an amount of money, as it is read in the language: `£5m`.
SHORT_SCALES = {
    "en": {"k": "thousand", "m": "million", "mn": "million", "bn": "billion", "b": "billion"},
    "ms": {"k": "ribu", "j": "juta", "m": "juta", "b": "bilion"},
    "id": {"k": "ribu", "m": "juta"},
    "zh": {"k": "千", "m": "百万", "bn": "十亿"},
}

SCALES = {
    "million", "billion", "trillion", "thousand", "juta", "ribu", "bilion", "miliar", "trilion", "triliun",
    "万亿", "万", "亿",
}  # fmt: skip

_LINK = r"(?P<link>(?:https?://|www\.)[^\s<>\"，。、？！]*[\w/]|[\w.+-]+@[\w-]+(?:\.[\w-]+)+)"
_NUMBER = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"
_PHONE = (
    r"(?P<phone>(?:(?<![\w.,+])(?:\+?\d{1,4}(?:[- ]\d{2,4}){0,2}[- ]\d{3,4}[- ]?\d{3,8}|\+\d{7,14})"
    r"|(?<![A-Za-z\d.,+])(?:0\d{8,10}|1[3-9]\d{9}))(?![A-Za-z\d_-]))"
)
_SCALE = "|".join(sorted(SCALES, key=len, reverse=True))
_MONEY = (
    rf"(?P<money>(?<![A-Za-z])(?:US\$|S\$|RM|Rp\.?|[$£€¥￥])\s?(?P<amount>{_NUMBER})"
    rf"(?P<scale>\s?(?:{_SCALE})(?![A-Za-z])|(?:k|mn?|bn?|j)(?![A-Za-z]))?)"
)
_ORDINAL = r"(?P<ordinal>(?<![A-Za-z\d.,])(?P<rank>\d+)(?:st|nd|rd|th)(?![A-Za-z])|\bke-(?P<urutan>\d+)(?!\d))"
_PERCENT = rf"(?P<percent>(?<![A-Za-z\d.,])(?P<share>{_NUMBER})\s?[%％])"
_YEAR = r"(?P<year>(?<!\d)(?:1[5-9]|20)\d\d(?=年))"
# A number that touches letters (B2B, 3D, MP3) is a name; Han letters may touch it. 12:30 and 1/2 stay as they are.
_PLAIN = rf"(?P<plain>(?<![A-Za-z\d.,:/\-–])(?:{_NUMBER})(?![A-Za-z\d:/\-–]|[.,]\d))"
_ANY = re.compile("|".join((_LINK, _MONEY, _PERCENT, _ORDINAL, _PHONE, _YEAR, _PLAIN)))

UNITS = {
    "km": "length-kilometer", "cm": "length-centimeter", "mm": "length-millimeter", "kg": "mass-kilogram",
    "km/h": "speed-kilometer-per-hour", "kmh": "speed-kilometer-per-hour", "mph": "speed-mile-per-hour",
    "MB": "digital-megabyte", "GB": "digital-gigabyte", "TB": "digital-terabyte", "°C": "temperature-celsius",
    "kW": "power-kilowatt", "MHz": "frequency-megahertz", "GHz": "frequency-gigahertz",
}  # fmt: skip

_ENDS = r"(?![A-Za-z\d/])"
_DATE = re.compile(r"(?<![\d-])(1[5-9]\d\d|20\d\d)-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])(?![\d-])")
_TIME = re.compile(r"(?<![\d:])([01]?\d|2[0-3]):([0-5]\d)(?![\d:])(\s?[ap]\.?m\b\.?)?", re.IGNORECASE)
_UNIT = re.compile(
    rf"(?<![A-Za-z\d.,])(\d+(?:\.\d+)?)\s?({'|'.join(sorted(map(re.escape, UNITS), key=len, reverse=True))}){_ENDS}"
)


class NumberSpeller:
    """Spells out the numbers of one language's text.

    Args:
        language: a language code; `en`, `ms`, `id` and `zh` say amounts, percentages and links too. One that the CLDR
            does not know keeps its dates, times and units.

    Raises:
        ValueError: if num2words does not know the language.
    """

    def __init__(self, language: str):
        self.language, self.is_han = language, language == "zh"
        self.wording = WORDINGS.get(language)
        self.spell: Callable[[str], str] = han_number if self.is_han else number_words(language)
        self.joint = "" if self.is_han else " "
        try:
            self.locale: Locale | None = Locale(language)
        except UnknownLocaleError:
            self.locale = None

    def __call__(self, text: str) -> str:
        """The text with numbers, dates, times and units in words. Marks are neither added nor lost."""
        if self.locale:
            text = _UNIT.sub(self._unit, _TIME.sub(self._time, _DATE.sub(self._date, text)))
        return _ANY.sub(self._replace, text)

    def _replace(self, match: re.Match[str]) -> str:
        found = match.group()
        if match["link"]:
            return self._link(found) if self.wording else found
        if match["phone"]:
            return self.joint.join(self.spell(digit) for digit in found if digit.isdigit())
        if match["year"]:
            return "".join(HAN_DIGITS[int(digit)] for digit in found) if self.is_han else self.spell(found)
        if match["ordinal"]:
            return self._ordinal(match)
        if match["plain"]:
            return self.spell(found)
        if not self.wording:
            return found
        if match["percent"]:
            return self.wording.percent.format(self.spell(match["share"]))
        amount = self.spell(match["amount"])
        scale = match["scale"] or ""
        if scale in SHORT_SCALES[self.language]:
            scale = self.joint + SHORT_SCALES[self.language][scale]
        sign = found[: match.start("amount") - match.start()].strip().rstrip(".")
        name = dict(zip(CURRENCY_SIGNS, self.wording.currencies.split(), strict=True))[sign]
        return amount + scale + self.joint + name

    def _ordinal(self, match: re.Match[str]) -> str:
        """`21st` → `twenty first`, `ke-3` → `ketiga`; as it is where the form is another language's."""
        digits, language = match["rank"] or match["urutan"], "en" if match["rank"] else "ms"
        if self.language not in {language, "id" if language == "ms" else ""}:
            return match.group()
        if language == "en":
            return str(num2words(int(digits), to="ordinal")).replace("-", " ").replace(",", "")
        return "pertama" if digits == "1" else "ke" + self.spell(digits)

    def _link(self, link: str) -> str:
        """`www.example.com/a` → `www dot example dot com slash a`."""
        assert self.wording is not None
        link = re.sub(r"^https?://", "", link).rstrip("/")
        said = {".": self.wording.dot, "/": self.wording.slash, "@": self.wording.at}
        return " ".join(said.get(part, part) for part in re.split(r"([./@])", link) if part)

    def _date(self, match: re.Match[str]) -> str:
        try:
            day = date(*map(int, match.groups()))
        except ValueError:  # the 31st of June
            return match.group()
        return format_date(day, "y年M月d日" if self.is_han else "d MMMM y", locale=self.locale)

    def _time(self, match: re.Match[str]) -> str:
        hour, minute, half = int(match[1]), int(match[2]), match[3] or ""
        if self.is_han:
            return f"{hour}点" + (f"{minute}分" if minute else "") + half
        said = f"oh {minute}" if minute < 10 and self.language == "en" else f"{minute}"
        return (f"{hour} {said}" if minute or not half else f"{hour}") + (half and f" {half.lstrip()}")

    def _unit(self, match: re.Match[str]) -> str:
        # The CLDR's long Chinese forms are those of its short ones, which Babel does not follow.
        said = format_unit(Decimal(match[1]), UNITS[match[2]], "short" if self.is_han else "long", locale=self.locale)
        return said.replace(" ", "") if self.is_han else said


def number_words(language: str) -> Callable[[str], str]:
    """A function from digits (`1,200.5`) to words without hyphens or commas, in a language of num2words."""
    spoken = "id" if language == "ms" else language
    if spoken not in CONVERTER_CLASSES:
        raise ValueError(
            f"Expected a language that num2words speaks, got {language!r}. Turn spell_numbers off for this recipe."
        )

    def spell(digits: str) -> str:
        # A plain number of four digits in this range is nearly always a year, and read as one.
        kind = "year" if spoken == "en" and re.fullmatch(r"1[1-9]\d\d|20\d\d", digits) else "cardinal"
        digits = digits.replace(",", "")
        number = Decimal(digits) if "." in digits else int(digits)
        if number >= 10**15:  # so long a number is an identifier: its digits are read one by one
            return " ".join(spell(digit) for digit in digits if digit.isdigit())
        words = num2words(number, lang=spoken, to=kind).replace(",", "").replace("-", " ").split()
        if language == "ms":
            words = [MALAY_FROM_INDONESIAN.get(word, word) for word in words]
        return " ".join(words)

    return spell


def han_number(digits: str) -> str:
    """A number in digits as Mandarin says it: `1203` → 一千二百零三, `3.5` → 三点五."""
    whole, _, decimals = digits.replace(",", "").partition(".")
    tail = "点" + "".join(HAN_DIGITS[int(digit)] for digit in decimals) if decimals else ""
    if len(whole.lstrip("0")) > 16:  # an identifier: its digits are read one by one
        return "".join(HAN_DIGITS[int(digit)] for digit in whole) + tail
    n_groups = -(-len(whole) // 4)
    said = ""
    for index, group in enumerate(re.findall("....", whole.zfill(4 * n_groups))):
        signs = zip(group, reversed(HAN_UNITS), strict=True)
        part = "".join(HAN_DIGITS[int(digit)] + (unit if digit != "0" else "") for digit, unit in signs)
        said += part.rstrip("零") + HAN_GROUPS[n_groups - 1 - index] if int(group) else "零"
    said = re.sub("零+", "零", said).strip("零") or "零"  # one for each run of zeros, none at the ends
    return re.sub("^一十", "十", said) + tail
