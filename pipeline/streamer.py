"""Words as they come -> a committed prefix that never changes, and a tentative tail that may.

It works on top of the pipeline and knows text only: no audio, no network.

    fed        okay so the budget is done shall we
    committed  okay, so the budget is done.
    tail                                    shall we        <- may still change; fewer than `look_ahead` words follow
    shown to the model: the last `left_context` committed words and the tail

Committing a word once a fixed number of words follow it is how the CT-Transformer (Chen et al. 2020) bounds its delay;
Li & Lin (2020) wait for words as well.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import regex

from .conventions import OPENERS
from .edits import Edit, edited, follows
from .items import Item
from .live_text import LiveText, checked
from .unspoken import Hidden, audible
from .windows import windows_of
from .words import Word

Entries = list[dict[str, Any]]  # words of a result

MAX_OPEN = 10_000  # characters that wait for a word, or for its end: more are committed as they are
_OPENERS = "".join(OPENERS)
_NO_BLANKS = regex.compile(r"\S*+")
# What may become a sound, a time, a tag or one sign once it is closed.
_UNCLOSED = regex.compile(
    r"(?<![^\n])[ \t]{0,20}\[[^\[\]\n]{0,60}+\Z|<\|[^|<>\n]{0,40}+\|?+\Z"
    r"|\[[ \t]*+[_?*\d:.]{0,20}+[ \t]*+\Z|\x1b[^\sA-Za-z]{0,40}+\Z|&[#\w;]{0,20}+(?<!;)\Z"
)


@dataclass(frozen=True, slots=True)
class StreamStep:
    """What one step gave; offsets are those in all text fed so far."""

    committed: str  # text that is final from now on; it continues what earlier steps committed
    tail: str  # what follows, as it looks at the moment
    edits: list[Edit]  # those that made the committed text, as the pipeline gives them
    words: Entries  # those committed in this step


class PunctuationStreamer:
    """Restores punctuation in words as they come.

    One step is one call of the pipeline on at most `left_context` committed words and the open ones, however long the
    session has lasted. Not safe for several threads.

    Args:
        restore: a `PunctuationRestorationPipeline`.
        look_ahead: finished words that must follow a word before it is committed; 0 commits at once. More than the
            model's right context gain little.
        left_context: committed words that are shown to the model again. None: the model's own setting, and with less
            look-ahead than its right context more words, so that each step costs the same.
        turns: characters of all text fed, in order, where another speaker begins: the sentence before ends there.
        **options: keywords of the pipeline, such as `marks` or `thresholds`.

    Attributes:
        committed: all text that is final. A long session may set it to "" from time to time.

    Raises:
        ValueError, TypeError: a setting that cannot work.
    """

    def __init__(
        self,
        restore: Any,
        look_ahead: int = 8,
        left_context: int | None = None,
        turns: Sequence[int] = (),
        **options: Any,
    ) -> None:
        config = restore.model.config
        if left_context is None:  # with the open words as many as the model's contexts allow
            left_context = config.left_context + max(0, config.right_context + 1 - look_ahead)
        if min(look_ahead, left_context) < 0:
            raise ValueError(
                f"Expected look_ahead and left_context of 0 words or more, got {look_ahead} and {left_context}. "
                "Correct them."
            )
        restore([], **options)  # an option that cannot work is refused before the first word
        self.look_ahead = look_ahead
        # Without one, what is shown would begin a sentence.
        self.left_context = max(1, left_context)
        self.committed = ""
        self._restore = restore
        self._turns = turns
        self._options = {**options, "return_words": True}
        self._live = LiveText()
        self._last_label = config.label_names[0]  # of the committed words

    def feed(self, text: str, whole_windows: bool = False) -> StreamStep:
        """Take some final text, cut anywhere, even inside a word; it replaces the hypothesis.

        A word counts as finished when a blank follows, a Han word when the next one does. With `whole_windows` words
        wait until the window is full in which one call decides them, so the joined result is that of one call.

        Raises:
            TypeError: something else than a string.
        """
        self._live.take(text)
        return self._step(self.look_ahead, whole_windows=whole_windows)

    def feed_words(self, words: Iterable[str]) -> StreamStep:
        """Take final, finished words, or one; blanks are put between them as the pipeline does for `{"words": [...]}`.

        Raises:
            TypeError: words that are no strings.
        """
        words = [words] if isinstance(words, str) else list(map(checked, words))
        self._live.expect("")
        for word in words:
            self._live.take(word, is_word=True)
        return self._step(self.look_ahead)

    def hypothesize(self, text: str) -> StreamStep:
        """Take what the recogniser expects to come next. It replaces the last hypothesis; only `flush` commits it."""
        self._live.expect(text)
        return self._step(None)

    def flush(self, text: str = "") -> StreamStep:
        """Commit everything, the hypothesis or the last text included: the utterance is over.

        What comes next still sees its words; a blank is put between the two unless they are Han or there is one.
        """
        if text != "":  # else the hypothesis would go
            self._live.take(text)
        self._live.close()
        step = self._step(0, final=True)
        self._live.is_over = True
        return step

    def _step(
        self, look_ahead: int | None, final: bool = False, whole_windows: bool = False
    ) -> StreamStep:
        """Restore what is open; commit words that enough others follow, none if `look_ahead` is None, all if final."""
        live = self._live
        hidden = live.hidden(final)
        heard = audible(live.all, hidden)
        turns = live.turns(hidden, self._turns, len(heard))
        words = self._find_words(heard, turns)
        end = self._shown_to(heard, words, final)
        words = [word for word in words if word.end <= end]
        turns = turns[: bisect_right(turns, end)]
        n_before = sum(word.end <= live.boundary for word in words)
        entries, edits = self._restored(heard[:end], words, n_before, turns, final)
        n_finished = sum(entry["end"] <= len(live.text) for entry in entries)
        if look_ahead is None:
            n_commit = 0
        elif whole_windows:
            n_commit = self._n_in_full_windows(words) - n_before
        else:
            n_commit = n_finished - look_ahead
        cut = live.boundary
        if final:
            cut = end
        elif n_commit > 0:
            next_start = entries[n_commit]["start"] if n_commit < len(entries) else end
            cut = _cut_after(live.all, words[n_before + n_commit - 1], next_start)
        if look_ahead is not None and end - cut > MAX_OPEN:  # much text without words is not kept
            n_commit = n_finished
            cut = end
        committed = entries[: max(0, n_commit)]
        step = self._as_step(edits, committed, cut, end)
        if cut > live.boundary:
            self.committed += step.committed
            if committed:
                self._last_label = committed[-1]["label"]
            self._drop(cut, [word.mark_from for word in words if word.end <= cut], hidden)
        return step

    def _find_words(self, text: str, turns: Sequence[int]) -> list[Word]:
        """The words of the text; none has a part that is committed and one that is not, as jieba may find them."""
        boundary = self._live.boundary
        words = self._restore.find_words(text, turns)
        if any(word.start < boundary < word.end for word in words):
            words = self._restore.find_words(text[:boundary], turns)
            words += self._restore.find_words(" " * boundary + text[boundary:], turns)
        return words

    def _shown_to(self, heard: str, words: Sequence[Word], final: bool) -> int:
        """Up to where the text is shown: an unfinished word waits, since `th` is no `the`."""
        live = self._live
        end = len(heard)
        if words and not live.hypothesis and not live.is_closed:
            last = words[-1]
            has_blank = any(map(str.isspace, heard[last.end :]))
            if not has_blank and end - last.start <= MAX_OPEN:
                end = max(live.boundary, last.mark_from)
        unclosed = _UNCLOSED.search(live.all_lined, max(live.boundary, len(heard) - 100) + 1)
        return min(end, unclosed.start() - 1) if unclosed and not final else end

    def _restored(
        self, heard: str, words: Sequence[Word], n_before: int, turns: Sequence[int], final: bool
    ) -> tuple[Entries, list[Edit]]:
        """The open words of what is shown and its edits, without the marks of the `n_before` that are committed."""
        boundary = self._live.boundary
        if not heard[boundary:].strip():
            return [], []
        known = {n_before - 1: self._last_label} if n_before else {}
        item = Item(self._live.all[: len(heard)], known, turns, final, words, heard)
        result = self._restore(item, **self._options)
        entries = result["words"][n_before:]
        first = entries[0]["start"] if entries else len(heard)
        edits = [
            edit
            for edit in result["edits"]
            if edit["start"] >= boundary and (edit["start"] > first or not follows(edit))
        ]
        return entries, edits

    def _n_in_full_windows(self, words: Sequence[Word]) -> int:
        """How many of the shown words one call decides in windows that no later word changes."""
        pieces = self._restore.slots.pieces([word.spoken for word in words])
        windows = windows_of(list(map(len, pieces)), self._restore.model.config)
        return windows[-1].keep_from if windows else 0

    def _as_step(self, edits: Sequence[Edit], committed: Entries, cut: int, end: int) -> StreamStep:
        """The step that commits the text up to `cut`, where it was shown up to `end`; offsets in all text fed."""
        live = self._live
        n_dropped = live.n_dropped
        before = [
            edit
            for edit in edits
            if edit["start"] < cut or (edit["start"] == cut and follows(edit))
        ]
        return StreamStep(
            edited(live.all, before, live.boundary, cut),
            edited(live.all[:end], edits[len(before) :], cut) + live.all[end:],
            [{**edit, "start": edit["start"] + n_dropped} for edit in before],
            [
                {**entry, "start": entry["start"] + n_dropped, "end": entry["end"] + n_dropped}
                for entry in committed
            ],
        )

    def _drop(self, cut: int, word_starts: Sequence[int], hidden: Sequence[Hidden]) -> None:
        """Move the boundary, and drop what no step will see again: all committed words but the last ones."""
        start = 0
        if len(word_starts) > self.left_context:
            start = word_starts[-self.left_context]
        if cut - start > MAX_OPEN:  # much between few words that is not said
            start = next((offset for offset in word_starts if offset >= cut - MAX_OPEN), cut - 1)
        self._live.drop(start, cut, hidden)


def _cut_after(text: str, word: Word, next_start: int) -> int:
    """Where the text is cut after a word: after its mark and closing signs, before a blank."""
    touching = _NO_BLANKS.match(text, word.end, next_start).group()
    return max(word.mark_at, word.end + len(touching.rstrip(_OPENERS)))
