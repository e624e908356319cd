"""The table of what the default model was trained on: prepared data -> `results/data.json` and `docs/data.md`.

    python -m benchmarks.data_table prepared/       after preparing the data
    python -m benchmarks.data_table                 fills the document again

Takes a prepared folder; keeps the names of sources and labels and the counts of its index, and nothing else of it.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.writing import put_between
from punctuation_restoration.data.shards import read_index
from punctuation_restoration.data.summary import table

ROOT = Path(__file__).resolve().parents[1]
BEGIN, END = "<!-- data -->", "<!-- /data -->"
COUNTS = ("n_documents", "n_words", "n_labels")


def main(argv: Sequence[str] | None = None) -> int:
    """Write the counts if a folder is named, and fill the document."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("folder", nargs="?", help="prepared data")
    parser.add_argument("--output", type=Path, default=ROOT / "results" / "data.json")
    parser.add_argument("--document", type=Path, default=ROOT / "docs" / "data.md")
    args = parser.parse_args(argv)
    if args.folder:
        args.output.write_text(as_json(counts(read_index(args.folder))), encoding="utf-8")
    found = json.loads(args.output.read_text(encoding="utf-8"))
    args.document.write_text(fill(args.document.read_text(encoding="utf-8"), found), encoding="utf-8")
    return 0


def counts(index: Mapping[str, Any]) -> dict[str, Any]:
    """What the table needs of an index: no paths, no settings."""
    sources = []
    for row in index["sources"]:
        splits = {split: {key: row["splits"][split][key] for key in COUNTS} for split in row["splits"]}
        sources.append({"language": row["language"], "name": row["name"], "splits": splits})
    return {"labels": [{"name": label["name"]} for label in index["labels"]], "sources": sources}


def as_json(found: Mapping[str, Any]) -> str:
    """JSON with one line a source."""
    lines = ",\n".join(f"  {json.dumps(row, ensure_ascii=False)}" for row in found["sources"])
    return f'{{\n "labels": {json.dumps(found["labels"])},\n "sources": [\n{lines}\n ]\n}}\n'


def fill(text: str, found: Mapping[str, Any]) -> str:
    """The document with its table."""
    return put_between(text, BEGIN, END, table(found).rstrip("\n"))


if __name__ == "__main__":
    raise SystemExit(main())
