"""Text -> words with character offsets: jieba for runs of Han characters, white space and signs elsewhere.

The words are the same with marks and without: so restored text, restored again, comes back unchanged. This stage
knows which signs are marks, not what they mean.

    text     he  said  "hello"  我们用    Python
    words    he  said   hello   我们 用   Python
                             ^ mark_at: after the closing quote
"""

import itertools
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import regex

from .conventions import (
    EITHER,
    ENCLOSING,
    OPENS,
    OPENS_APART,
    UNSPACED,
    known_marks,
    script_of,
)
from .segmentation import (
    BLANK,
    HAS_LETTER_OR_DIGIT,
    SPOKEN,
    HanSegmenter,
    word_patterns,
)

_ENCLOSING, _OPENS, _OPENS_APART = map("".join, (ENCLOSING, OPENS, OPENS_APART))  # to strip
_LETTER = r"[[\p{L}\p{N}]--\p{Han}]"  # an apostrophe or a quote between these is inside a word
_QUOTE = regex.compile(rf"(?V1)[\"＂]|(?<!{_LETTER})['`´＇]|['`´＇](?!{_LETTER})")


class Word(NamedTuple):
    """One word of a text. (A tuple, since a text has many: frozen dataclasses take three times as long to make.)"""

    start: int  # character offsets in the text
    end: int
    text: str  # that stretch of the text
    # What the encoder is shown: no blanks inside a Han word, plain apostrophes and hyphens, nothing invisible, no final
    # point.
    spoken: str
    mark_from: int  # where something before the word is written: in front of its opening quotes and brackets
    mark_at: int  # where a mark after the word is written: after its closing quotes and brackets
    script: str  # row of the table of conventions by which its marks are written


# A word on its way: start, end, what is spoken, and the script of a plain one: ASCII letters between blanks, which
# nothing touches.
_Span = tuple[int, int, str, str | None]


class WordFinder:
    """Finds the words of a text.

    Args:
        marks: the signs that are marks, one character each; the forms in which other scripts write them are added.
        jieba_dictionary: see `HanSegmenter`, which refuses one that cannot be read.
    """

    def __init__(
        self, marks: Iterable[str], jieba_dictionary: str | Sequence[str] | None = None
    ) -> None:
        self._given = tuple(marks), jieba_dictionary
        self.marks = frozenset(known_marks(self._given[0]))
        self.segment = HanSegmenter(jieba_dictionary)
        self._patterns = word_patterns(self.marks)

    def __call__(self, text: str, turns: Iterable[int] = ()) -> list[Word]:
        """Words of `text`, in order and without overlap. Text without letter or digit has none.

        `turns` are offsets at which another speaker begins, in order: no mark of a word is written after one.
        """
        turns = [*turns, len(text)]
        spans = list(self._spans(text))
        starts = [*(start for start, *_ in spans), len(text)]
        closing = _closing_quotes(text)
        words = []
        previous_end, previous_script = 0, "Latin"
        for (start, end, spoken, script), following in zip(spans, starts[1:], strict=True):
            mark_from, mark_at = start, end
            if script is None:
                following = min(following, turns[bisect_left(turns, end)])
                mark_from = before_openers(text, previous_end, start)
                mark_at = self._after_closers(text, end, following, closing)
                script = script_of(spoken)
            if script is None:
                # A number is written like what it touches (2020年), or like the word before it.
                is_apart = BLANK.search(text, previous_end, start)
                script = "Latin" if is_apart and previous_script in UNSPACED else previous_script
            words.append(Word(start, end, text[start:end], spoken, mark_from, mark_at, script))
            previous_end, previous_script = mark_at, script
        return _with_han_neighbours(text, words)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._given  # a frozenset is pickled in another order by every process

    def _spans(self, text: str) -> Iterator[_Span]:
        for match in self._patterns["WORD"].finditer(text):
            kind, word, (start, end) = match.lastgroup, match.group(), match.span()
            if kind == "plain":
                for plain in word.split(" ")[:-1]:
                    yield start, start + len(plain), plain, "Latin"
                    start += len(plain) + 1
            elif kind == "han":
                yield from self._han_spans(word, start)
            elif kind == "link":
                yield start, end, word, None
            elif kind == "other" and HAS_LETTER_OR_DIGIT.search(word):
                end += self._owns_point(word, text, end)  # but the point is never spoken
                yield start, end, word.translate(SPOKEN), None

    def _owns_point(self, word: str, text: str, end: int) -> bool:
        """Whether the point after a word, which ends at `end` of a text, belongs to it."""
        owner = text.startswith(".", end) and self._patterns["OWNS_POINT"].fullmatch(word)
        return bool(owner and self._patterns[f"POINT_{owner.lastgroup}"].match(text, end))

    def _han_spans(self, run: str, offset: int) -> Iterator[_Span]:
        """Words of one run of Han characters, which blanks and marks may interrupt."""
        spans = [match.span() for match in self._patterns["HAN"].finditer(run)]
        characters = "".join(run[start] for start, _ in spans)
        cuts = set(itertools.accumulate(map(len, self.segment(characters)), initial=0))
        # A jieba word never reaches over a mark that the user has written.
        for index, ((_, end), (start, _)) in enumerate(itertools.pairwise(spans), start=1):
            if not self.marks.isdisjoint(run[end:start]):
                cuts.add(index)
        for first, stop in itertools.pairwise(sorted(cuts)):
            start, end = spans[first][0], spans[stop - 1][1]
            yield offset + start, offset + end, characters[first:stop], None

    def _after_closers(self, text: str, end: int, following: int, closing: Container[int]) -> int:
        """Offset after the quotes and brackets that close right after a word, and after marks between them."""
        if following == len(text) or not self._patterns["BETWEEN"].fullmatch(text, end, following):
            return self._patterns["CLOSING_APART"].match(text, end, following).end()
        opens = text[end:following][-1:] in EITHER and following - 1 not in closing
        return self._patterns["CLOSING_TOUCHING"].match(text, end, following - opens).end()


def before_openers(text: str, previous_end: int, start: int) -> int:
    """Offset before the quotes and brackets that open right before a word."""
    gap = text[previous_end:start]
    run = gap[len(gap.rstrip(_ENCLOSING)) :]
    touches = previous_end > 0 and run == gap  # the word before
    return start - len(run) + len(run.rstrip(_OPENS if touches else _OPENS_APART))


def _closing_quotes(text: str) -> set[int]:
    """Where a sign that opens and closes closes: it opens the first time, closes the second time, and so on."""
    counts = defaultdict[str, Iterator[int]](itertools.count)
    quotes = _QUOTE.finditer(text)
    return {match.start() for match in quotes if next(counts[match.group()]) % 2}


def _with_han_neighbours(text: str, words: list[Word]) -> list[Word]:
    """Give Latin words and numbers Han marks where they touch Han text without white space, on either side."""
    if not any(word.script == "Han" for word in words):
        return words
    pairs = itertools.pairwise(words)
    blanks = (BLANK.search(text, word.end, following.start) for word, following in pairs)
    # Which stretch without white space each word is in.
    stretches = list(itertools.accumulate(map(bool, blanks), initial=0))
    numbered = list(zip(stretches, words, strict=True))
    with_han = {stretch for stretch, word in numbered if word.script == "Han"}
    return [
        word._replace(script="Han") if stretch in with_han and word.script not in UNSPACED else word
        for stretch, word in numbered
    ]
