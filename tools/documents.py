"""What the programs here write: JSON files, and parts of Markdown documents. Knows nothing of what was measured."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any


def write_json(found: Any, path: Path) -> None:
    """Write what was found, and make the folder if there is none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def tell(found: Any, path: Path | None) -> None:
    """Print what was found, and write it if a file is named."""
    print(json.dumps(found, indent=1, ensure_ascii=False))
    if path:
        write_json(found, path)


def put_between(text: str, name: str, content: str) -> str:
    """The text with `content` between its lines `<!-- name -->` and `<!-- /name -->`; a `ValueError` without these."""
    begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    before, has_begin, rest = text.partition(begin)
    _, has_end, after = rest.partition(end)
    if not has_begin or not has_end:
        raise ValueError(f"Expected the lines {begin} and {end} in the document, one is missing. Put both into it.")
    return f"{before}{begin}\n{content}\n{end}{after}"


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]], n_left: int = 1) -> str:
    """A table whose first `n_left` columns hold text, and the others numbers."""
    ruler = ["---" if column < n_left else "---:" for column in range(len(head))]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ruler, *rows))
