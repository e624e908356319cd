"""Progress: a bar with counts on a terminal, lines where the output goes to a file."""

import sys
from typing import Any

from tqdm import tqdm


class ProgressBar(tqdm):  # type: ignore[type-arg]
    """A bar that counts, up to `total` where that is known; a context manager. It is shown on terminals only."""

    def __init__(self, title: str, total: int | None = None, is_shown: bool = True) -> None:
        is_hidden = not (is_shown and sys.stderr.isatty())
        settings: dict[str, Any] = {"disable": is_hidden, "leave": False, "dynamic_ncols": True, "unit_scale": True}
        super().__init__(desc=title, total=total, **settings)

    def count(self, completed: int, unit: str = "", note: str = "") -> None:
        """Say how much has been done."""
        self.unit = f" {unit}"
        self.set_postfix_str(note, refresh=False)
        self.update(completed - self.n)

    def count_more(self, n_more: int, unit: str = "") -> None:
        """Say how much more has been done."""
        self.unit = f" {unit}"
        self.update(n_more)

    def tell(self, line: str) -> None:
        """Print a line above the bar."""
        self.write(line)
        sys.stdout.flush()
