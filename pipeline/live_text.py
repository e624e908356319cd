"""Text as it comes in -> what of it is open, and what is not said. Knows text; no words, marks or models.

text        okay so the budget is done shall we       of all that was fed what is still shown
boundary                               ^              what is open begins here; what is before it is committed
n_dropped   characters were fed before `text`; nobody will see them again
"""

import itertools
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import regex

from .items import join_words, turns_in
from .unspoken import Hidden, Names, find_hidden, find_names

_SIGN = regex.compile(r"\S")


@dataclass(slots=True)
class LiveText:
    """The text of a streamer. Offsets are those in `text`."""

    text: str = ""
    # What of the text is read as lines, after one sign: a line end if the text begins a line. The blank between two
    # utterances is a line end, and each sign of a word that came as such an x: what of it is not said is in `in_words`.
    lined: str = "\n"
    in_words: list[Hidden] = field(default_factory=list)
    boundary: int = 0
    n_dropped: int = 0
    hypothesis: str = ""  # what may come next
    is_closed: bool = True  # whether the last word is finished
    is_over: bool = False  # whether an utterance is over, and the next one has not begun
    speaker: str | None = None  # whose name stands before it
    names: Names = field(default_factory=Names)  # how the lines of what is committed begin

    @property
    def all(self) -> str:
        """The text and what may come next."""
        return self.text + self.hypothesis

    def take(self, text: str, is_word: bool = False) -> None:
        """Add a part of the text, cut anywhere, or a finished word. The hypothesis goes."""
        self.hypothesis = ""
        if not checked(text):
            return
        added = self._joined(text) if self.is_closed or is_word else text
        lined = self._as_lines(added)
        if is_word:
            n_before = len(added) - len(text)
            lined = lined[:n_before] + _SIGN.sub("x", text)
            start = len(self.text) + n_before
            self.in_words += [one.moved(start) for one in find_hidden(text, "word")]
        self.text += added
        self.lined += lined
        self.is_closed = is_word
        self.is_over = False

    def expect(self, text: str) -> None:
        """Set the hypothesis."""
        self.hypothesis = self._joined(text.lstrip()) if checked(text).strip() else ""

    def close(self) -> None:
        """Add the hypothesis; the last word is finished."""
        self.lined = self.all_lined
        self.text = self.all
        self.hypothesis = ""
        self.is_closed = True

    def _joined(self, text: str) -> str:
        """The text, with a blank before it where what came before needs one."""
        before = self.text[-1:]
        if not before or before.isspace() or text[:1].isspace():
            return text
        return join_words([before, text])[1:]

    @property
    def all_lined(self) -> str:
        """As `lined`, with what may come next."""
        return self.lined + self._as_lines(self.hypothesis)

    def _as_lines(self, text: str) -> str:
        """What comes next, with a line end in the place of the blank after an utterance."""
        return "\n" + text[1:] if self.is_over and text[:1].isspace() else text

    def hidden(self, final: bool) -> list[Hidden]:
        """What of the text is not said; a point stands for what may come."""
        lined = self.all_lined + ("" if final else ".")
        in_lines = find_hidden(lined, names=self.names.beside(find_names([lined])))
        return sorted([*(one.moved(-1) for one in in_lines), *self.in_words])

    def turns(self, hidden: Iterable[Hidden], given: Sequence[int], end: int) -> list[int]:
        """Where another speaker begins up to `end`, by names and by `given` offsets in all text fed, in order."""
        first = bisect_right(given, self.n_dropped)
        last = bisect_right(given, self.n_dropped + end)
        others = (turn - self.n_dropped for turn in given[first:last])
        return sorted({*turns_in(hidden, self.speaker), *others})

    def drop(self, start: int, cut: int, hidden: Iterable[Hidden]) -> None:
        """Commit what is before `cut`, and forget what is before `start`, which leaves a committed sign at least."""
        self.names = self.names.beside(find_names([self.lined]))
        # One sign for all that is before it in its line.
        before = "\n" if self.lined[start] in "\r\n" else "."
        for one in hidden:
            if one.begins_turn and one.end <= start:
                self.speaker = one.speaker
        self.in_words = [one.moved(-start) for one in self.in_words if one.end > start]
        self.lined = before + self.lined[start + 1 :]
        self.text = self.text[start:]
        self.boundary = cut - start
        self.n_dropped += start


def checked(text: str) -> str:
    """The text; a TypeError for something else than a string."""
    if not isinstance(text, str):
        raise TypeError(
            f"Expected a string, got {type(text).__name__}. Use feed_words for a list, or join it."
        )
    return text


def in_blocks(texts: Iterable[str], size: int) -> Iterator[tuple[str, bool]]:
    """The same text in blocks of `size` letters and digits, and whether each is the last.

    Marks do not count, so a restored text is cut where it was cut before. What has few letters is cut all the same.
    """
    waiting: list[str] = []
    n_letters = 0
    for sign in itertools.chain.from_iterable(map(checked, texts)):
        waiting.append(sign)
        n_letters += sign.isalnum()
        if n_letters >= size or len(waiting) >= 8 * size:
            yield "".join(waiting), False
            waiting = []
            n_letters = 0
    yield "".join(waiting), True
