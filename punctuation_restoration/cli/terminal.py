"""What the user sees beside the text itself: messages on standard error, and marks in colour."""

import sys

from ..transcripts.placing import SourceEdit

# From these scores on a mark is shown in this colour: green, yellow, red. Bold, and red on its head, for poor screens.
COLOURS = ((0.9, "\x1b[32m\x1b[1m"), (0.7, "\x1b[33m\x1b[1m"), (0.0, "\x1b[31m\x1b[1m\x1b[7m"))
PLAIN = "\x1b[0m"


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
