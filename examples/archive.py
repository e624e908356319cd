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
        texts, errors = restored_texts(restore, [row.get(args.column) for row in part])
        failures = [(n, error) for n, error in enumerate(errors) if error]
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
        with archive.open("rb") as lines:
            rows = (read_row(line) for line in lines if line.strip())
            while part := list(itertools.islice(rows, n_rows)):
                yield part


def read_row(line: bytes) -> dict[str, Any]:
    """The object in a line of JSON; of a line that has none, the line under a key of its own."""
    try:
        row = json.loads(line)
        json.dumps(row, allow_nan=False)  # fails for 1e999, which would become Infinity
        return {**row}
    except (ValueError, TypeError, RecursionError):
        return {"line": line.decode(errors="replace")}


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


def restored_texts(restore: Any, texts: Sequence[Any]) -> tuple[list[Any], list[str | None]]:
    """The texts restored, and of each the error or None. Of a list that fails each half is tried, down to one text."""
    try:
        return [done["text"] for done in restore(list(texts))], [None] * len(texts)
    except (ValueError, TypeError, RuntimeError) as error:
        if len(texts) == 1:
            return list(texts), [str(error)]
    half = len(texts) // 2
    first, second = restored_texts(restore, texts[:half]), restored_texts(restore, texts[half:])
    return first[0] + second[0], first[1] + second[1]


if __name__ == "__main__":
    main()
