"""What the user sees beside the text itself: messages, a progress bar on a terminal, and marks in colour.

Everything but the coloured text goes to standard error. It knows nothing of files or models.
"""

import sys

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from ..transcripts.placing import SourceEdit

# From these scores on a mark is shown in this colour: green, yellow, red. Bold, and red on its head, for poor screens.
COLOURS = ((0.9, "\x1b[32m\x1b[1m"), (0.7, "\x1b[33m\x1b[1m"), (0.0, "\x1b[31m\x1b[1m\x1b[7m"))
PLAIN = "\x1b[0m"


class Reporter:
    """A bar for the files, and one for the characters of the file at hand; shown on a terminal, unless `quiet`."""

    def __init__(self, n_files: int, quiet: bool):
        self.is_shown = not quiet and sys.stderr.isatty()
        columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
        console = Console(stderr=True)
        self.progress = Progress(
            *columns, MofNCompleteColumn(), console=console, transient=True, disable=not self.is_shown
        )
        self._files = self.progress.add_task("files", total=n_files, visible=n_files > 1)
        self._file = self.progress.add_task("", total=None)

    def begin(self, name: str, n_characters: int) -> None:
        self.progress.reset(self._file, total=max(1, n_characters), description=name[-40:])

    def advance(self, n_characters: int) -> None:
        self.progress.advance(self._file, n_characters)

    def finish(self) -> None:
        self.progress.advance(self._files)


def say(message: str) -> None:
    """A message for people, on standard error."""
    print(f"punctuate: {message}", file=sys.stderr)


def paint(change: SourceEdit) -> str:
    """A mark in the colour of its score. What was not written by the model stays plain."""
    sure = change.edit["score"] if change.edit else None
    if not change.written or sure is None:
        return change.written
    return next(colour for score, colour in COLOURS if sure >= score) + change.written + PLAIN


def legend() -> str:
    """What the colours mean."""
    names = (f"sure ({COLOURS[0][0]:.0%} or more)", f"less sure ({COLOURS[1][0]:.0%} or more)", "unsure")
    return ", ".join(colour + name + PLAIN for (_, colour), name in zip(COLOURS, names, strict=True))
