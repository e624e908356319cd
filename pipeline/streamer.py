"""Words as they come -> a committed prefix that never changes, and a tentative tail that may.

It works on top of the pipeline and knows text only: no audio, no network, no model.

    fed        okay so the budget is done shall we
    committed  okay, so the budget is done.
    tail                                    shall we        <- may still change; fewer than `look_ahead` words follow
    shown to the model: the last `left_context` committed words and the tail

Committing a word once a fixed number of words follow it is how the CT-Transformer (Chen et al. 2020) bounds its delay;
Li & Lin (2020) wait for words as well.
"""

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .items import join_words


@dataclass(frozen=True, slots=True)
class StreamStep:
    """What one step gave.

    Attributes:
        committed: text that is final from now on; it continues what earlier steps committed.
        tail: what follows, as it looks at the moment.
        words: the words committed in this step, as the pipeline gives them, but with offsets in all text fed so far.
    """

    committed: str
    tail: str
    words: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _OpenWord:
    """A word of the shown text that is not committed. Where it stands there, and where in the restored text."""

    start: int
    end: int
    restored_start: int
    restored_end: int
    entry: dict[str, Any]


class PunctuationStreamer:
    """Restores punctuation in words as they come.

    Args:
        restore: a `PunctuationRestorationPipeline`.
        look_ahead: so many finished words must follow a word before it is committed; 0 commits at once, more is more
            accurate. Beyond the model's right context little changes, since the pipeline's windows see no more.
        left_context: committed words that are shown to the model again; None: the model's own setting, and with less
            look-ahead than its right context the words that this saves, so that each step costs the same.
        condition: show the model which marks it has committed, instead of letting it read them anew.
        **options: keywords of the pipeline, such as `marks` or `thresholds`; `existing` may not be "replace", and
            `truecase` needs `condition`.

    One step is one call of the model on at most `left_context` committed words and the open ones, however long the
    session has lasted. Not safe for several threads.

    Raises:
        ValueError: a setting that cannot work.
    """

    def __init__(
        self,
        restore: Any,
        look_ahead: int = 8,
        left_context: int | None = None,
        condition: bool = False,
        **options: Any,
    ) -> None:
        if left_context is None:
            left_context = default_left_context(restore.model.config, look_ahead)
        if min(look_ahead, left_context) < 0:
            raise ValueError(
                f"Expected look_ahead and left_context of 0 words or more, got {look_ahead} and {left_context}. "
                "Correct them."
            )
        if options.get("existing") == "replace":
            raise ValueError("Expected existing to be 'keep' or 'condition' in a stream, got 'replace'. Choose one.")
        if options.get("truecase") and not condition:
            raise ValueError(
                "Expected condition=True beside truecase, since capitals depend on the marks committed. Add it."
            )
        self.look_ahead = look_ahead
        self.left_context = left_context
        self.condition = condition
        self._restore = restore
        self._options = options
        self.reset()

    def reset(self) -> None:
        """Forget everything, as for a new recording."""
        self._parts: list[str] = []  # committed text
        self._left = ""  # the last committed words, without the marks that were put in
        self._left_labels: dict[int, str] = {}  # end of a word in `_left` -> its label
        self._pending = ""  # final text that is not committed
        self._hypothesis = ""
        self._is_closed = True  # whether the last word of `_pending` is finished
        self._begins = False  # whether an utterance has ended, and the next has not begun
        self._n_dropped = 0  # characters fed before `_left`
        self._last_sign = ""  # of all that is committed

    @property
    def committed(self) -> str:
        """All text that is final."""
        if len(self._parts) > 1:
            self._parts = ["".join(self._parts)]
        return self._parts[0] if self._parts else ""

    def forget(self) -> None:
        """Drop the committed text, which the caller has; words that are context stay."""
        self._parts = []

    def feed(self, text: str) -> StreamStep:
        """Take a piece of final text, cut anywhere, even inside a word; it replaces the hypothesis.

        A word counts as finished when a blank follows, a Han word when the next one does.

        Raises:
            TypeError: something else than a string.
        """
        if not isinstance(text, str):
            raise TypeError(f"Expected a string, got {type(text).__name__}. Use feed_words for a list of words.")
        self._hypothesis = ""
        if text:
            self._pending += self._joined(text) if self._begins else text
            self._is_closed = self._begins = False
        return self._step(self.look_ahead)

    def feed_words(self, words: Iterable[str]) -> StreamStep:
        """Take final, finished words; blanks are put between them as the pipeline does for `{"words": [...]}`.

        Raises:
            TypeError: a single string, or words that are no strings.
        """
        words = [words] if isinstance(words, str) else list(words)
        if not all(isinstance(word, str) for word in words):
            raise TypeError(f"Expected words as strings, got {words!r:.80}. Convert them first.")
        self._hypothesis = ""
        for word in filter(None, words):
            self._pending += self._joined(word)
            self._is_closed, self._begins = True, False
        return self._step(self.look_ahead)

    def hypothesize(self, text: str) -> StreamStep:
        """Take what the recogniser thinks comes next: it takes the place of its last hypothesis, and nothing of it is
        committed. What was fed stands before it."""
        self._hypothesis = self._joined(text.lstrip()) if text.strip() else ""
        return self._step(None)

    def flush(self) -> StreamStep:
        """Commit everything, the hypothesis included: the utterance is over.

        What comes next still sees its words; a blank is put between the two unless they are Han or there is one.
        """
        self._pending += self._hypothesis
        self._hypothesis = ""
        self._is_closed = self._begins = True
        step = self._step(0)
        rest = step.tail  # signs and blanks after the last word
        self._parts.append(rest)
        self._shorten(len(self._pending), {})
        return StreamStep(step.committed + rest, "", step.words)

    def _joined(self, word: str) -> str:
        """The word, with a blank before it where one is needed behind what came before."""
        before = (self._pending or self._left or self._last_sign)[-1:]
        if not before or before.isspace() or word[:1].isspace():
            return word
        return join_words([before, word])[1:]

    def _step(self, look_ahead: int | None) -> StreamStep:
        """Restore what is open; commit words that enough others follow, none if `look_ahead` is None."""
        text = self._left + self._pending + self._hypothesis
        shown_to = self._shown_to(text)
        shown, partial = text[:shown_to], text[shown_to:]
        boundary = len(self._left)
        if not shown[boundary:].strip():
            return StreamStep("", text[boundary:])
        result = self._restore(self._item(shown), **self._options)
        open_words = _open_words(shown, result, boundary)
        if not open_words:
            return StreamStep("", text[boundary:])
        from_boundary = _from_boundary(shown, result["text"], open_words[0], boundary)
        n_final = sum(1 for word in open_words if word.end <= boundary + len(self._pending))
        n_commit = 0 if look_ahead is None else max(0, n_final - look_ahead)
        if not n_commit:
            return StreamStep("", from_boundary + partial)
        following = open_words[n_commit] if n_commit < len(open_words) else None
        cut, restored_cut = _cut_after(shown, result["text"], open_words[n_commit - 1], following)
        committed = from_boundary[: len(from_boundary) - (len(result["text"]) - restored_cut)]
        labels = {word.end: word.entry["label"] for word in open_words[:n_commit]}
        words = [self._placed(word.entry) for word in open_words[:n_commit]]
        self._parts.append(committed)
        self._shorten(cut - boundary, labels)
        return StreamStep(committed, from_boundary[len(committed) :] + partial, words)

    def _shown_to(self, text: str) -> int:
        """Where the finished words end. An unfinished one waits: `th` is no `the`, and would mislead the model."""
        if self._hypothesis or self._is_closed or not text or text[-1].isspace():
            return len(text)
        words = self._restore.find_words(text)
        if not words or any(sign.isspace() for sign in text[words[-1].end :]):
            return len(text)
        return max(len(self._left), words[-1].mark_from)

    def _item(self, shown: str) -> dict[str, Any]:
        if not self.condition:
            return {"text": shown}
        words = self._restore.find_words(shown)
        known = {n: self._left_labels[word.end] for n, word in enumerate(words) if word.end in self._left_labels}
        return {"text": shown, "known": known}

    def _placed(self, entry: Mapping[str, Any]) -> dict[str, Any]:
        return {**entry, "start": entry["start"] + self._n_dropped, "end": entry["end"] + self._n_dropped}

    def _shorten(self, n_characters: int, labels: Mapping[int, str]) -> None:
        """Move the first characters of what is pending to the left context, and forget what no step will see again."""
        self._left += self._pending[:n_characters]
        self._pending = self._pending[n_characters:]
        self._left_labels.update(labels)
        self._last_sign = self._left[-1:]
        words = self._restore.find_words(self._left)
        n_extra = len(words) - self.left_context
        if n_extra > 0:
            start = words[n_extra].mark_from if n_extra < len(words) else len(self._left)
            self._left = self._left[start:]
            self._left_labels = {end - start: label for end, label in self._left_labels.items() if end > start}
            self._n_dropped += start


def default_left_context(config: Any, look_ahead: int) -> int:
    """Committed words to show where nothing else is said: with the open ones as many as the model's contexts allow."""
    return max(config.left_context, config.left_context + config.right_context + 1 - look_ahead)


def _open_words(shown: str, result: Mapping[str, Any], boundary: int) -> list[_OpenWord]:
    """The words that end behind the boundary, found again in the restored text, where they stand in the same order."""
    restored = _lower(result["text"])
    place = 0
    found: list[_OpenWord] = []
    for entry in result["words"]:
        said = _lower(shown[entry["start"] : entry["end"]])
        start = restored.index(said, place)
        place = start + len(said)
        if entry["end"] > boundary:
            found.append(_OpenWord(entry["start"], entry["end"], start, place, entry))
    return found


def _lower(text: str) -> str:
    """Lower case, letter for letter: truecasing changes letters, never lengths."""
    return "".join(sign.lower() if len(sign.lower()) == 1 else sign for sign in text)


def _from_boundary(shown: str, restored: str, first: _OpenWord, boundary: int) -> str:
    """The restored text behind the boundary, without marks of words before it: those words are decided."""
    if first.start < boundary:  # Han text fed in pieces: the first word began before
        return restored[first.restored_start + boundary - first.start :]
    gap = shown[boundary : first.start]
    opening = restored[: first.restored_start]
    n_opening = len(opening) - len(_without_openers(opening))
    n_in_gap = len(gap) - len(_without_openers(gap))
    # An opening mark such as `¿` belongs to the word that follows, and is new.
    return gap[: len(gap) - n_in_gap] + restored[first.restored_start - max(n_opening, n_in_gap) :]


def _cut_after(shown: str, restored: str, word: _OpenWord, following: _OpenWord | None) -> tuple[int, int]:
    """Where the text is cut behind a word, its marks and closing signs: in the shown and in the restored text."""
    gap = shown[word.end : following.start if following else len(shown)]
    restored_gap = restored[word.restored_end : following.restored_start if following else len(restored)]
    length = _length_before_blank(restored_gap)
    return word.end + _n_given(gap, restored_gap[:length]), word.restored_end + length


def _n_given(gap: str, restored: str) -> int:
    """How many signs of the gap stand in the beginning of its restored twin, which has marks besides."""
    n_given = 0
    for sign in restored:
        n_given += gap[n_given : n_given + 1] == sign
    return n_given


def _length_before_blank(gap: str) -> int:
    for place, sign in enumerate(gap):
        if sign.isspace():
            return len(_without_openers(gap[:place]))
    return len(_without_openers(gap))


def _without_openers(text: str) -> str:
    """Without the opening quotes, brackets and marks at its end."""
    end = len(text)
    while end and (text[end - 1] in "¿¡" or unicodedata.category(text[end - 1]) in ("Ps", "Pi")):
        end -= 1
    return text[:end]
