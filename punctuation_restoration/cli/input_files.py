"""Files and folders as named by the user -> which files are read, and where each result goes.

Every question of names is settled before the first file is opened. It knows nothing of what is in the files.
"""

import os
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ..transcripts import format_of_name
from ..whole_files import is_special
from .models import OptionError

Problem = tuple[str, str]  # a file or folder, and why it cannot be done


class Job(NamedTuple):
    """What is restored, and where the result goes: None for standard input (or `--text`) and standard output."""

    source: Path | None
    target: Path | None


def plan_jobs(args: Namespace) -> tuple[list[Job], list[Problem]]:
    """Pair every input of the command line with its target; gives what is to be done, and what cannot be.

    Raises:
        OptionError: several files would go to one place, or results to places that are taken.
    """
    problems: list[Problem] = []
    if args.text is not None or not args.files or args.files == [Path("-")]:
        if args.into_folder:
            raise OptionError(f"Expected --output FILE for text without a name, got the folder {args.output}.")
        jobs = [Job(None, args.output)]
    else:
        jobs = _paired(args, list(_found(args, problems)))
    if args.skip_existing:
        jobs = [job for job in jobs if job.target is None or not job.target.exists()]
    existing = [job.target for job in jobs if job.target and job.target.exists() and not is_special(job.target)]
    if existing and not args.force:
        more = f" and {len(existing) - 1} more" if len(existing) > 1 else ""
        what_to_do = "Use --force to overwrite, or --skip-existing."
        raise OptionError(f"Expected new files, got {existing[0]}{more}, which exist. {what_to_do}")
    return jobs, problems


def _found(args: Namespace, problems: list[Problem]) -> Iterator[tuple[Path, Path]]:
    """Each file to read, those of folders and their sub-folders too, and its path below the output folder."""
    for given in args.files:
        if given.is_dir():
            below = list(_files_below(given, args.output, problems))
            yield from ((file, file.relative_to(given)) for file in below)
            if not below:
                problems.append((str(given), "no file in it has a known extension; use --format on single files"))
        elif given.exists():
            yield given, Path(given.name)
        else:
            problems.append((str(given), "no such file or folder"))


def _paired(args: Namespace, found: list[tuple[Path, Path]]) -> list[Job]:
    output = args.output
    is_single = len(args.files) == 1 and not args.files[0].is_dir()
    if output is None and (len(found) > 1 or not is_single):
        raise OptionError("Expected --output FOLDER for several files, got none. Add it.")
    if output is None or (is_single and not args.into_folder):
        return [Job(file, output) for file, _ in found]
    if not output.is_dir() and (output.exists() or (format_of_name(output.name) and not args.into_folder)):
        wrong = f"got {output}, {'which is a file' if output.exists() else 'the name of a file'}"
        raise OptionError(f"Expected --output FOLDER for several files, {wrong}. Name another.")
    sources: dict[Path, Path] = {}
    for file, name in found:
        target = output / (name.with_suffix(f".{args.to}") if args.to else name)
        if target in sources:
            wrong = f"got {target} for both {sources[target]} and {file}"
            raise OptionError(f"Expected a place for every file, {wrong}. Restore them into separate folders.")
        sources[target] = file
    return [Job(file, target) for target, file in sources.items()]


def _files_below(folder: Path, output: Path | None, problems: list[Problem]) -> Iterator[Path]:
    """Files of known formats in order of their names; hidden ones, and the output folder itself, are left out."""
    errors: list[OSError] = []
    for parent, folders, names in os.walk(folder, onerror=errors.append):
        shown = sorted(name for name in folders if not name.startswith("."))
        folders[:] = [name for name in shown if not (output and Path(parent, name).resolve() == output.resolve())]
        for name in sorted(names):
            if not name.startswith(".") and format_of_name(name):
                yield Path(parent, name)
    problems += [(str(error.filename), error.strerror or str(error)) for error in errors]
