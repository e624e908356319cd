"""What a caller may hand in -> one text and what is known about it. Knows the shapes of items, not what words are.

An item is a string, `{"text"}` or `{"words"}`; `PunctuationRestorationPipeline` describes them. What a recogniser gives
is read by `punctuation_restoration.restore_transcript`. The indices of "known" count the words that the pipeline finds,
in Mandarin jieba's, not the items of "words".
"""

import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

import regex

from .unspoken import Hidden, audible, find_hidden
from .words import Word

KEYS = {
    "text": "a string",
    "words": "a list of strings",
    "timestamps": "a (start, end) in seconds for each of the words",
    "known": "{word index: label name}",
    "turns": "a list of character offsets",
    "final": "True or False",
}
OTHER_DOOR = (
    "What a recogniser gives goes to punctuation_restoration.restore_transcript(restore, value)."
)
_HAN_END = regex.compile(r"\p{Han}\p{M}*+\Z")
_HAN_START = regex.compile(r"\p{Han}")


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
    # Of words with times: their characters and seconds, (start, end, begins, ends), in order.
    spans: Sequence[tuple[int, int, float, float]] = ()

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
    is_one = ("text" in given) != ("words" in given) and given.keys() <= KEYS.keys()
    if not is_one or ("text" in given and "timestamps" in given):
        raise ValueError(
            "Expected a dictionary with 'text' or 'words', and perhaps with 'turns', 'final', 'known' and, beside "
            "'words', 'timestamps', got the "
            f"keys {sorted(map(str, given))}. {OTHER_DOOR}"
        )
    for key, value in given.items():
        is_right = _is_right(key, value)
        if not is_right or (key == "timestamps" and len(value) != len(given["words"])):
            raise ValueError(
                f"Expected {key!r} to be {KEYS[key]}, got {value!r:.80}. Correct it. {OTHER_DOOR}"
            )
    spans: list[tuple[int, int, float, float]] = []
    if "words" in given:
        text = join_words(given["words"])
        offsets = list(offsets_of(given["words"], text))
        times = given.get("timestamps", ())
        for word, offset, (begins, ends) in zip(given["words"], offsets, times, strict=False):
            spans.append((offset, offset + len(word), begins, ends))
        hidden = [
            stretch.moved(offset)
            for word, offset in zip(given["words"], offsets, strict=True)
            for stretch in find_hidden(word, "word")
        ]
    else:
        text = given["text"]
        hidden = find_hidden(text)
    turns = tuple(sorted({*given.get("turns", ()), *turns_in(hidden)}))
    return Item(
        text,
        given.get("known", {}),
        turns,
        given.get("final", True),
        audible=audible(text, hidden),
        spans=tuple(spans),
    )


def _is_right(key: str, value: Any) -> bool:
    """Whether the value of an item's key is what `KEYS` says."""
    if key == "text":
        return isinstance(value, str)
    if key == "final":
        return isinstance(value, bool)
    if key == "timestamps":
        return isinstance(value, (list, tuple)) and all(map(_is_time, value))
    if not isinstance(value, Mapping if key == "known" else (list, tuple)):
        return False
    return all(isinstance(member, str if key == "words" else int) for member in value)


def _is_time(value: Any) -> bool:
    """Whether this is a start and an end in seconds."""
    is_pair = isinstance(value, (list, tuple)) and len(value) == 2
    return is_pair and all(isinstance(number, (int, float)) for number in value)


def time_between(
    spans: Sequence[tuple[int, int, float, float]], start: int, end: int
) -> tuple[float, float]:
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
