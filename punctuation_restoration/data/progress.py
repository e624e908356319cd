"""Progress: a bar with counts on a terminal, lines where the output goes to a file."""

import sys

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn


class ProgressBar(Progress):
    """A bar that counts, up to `total` where that is known; a context manager. It is shown on terminals only."""

    def __init__(self, title: str, total: int | None = None, is_shown: bool = True):
        super().__init__(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed:,} {task.fields[unit]}"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[note]}"),
            console=Console(stderr=True),
            transient=True,
            disable=not (is_shown and sys.stderr.isatty()),
        )
        self._task = self.add_task(title, total=total, note="", unit="")

    def count(self, completed: int, unit: str = "", note: str = "") -> None:
        """Say how much has been done."""
        self.update(self._task, completed=completed, unit=unit, note=note)

    def count_more(self, n_more: int, unit: str = "") -> None:
        """Say how much more has been done."""
        self.update(self._task, advance=n_more, unit=unit)

    def tell(self, line: str) -> None:
        """Print a line above the bar."""
        if self.disable:
            print(line, flush=True)
        else:
            self.console.print(line, highlight=False, markup=False)
