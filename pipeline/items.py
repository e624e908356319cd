"""What a caller may hand in -> one text and what is known about it. Knows the shapes of items, not what words are.

An item is a string, `{"text"}` or `{"words"}`; `PunctuationRestorationPipeline` describes them. What a recogniser gives
is read by `punctuation_restoration.restore_transcript`. The indices of "known" count the words that the pipeline finds,
in Mandarin jieba's, not the items of "words".
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import regex

from .unspoken import Hidden, audible, find_hidden
from .words import Word

KEYS = {
    "text": "a string",
    "words": "a list of strings",
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
    if ("text" in given) == ("words" in given) or not given.keys() <= KEYS.keys():
        raise ValueError(
            "Expected a dictionary with 'text' or 'words', and perhaps with 'turns', 'final' and 'known', got the "
            f"keys {sorted(map(str, given))}. {OTHER_DOOR}"
        )
    for key, value in given.items():
        if not _is_right(key, value):
            raise ValueError(
                f"Expected {key!r} to be {KEYS[key]}, got {value!r:.80}. Correct it. {OTHER_DOOR}"
            )
    if "words" in given:
        text = join_words(given["words"])
        offsets = offsets_of(given["words"], text)
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
    )


def _is_right(key: str, value: Any) -> bool:
    """Whether the value of an item's key is what `KEYS` says."""
    if key == "text":
        return isinstance(value, str)
    if key == "final":
        return isinstance(value, bool)
    if not isinstance(value, Mapping if key == "known" else (list, tuple)):
        return False
    return all(isinstance(member, str if key == "words" else int) for member in value)


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
