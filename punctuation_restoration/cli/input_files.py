"""Files and folders as named by the user -> which files are read, and where each result goes.

Every question of names is settled before the first file is opened. It knows nothing of what is in the files.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from ..transcripts import format_of_name
from .models import OptionError


class Job(NamedTuple):
    """What is restored, and where the result goes: None for standard input (or `--text`) and standard output."""

    source: Path | None
    target: Path | None


def plan_jobs(
    inputs: Sequence[Path], output: Path | None, suffix: str | None, into_folder: bool
) -> tuple[list[Job], list[tuple[str, str]]]:
    """Pair every input with its target; gives what is to be done, and what cannot be: (file or folder, why).

    Args:
        inputs: files and folders; of a folder, all files whose extension is known, with its sub-folders.
        output: a file for a single file, else a folder; None for standard output.
        suffix: what replaces the files' extensions, if the format changes.
        into_folder: whether the output is a folder, or was named as one, with a slash behind it.

    Raises:
        OptionError: several files would go to one place.
    """
    problems: list[tuple[str, str]] = []
    found: list[tuple[Path, Path]] = []  # a file, and its path below the output folder
    for given in inputs:
        if given.is_dir():
            below = [(file, file.relative_to(given)) for file in _files_below(given, output, problems)]
            found += below
            if not below:
                problems.append((str(given), "no file in it has a known extension; use --format on single files"))
        elif given.exists():
            found.append((given, Path(given.name)))
        else:
            problems.append((str(given), "no such file or folder"))
    is_single = len(inputs) == 1 and not inputs[0].is_dir()
    if output is None and (len(found) > 1 or not is_single):
        raise OptionError("Expected --output FOLDER for several files, got none. Add it.")
    if output is None or (is_single and not into_folder):
        return [Job(file, output) for file, _ in found], problems
    if not output.is_dir() and (output.exists() or (format_of_name(output.name) and not into_folder)):
        wrong = f"got {output}, {'which is a file' if output.exists() else 'the name of a file'}"
        raise OptionError(f"Expected --output FOLDER for several files, {wrong}. Name another.")
    sources: dict[Path, Path] = {}
    for file, name in found:
        target = output / (name.with_suffix(suffix) if suffix else name)
        if target in sources:
            wrong = f"got {target} for both {sources[target]} and {file}"
            raise OptionError(f"Expected a place for every file, {wrong}. Restore them into separate folders.")
        sources[target] = file
    return [Job(file, target) for target, file in sources.items()], problems


def _files_below(folder: Path, output: Path | None, problems: list[tuple[str, str]]) -> Iterator[Path]:
    """Files of known formats in order of their names; hidden ones, and the output folder itself, are left out."""
    errors: list[OSError] = []
    for parent, folders, names in os.walk(folder, onerror=errors.append):
        shown = sorted(name for name in folders if not name.startswith("."))
        folders[:] = [name for name in shown if not (output and Path(parent, name).resolve() == output.resolve())]
        for name in sorted(names):
            if not name.startswith(".") and format_of_name(name):
                yield Path(parent, name)
    problems += [(str(error.filename), error.strerror or str(error)) for error in errors]
