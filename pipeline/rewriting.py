"""Takes edits and what a recogniser gave, gives the same again with the edits in every copy of the text."""

import contextlib
import copy
import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .edits import Edit
from .layouts import listed
from .speech import Speech


@dataclass(frozen=True, slots=True)
class Recognised:
    """What a recogniser gave: one transcript."""

    given: Any
    strings: list[tuple[tuple[str | int, ...], str]]  # what is read of it: the way to each string, and the string
    speech: Speech  # in a source in which these strings stand one after another, each with a sign behind it
    warnings: list[str] = field(default_factory=list)

    def restored(self, edits: Sequence[Edit]) -> Any:
        """The same, with the edits of its speech in every copy of it; what was given is not touched.

        Raises:
            ValueError: an object that cannot be written.
        """
        changes = self.speech.source_edits(edits)
        tree: dict[str | int, Any] = {}  # the strings that change, at their ways
        begins, n = 0, 0
        for way, string in self.strings:
            parts, done = [], 0
            while n < len(changes) and changes[n][0] <= begins + len(string):
                start, end, written = changes[n]
                parts += [string[done : start - begins], written]
                done, n = end - begins, n + 1
            if parts:
                branch = tree
                for step in way[:-1]:
                    branch = branch.setdefault(step, {})
                branch[way[-1] if way else ""] = "".join([*parts, string[done:]])
            begins += len(string) + 1
        return tree.get("") or _rebuilt(self.given, tree)


def _rebuilt(value: Any, tree: Mapping[str | int, Any]) -> Any:
    """The value again, with the strings of the tree, which has its shape.

    A dictionary comes back as a new one. An object comes back as one of its class, or as itself where nothing changed.
    """
    if isinstance(tree, str):
        return tree
    if isinstance(value, Mapping):
        return {key: _rebuilt(inner, tree.get(key, {})) for key, inner in value.items()}
    if (values := listed(value)) is not None and (tree or isinstance(value, list | tuple)):
        inner = [_rebuilt(one, tree.get(n, {})) for n, one in enumerate(values)]
        return tuple(inner) if isinstance(value, tuple) else inner
    if not tree:
        return value
    new = {str(name): _rebuilt(getattr(value, str(name)), branch) for name, branch in tree.items()}
    if hasattr(value, "_replace"):
        return value._replace(**new)
    fields = dataclasses.fields(value) if dataclasses.is_dataclass(value) else ()
    if new.keys() <= {one.name for one in fields if one.init}:
        return dataclasses.replace(value, **new)
    changed = copy.copy(value)
    for name, inner in sorted(new.items(), key=lambda item: isinstance(item[1], str)):  # texts may follow from lists
        with contextlib.suppress(AttributeError):  # perhaps it is computed from what was written already
            setattr(changed, name, inner)
        if getattr(changed, name) != inner:
            raise ValueError(
                f"Expected an object whose {name!r} can be written, got a {type(value).__name__}, which computes it. "
                "Pass the dictionary in it (`.to_dict()`, `.model_dump()`)."
            )
    return changed
