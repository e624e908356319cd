"""An archive -> parts that are restored one by one, each written whole or not at all, so that a job can be killed.

    talk.srt, a.txt ...        each file is a part, and keeps its name and format
    big.jsonl                  parts of some thousand lines: OUT/big.jsonl/part-00000.jsonl, ...
    big.parquet                a part for each row group: OUT/big.parquet/part-00000.parquet, ...

A part is done when its output stands under its name; what failed in it was written to OUT/failures before. This module
knows nothing of the engine that runs it.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..transcripts import FormatError, RestoredTranscript, Transcript, format_of_name, read_source, restore_transcript
from ..transcripts.encodings import UTF8, decode
from ..transcripts.reading import read_bytes
from ..transcripts.restoring import Restorer
from ..whole_files import write_whole
from .models import first_line

FAILURES = "failures"
JOB_FILE = "_job.json"


@dataclass(frozen=True, slots=True)
class Part:
    """A share of the work: bytes `start` to `end` of a JSONL file, a `row_group` of a Parquet file, or a whole file."""

    source: str
    target: str
    start: int = 0
    end: int = 0
    first_line: int = 1
    row_group: int = -1


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a part: `failures` are rows that failed, `error` says why the part as a whole did."""

    part: Part
    n_items: int = 0
    n_failures: int = 0
    error: str | None = None


def plan_parts(source: Path, output: Path, n_lines: int) -> list[Part]:
    """All parts of a file or folder, in an order that depends on nothing but their names.

    Raises:
        ValueError: there is nothing to restore.
    """
    files = sorted(path for path in source.rglob("*") if path.is_file()) if source.is_dir() else [source]
    parts: list[Part] = []
    for file in files:
        name = file.relative_to(source) if source.is_dir() else Path(file.name)
        hidden = any(part.startswith(".") for part in name.parts)
        if hidden or output.resolve() in file.resolve().parents:
            continue
        parts.extend(_parts_of(file, output / name, n_lines))
    if not parts:
        raise ValueError(f"Expected JSONL, Parquet or transcripts, got {source} with nothing of the kind.")
    return parts


def _parts_of(file: Path, target: Path, n_lines: int) -> Iterator[Part]:
    if file.suffix.lower() == ".parquet":
        for group in range(_parquet().ParquetFile(file).num_row_groups):
            yield Part(str(file), str(target / f"part-{group:05}.parquet"), row_group=group)
    elif format_of_name(file.name) == "jsonl":
        for number, (start, end, first) in enumerate(_line_blocks(file, n_lines)):
            yield Part(str(file), str(target / f"part-{number:05}.jsonl"), start, end, first)
    elif format_of_name(file.name):
        yield Part(str(file), str(target))


def _line_blocks(file: Path, n_lines: int) -> Iterator[tuple[int, int, int]]:
    """First byte, end, and first line's number of every `n_lines` lines."""
    start = position = 0
    first = number = 1
    with file.open("rb") as lines:
        for line in lines:
            position += len(line)
            number += 1
            if number - first == n_lines:
                yield start, position, first
                start, first = position, number
    if position > start:
        yield start, position, first


def check_same_job(output: Path, job: Mapping[str, Any]) -> None:
    """Note in the output folder what the job is, so that only the same job goes on in it.

    Raises:
        ValueError: another job has written there.
    """
    path = output / JOB_FILE
    text = json.dumps(job, indent=2, sort_keys=True) + "\n"
    if not path.exists():
        write_whole(path, text.encode())
        return
    before = json.loads(path.read_text())
    changed = sorted(key for key in {*before, *job} if before.get(key) != json.loads(text).get(key))
    if changed:
        raise ValueError(
            f"Expected the job that began in {output}, got one that differs in {', '.join(changed)}. "
            "Use the same settings to go on, or another output folder."
        )


class PartWorker:
    """Restores parts, one after another, with one model.

    Args:
        make_restorer: called once, here, so that a worker on another machine loads its own model.
        output: the output folder.
        text_field: JSON key or Parquet column of the text; None: found in JSON, "text" in Parquet.
        options: keywords of the pipeline.
    """

    def __init__(
        self, make_restorer: Callable[[], Restorer], output: str, text_field: str | None, options: Mapping[str, Any]
    ):
        self._restore = make_restorer()
        self._output = Path(output)
        self._text_field = text_field
        self._options = dict(options)

    def __call__(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """A part as a dictionary -> its outcome as one, as engines want it."""
        outcome = self.restore(Part(**row))
        return {"target": outcome.part.target, **{k: v for k, v in asdict(outcome).items() if k != "part"}}

    def restore(self, part: Part) -> Outcome:
        """Restore a part and write it. Never raises for what is wrong with the part or the disk."""
        if Path(part.target).exists():
            return Outcome(part)
        try:
            if part.row_group >= 0:
                return self._restore_row_group(part)
            if part.end:
                return self._restore_lines(part)
            return self._restore_file(part)
        except (OSError, ValueError) as error:
            self._note_failures(part, [{"file": part.source, "error": str(error)}])
            return Outcome(part, 1, 1, f"{part.source}: {first_line(error)}")

    def _restore_file(self, part: Part) -> Outcome:
        transcript, encoding = read_bytes(Path(part.source).read_bytes(), name=part.source)
        restored = restore_transcript(transcript, self._restore, keep_words=False, **self._options)
        self._finish(part, encoding.encode(restored.source()), [])
        return Outcome(part, 1)

    def _restore_lines(self, part: Part) -> Outcome:
        with Path(part.source).open("rb") as file:
            file.seek(part.start)
            content = file.read(part.end - part.start)
        rows: list[Transcript] = []
        failures: list[dict[str, Any]] = []
        number = part.first_line
        for number, line in enumerate(content.splitlines(keepends=True), start=part.first_line):
            try:
                text, _ = decode(line, "utf-8")
                rows.append(read_source(text, "jsonl", self._text_field))
            except (FormatError, ValueError) as error:
                problem = error.problem if isinstance(error, FormatError) else str(error)
                shown = line.decode("utf-8", "replace").rstrip("\r\n")
                failures.append({"file": part.source, "line": number, "error": problem, "item": shown})
        written: list[str] = []
        for row, restored in zip(rows, self._restore_rows(rows), strict=True):
            if isinstance(restored, Exception):
                failures.append({"file": part.source, "error": str(restored), "item": row.source.rstrip("\r\n")})
            else:
                source = restored.source()
                written.append(source if source.endswith("\n") else source + "\n")
        self._finish(part, UTF8.encode("".join(written)), failures)
        return Outcome(part, number - part.first_line + 1, len(failures))

    def _restore_row_group(self, part: Part) -> Outcome:
        parquet = _parquet()
        table = parquet.ParquetFile(part.source).read_row_group(part.row_group)
        column = self._text_field or "text"
        if column not in table.column_names:
            raise ValueError(f"Expected a column {column!r}, got {table.column_names}. Name it with --field.")
        texts = table.column(column).to_pylist()
        rows = [read_source(text or "", "txt") for text in texts]
        restored: list[str | None] = []
        failures: list[dict[str, Any]] = []
        for text, result in zip(texts, self._restore_rows(rows), strict=True):
            if isinstance(result, Exception):
                failures.append({"file": part.source, "row_group": part.row_group, "error": str(result), "item": text})
            restored.append(None if text is None else text if isinstance(result, Exception) else result.source())
        place = table.column_names.index(column)
        table = table.set_column(place, table.schema.field(column), [restored])
        sink = _arrow().BufferOutputStream()
        parquet.write_table(table, sink)
        self._finish(part, sink.getvalue().to_pybytes(), failures)
        return Outcome(part, len(texts), len(failures))

    def _restore_rows(self, rows: Sequence[Transcript]) -> list[RestoredTranscript | Exception]:
        """All rows in one go, so that batches are full; one by one only where a row makes that fail."""
        speeches = [speech for row in rows for speech in row.speeches]
        try:
            together = restore_transcript(Transcript("", "jsonl", speeches), self._restore, **self._options)
        except (ValueError, RuntimeError):
            return [self._restore_row(row) for row in rows]
        restored = iter(together.speeches)
        return [RestoredTranscript(row, [next(restored) for _ in row.speeches]) for row in rows]

    def _restore_row(self, row: Transcript) -> RestoredTranscript | Exception:
        try:
            return restore_transcript(row, self._restore, **self._options)
        except (ValueError, RuntimeError) as error:
            return error

    def _finish(self, part: Part, content: bytes, failures: list[dict[str, Any]]) -> None:
        """Failures first: once the output is there, the part counts as done."""
        self._note_failures(part, failures)
        write_whole(Path(part.target), content, force=True)

    def _note_failures(self, part: Part, failures: list[dict[str, Any]]) -> None:
        name = Path(part.target).relative_to(self._output)
        path = self._output / FAILURES / name.with_name(name.name + ".failures.jsonl")
        if failures:
            lines = "".join(json.dumps(failure, ensure_ascii=False) + "\n" for failure in failures)
            write_whole(path, lines.encode("utf-8", "replace"), force=True)
        else:
            path.unlink(missing_ok=True)  # of an earlier try


def _arrow() -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise ValueError(
            "Expected pyarrow, which reads Parquet; it is not installed. Run `pip install pyarrow`."
        ) from error
    return pyarrow


def _parquet() -> Any:
    _arrow()
    import pyarrow.parquet

    return pyarrow.parquet
