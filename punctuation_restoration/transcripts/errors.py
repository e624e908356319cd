"""What is raised when a transcript cannot be read: the file, the line, what was expected and what came.

It knows nothing about any format.
"""

import re
from collections.abc import Iterator

LINE_END = re.compile(r"\r\n|\n|\r")


class FormatError(ValueError):
    """A transcript that cannot be read as what it was said to be.

    `problem` says what was expected, what came and what to do; `line` counts from 1; `path` is filled in by whoever
    opened the file, since the readers see only its text.
    """

    def __init__(self, problem: str, *, line: int | None = None):
        super().__init__(problem)
        self.problem = problem
        self.line = line
        self.path: str | None = None

    def __str__(self) -> str:
        if self.path is None:
            return self.problem if self.line is None else f"line {self.line}: {self.problem}"
        place = self.path if self.line is None else f"{self.path}:{self.line}"
        return f"{place}: {self.problem}"


def n_line_ends(source: str, start: int, end: int) -> int:
    """Line ends of `source[start:end]`, as any system writes them."""
    return sum(1 for _ in LINE_END.finditer(source, start, end))


def line_of(source: str, position: int) -> int:
    """The line (from 1) on which `source[position]` stands."""
    return 1 + n_line_ends(source, 0, position)


def numbered_lines(source: str) -> Iterator[tuple[int, int, int]]:
    """Number from 1, start and end without line end, of each line in which something stands."""
    start = 0
    for number, match in enumerate(re.finditer(rf"{LINE_END.pattern}|\Z", source), 1):
        if source[start : match.start()].strip():
            yield number, start, match.start()
        start = match.end()
