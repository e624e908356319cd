"""What the user sees beside the text itself: messages, a progress bar on a terminal, and marks in colour.

Everything but the coloured text goes to standard error. It knows nothing of files or models.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from ..transcripts.placing import SourceEdit

# From these scores on a mark is shown in this colour; below the last one in red. Bright on bold, for poor screens.
COLOURS = ((0.9, typer.colors.GREEN), (0.7, typer.colors.YELLOW))
UNSURE = typer.colors.RED


class Reporter(Protocol):
    """Told what is being done."""

    def begin(self, name: str, n_characters: int) -> None: ...

    def advance(self, n_characters: int) -> None: ...

    def finish(self) -> None: ...


class SilentReporter:
    """Says nothing: in a pipe, or with --quiet."""

    def begin(self, name: str, n_characters: int) -> None:
        pass

    def advance(self, n_characters: int) -> None:
        pass

    def finish(self) -> None:
        pass


class BarReporter:
    """A bar for the files, and one for the characters of the file at hand."""

    def __init__(self, progress: Progress, n_files: int):
        self._progress = progress
        self._files = progress.add_task("files", total=n_files, visible=n_files > 1)
        self._file = progress.add_task("", total=None)

    def begin(self, name: str, n_characters: int) -> None:
        self._progress.reset(self._file, total=max(1, n_characters), description=name[-40:])

    def advance(self, n_characters: int) -> None:
        self._progress.advance(self._file, n_characters)

    def finish(self) -> None:
        self._progress.advance(self._files)


@contextmanager
def reporting(n_files: int, quiet: bool) -> Iterator[Reporter]:
    """A progress bar if standard error is a terminal, else nothing."""
    if quiet or not sys.stderr.isatty():
        yield SilentReporter()
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, MofNCompleteColumn(), console=console, transient=True) as progress:
        yield BarReporter(progress, n_files)


def say(message: str) -> None:
    """A message for people, on standard error."""
    typer.echo(f"punctuate: {message}", err=True)


def paint(change: SourceEdit) -> str:
    """A mark in the colour of its score. What was not written by the model stays plain."""
    sure = change.edit["score"] if change.edit else None
    if not change.written or sure is None:
        return change.written
    colour = next((colour for score, colour in COLOURS if sure >= score), UNSURE)
    return typer.style(change.written, fg=colour, bold=True, reverse=colour == UNSURE)


def legend() -> str:
    """What the colours mean."""
    parts = [typer.style(f"sure ({COLOURS[0][0]:.0%} or more)", fg=COLOURS[0][1], bold=True)]
    parts.append(typer.style(f"less sure ({COLOURS[1][0]:.0%} or more)", fg=COLOURS[1][1], bold=True))
    parts.append(typer.style("unsure", fg=UNSURE, bold=True, reverse=True))
    return ", ".join(parts)
