"""Dates, times and units → the words that are read for them, beside their digits: `5km` → `5 kilometers`.

For training text, before `normalisation.NumberSpeller` spells the digits. The names of months and units are those of
the Unicode CLDR, through Babel, in the language's own order. Only what can be read in one way is touched: `3/4/2020` is
not.
"""

import re
from datetime import date
from decimal import Decimal

from babel import Locale, UnknownLocaleError
from babel.dates import format_date
from babel.units import format_unit

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


class FormReader:
    """Rewrites the dates, times and units of one language's text. Digits stay digits.

    Args:
        language: a language code. One that the CLDR does not know keeps its text.
    """

    def __init__(self, language: str):
        try:
            self.locale: Locale | None = Locale(language)
        except UnknownLocaleError:
            self.locale = None
        self.han, self.english = language == "zh", language == "en"

    def __call__(self, text: str) -> str:
        """The text with these forms in words. Marks are neither added nor lost."""
        if self.locale is None:
            return text
        return _UNIT.sub(self._unit, _TIME.sub(self._time, _DATE.sub(self._date, text)))

    def _date(self, match: re.Match[str]) -> str:
        try:
            day = date(*map(int, match.groups()))
        except ValueError:  # the 31st of June
            return match.group()
        return format_date(day, "y年M月d日" if self.han else "d MMMM y", locale=self.locale)

    def _time(self, match: re.Match[str]) -> str:
        hour, minute, half = int(match[1]), int(match[2]), match[3] or ""
        if self.han:
            return f"{hour}点" + (f"{minute}分" if minute else "") + half
        said = f"oh {minute}" if minute < 10 and self.english else f"{minute}"
        return (f"{hour} {said}" if minute or not half else f"{hour}") + (half and f" {half.lstrip()}")

    def _unit(self, match: re.Match[str]) -> str:
        # The CLDR's long Chinese forms are those of its short ones, which Babel does not follow.
        said = format_unit(Decimal(match[1]), UNITS[match[2]], "short" if self.han else "long", locale=self.locale)
        return said.replace(" ", "") if self.han else said
