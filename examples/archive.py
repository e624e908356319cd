"""An archive of rows (JSONL or Parquet) -> the same rows restored, in parts that are whole or not there at all.

    python -m examples.archive rows.jsonl OUT                    one process
    python -m examples.archive rows.jsonl OUT --worker 2/8       the second of eight, on as many machines as you like

Killed and run again, it continues with the parts that are missing. A row that fails stays as it was, and is listed in
OUT/failures. For a folder of transcripts: punctuate FOLDER -o OUT --skip-existing
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from datasets import Dataset
from transformers import pipeline

import punctuation_restoration
from punctuation_restoration.whole_files import write_whole, written_whole


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archive", type=Path, help="JSONL or Parquet file")
    parser.add_argument("output", type=Path, help="folder for the parts")
    parser.add_argument("--column", default="text", help="column of the text")
    parser.add_argument("--part-rows", type=int, default=2000, help="rows in a part")
    parser.add_argument("--worker", default="1/1", metavar="I/N", help="do every N-th part, from the I-th on")
    parser.add_argument("--model", default=punctuation_restoration.DEFAULT_MODEL)
    args = parser.parse_args(argv)
    is_parquet = args.archive.suffix == ".parquet"
    rows: Any = (Dataset.from_parquet if is_parquet else Dataset.from_json)(str(args.archive))
    restore = pipeline("punctuation-restoration", model=args.model)
    worker, n_workers = map(int, args.worker.split("/"))
    for number in range(worker - 1, -(-len(rows) // args.part_rows), n_workers):
        target = args.output / f"part-{number:05}{'.parquet' if is_parquet else '.jsonl'}"
        if target.exists():
            continue
        first = number * args.part_rows
        part = rows.select(range(first, min(first + args.part_rows, len(rows))))
        texts, failures = restored_texts(restore, part[args.column])
        # Added before the old one goes: a table without columns has no rows.
        new = f"{args.column} restored"
        part = part.add_column(new, texts).remove_columns(args.column).rename_column(new, args.column)
        part = part.select_columns(rows.column_names)
        # Failures first: once the part is there, it counts as done.
        lines = (json.dumps({"row": first + n, "error": error}) + "\n" for n, error in failures)
        if failures:
            write_whole(args.output / "failures" / f"{target.name}.jsonl", "".join(lines).encode(), force=True)
        with written_whole(target) as place:
            part.to_parquet(place) if is_parquet else part.to_json(place, force_ascii=False)
        print(f"{target.name}: {len(texts)} rows, {len(failures)} failed")


def restored_texts(restore: Any, texts: Sequence[str]) -> tuple[list[str], list[tuple[int, str]]]:
    """All texts in one go, so that batches are full; one by one only where one of them makes that fail."""
    try:
        return [done["text"] for done in restore(list(texts))], []
    except (ValueError, TypeError, RuntimeError):
        restored, failures = list(texts), []
    for n, text in enumerate(texts):
        try:
            restored[n] = restore(text)["text"]
        except (ValueError, TypeError, RuntimeError) as error:
            failures.append((n, str(error)))
    return restored, failures


if __name__ == "__main__":
    main()
