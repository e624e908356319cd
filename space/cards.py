"""What the page's events show: a text, a file or a recording -> HTML, again and again while it is restored.

Every way ends with a result, a hint or a sentence that says what is wrong; an older result never stays. It knows no
Gradio but how to leave a card as it is.
"""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gradio as gr
from restorer import PageRestorer, Values
from views import EMPTY, Shown, card, hint, problem, progress

LIVE_CHARACTERS = 4_000  # a longer text is restored when the button is pressed, not at every key
SECONDS_BETWEEN = 0.5  # two views of a text on its way


class Cards:
    """Cards for what visitors give; `recognise` takes the path of a recording, and gives its text and words."""

    def __init__(self, restorer: PageRestorer, recognise: Any = None) -> None:
        self.restorer, self.recognise = restorer, recognise

    def of(self, given: Any, *options: Any) -> Iterator[str]:
        """Cards of a text, of the path of a file or of what was heard on its way, not too many.

        The last one is the result, or says what is wrong.
        """
        shown_at = time.monotonic()
        try:
            for step in self.restorer.restored(given, *options):
                if isinstance(step, Shown):
                    yield card(step)
                elif time.monotonic() - shown_at > SECONDS_BETWEEN:
                    yield progress("Restored", step.share, step.so_far)
                    shown_at = time.monotonic()
        except ValueError as error:
            yield problem(str(error))

    def of_text(self, text: str, *options: Any) -> Iterator[str]:
        """Cards of a text."""
        yield from self.of(text, *options) if text.strip() else [hint(EMPTY)]

    def live(self, text: str, is_live: bool, *options: Any) -> Iterator[str]:
        """Cards of a text that is being typed."""
        if text.strip() and not is_live:
            yield hint("Press Restore to see this text with its marks.")
        elif len(text) > LIVE_CHARACTERS:
            yield hint("A long text: press Restore.")
        else:
            yield from self.of_text(text, *options)

    def of_file(self, path: str | None, *options: Any) -> Iterator[Any]:
        """Cards of a file; one that was taken away leaves the card as it is."""
        if path:
            yield progress("Reading")
            yield from self.of(Path(path), *options)

    def of_sound(self, path: str | None, *options: Any) -> Iterator[tuple[Any, str, Any]]:
        """What a recording says, as the recogniser gives it and as text, and cards of it."""
        yield None, "", progress("Listening") if path else gr.skip()
        if path:
            try:
                heard = self.recognise(Path(path))
            except ValueError as error:
                yield None, "", problem(str(error))
                return
            for shown in self.of_heard(heard, *options):
                yield heard, heard["text"].strip(), shown

    def of_heard(self, heard: Values | None, *options: Any) -> Iterator[str]:
        """Cards of what was heard; nothing where no recording is there."""
        if heard and heard["text"].strip():
            yield from self.of(heard, *options)
        elif heard:
            yield hint("Nobody is heard to speak in this recording.")

    def of_all(
        self, text: str, is_live: bool, path: str | None, heard: Any, *options: Any
    ) -> Iterator[tuple[Any, ...]]:
        """Cards of all that is there, one after the other."""
        of_tabs = (
            self.live(text, is_live, *options),
            self.of_file(path, *options),
            self.of_heard(heard, *options),
        )
        for tab, cards in enumerate(of_tabs):
            for shown in cards:
                row = [gr.skip()] * len(of_tabs)
                row[tab] = shown
                yield tuple(row)
