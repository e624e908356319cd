"""Patterns as a table, a row for each: long ones are put together from short ones by name."""

import regex


class Patterns(dict[str, regex.Pattern[str]]):
    """Each pattern by its name, compiled when it is first asked for.

    Args:
        rows: `NAME = pattern` a row; `{NAME}` is the pattern of a row above; lines that are indented go on, and those
            that begin with `#` are comments.
        sources: further patterns, which the rows may use.
    """

    def __init__(self, rows: str, **sources: str) -> None:
        super().__init__()
        self._sources = sources
        for row in regex.split(r"\n(?=[A-Z])", regex.sub(r"\n#[^\n]*", "", rows).strip()):
            name, _, pattern = row.partition(" = ")
            pattern = regex.sub(r"\s*\n\s*", "", pattern)
            sources[name] = regex.sub(r"\{([A-Z_]{2,})\}", lambda use: sources[use[1]], pattern)

    def __missing__(self, name: str) -> regex.Pattern[str]:
        self[name] = regex.compile(self._sources[name])
        return self[name]
