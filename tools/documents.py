"""What the programs here write: JSON files, and parts of Markdown documents. Knows nothing of what was measured."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any


def write_json(found: Any, path: Path, indent: int = 1) -> None:
    """Write what was found, and make the folder if there is none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found, indent=indent, ensure_ascii=False) + "\n", encoding="utf-8")


def tell(found: Any, path: Path | None) -> None:
    """Print what was found, and write it if a file is named."""
    print(json.dumps(found, indent=1, ensure_ascii=False))
    if path:
        write_json(found, path)


def fill(document: Path, begin: str, end: str, content: str) -> None:
    """Put `content` between two lines of a file.

    Raises:
        ValueError: if the file lacks one of the lines.
    """
    filled = put_between(document.read_text(encoding="utf-8"), begin, end, content)
    document.write_text(filled, encoding="utf-8")


def put_between(text: str, begin: str, end: str, content: str) -> str:
    """The text with `content` between two of its lines, in place of what was there.

    Raises:
        ValueError: if the text lacks one of the lines.
    """
    before, has_begin, rest = text.partition(begin)
    _, has_end, after = rest.partition(end)
    if not has_begin or not has_end:
        raise ValueError(f"Expected the lines {begin} and {end} in the document, one is missing. Put both into it.")
    return f"{before}{begin}\n{content}\n{end}{after}"


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]], n_left: int = 1) -> str:
    """A table whose first `n_left` columns hold text, and the others numbers."""
    ruler = ["---" if column < n_left else "---:" for column in range(len(head))]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ruler, *rows))
