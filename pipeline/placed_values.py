"""Takes Python values, gives copies in which every string knows its place in one text; and the values with new strings.

    [Word(word=" hello", start=0.1, ...), ...]     what a caller has: dictionaries, lists, objects
    [{"word": " hello", "start": 0.1}, ...]        placed: its " hello" is text[0:6]

The caller's values are never changed. It knows how values are made of others, and nothing of what they mean.
"""

import copy
import dataclasses
import io
from collections.abc import Mapping, Sequence
from typing import Any

from .edits import Edit, edited_between

# Of objects; of dictionaries all keys are placed. One of the first three makes an object a part of what was said.
ATTRIBUTES = ("text", "segments", "word", "words", "start", "end", "speaker")


class PlacedString(str):
    """A string; `source[start:end]` is it, in a file's JSON without its quotes."""

    __slots__ = ("end", "start")
    start: int
    end: int


class PlacedObject(dict):
    """A dictionary, or the attributes of an object; in a file `source[start:end]` is it with its braces."""

    __slots__ = ("end", "start")
    start: Any  # of a value in Python the path that leads to it, such as `segments[2].words[0]`
    end: int


class PlacedArray(list):
    """A list; in a file `source[start:end]` is it with its brackets."""

    __slots__ = ("end", "start")
    start: Any  # as that of an object
    end: int


def has(value: Any, *names: str) -> bool:
    """Whether a dictionary has these keys, or an object these attributes."""
    return all(name in value if isinstance(value, Mapping) else hasattr(value, name) for name in names)


def place(value: Any, source: io.StringIO, path: str = "") -> Any:
    """A placed copy; its strings are appended to the source, parted by line ends."""
    placed: Any
    if isinstance(value, str):
        placed = PlacedString(value)
        placed.start, placed.end = source.tell(), source.tell() + len(value)
        source.write(value + "\n")
        return placed
    if isinstance(value, Mapping) or any(has(value, name) for name in ATTRIBUTES[:3]):  # some objects are tuples
        own = value if isinstance(value, Mapping) else {n: getattr(value, n) for n in ATTRIBUTES if has(value, n)}
        lead = path and f"{path}."
        placed = PlacedObject((name, place(inner, source, f"{lead}{name}")) for name, inner in own.items())
    elif isinstance(value, list) or type(value) is tuple:
        placed = PlacedArray(place(inner, source, f"{path}[{n}]") for n, inner in enumerate(value))
    else:
        return value
    placed.start = path
    return placed


def rebuild(value: Any, placed: Any, source: str, edits: Sequence[Edit]) -> Any:
    """The value again, its strings with those of the source's edits that are theirs; `placed` is its copy.

    A dictionary comes back as a new one. An object comes back as one of its class, or as itself where nothing changed.
    """
    if isinstance(placed, PlacedString):
        return edited_between(source, edits, placed.start, placed.end)
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
