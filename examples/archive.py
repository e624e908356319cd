"""An archive of rows (JSONL or Parquet) -> the same rows restored, in parts that are whole or not there at all.

    python -m examples.archive rows.jsonl OUT                    one process
    python -m examples.archive rows.jsonl OUT --worker 2/8       the second of eight, on as many machines as you like

It needs `pip install datasets`. Killed and run again, it continues with the parts that are missing. A row that fails
stays as it was, and is listed in OUT/failures. For a folder of transcripts: punctuate FOLDER -o OUT --skip-existing
"""

import argparse
import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from datasets import Dataset
from transformers import pipeline

import punctuation_restoration
from punctuation_restoration.whole_files import write_whole, written_whole


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("archive", type=Path, help="JSONL or Parquet file")
    parser.add_argument("output", type=Path, help="folder for the parts")
    parser.add_argument("--column", default="text", help="column of the text")
    parser.add_argument("--part-rows", type=int, default=2000, help="rows in a part")
    parser.add_argument(
        "--worker", default="1/1", metavar="I/N", help="do every N-th part, from the I-th on"
    )
    parser.add_argument("--model", default=punctuation_restoration.DEFAULT_MODEL)
    args = parser.parse_args(argv)
    worker, n_workers = (int(n) if n.isdecimal() else 0 for n in args.worker.partition("/")[::2])
    if not 1 <= worker <= n_workers or args.part_rows < 1:
        parser.error(
            f"expected --worker from 1/N to N/N and --part-rows above 0, got {args.worker}, {args.part_rows}"
        )
    restore = pipeline("punctuation-restoration", model=args.model)
    for number, part in enumerate(read_parts(args.archive, args.part_rows)):
        target = args.output / f"part-{number:05}{args.archive.suffix}"
        if number % n_workers != worker - 1 or target.exists():
            continue
        if not any(args.column in row for row in part):
            wanted = f"a column {args.column!r} in part {number}"
            raise SystemExit(f"Expected {wanted}, no row has one. Name it by --column.")
        texts, failures = restored_texts(restore, [row.get(args.column) for row in part])
        # Failures first: once the part is there, it counts as done.
        rows = ({"row": number * args.part_rows + n, "error": error} for n, error in failures)
        if failures:
            write_whole(
                args.output / "failures" / f"{target.name}.jsonl", json_lines(rows), force=True
            )
        with written_whole(target) as place:
            write_part(part, args.column, texts, place)
        print(f"{target.name}: {len(texts)} rows, {len(failures)} failed")


def read_parts(archive: Path, n_rows: int) -> Iterator[Any]:
    """The rows in parts. Those of JSON stay as they are: a table would give all of them the same keys and types."""
    if archive.suffix == ".parquet":
        table = Dataset.from_parquet(str(archive))
        yield from (
            table.select(range(n, min(n + n_rows, len(table))))
            for n in range(0, len(table), n_rows)
        )
    else:
        with archive.open(encoding="utf-8") as lines:
            rows = (read_row(line, n) for n, line in enumerate(lines, 1) if line.strip())
            while part := list(itertools.islice(rows, n_rows)):
                yield part


def read_row(line: str, number: int) -> dict[str, Any]:
    try:
        return dict(json.loads(line))
    except (ValueError, TypeError) as error:
        problem = f"Expected a JSON object in line {number}, got {line!r:.60}"
        raise SystemExit(f"{problem}. Correct it and run again.") from error


def write_part(part: Any, column: str, texts: Sequence[str], place: Path) -> None:
    """Write the rows with their restored texts."""
    if isinstance(part, Dataset):
        new = f"{column} restored"  # added before the old one goes: a table without columns has no rows
        table = part.add_column(new, texts).remove_columns(column).rename_column(new, column)
        table.select_columns(part.column_names).to_parquet(place)
    else:
        rows = zip(part, texts, strict=True)
        place.write_bytes(
            json_lines({**row, column: text} if column in row else row for row, text in rows)
        )


def json_lines(rows: Iterable[Any]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode(
        errors="backslashreplace"
    )


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
