"""What a caller may hand in -> one text and what is known about it. Knows the shapes of items, not what words are.

An item is a string, `{"text"}` or `{"words"}`; `PunctuationRestorationPipeline` describes them. What a recogniser gives
is read by `punctuation_restoration.restore_transcript`. The indices of "known" count the words that the pipeline finds,
in Mandarin jieba's, not the items of "words".
"""

import itertools
import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from numbers import Real
from operator import itemgetter
from typing import Any

import regex

from .unspoken import Hidden, audible, find_hidden
from .words import Word

# What each key of an item holds, in words; its type, and that of its members.
KEYS: dict[str, tuple[str, Any, Any]] = {
    "text": ("a string", str, None),
    "words": ("a list of strings", list | tuple, str),
    "timestamps": ("a (start, end) in seconds for each of the words", object, None),
    "known": ("{word index: label name}", Mapping, int),
    "turns": ("a list of character offsets", list | tuple, int),
    "final": ("True or False", bool, None),
}
OTHER_DOOR = (
    "What a recogniser gives goes to punctuation_restoration.restore_transcript(restore, value)."
)
_HAN_END = regex.compile(r"\p{Han}\p{M}*+\Z")
_HAN_START = regex.compile(r"\p{Han}")
MOST_SECONDS = 1e15  # more is a mistake, and cannot be counted in milliseconds
_CLOCK = regex.compile(r"(?:(?:(\d+):)?(\d+):)?(\d+(?:[.,]\d+)?)[sS]?")  # 1:02:03.5, 0.5s
_DURATION = regex.compile(r"PT(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:[.,]\d+)?)S)?")  # ISO 8601
Time = float | None  # seconds; None where nobody tells
Times = tuple[Time, Time]  # start and end
TimedWord = tuple[int, int, Time, Time]  # its characters and seconds: (start, end, begins, ends)


@dataclass(frozen=True, slots=True)
class Item:
    """One text to restore."""

    text: str
    known: Mapping[int, str] = field(default_factory=dict)  # index of a word -> name of its label
    turns: Sequence[int] = ()  # characters where another speaker begins, in order
    final: bool = True  # whether the text ends here
    words: Sequence[Word] | None = None  # those of the text, where they are found already
    # The text with blanks in the place of all that is not said; "": all of it is said.
    audible: str = ""
    spans: Sequence[TimedWord] = ()  # of words with times, in order

    def __post_init__(self) -> None:
        object.__setattr__(self, "audible", self.audible or self.text)


def read_item(given: Any) -> Item:
    """Read one item.

    Raises:
        TypeError: it is neither a string nor a dictionary.
        ValueError: a dictionary with other keys or values.
    """
    if isinstance(given, Item):
        return given
    if isinstance(given, str):
        given = {"text": given}
    if not isinstance(given, Mapping):
        raise TypeError(
            "Expected a string, or a dictionary with 'text' or 'words', got "
            f"{type(given).__name__}. Pass the text itself. {OTHER_DOOR}"
        )
    has_text = "text" in given
    has_one = has_text != ("words" in given)
    if not has_one or given.keys() - KEYS.keys() or (has_text and "timestamps" in given):
        raise ValueError(
            "Expected a dictionary with 'text' or 'words', and perhaps with 'turns', 'final', 'known' and, beside "
            "'words', 'timestamps', got the "
            f"keys {sorted(map(str, given))}. {OTHER_DOOR}"
        )
    for key, value in given.items():
        _, kind, member = KEYS[key]
        members = value if member else ()
        if not isinstance(value, kind) or not all(isinstance(one, member) for one in members):
            raise _refusal(key, value)
    spans: list[TimedWord] = []
    if has_text:
        text = given["text"]
        hidden = find_hidden(text)
    else:
        words = given["words"]
        text = join_words(words)
        offsets = list(offsets_of(words, text))
        hidden = [
            stretch.moved(offset)
            for word, offset in zip(words, offsets, strict=True)
            for stretch in find_hidden(word, "word")
        ]
        if "timestamps" in given:
            try:
                timed = zip(words, offsets, _listed(given["timestamps"]), strict=True)
                for word, offset, pair in timed:
                    begins, ends = map(seconds, _listed(pair))
                    spans.append((offset, offset + len(word), begins, ends))
            except (TypeError, ValueError) as error:
                raise _refusal("timestamps", given["timestamps"]) from error
    turns = sorted({*given.get("turns", ()), *turns_in(hidden)})
    return Item(
        text,
        given.get("known", {}),
        tuple(turns),
        given.get("final", True),
        audible=audible(text, hidden),
        spans=tuple(spans),
    )


def _refusal(key: str, value: Any) -> ValueError:
    return ValueError(
        f"Expected {key!r} to be {KEYS[key][0]}, got {value!r:.80}. Correct it. {OTHER_DOOR}"
    )


def _listed(values: Any) -> Any:
    """A list or a tuple as it is, an array as a list."""
    values = values.tolist() if hasattr(values, "tolist") else values
    if not isinstance(values, list | tuple):
        raise TypeError
    return values


def seconds(value: Any, unit: float = 1.0) -> Time:
    """A number of any kind, or a time as text, in seconds; None where it is unknown, a ValueError for all else."""
    if isinstance(value, str):
        value = value.strip()
        if match := _DURATION.fullmatch(value) or _CLOCK.fullmatch(value):
            parts = ((part or "0").replace(",", ".") for part in match.groups())
            hours, minutes, rest = map(Decimal, parts)
            value = hours * 3600 + minutes * 60 + rest
            if match.re is _DURATION or match[2]:  # a clock counts seconds
                unit = 1.0
    if isinstance(value, Mapping) and "seconds" in value:  # Google's Duration
        value = float(value["seconds"]) + float(value.get("nanos", 0)) * 1e-9
    if value is None:
        return None
    value = value.item() if hasattr(value, "item") else value
    if not isinstance(value, Real | Decimal) or isinstance(value, bool):
        raise ValueError(
            f"Expected times as numbers of seconds, got {value!r:.60}. Is the format right?"
        )
    number: Any = value
    if number != number or abs(number) == math.inf:
        return None
    if abs(number) > MOST_SECONDS:
        raise ValueError(f"Expected times below {MOST_SECONDS:.0e} seconds, got a greater number.")
    return round(float(number) * unit, 6)


def time_between(spans: Sequence[TimedWord], start: int, end: int) -> Times:
    """When the words that share characters `start` to `end` were said, (begins, ends) in seconds."""
    first = bisect_right(spans, start, key=itemgetter(1))
    last = bisect_left(spans, end, key=itemgetter(0))
    times = spans[first : max(last, first + 1)]
    return times[0][2], times[-1][3]


def turns_in(hidden: Iterable[Hidden], speaker: str | None = None) -> list[int]:
    """Where another speaker's turn begins: after a dash, and after a name that is not `speaker`, who spoke before."""
    turns = []
    for stretch in hidden:
        if stretch.begins_turn and (stretch.speaker is None or stretch.speaker != speaker):
            turns.append(stretch.end)
            speaker = stretch.speaker
    return turns


def join_words(words: Sequence[str]) -> str:
    """One text of words: with one space between them, with none between two Han words."""
    parts = list(words[:1])
    for word, following in itertools.pairwise(words):
        are_han = _HAN_END.search(word) and _HAN_START.match(following)
        parts += [following] if are_han else [" ", following]
    return "".join(parts)


def offsets_of(words: Iterable[str], text: str) -> Iterator[int]:
    """Where each word begins in a text that `join_words` made of them."""
    end = 0
    for word in words:
        start = text.index(word, end)
        yield start
        end = start + len(word)
