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
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import regex

from .conventions import (
    CLOSERS,
    CLOSES_APART,
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
    COMBINING,
    HAN_CHARACTER,
    HAS_LETTER_OR_DIGIT,
    SPOKEN,
    HanSegmenter,
    WordPatterns,
)

_ENCLOSING, _OPENS, _OPENS_APART = map("".join, (ENCLOSING, OPENS, OPENS_APART))  # to strip
_UNITS = frozenset("%％‰℃℉°")  # what hangs on a Han word comes before its mark
_HANGING = _UNITS | {*"~～"}
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


class Span(NamedTuple):
    """A word on its way. The script is known of a plain one: ASCII letters between blanks, which nothing touches."""

    start: int
    end: int
    spoken: str
    script: str | None = None


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
        self._patterns = WordPatterns(self.marks)

    def __call__(self, text: str, turns: Iterable[int] = ()) -> list[Word]:
        """Words of `text`, in order and without overlap. Text without letter or digit has none.

        `turns` are offsets at which another speaker begins, in order: no mark of a word is written after one.
        """
        turns = [*turns, len(text)]
        spans = list(self._spans(text))
        words: list[Word] = []
        quotes = _quote_offsets(text)
        previous_end, previous_script = 0, "Latin"
        for index, (start, end, spoken, script) in enumerate(spans):
            if script is not None:
                words.append(Word(start, end, spoken, spoken, start, end, script))
            else:
                following = spans[index + 1].start if index + 1 < len(spans) else len(text)
                following = min(following, turns[bisect_left(turns, end)])
                mark_from = before_openers(text, previous_end, start)
                mark_at = _after_closers(text, end, following, self.marks, quotes)
                script = script_of(spoken)
                if (
                    script is None
                ):  # a number is written like what it touches (2020年), or like the word before it
                    touches = bool(words) and not BLANK.search(text, previous_end, start)
                    script = (
                        previous_script if touches or previous_script not in UNSPACED else "Latin"
                    )
                words.append(Word(start, end, text[start:end], spoken, mark_from, mark_at, script))
                end = mark_at
            previous_end, previous_script = end, script
        return _with_han_neighbours(text, words)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._given  # a frozenset is pickled in another order by every process

    def _spans(self, text: str) -> Iterator[Span]:
        for match in self._patterns.word.finditer(text):
            kind = match.lastgroup
            if kind == "plain":
                start = match.start()
                for word in match.group().split(" ")[:-1]:
                    yield Span(start, start + len(word), word, "Latin")
                    start += len(word) + 1
            elif kind == "han":
                yield from self._han_spans(match.group(), match.start())
            elif kind == "link":
                # A link without the marks, brackets and pictures that come after it.
                link = match.group()[: self._patterns.link_tail.search(match.group()).start()]
                yield Span(match.start(), match.start() + len(link), link)
            elif kind == "other" and HAS_LETTER_OR_DIGIT.search(match.group()):
                word, end = match.group(), match.end()
                end += self._patterns.owns_point(word, text, end)  # but the point is never spoken
                spoken = word if word.isascii() and "`" not in word else word.translate(SPOKEN)
                yield Span(match.start(), end, spoken)

    def _han_spans(self, run: str, offset: int) -> Iterator[Span]:
        """Words of one run of Han characters, which blanks and marks may interrupt."""
        spans = [match.span() for match in HAN_CHARACTER.finditer(run)]
        characters = "".join(run[start] for start, _ in spans)
        cuts = set(itertools.accumulate(map(len, self.segment(characters)), initial=0))
        # A jieba word never reaches over a mark that the user has written.
        if spans[-1][1] != len(spans):
            for index, ((_, end), (start, _)) in enumerate(itertools.pairwise(spans), start=1):
                if not self.marks.isdisjoint(run[end:start]):
                    cuts.add(index)
        for first, stop in itertools.pairwise(sorted(cuts)):
            start, end = spans[first][0], spans[stop - 1][1]
            yield Span(offset + start, offset + end, characters[first:stop])


def before_openers(text: str, previous_end: int, start: int) -> int:
    """Offset before the quotes and brackets that open right before a word."""
    gap = text[previous_end:start]
    run = gap[len(gap.rstrip(_ENCLOSING)) :]
    touches = previous_end > 0 and run == gap  # the word before
    return start - len(run) + len(run.rstrip(_OPENS if touches else _OPENS_APART))


def _after_closers(
    text: str, end: int, following: int, marks: frozenset[str], quotes: dict[str, list[int]]
) -> int:
    """Offset after the quotes and brackets that close right after a word, and after marks between them."""
    run_end = end
    while run_end < following and (
        text[run_end] in ENCLOSING or text[run_end] in marks or text[run_end] in _HANGING
    ):
        run_end += 1
    touches = run_end == following < len(text)
    mark_at = end
    for offset in range(end, run_end):
        sign = text[offset]
        if sign in EITHER:
            if touches and offset + 1 == run_end and bisect_left(quotes[sign], offset) % 2 == 0:
                break  # it opens
        elif sign in _UNITS or (sign in "~～" and not touches):
            pass
        elif sign not in (CLOSERS if touches else CLOSES_APART):
            if sign in marks:
                continue
            break
        mark_at = offset + 1
    if mark_at < following and not text[mark_at].isascii():
        mark_at = COMBINING.match(
            text, mark_at, following
        ).end()  # never between a sign and its accent
    return mark_at


def _quote_offsets(text: str) -> dict[str, list[int]]:
    """Where each sign is a quote, in order: the first one opens, the second one closes, and so on."""
    offsets = defaultdict[str, list[int]](list)
    for match in _QUOTE.finditer(text):
        offsets[match.group()].append(match.start())
    return offsets


def _with_han_neighbours(text: str, words: list[Word]) -> list[Word]:
    """Give Latin words and numbers Han marks where they touch Han text without white space, on either side."""
    scripts = {word.script for word in words}
    if "Han" not in scripts or scripts <= set(UNSPACED):
        return words
    first = 0
    for end in range(1, len(words) + 1):
        if end < len(words) and not BLANK.search(text, words[end - 1].end, words[end].start):
            continue
        chain = range(first, end)  # words without white space between them
        if any(words[index].script == "Han" for index in chain):
            for index in chain:
                if words[index].script not in UNSPACED:
                    words[index] = words[index]._replace(script="Han")
        first = end
    return words
