"""English text -> the same with `¿` and `¡` where its questions and exclamations begin, as Spanish would write it.

For training text only (`opening_signs: [en]` in a recipe): what is learned from it serves Spanish (Zhu et al. 2022).

    OK, how can I help you? What a day!    OK, ¿how can I help you? ¡What a day!

A question begins with the first clause that asks: one with a question word, or a verb before its subject. A clause
begins at a sentence's start, on a new line, or behind a comma or an opening quote. Where none asks, a last clause of
one word does (`right?`), or else the whole sentence.
"""

from collections.abc import Sequence

from punctuation_restoration.modeling.configuration_punctuation import DEFAULT_MARK_LABELS
from punctuation_restoration.pipeline.conventions import PAIRS
from punctuation_restoration.pipeline.marks import find_marks
from punctuation_restoration.pipeline.words import Word

NAMES = ("O", "COMMA", "PERIOD", "!", "?")
MARK_LABELS = {**DEFAULT_MARK_LABELS, **dict.fromkeys("!！", "!"), **dict.fromkeys("?？؟", "?")}
OPENING = {closing: opening for opening, closing in PAIRS.items()}
VERBS = frozenset(
    "am is are was were do does did have has had can could will would shall should may might must "
    "ain't aren't isn't wasn't weren't don't doesn't didn't haven't hasn't hadn't can't cannot couldn't won't wouldn't "
    "shan't shouldn't mightn't mustn't".split()
)
ASKING = frozenset("what why how who whose whom which".split())
RELATIVE = frozenset(
    "who whose whom which".split()
)  # behind a comma they mostly tell more of what stands before
MAY_ASK = frozenset("when where".split())  # if a verb follows: `when you come` asks nothing
BEFORE = frozenset(
    "and but or so then because to in on at of for from with by about until since".split()
)


def with_openings(text: str, words: Sequence[Word]) -> tuple[str, list[Word]]:
    """The text with its opening signs, and its words there; sentences that have an opening sign stay as they are.

    `words` are those of the text that was given.
    """
    marks = find_marks(text, words, MARK_LABELS, NAMES)
    openings, first = dict[int, str](), 0  # the sign before each word that gets one
    for index, mark in enumerate(marks):
        if mark is None or mark.label in (None, "COMMA"):
            continue
        sentence = text[words[first].mark_from : mark.end]
        if mark.label in OPENING and PAIRS.keys().isdisjoint(sentence):
            borders = (
                n
                for n in range(first + 1, index + 1)
                if marks[n - 1] or _follows_a_sign(text, words, n)
            )
            openings[_asking(words[: index + 1], [first, *borders], mark.label)] = OPENING[
                mark.label
            ]
        first = index + 1
    parts, moved, done = list[str](), list[Word](), 0
    for index, word in enumerate(words):
        n_before = n_added = len(parts) // 2
        if index in openings:
            parts += [text[done : word.mark_from], openings[index]]
            done, n_added = word.mark_from, n_before + 1
        start, end, mark_at = (place + n_added for place in (word.start, word.end, word.mark_at))
        moved.append(
            word._replace(
                start=start, end=end, mark_from=word.mark_from + n_before, mark_at=mark_at
            )
        )
    return "".join([*parts, text[done:]]), moved


def _follows_a_sign(text: str, words: Sequence[Word], n: int) -> bool:
    return words[n].mark_from < words[n].start or "\n" in text[words[n - 1].end : words[n].start]


def _asking(words: Sequence[Word], begins: Sequence[int], sign: str) -> int:
    """The first word of what ends with `sign`, among the first words of clauses."""
    spoken = [word.spoken.lower() for word in words]
    if sign == "!":  # what a day
        return next((n for n in begins if spoken[n] in ("what", "how")), begins[0])
    found = [n for n in begins if _asks(spoken[n:], n > begins[0])] or [
        n for n in begins if spoken[n] in RELATIVE
    ]
    is_tag = len(begins) > 1 and begins[-1] == len(words) - 1
    return found[0] if found else begins[-1 if is_tag else 0]


def _asks(clause: Sequence[str], is_later: bool) -> bool:
    """Whether words begin a question; `is_later` where others of the sentence stand before them."""
    while len(clause) > 1 and clause[0] in BEFORE:
        clause = clause[1:]
    word, _, ending = clause[0].partition("'")
    if word in MAY_ASK:
        return bool(ending) or len(clause) == 1 or clause[1] in VERBS
    return clause[0] in VERBS or (word in ASKING and not (is_later and word in RELATIVE))
