"""Progress: a bar with counts on a terminal, lines where the output goes to a file."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn


class ProgressBar:
    """A bar that counts; a context manager.

    Args:
        title: what is being done.
        total: how much there is to do, None if nobody knows.
        is_shown: False shows nothing; None shows a bar on a terminal only.
    """

    def __init__(self, title: str, total: int | None = None, is_shown: bool | None = None):
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed:,} {task.fields[unit]}"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[note]}"),
            console=Console(stderr=True),
            transient=True,
            disable=not (sys.stderr.isatty() if is_shown is None else is_shown),
        )
        self._task = self._bar.add_task(title, total=total, note="", unit="")

    def __enter__(self) -> ProgressBar:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def update(self, completed: int, unit: str = "", note: str = "") -> None:
        """Say how much has been done."""
        self._bar.update(self._task, completed=completed, unit=unit, note=note)

    def advance(self, n_more: int, unit: str = "") -> None:
        """Say how much more has been done."""
        self._bar.update(self._task, advance=n_more, unit=unit)

    def tell(self, line: str) -> None:
        """Print a line above the bar."""
        if self._bar.disable:
            print(line, flush=True)
        else:
            self._bar.console.print(line, highlight=False, markup=False)
