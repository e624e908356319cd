"""Text -> words with character offsets: jieba for runs of Han characters, white space and signs elsewhere.

Marks that the text already has are read over: the words are the same with them and without them, which is what makes
restored text, restored again, come back unchanged. This stage knows which signs are marks, not what they mean, and
nothing of pieces or models.

    text     he  said  "hello"  我们用    Python
    words    he  said   hello   我们 用   Python
                             ^ mark_at: after the closing quote
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import regex

from .conventions import AMBIGUOUS_QUOTES, CLOSERS, OPENERS, QUOTES_AND_BRACKETS, script_of
from .segmentation import HanSegmenter

# Words whose final point belongs to them, in lower case and without that point. A single capital before a capital
# (an initial) and letters with points between them (u.s.a., e.g.) are found by their shape.
ABBREVIATIONS = frozenset(
    "mr mrs ms dr prof st sr jr rev hon gov capt lt sgt maj mt vs etc inc ltd corp dept approx vol eds cf jan feb apr "
    "aug sept oct nov dec dll dsb sdn bhd hjh jln spt yb yab ybhg".split()
)


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a text.

    Attributes:
        start, end: character offsets in the text; `text` is what stands there.
        spoken: what the encoder is shown: no blanks inside a Han word, plain apostrophes, no final point.
        mark_from: offset at which something before the word is written: in front of its opening quotes and brackets.
        mark_at: offset at which a mark after the word is written: behind its closing quotes and brackets.
        script: row of the table of conventions by which its marks are written.
    """

    start: int
    end: int
    text: str
    spoken: str
    mark_from: int
    mark_at: int
    script: str


class WordFinder:
    """Finds the words of a text.

    Args:
        marks: the signs that are marks, one character each.
        jieba_dictionary: see `HanSegmenter`.
    """

    def __init__(self, marks: Iterable[str], jieba_dictionary: str | Sequence[str] | None = None) -> None:
        self.marks = frozenset(marks)
        self.segment = HanSegmenter(jieba_dictionary)
        self._pattern = _word_pattern(self.marks)

    def __call__(self, text: str) -> list[Word]:
        """Words of `text`, in order and without overlap. Text without letter or digit has none."""
        spans: list[tuple[int, int, str]] = []
        for match in self._pattern.finditer(text):
            if match.lastgroup == "han":
                spans.extend(self._han_spans(match.group(), match.start()))
            elif match.lastgroup == "link":
                spans.append(_link_span(match, self.marks))
            elif _HAS_LETTER_OR_DIGIT.search(match.group()):
                spans.append(_with_final_point(match, text))
        return _as_words(text, spans)

    def _han_spans(self, run: str, offset: int) -> Iterable[tuple[int, int, str]]:
        """Words of one run of Han characters, which blanks and marks may interrupt."""
        places = [match.span() for match in _HAN_CHARACTER.finditer(run)]
        characters = "".join(run[start] for start, _ in places)
        # A jieba word never reaches over a mark that the user has written.
        borders = {
            index
            for index in range(1, len(places))
            if any(sign in self.marks for sign in run[places[index - 1][1] : places[index][0]])
        }
        first = 0
        for piece in self.segment(characters):
            for part in _split_at(first, first + len(piece), borders):
                yield offset + places[part[0]][0], offset + places[part[1] - 1][1], characters[part[0] : part[1]]
            first += len(piece)


_HAS_LETTER_OR_DIGIT = regex.compile(r"[\p{L}\p{N}]")
_HAN_CHARACTER = regex.compile(r"\p{Han}\p{M}*")
_LETTERS_WITH_POINTS = regex.compile(r"\p{L}(?:\.\p{L})+")
# Pictures with their joiners, skin tones, flags and key caps. Digits count as emoji in Unicode, and are left out here.
_EMOJI = r"\p{Extended_Pictographic}\p{Regional_Indicator}\p{Emoji_Modifier}\uFE0F\u20E3"


def _word_pattern(marks: frozenset[str]) -> regex.Pattern:
    """The pattern of everything that may be a word; possessive throughout, so that time stays linear."""
    mark = "[" + "".join(map(regex.escape, sorted(marks))) + "]"
    plain = rf"[^\s\p{{Cc}}\p{{Han}}{_EMOJI}{regex.escape(QUOTES_AND_BRACKETS + ''.join(sorted(marks)))}\-‐‑]"
    core = rf"(?:{plain}|(?<![-‐‑])[-‐‑](?![-‐‑]))"
    # Signs that belong to a word only between two of its characters: 3.5, 1,000, 12:30, it's, example.com.
    joiner = rf"(?:\.(?={plain})|(?<=\p{{N}})[,:：](?=\p{{N}})|(?<=[\p{{L}}\p{{M}}\p{{N}}])['’](?=[\p{{L}}\p{{N}}]))"
    return regex.compile(
        r"(?P<link>(?<![\p{L}\p{N}])(?:\p{Latin}[\p{Latin}0-9+.\-]{0,19}+://|www\.)[^\s\p{Cc}\p{Han}<>\"“”«»‘’]++)"
        rf"|(?P<han>(?:\p{{Han}}\p{{M}}*+)(?:{mark}*+(?:[ ]{mark}*+)?+\p{{Han}}\p{{M}}*+)*+)"
        rf"|(?P<other>(?:(?<!\S)\.(?=[\p{{L}}\p{{N}}]))?+{core}++(?:{joiner}{core}++)*+)"
    )


def _link_span(match: regex.Match, marks: frozenset[str]) -> tuple[int, int, str]:
    """A link without the marks and brackets that end the sentence around it."""
    link = match.group().rstrip("".join(marks | set(CLOSERS)))
    return match.start(), match.start() + len(link), link


def _with_final_point(match: regex.Match, text: str) -> tuple[int, int, str]:
    """A word, with the point that follows it if that belongs to it; the point is never spoken."""
    start, end = match.span()
    word = match.group()
    if text.startswith(".", end) and not text.startswith("..", end):
        is_initial = len(word) == 1 and word.isupper() and word != "I" and _NEXT_IS_CAPITAL.match(text, end + 1)
        if word.lower() in ABBREVIATIONS or _LETTERS_WITH_POINTS.fullmatch(word) or is_initial:
            end += 1
    return start, end, word.replace("’", "'")


_NEXT_IS_CAPITAL = regex.compile(r"[ ]\p{Lu}")


def _split_at(first: int, end: int, borders: set[int]) -> Iterable[tuple[int, int]]:
    """The range from `first` to `end`, cut at the borders inside it."""
    start = first
    for index in range(first + 1, end):
        if index in borders:
            yield start, index
            start = index
    yield start, end


def _as_words(text: str, spans: list[tuple[int, int, str]]) -> list[Word]:
    """Words from spans: with the places for their marks, and their scripts."""
    words: list[Word] = []
    previous_end, previous_script, quotes = 0, "Latin", dict.fromkeys(AMBIGUOUS_QUOTES, 0)
    for index, (start, end, spoken) in enumerate(spans):
        following = spans[index + 1][0] if index + 1 < len(spans) else len(text)
        gap = text[previous_end:start]
        mark_from = start
        while mark_from > previous_end and text[mark_from - 1] in OPENERS:
            mark_from -= 1
        for quote in quotes:
            quotes[quote] += gap.count(quote)
        mark_at = _after_closers(text, end, following, dict(quotes))
        touches = bool(words) and not any(sign.isspace() for sign in gap)
        # A number takes the script of what it touches (2020年), else it is written as in Latin text.
        script = script_of(spoken) or (previous_script if touches else "Latin")
        words.append(Word(start, end, text[start:end], spoken, mark_from, mark_at, script))
        previous_end, previous_script = max(end, mark_at), script
        for quote in quotes:
            quotes[quote] += text.count(quote, end, mark_at)
    return _with_han_neighbours(text, words)


def _after_closers(text: str, end: int, following: int, quotes: dict[str, int]) -> int:
    """Offset behind the quotes and brackets that close right after a word."""
    place = end
    while place < following and text[place] in CLOSERS:
        sign = text[place]
        if sign in AMBIGUOUS_QUOTES:
            opens_next = place + 1 == following and following < len(text)
            if opens_next and quotes[sign] % 2 == 0:  # as many have closed as opened: this one opens
                break
            quotes[sign] += 1
        place += 1
    return place


def _with_han_neighbours(text: str, words: list[Word]) -> list[Word]:
    """Give Latin words and numbers Han marks where they touch Han text without white space, on either side."""
    scripts = [word.script for word in words]
    for order in (range(len(words) - 1), range(len(words) - 2, -1, -1)):
        for index in order:
            left, right = words[index], words[index + 1]
            if any(sign.isspace() for sign in text[left.end : right.start]):
                continue
            if "Han" in (scripts[index], scripts[index + 1]):
                scripts[index] = scripts[index + 1] = "Han"
    return [
        word
        if word.script == script
        else Word(word.start, word.end, word.text, word.spoken, word.mark_from, word.mark_at, script)
        for word, script in zip(words, scripts, strict=True)
    ]
