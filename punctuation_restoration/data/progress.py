"""Progress: a bar with counts on a terminal, lines where the output goes to a file."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any


class ProgressBar:
    """A bar that counts; a context manager.

    Args:
        title: what is being done.
        total: how much there is to do, None if nobody knows.
        is_shown: False shows nothing; None shows a bar on a terminal only.
    """

    def __init__(self, title: str, total: int | None = None, is_shown: bool | None = None):
        self._bar: Any = None
        self._task: Any = None
        if not (sys.stderr.isatty() if is_shown is None else is_shown):
            return
        try:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
        except ImportError:  # printed lines say enough
            return
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed:,} {task.fields[unit]}"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[note]}"),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._bar.add_task(title, total=total, note="", unit="")

    def __enter__(self) -> ProgressBar:
        if self._bar:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar:
            self._bar.stop()

    def update(self, completed: int, unit: str = "", note: str = "") -> None:
        """Say how much has been done."""
        if self._bar:
            self._bar.update(self._task, completed=completed, unit=unit, note=note)

    def tell(self, line: str) -> None:
        """Print a line above the bar."""
        if self._bar:
            self._bar.console.print(line, highlight=False, markup=False)
        else:
            print(line, flush=True)
