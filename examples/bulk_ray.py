"""An archive restored by many workers, on one machine or many: Parquet or JSON lines -> the same files with marks.

    python -m examples.bulk_ray archive/ OUT --workers 16 --model fast/ --backend onnx-int8    one a core
    python -m examples.bulk_ray archive/ OUT --workers 4 --gpu                                 one a GPU, in bf16

It needs `pip install -e ".[bulk]"`. Rows keep their order and columns; a new column, `punctuation_error`, says why a
text stayed as it was. Started again, it does the files that are missing. See docs/scale.md.
"""

import argparse
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import ray.data
from transformers import pipeline

import punctuation_restoration
from examples.archive import json_lines, read_row, restored_texts
from punctuation_restoration.whole_files import remove_unfinished, written_whole

ERROR = "punctuation_error"  # the new column
N_ROWS = 2_000  # that are restored in one call


class Restorer:
    """A worker: loads the model once, then writes file after file, each whole or not at all."""

    def __init__(self, column: str, model: dict[str, Any]) -> None:
        self.column = column
        self.restore = pipeline("punctuation-restoration", return_words=False, **model)

    def __call__(self, job: dict[str, str]) -> dict[str, str]:
        source, target = Path(job["source"]), Path(job["target"])
        try:
            with written_whole(target) as place:
                (self.table if place.suffix == ".parquet" else self.lines)(source, place)
        except Exception as error:  # the other files are done all the same
            return {"problem": f"{source}: {error}"}
        return {"problem": ""}

    def table(self, source: Path, place: Path) -> None:
        file = pq.ParquetFile(source)
        schema = pa.unify_schemas([file.schema_arrow, pa.schema({ERROR: pa.string()})])
        with pq.ParquetWriter(place, schema) as out:
            for batch in file.iter_batches(N_ROWS):
                columns = {name: batch[name] for name in batch.schema.names}
                texts, errors = restored_texts(self.restore, batch[self.column].to_pylist())
                columns[self.column] = pa.array(texts, schema.field(self.column).type)
                columns[ERROR] = pa.array(errors, pa.string())
                out.write_batch(pa.record_batch(columns, schema))

    def lines(self, source: Path, place: Path) -> None:
        with source.open("rb") as given, place.open("wb") as out:
            while some := list(itertools.islice(given, N_ROWS)):
                rows = [read_row(line) for line in some if line.strip()]
                done = restored_texts(self.restore, [row.get(self.column) for row in rows])
                for row, text, error in zip(rows, *done, strict=True):
                    row.update({self.column: text, ERROR: error})
                out.write(json_lines(rows))


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Restore an archive: see examples/bulk_ray.py.")
    parser.add_argument("archive", type=Path, help="folder of .parquet and .jsonl files")
    parser.add_argument("output", type=Path, help="folder for the same files, not in the archive")
    parser.add_argument("--column", default="text", help="column or key of the text")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--model", default=punctuation_restoration.DEFAULT_MODEL)
    parser.add_argument("--backend", default="torch")
    parser.add_argument("--gpu", action="store_true", help="one for each worker, in bf16")
    args = parser.parse_args(argv)
    archive, output = args.archive.resolve(), args.output.resolve()  # as workers find them
    files = [*archive.rglob("*.parquet"), *archive.rglob("*.jsonl")]
    if not files or output.is_relative_to(archive):
        parser.error("expected a folder of .parquet and .jsonl files, and an output outside it")
    pairs = [(file, output / file.relative_to(archive)) for file in files]
    jobs = [{"source": str(a), "target": str(b)} for a, b in pairs if not b.exists()]
    if not jobs:
        parser.exit(message=f"All {len(pairs)} files are done.\n")
    how = {"device": 0, "dtype": "bfloat16"} if args.gpu else {"backend": args.backend}
    worker: Any = Restorer
    done = ray.data.from_items(jobs, override_num_blocks=min(len(jobs), 10_000)).map(
        worker,
        fn_constructor_args=[args.column, {"model": args.model, **how}],
        compute=ray.data.ActorPoolStrategy(size=args.workers),
        num_cpus=1,
        num_gpus=int(args.gpu),
    )
    problems = [row["problem"] for row in done.iter_rows() if row["problem"]]
    remove_unfinished(output)  # of workers that were lost
    print(f"{len(jobs) - len(problems)} of {len(jobs)} files are done.", *problems, sep="\n")
    raise SystemExit(bool(problems))


if __name__ == "__main__":
    main()
