"""The command `python -m punctuation_restoration.cli.bulk IN OUT`: archives, on one machine or many, with Ray Data.

Killed at any time and run again, it goes on where it stopped: what is done is left alone, nothing is done twice.
"""

import logging
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from ..whole_files import remove_unfinished
from . import options as opt
from .bulk_parts import FAILURES, PartWorker, check_same_job, plan_parts
from .models import LazyRestorer, ModelError, OptionError, last_line

DONE, SOME_FAILED, WRONG_USE, NO_MODEL, INTERRUPTED = 0, 1, 2, 3, 130
LINES_A_PART = 2000

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    try:
        app(args=list(sys.argv[1:] if argv is None else argv), prog_name="python -m punctuation_restoration.cli.bulk")
    except SystemExit as exit_:
        return exit_.code if isinstance(exit_.code, int) else int(exit_.code is not None)
    return DONE


@app.command()
def bulk(
    source: Annotated[Path, typer.Argument(metavar="IN", help="JSONL or Parquet file, or a folder of any formats.")],
    output: Annotated[Path, typer.Argument(metavar="OUT", help="Folder for the output.")],
    workers: Annotated[int, typer.Option(help="Processes, each with a model. More than one needs Ray.", min=1)] = 1,
    address: Annotated[str | None, typer.Option(help="Ray cluster, such as auto or ray://host:10001.")] = None,
    gpus: Annotated[float, typer.Option(help="GPUs a worker.", min=0)] = 0,
    lines: Annotated[int, typer.Option(help="Lines of JSONL in one part.", min=1)] = LINES_A_PART,
    text_field: opt.Field = None,
    model: opt.Model = None,
    device: opt.Device = None,
    backend: opt.Backend = None,
    batch_size: opt.BatchSize = None,
    existing: opt.Existing = None,
    marks: opt.Marks = None,
    truecase: opt.Truecase = False,
) -> None:
    """Restore an archive: each part of it is written whole, failures are noted, and the job can be run again.

    Rows and files that fail are listed below OUT/failures, with the reason; all others are done.
    """
    given = {
        "batch_size": batch_size,
        "existing": existing,
        "marks": opt.mark_names(marks),
        "truecase": truecase or None,
    }
    options = {name: value for name, value in given.items() if value is not None}
    try:
        parts = plan_parts(source, output, lines)
        job = {"input": str(source.resolve()), "lines": lines, "model": model, "field": text_field, **options}
        check_same_job(output, {**job, "backend": backend})
    except (OSError, ValueError) as error:
        raise typer.BadParameter(str(error)) from error
    rows = [asdict(part) for part in parts if not Path(part.target).exists()]
    make_worker: dict[str, Any] = {
        "make_restorer": partial(
            load_restorer, model, device or ("cuda" if gpus else None), options, opt.checked_backend(backend)
        ),
        "output": str(output),
        "text_field": text_field,
        "options": options,
    }
    raise typer.Exit(_run(rows, len(parts), make_worker, workers, address, gpus, output))


def load_restorer(model: str | None, device: str | None, options: dict[str, Any], backend: str | None = None) -> Any:
    """A worker's own pipeline. A function of this module, so that it can be sent to another machine.

    Raises:
        ModelError, OptionError: as `LazyRestorer.load`.
    """
    restorer = LazyRestorer(model, device, options, backend=backend)
    restorer.open()
    return restorer


def _run(
    rows: list[dict[str, Any]], n_parts: int, make_worker: dict[str, Any], workers: int, address: str | None,
    gpus: float, output: Path,
) -> int:  # fmt: skip
    _say(f"{n_parts} parts, {n_parts - len(rows)} done before")
    n_done = n_items = n_failures = 0
    errors: list[str] = []
    try:
        if not rows:
            outcomes: Iterator[dict[str, Any]] = iter(())
        elif workers > 1 or address:
            outcomes = run_with_ray(rows, make_worker, workers, address, gpus)
        else:
            outcomes = map(PartWorker(**make_worker), rows)
        for outcome in outcomes:
            n_items, n_failures = n_items + outcome["n_items"], n_failures + outcome["n_failures"]
            n_done += outcome["error"] is None
            if outcome["error"]:
                errors.append(outcome["error"])
                _say(outcome["error"])
    except (ModelError, ImportError) as error:
        _say(str(error))
        return NO_MODEL
    except OptionError as error:
        raise typer.BadParameter(str(error)) from error
    except KeyboardInterrupt:
        _say(f"interrupted; {n_parts - len(rows) + n_done} of {n_parts} parts are done and kept; run it again to go on")
        return INTERRUPTED
    remove_unfinished(output)
    _say(f"{n_done} parts and {n_items} items done now, {n_failures} items failed")
    if n_failures:
        _say(f"see {output / FAILURES}")
    return SOME_FAILED if n_failures or errors else DONE


def run_with_ray(
    rows: list[dict[str, Any]], make_worker: dict[str, Any], workers: int, address: str | None, gpus: float
) -> Iterator[dict[str, Any]]:
    """The parts as a Ray data set, mapped by a pool of workers; a part whose worker dies is done again by another.

    Raises:
        ImportError: Ray is not installed.
    """
    try:
        import ray
        import ray.data
    except ImportError as error:
        raise ImportError(
            "Expected Ray, which runs several workers; it is not installed. "
            "Run `pip install 'punctuation-restoration[ray]'`, or use --workers 1."
        ) from error
    data: Any = ray.data  # its signatures know functions only, not classes of workers
    if not ray.is_initialized():
        local: dict[str, Any] = {} if address else {"num_cpus": workers, "include_dashboard": False}
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, **local)
    data.DataContext.get_current().enable_progress_bars = False
    for name in ("ray.data", "ray._common", "ray._private"):  # plans and hints on every run
        logging.getLogger(name).setLevel(logging.ERROR)
    dataset = data.from_items(rows, override_num_blocks=min(len(rows), 10_000))
    pool = data.ActorPoolStrategy(size=min(workers, len(rows)))
    mapped = dataset.map(PartWorker, fn_constructor_kwargs=make_worker, compute=pool, num_cpus=1, num_gpus=gpus)
    try:
        yield from mapped.iter_rows()
    except ray.exceptions.RayError as error:
        raise ModelError(f"A worker could not start or went on dying: {last_line(error)}") from error


def _say(message: str) -> None:
    typer.echo(f"bulk: {message}", err=True)


if __name__ == "__main__":
    sys.exit(main())
