"""What a caller may hand in -> one text and what is known about it. Knows the shapes of items, not what words are.

An item is a string, `{"text"}` or `{"words"}`; `PunctuationRestorationPipeline` describes them. What a recogniser gives
is read by `punctuation_restoration.restore_transcript`. The indices of "known" count the words that the pipeline finds,
in Mandarin jieba's, not the items of "words".
"""

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple

import regex

from .unspoken import Hidden, audible, find_hidden
from .words import Word

Time = float | None  # seconds; None where nobody tells
KEYS = {"text": {"text", "turns", "unfinished", "known"}, "words": {"words", "timestamps", "known"}}
MOST_SECONDS = 1e15  # more is a mistake, and cannot be counted in milliseconds
OTHER_DOOR = (
    "What a recogniser gives goes to punctuation_restoration.restore_transcript(restore, value)."
)
_HAN_END = regex.compile(r"\p{Han}\p{M}*+\Z")
_HAN_START = regex.compile(r"\p{Han}")


class TimedSpan(NamedTuple):
    """A stretch of the text, in characters, and when it was said: start and end in seconds."""

    start: int
    end: int
    time: tuple[Time, Time]


@dataclass(frozen=True, slots=True)
class Item:
    """One text to restore."""

    text: str
    known: Mapping[int, str] = field(default_factory=dict)  # index of a word -> name of its label
    spans: Sequence[TimedSpan] | None = None  # when its parts were said, in order
    turns: Sequence[int] = ()  # characters where another speaker begins, in order
    unfinished: bool = False  # whether the text goes on
    # Whether its last word is decided although it goes on, by any model: in a stream.
    decides_last: bool = False
    words: Sequence[Word] | None = None  # those of the text, where they are found already
    # The text with blanks in the place of all that is not said; "": all of it is said.
    spoken: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "spoken", self.spoken or self.text)


def read_item(given: Any) -> Item:
    """Read one item.

    Raises:
        TypeError: it is neither a string nor a dictionary.
        ValueError: a dictionary with other keys or values.
    """
    if isinstance(given, Item):
        return given
    if isinstance(given, str):
        return _read_text(given, {}, ())
    if not isinstance(given, Mapping):
        raise TypeError(
            "Expected a string, or a dictionary with 'text' or 'words', got "
            f"{type(given).__name__}. Pass the text itself. {OTHER_DOOR}"
        )
    known = given.get("known") or {}
    if not isinstance(known, Mapping) or not all(isinstance(index, int) for index in known):
        raise ValueError(
            f"Expected 'known' as {{word index: label name}}, got {known!r}. Pass such a dictionary."
        )
    if "text" in given and given.keys() <= KEYS["text"]:
        return _read_text(
            given["text"], known, given.get("turns", ()), bool(given.get("unfinished"))
        )
    if "words" in given and given.keys() <= KEYS["words"]:
        return _read_words(as_list(given["words"]), given.get("timestamps"), known)
    raise ValueError(
        "Expected a dictionary with 'text' (perhaps with 'turns', 'unfinished') or 'words' "
        "(perhaps with 'timestamps'), and perhaps 'known', got the keys "
        f"{sorted(map(str, given))}. {OTHER_DOOR}"
    )


def as_list(values: Any) -> Any:
    """A list or a tuple as it is, an array as a list; None for another value."""
    if isinstance(values, list) or type(values) is tuple:
        return values
    inner = values.tolist() if hasattr(values, "tolist") else None
    return inner if isinstance(inner, list) else None


def as_seconds(value: Any) -> Time:
    """A number of any kind in seconds; None where it is unknown (None, NaN); a ValueError for all else."""
    value = value.item() if hasattr(value, "item") else value
    if value is None:
        return None
    if not isinstance(value, Real | Decimal) or isinstance(value, bool):
        raise ValueError(
            f"Expected times as numbers of seconds, got {value!r:.60}. Is the format right?"
        )
    number: Any = value
    if number != number or abs(number) == math.inf:
        return None
    if abs(number) > MOST_SECONDS:
        raise ValueError(f"Expected times below {MOST_SECONDS:.0e} seconds, got a greater number.")
    return number if isinstance(number, int) else float(number)


def _read_text(text: Any, known: Mapping[int, str], turns: Any, unfinished: bool = False) -> Item:
    """A text in which what is not said is hidden."""
    if not isinstance(text, str):
        raise ValueError(
            f"Expected 'text' to be a string, got {type(text).__name__}. Pass a string."
        )
    if (
        isinstance(turns, str)
        or not isinstance(turns, Sequence)
        or not all(isinstance(turn, int) for turn in turns)
    ):
        raise ValueError(
            f"Expected 'turns' as a list of character offsets, got {turns!r:.80}. Pass integers."
        )
    hidden = find_hidden(text)
    changes = tuple(sorted({*turns, *turns_in(hidden)}))
    return Item(text, known, turns=changes, unfinished=unfinished, spoken=audible(text, hidden))


def turns_in(hidden: Iterable[Hidden], speaker: str | None = None) -> list[int]:
    """Where another speaker's turn begins: after a dash, and after a name that is not `speaker`, who spoke before."""
    turns = []
    for one in hidden:
        if one.begins_turn and (one.speaker is None or one.speaker != speaker):
            turns.append(one.end)
            speaker = one.speaker
    return turns


def join_words(words: Sequence[str]) -> str:
    """One text of words: with one space between them, with none between two Han words."""
    pairs = itertools.pairwise(words)
    borders = [
        "" if _HAN_END.search(word) and _HAN_START.match(following) else " "
        for word, following in pairs
    ]
    return "".join(word + border for word, border in zip(words, [*borders, ""], strict=False))


def places_of(words: Iterable[str], text: str) -> Iterator[int]:
    """Where each word begins in a text that `join_words` made of them."""
    place = 0
    for word in words:
        yield (place := text.index(word, place))
        place += len(word)


def _read_words(words: Any, timestamps: Any, known: Mapping[int, str]) -> Item:
    if words is None or not all(isinstance(word, str) for word in words):
        raise ValueError(
            f"Expected 'words' to be a list of strings, got {words!r:.80}. Pass one string a word. "
            f"{OTHER_DOOR}"
        )
    text = join_words(words)
    offsets = list(places_of(words, text))
    hidden: list[Hidden] = []
    for word, offset in zip(words, offsets, strict=True):
        hidden += [one.moved(offset) for one in find_hidden(word, "word")]
    spans = None if timestamps is None else _read_timestamps(words, offsets, timestamps)
    return Item(text, known, spans, tuple(turns_in(hidden)), spoken=audible(text, hidden))


def _read_timestamps(words: Sequence[str], offsets: Sequence[int], given: Any) -> list[TimedSpan]:
    times = as_list(given)
    if times is None or len(times) != len(words):
        got = given if times is None else len(times)
        raise ValueError(
            f"Expected one (start, end) a word: {len(words)} words, got {got}. Pair them first."
        )
    spans: list[TimedSpan] = []
    for index, (word, offset, time) in enumerate(zip(words, offsets, times, strict=True)):
        try:
            begins, ends = map(as_seconds, as_list(time) or ())
        except ValueError as error:
            raise ValueError(
                f"Expected word {index} to have a time (start, end) in seconds, got {time!r}. "
                "Pass two numbers."
            ) from error
        spans.append(TimedSpan(offset, offset + len(word), (begins, ends)))
    return spans
