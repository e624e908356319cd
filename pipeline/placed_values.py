"""Takes Python values, gives copies in which every string knows its place in one text; and the values with new strings.

    [Word(word=" hello", start=0.1, ...), ...]     what a caller has: dictionaries, lists, objects
    [{"word": " hello", "start": 0.1}, ...]        placed: its " hello" is text[0:6]

The caller's values are never changed. It knows how values are made of others, and nothing of what they mean.
"""

import copy
import dataclasses
import io
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

from .edits import Edit, edited

ATTRIBUTES = ("text", "word", "words", "start", "end", "speaker")  # of objects; of dictionaries all keys are placed


class PlacedString(str):
    """A string; `source[start:end]` is it, in a file's JSON without its quotes."""

    __slots__ = ("end", "start")
    start: int
    end: int


class PlacedObject(dict):
    """A dictionary, or the attributes of an object; from a file `source[start:end]` is it with its braces."""

    __slots__ = ("end", "start")
    start: int
    end: int


class PlacedArray(list):
    """A list; from a file `source[start:end]` is it with its brackets."""

    __slots__ = ("end", "start")
    start: int
    end: int


def has(value: Any, *names: str) -> bool:
    """Whether a dictionary has these keys, or an object these attributes."""
    return all(name in value if isinstance(value, Mapping) else hasattr(value, name) for name in names)


def place(value: Any, source: io.StringIO) -> Any:
    """A placed copy; its strings are appended to the source, parted by line ends."""
    if isinstance(value, str):
        placed = PlacedString(value)
        placed.start = source.tell()
        placed.end = placed.start + len(value)
        source.write(value + "\n")
        return placed
    if isinstance(value, Mapping):
        return PlacedObject((key, place(inner, source)) for key, inner in value.items())
    if has(value, "text") or has(value, "word"):  # some are tuples
        names = (name for name in ATTRIBUTES if has(value, name))
        return PlacedObject((name, place(getattr(value, name), source)) for name in names)
    is_array = isinstance(value, list) or type(value) is tuple
    return PlacedArray(place(inner, source) for inner in value) if is_array else value


def rebuild(value: Any, placed: Any, source: str, edits: Sequence[Edit]) -> Any:
    """The value again, its strings with those of the source's edits that are theirs; `placed` is its copy.

    A dictionary comes back as a new one. An object comes back as one of its class, or as itself where nothing changed.
    """
    if isinstance(placed, PlacedString):
        first = bisect_left(edits, placed.start, key=itemgetter("start"))
        last = bisect_right(edits, placed.end, key=itemgetter("start"))
        return edited(source, edits[first:last], placed.start, placed.end)
    if isinstance(placed, PlacedArray):
        inner = [rebuild(*pair, source, edits) for pair in zip(value, placed, strict=True)]
        return inner if isinstance(value, list) else tuple(inner)
    if not isinstance(placed, PlacedObject):
        return value
    if isinstance(value, Mapping):
        return {key: rebuild(inner, placed[key], source, edits) for key, inner in value.items()}
    new = {name: rebuild(getattr(value, name), placed[name], source, edits) for name in placed}
    new = {name: inner for name, inner in new.items() if inner != getattr(value, name)}
    if not new:
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.replace(value, **new)
    if hasattr(value, "_replace"):
        return value._replace(**new)
    changed = copy.copy(value)
    for name, inner in new.items():
        setattr(changed, name, inner)
    return changed


def path_of(placed: Any, root: Any) -> str | None:
    """Where a placed value lies in another, such as `segments[2].words[0]`; None if it is not in it."""
    if placed is root:
        return ""
    inner = root.items() if isinstance(root, PlacedObject) else enumerate(root) if isinstance(root, PlacedArray) else ()
    for name, value in inner:
        rest = path_of(placed, value)
        if rest is not None:
            return (f"[{name}]" if isinstance(root, PlacedArray) else f".{name}") + rest
    return None
