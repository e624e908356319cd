"""Text as it comes in -> what of it is open, and what is not said. Knows text; no words, marks or models.

text        okay so the budget is done shall we       of all that was fed what is still shown
boundary                               ^              what is open begins here; what is before it is committed
n_dropped   characters were fed before `text`; nobody will see them again
"""

import itertools
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from .items import join_words, turns_in
from .unspoken import Hidden, find_hidden


@dataclass(slots=True)
class LiveText:
    """The text of a streamer. Offsets are those in `text`."""

    text: str = ""
    boundary: int = 0
    n_dropped: int = 0
    hypothesis: str = ""  # what may come next
    is_closed: bool = True  # whether the last word is finished
    is_over: bool = False  # whether an utterance is over, and the next one has not begun
    last_sign: str = ""  # the last one that is committed
    begins_line: bool = True  # whether the text begins a line
    speaker: str | None = None  # whose name stands before it
    given_words: list[tuple[int, int]] = field(default_factory=list)  # stretches that came as words
    utterances: list[int] = field(default_factory=list)  # blanks between two utterances

    @property
    def all(self) -> str:
        """The text and what may come next."""
        return self.text + self.hypothesis

    def take(self, text: str) -> None:
        """Add a part of the text, cut anywhere. The hypothesis goes."""
        self.hypothesis = ""
        if not checked(text):
            return
        n_before = len(self.text)
        self.text += self._joined(text) if self.is_closed else text
        if self.is_over and self.text[n_before].isspace():
            self.utterances.append(n_before)
        self.is_closed = self.is_over = False

    def take_word(self, word: str) -> None:
        """Add a finished word."""
        self.is_closed = True
        self.take(word)
        self.given_words.append((len(self.text) - len(word), len(self.text)))
        self.is_closed = True

    def expect(self, text: str) -> None:
        """Set the hypothesis."""
        self.hypothesis = self._joined(text.lstrip()) if checked(text).strip() else ""

    def close(self) -> None:
        """Add the hypothesis; the last word is finished."""
        self.text = self.all
        self.hypothesis = ""
        self.is_closed = True

    def _joined(self, text: str) -> str:
        """The text, with a blank before it where what came before needs one."""
        before = (self.text or self.last_sign)[-1:]
        if not before or before.isspace() or text[:1].isspace():
            return text
        return join_words([before, text])[1:]

    def lined(self) -> str:
        """All of the text, with a line end between two utterances in the place of the blank there."""
        signs = list(self.all)
        for offset in self.utterances:
            signs[offset] = "\n"
        if self.is_over and self.hypothesis[:1].isspace():
            signs[len(self.text)] = "\n"
        return "".join(signs)

    def hidden(self, lined: str, final: bool) -> list[Hidden]:
        """What of the text is not said. A sign stands for what is before it in its line, and for what may come.

        What came as words is no line: they are as they are in a call with `{"words": [...]}`.
        """
        before = "" if self.begins_line else "."
        after = "" if final else "."
        in_lines = (one.moved(-len(before)) for one in find_hidden(before + lined + after))
        in_words = (
            one.moved(start)
            for start, end in self.given_words
            for one in find_hidden(lined[start:end], "word")
        )
        return sorted([*(one for one in in_lines if not self._is_in_word(one.start)), *in_words])

    def _is_in_word(self, offset: int) -> bool:
        """Whether a character came as part of a word."""
        index = bisect_right(self.given_words, (offset, len(self.all))) - 1
        return index >= 0 and offset < self.given_words[index][1]

    def turns(self, hidden: Iterable[Hidden], given: Sequence[int], end: int) -> tuple[int, ...]:
        """Where another speaker begins up to `end`, by names and by `given` offsets in all text fed."""
        first = bisect_right(given, self.n_dropped)
        last = bisect_right(given, self.n_dropped + end)
        named = {turn for turn in turns_in(hidden, self.speaker) if turn <= end}
        return tuple(sorted(named.union(turn - self.n_dropped for turn in given[first:last])))

    def drop(self, start: int, cut: int, hidden: Iterable[Hidden]) -> None:
        """Commit what is before `cut`, and forget what is before `start`."""
        self.last_sign = self.text[cut - 1]
        if start:
            self.begins_line = self.text[start - 1] in "\r\n"
        for one in hidden:
            if one.begins_turn and one.end <= start:
                self.speaker = one.speaker
        self.given_words = [
            (max(0, first - start), end - start) for first, end in self.given_words if end > start
        ]
        self.utterances = [offset - start for offset in self.utterances if offset >= start]
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
        n_letters += sign.isalnum()
        if n_letters > size or len(waiting) > 8 * size:
            yield "".join(waiting), False
            waiting = []
            n_letters = int(sign.isalnum())
        waiting.append(sign)
    yield "".join(waiting), True
