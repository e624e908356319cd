"""Files and folders as named by the user -> which files are read, and where each result goes.

Every question of names is settled before the first file is opened. It knows nothing of what is in the files.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..transcripts import format_of_name


@dataclass(frozen=True, slots=True)
class Job:
    """One file to restore; `target` is None for standard output."""

    source: Path
    target: Path | None


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done, and what cannot be: (file or folder, why)."""

    jobs: list[Job]
    problems: list[tuple[str, str]]


def plan_jobs(inputs: Sequence[Path], output: Path | None, suffix: str | None) -> Plan:
    """Pair every input with its target.

    Args:
        inputs: files and folders; of a folder, all files whose extension is known, with its sub-folders.
        output: a file for a single file, else a folder; None for standard output.
        suffix: what replaces the files' extensions, if the format changes.

    Raises:
        ValueError: several files would go to one place.
    """
    problems: list[tuple[str, str]] = []
    found: list[tuple[Path, Path]] = []  # a file, and its path below the output folder
    for given in inputs:
        if given.is_dir():
            below = [(file, file.relative_to(given)) for file in _files_below(given, output, problems)]
            if not below:
                problems.append((str(given), "no file in it has a known extension; use --format on single files"))
            found.extend(below)
        elif given.exists():
            found.append((given, Path(given.name)))
        else:
            problems.append((str(given), "no such file or folder"))
    is_single = len(inputs) == 1 and not inputs[0].is_dir()
    if output is None:
        if len(found) > 1 or not is_single:
            raise ValueError("Expected --output FOLDER for several files, got none. Add it.")
        return Plan([Job(file, None) for file, _ in found], problems)
    if is_single and not output.is_dir() and not str(output).endswith(os.sep):
        return Plan([Job(file, output) for file, _ in found], problems)
    if output.exists() and not output.is_dir():
        raise ValueError(f"Expected --output FOLDER for several files, got {output}, which is a file. Name another.")
    jobs = [Job(file, output / (name.with_suffix(suffix) if suffix else name)) for file, name in found]
    _refuse_collisions(jobs)
    return Plan(jobs, problems)


def _files_below(folder: Path, output: Path | None, problems: list[tuple[str, str]]) -> Iterator[Path]:
    """Files of known formats in order of their names; hidden ones, and the output folder itself, are left out."""
    skipped = output.resolve() if output is not None else None

    def note(error: OSError) -> None:
        problems.append((str(error.filename), error.strerror or str(error)))

    for parent, folders, names in os.walk(folder, onerror=note):
        folders[:] = sorted(
            name for name in folders if not name.startswith(".") and (Path(parent) / name).resolve() != skipped
        )
        for name in sorted(names):
            if not name.startswith(".") and format_of_name(name):
                yield Path(parent) / name


def _refuse_collisions(jobs: Sequence[Job]) -> None:
    sources: dict[Path | None, Path] = {}
    for job in jobs:
        if job.target in sources:
            raise ValueError(
                f"Expected a place for every file, got {job.target} for both {sources[job.target]} and {job.source}. "
                "Restore them into separate folders."
            )
        sources[job.target] = job.source


__all__ = ["Job", "Plan", "plan_jobs"]
