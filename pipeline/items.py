"""What a caller may hand in -> one text and what is known about it. Knows the shapes of items, not what words are.

An item is a string, `{"text": ...}` or `{"words": [...]}`; either dictionary may carry `"known"`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import regex

KEYS = {"text", "words", "known"}
_HAN_END, _HAN_START = regex.compile(r"\p{Han}\p{M}*\Z"), regex.compile(r"\p{Han}")


@dataclass(frozen=True, slots=True)
class Item:
    """One text to restore; `known` maps the index of a word to the name of its label."""

    text: str
    known: Mapping[int, str] = field(default_factory=dict)


def read_item(item: Any) -> Item:
    """Read one item.

    Raises:
        TypeError: if it is neither a string nor a dictionary.
        ValueError: if the dictionary has other keys or values than those described above.
    """
    if isinstance(item, str):
        return Item(item)
    if not isinstance(item, Mapping):
        raise TypeError(
            f"Expected a string or a dictionary with 'text' or 'words', got {type(item).__name__}. Pass the text "
            "itself, or {'words': [...]} for words."
        )
    unknown = set(item) - KEYS
    if unknown or ("text" in item) == ("words" in item):
        raise ValueError(
            f"Expected a dictionary with either 'text' or 'words' (and perhaps 'known'), got the keys "
            f"{sorted(map(str, item))}. Correct them."
        )
    known = item.get("known") or {}
    if not isinstance(known, Mapping) or not all(isinstance(index, int) for index in known):
        raise ValueError(f"Expected 'known' as {{word index: label name}}, got {known!r}. Correct it.")
    if "text" in item:
        if not isinstance(item["text"], str):
            raise ValueError(f"Expected 'text' to be a string, got {type(item['text']).__name__}. Pass a string.")
        return Item(item["text"], known)
    words = item["words"]
    if isinstance(words, str) or not isinstance(words, Sequence) or not all(isinstance(w, str) for w in words):
        raise ValueError(f"Expected 'words' to be a list of strings, got {words!r:.80}. Pass one string a word.")
    return Item(join_words(words), known)


def join_words(words: Sequence[str]) -> str:
    """One text of words: with one space between them, with none between two Han words."""
    parts: list[str] = []
    for word in words:
        if parts and not (_HAN_END.search(parts[-1]) and _HAN_START.match(word)):
            parts.append(" ")
        parts.append(word)
    return "".join(parts)
