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
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import regex

from .conventions import OPENERS
from .edits import Edit, edited, follows
from .items import Item, join_words, turns_in
from .unspoken import Hidden, audible, find_hidden
from .windows import windows_of
from .words import Word

MAX_OPEN = 10_000  # characters that wait for a word, or for its end: more are committed as they are
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
    words: list[dict[str, Any]]  # those committed in this step


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
        condition: show the model which marks it has committed, instead of letting it read them anew.
        turns: characters of all text fed, in order, where another speaker begins: the sentence before ends there.
        **options: keywords of the pipeline, such as `marks` or `thresholds`; `truecase` needs `condition`.

    Raises:
        ValueError: a setting that cannot work.
    """

    def __init__(
        self,
        restore: Any,
        look_ahead: int = 8,
        left_context: int | None = None,
        condition: bool = False,
        turns: Sequence[int] = (),
        **options: Any,
    ) -> None:
        config = restore.model.config
        if left_context is None:  # with the open words as many as the model's contexts allow
            left_context = max(
                config.left_context, config.left_context + config.right_context + 1 - look_ahead
            )
        if min(look_ahead, left_context) < 0:
            got = f"{look_ahead} and {left_context}"
            raise ValueError(
                f"Expected look_ahead and left_context of 0 words or more, got {got}. Correct them."
            )
        if options.get("truecase") and not condition:
            raise ValueError(
                "Expected condition=True beside truecase: capitals depend on marks committed. Add it."
            )
        self.look_ahead, self.left_context, self.condition = look_ahead, left_context, condition
        self._restore, self._turns = restore, turns
        self._options = {**options, "return_words": True}
        self.committed = ""  # all text that is final
        self._text = ""  # what was fed: the committed words that are still shown, and what is open
        self._boundary = 0  # where in it what is open begins
        self._labels: dict[
            int, str
        ] = {}  # of the committed words in it, by their ends, where they are shown
        self._is_closed = True  # whether its last word is finished
        self._n_dropped = 0  # characters before it
        self._last_sign = ""  # the last of these
        self._begins_line = True  # whether it begins a line
        self._speaker: str | None = None  # whose name stands before it
        self._words: list[tuple[int, int]] = []  # stretches of it that came as words
        self._utterances: list[int] = []  # the blanks in it that stand between two utterances
        self._is_over = False  # whether an utterance is over, and the next one has not begun
        self._hypothesis = ""

    def forget(self) -> None:
        """Drop the committed text, which the caller has; words that are context stay."""
        self.committed = ""

    def feed(self, text: str) -> StreamStep:
        """Take some final text, cut anywhere, even inside a word; it replaces the hypothesis.

        A word counts as finished when a blank follows, a Han word when the next one does.

        Raises:
            TypeError: something else than a string.
        """
        self._take(text)
        return self._step(self.look_ahead)

    def feed_block(self, text: str) -> StreamStep:
        """As `feed`, for a part of a text of which all is at hand: the joined result is that of one call.

        Words wait until the window is full in which one call decides them.

        Raises:
            TypeError: something else than a string.
        """
        self._take(text)
        return self._step(self.look_ahead, whole_windows=True)

    def feed_words(self, words: Iterable[str]) -> StreamStep:
        """Take final, finished words, or one; blanks are put between them as the pipeline does for `{"words": [...]}`.

        Raises:
            TypeError: words that are no strings.
        """
        words = [words] if isinstance(words, str) else list(words)
        if not all(isinstance(word, str) for word in words):
            raise TypeError(f"Expected words as strings, got {words!r:.80}. Convert them first.")
        self._hypothesis = ""
        for word in words:
            self._is_closed = True
            self._take(word)
            self._words.append((len(self._text) - len(word), len(self._text)))
        self._is_closed = self._is_closed or bool(words)
        return self._step(self.look_ahead)

    def hypothesize(self, text: str) -> StreamStep:
        """Take what the recogniser expects to come next. It replaces the last hypothesis; only `flush` commits it."""
        self._hypothesis = self._joined(text.lstrip()) if _checked(text).strip() else ""
        return self._step(None)

    def flush(self, text: str = "") -> StreamStep:
        """Commit everything, the hypothesis or the last text included: the utterance is over.

        What comes next still sees its words; a blank is put between the two unless they are Han or there is one.
        """
        if text != "":  # else the hypothesis would go
            self._take(text)
        self._text += self._hypothesis
        self._hypothesis = ""
        self._is_closed = True
        step = self._step(0, is_last=True)
        self._is_over = True
        return step

    def _take(self, text: str) -> None:
        self._hypothesis = ""
        if _checked(text):
            before = len(self._text)
            self._text += self._joined(text) if self._is_closed else text
            if self._is_over and self._text[before].isspace():
                self._utterances.append(before)
            self._is_closed = self._is_over = False

    def _joined(self, text: str) -> str:
        """The text, with a blank before it where what came before needs one."""
        before = (self._text or self._last_sign)[-1:]
        if not before or before.isspace() or text[:1].isspace():
            return text
        return join_words([before, text])[1:]

    def _step(
        self, look_ahead: int | None, is_last: bool = False, whole_windows: bool = False
    ) -> StreamStep:
        """Restore what is open; commit words that enough others follow, none if `look_ahead` is None, all if last."""
        text, boundary, dropped = self._text + self._hypothesis, self._boundary, self._n_dropped
        lined = self._lined(text)
        hidden = self._hidden(lined, is_last)
        spoken = audible(text, hidden)
        found = self._find_words(spoken)
        after = spoken[found[-1].end :] if found else " "
        is_finished = self._hypothesis or self._is_closed or any(map(str.isspace, after))
        is_finished = is_finished or len(text) - found[-1].start > MAX_OPEN
        # An unfinished word waits: `th` is no `the`, and would mislead the model.
        shown_to = len(text) if is_finished else max(boundary, found[-1].mark_from)
        if not is_last and (unclosed := _UNCLOSED.search(lined, max(boundary, len(text) - 100))):
            shown_to = min(shown_to, unclosed.start())
        shown, found = text[:shown_to], [word for word in found if word.end <= shown_to]
        is_said = spoken[boundary:shown_to].strip()
        words, edits = (
            self._restored(shown, spoken[:shown_to], found, hidden, is_last)
            if is_said
            else ([], [])
        )
        n_final = sum(word["end"] <= len(self._text) for word in words)
        n_commit = 0 if look_ahead is None else max(0, n_final - look_ahead)
        if whole_windows:
            n_commit = max(0, self._n_in_full_windows(found) - (len(found) - len(words)))
        cut = len(shown) if is_last else boundary
        if n_commit and not is_last:
            next_start = words[n_commit]["start"] if n_commit < len(words) else len(shown)
            cut = _cut_after(shown, edits, words[n_commit - 1]["end"], next_start)
        if (
            look_ahead is not None and len(shown) - cut > MAX_OPEN
        ):  # much text without words: it is not kept
            n_commit, cut = n_final, len(shown)
        n_edits = sum(
            edit["start"] < cut or (edit["start"] == cut and follows(edit)) for edit in edits
        )
        step = StreamStep(
            edited(shown, edits[:n_edits], boundary, cut),
            edited(shown, edits[n_edits:], cut) + text[shown_to:],
            [{**edit, "start": edit["start"] + dropped} for edit in edits[:n_edits]],
            [
                {**word, "start": word["start"] + dropped, "end": word["end"] + dropped}
                for word in words[:n_commit]
            ],
        )
        if cut > boundary:
            self.committed += step.committed
            if self.condition:
                self._labels.update((word["end"], word["label"]) for word in words[:n_commit])
            self._commit_to(cut, [word.mark_from for word in found if word.end <= cut], hidden)
        return step

    def _n_in_full_windows(self, words: Sequence[Word]) -> int:
        """How many of the shown words one call decides in windows that no later word changes."""
        slots = self._restore.slots
        pieces = slots.pieces([word.spoken for word in words])
        windows = windows_of(slots.n_pieces(pieces), self._restore.model.config)
        return windows[-1].keep_from if windows else 0

    def _lined(self, text: str) -> str:
        """The text with a line end between two utterances, in the place of the blank there."""
        signs, begun = (
            list(text),
            [len(self._text)] if self._is_over and self._hypothesis[:1].isspace() else [],
        )
        for place in [*self._utterances, *begun]:
            signs[place] = "\n"
        return "".join(signs)

    def _hidden(self, text: str, is_last: bool) -> list[Hidden]:
        """What of the text is not said. A sign stands for what is before it in its line, and for what may come.

        What came as words is no line: they are as they are in a call with `{"words": [...]}`.
        """
        before, after = "." * (not self._begins_line), "." * (not is_last)
        found = [one.moved(-len(before)) for one in find_hidden(before + text + after)]
        places = [bisect_right(self._words, (one.start, len(text))) - 1 for one in found]
        lines = [
            one
            for one, n in zip(found, places, strict=True)
            if n < 0 or self._words[n][1] <= one.start
        ]
        silent = [one.moved(a) for a, b in self._words for one in find_hidden(text[a:b], "word")]
        return sorted(lines + silent)

    def _find_words(self, text: str) -> list[Word]:
        """The words of the text; none has a part that is committed and one that is not, as jieba may find them."""
        found, boundary = self._restore.find_words(text), self._boundary
        if not any(word.start < boundary < word.end for word in found):
            return found
        open_words = (word._asdict() for word in self._restore.find_words(text[boundary:]))
        moved = ("start", "end", "mark_from", "mark_at")
        shifted = [
            Word(**{**word, **{name: word[name] + boundary for name in moved}})
            for word in open_words
        ]
        return [*self._restore.find_words(text[:boundary]), *shifted]

    def _restored(
        self,
        shown: str,
        spoken: str,
        found: Sequence[Word],
        hidden: Sequence[Hidden],
        is_last: bool,
    ) -> tuple[list[dict[str, Any]], list[Edit]]:
        """The open words of a text and its edits, without the marks of words before them, which are decided."""
        begins, boundary = self._n_dropped, self._boundary
        ends = begins + len(shown)
        turns = self._turns[bisect_right(self._turns, begins) : bisect_right(self._turns, ends)]
        known = {
            index: self._labels[word.end]
            for index, word in enumerate(found)
            if word.end in self._labels
        }
        goes_on, changes = (
            not is_last,
            {turn for turn in turns_in(hidden, self._speaker) if turn <= len(shown)},
        )
        relative = tuple(sorted(changes.union(turn - begins for turn in turns)))
        item = Item(
            shown, known, None, relative, goes_on, decides_last=goes_on, words=found, spoken=spoken
        )
        result = self._restore(item, **self._options)
        words = [word for word in result["words"] if word["end"] > boundary]
        first = words[0]["start"] if words else len(shown)
        edits = [edit for edit in result["edits"] if edit["start"] >= boundary]
        return words, [edit for edit in edits if edit["start"] > first or not follows(edit)]

    def _commit_to(self, cut: int, word_starts: Sequence[int], hidden: Sequence[Hidden]) -> None:
        """Move the boundary, and drop what no step will see again: all committed words but the last ones."""
        n_extra = len(word_starts) - self.left_context
        start = 0 if n_extra <= 0 else word_starts[n_extra] if n_extra < len(word_starts) else cut
        if cut - start > MAX_OPEN:  # much between few words that is not said
            start = next((place for place in word_starts if place >= cut - MAX_OPEN), cut)
        self._last_sign = self._text[cut - 1]
        self._begins_line = self._text[start - 1] in "\r\n" if start else self._begins_line
        self._speaker = [
            self._speaker,
            *(one.speaker for one in hidden if one.begins_turn and one.end <= start),
        ][-1]
        self._words = [
            (max(0, first - start), end - start) for first, end in self._words if end > start
        ]
        self._utterances = [place - start for place in self._utterances if place >= start]
        self._text, self._boundary = self._text[start:], cut - start
        self._labels = {
            place - start: label for place, label in self._labels.items() if place > start
        }
        self._n_dropped += start


def _cut_after(shown: str, edits: Sequence[Edit], end: int, next_start: int) -> int:
    """Where the text is cut after a word that ends at `end`: after its mark and closing signs, before a blank."""
    gap = shown[end:next_start]
    cut = end + len(gap.split(maxsplit=1)[0] if gap[:1].strip() else "")
    while cut > end and shown[cut - 1] in OPENERS:
        cut -= 1
    return max(
        [
            cut,
            *(
                edit["start"]
                for edit in edits
                if end < edit["start"] <= next_start and follows(edit)
            ),
        ]
    )


def _checked(text: str) -> str:
    if not isinstance(text, str):
        raise TypeError(
            f"Expected a string, got {type(text).__name__}. Use feed_words for a list, or join it."
        )
    return text


def in_blocks(texts: Iterable[str], size: int) -> Iterator[tuple[str, bool]]:
    """The same text in blocks of `size` letters and digits, and whether each is the last.

    Marks do not count, so a restored text is cut where it was cut before. What has few letters is cut all the same.
    """
    waiting, room = "", size
    for part in (
        text[at : at + size] for text in map(_checked, texts) for at in range(0, len(text), size)
    ):
        places = [place for place, sign in enumerate(part) if sign.isalnum()]
        if len(places) > room or len(waiting) > 8 * size:
            cut = (places[room:] or [len(part)])[0]
            yield waiting + part[:cut], False
            waiting, part, room = "", part[cut:], room + size
        waiting, room = waiting + part, room - len(places)
    yield waiting, True
