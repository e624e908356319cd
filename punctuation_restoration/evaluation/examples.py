"""Documents -> examples: what is fed to the pipeline, and the reference at every place where a mark may stand.

Takes punctuated text or a list of tokens with labels. Gives lower-cased running text without marks, as a recogniser
writes it, and its units: the places that are scored, each exactly once. In Han text every character is a unit:
systems that find other words can be compared, and a mark that no word of the model ends at is a miss. Elsewhere a unit
is a word, or a token of a benchmark. Knows nothing about files or models.

    tokens   we    're   here               a word of the model may cover several units: "we're"
    text     w e ' r e _ h e r e            (clitics joined, as people write them)
    units    [---][----][ -----]            the word's mark belongs to its last unit, the others have none
    labels   O     O     PERIOD
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import regex

from punctuation_restoration.data.casings import UNKNOWN, sentence_begins, written_casings
from punctuation_restoration.evaluation.labels import LabelSet
from punctuation_restoration.pipeline.marks import strip_marks
from punctuation_restoration.pipeline.words import WordFinder

# Clitics that the IWSLT files split from their word; other tokens with an apostrophe are opening quotes.
CLITICS = frozenset(("'s", "'re", "'m", "'ll", "'d", "'ve", "n't"))

_HAN_CHARACTER = regex.compile(r"\p{Han}\p{M}*")
_HAN_WORD = regex.compile(r"(?:\p{Han}\p{M}*)+")
_ENDS_IN_HAN = regex.compile(r"\p{Han}\p{M}*\Z")
_LETTER_OR_DIGIT = regex.compile(r"[\p{L}\p{N}]")
_ENGLISH_WORD = regex.compile(r"[a-z]{2,}(?:['’-][a-z]+)*")
STOPS = ("PERIOD", "QUESTION")


@dataclass(frozen=True, slots=True)
class Example:
    """A text to restore and its reference."""

    id: str
    source: str
    text: str  # without marks
    spans: tuple[tuple[int, int], ...]  # of every unit, in order; empty for a token without letters and digits
    labels: tuple[str, ...]  # the name of the label after each unit
    ends_text: bool = True  # whether the last unit ends the document; false where the document was cut
    broken: frozenset[int] = frozenset()  # Han units with a blank and no mark behind, as where a line broke
    cased: tuple[str | None, ...] = ()  # how each unit is written, None where nobody knows; empty if not asked for


def example_from_tokens(
    tokens: Sequence[str], labels: Sequence[str], label_set: LabelSet, *, id: str, source: str
) -> Example:
    """An example from tokens with one label each; split English clitics are joined to the word before them.

    Raises:
        ValueError: if the lists differ in length, or a label is unknown.
    """
    if len(tokens) != len(labels):
        raise ValueError(
            f"Expected one label per token in {id!r}: {len(tokens)} tokens, {len(labels)} labels. Check the file."
        )
    unknown = sorted(set(labels) - set(label_set.names))
    if unknown:
        raise ValueError(f"Expected labels among {list(label_set.names)} in {id!r}, got {unknown}. Check the file.")
    marks = frozenset(label_set.mark_labels)
    units = [_without_marks(token.lower(), marks) for token in tokens]
    joined = [unit in CLITICS or _both_han(before, unit) for before, unit in zip(["", *units], units, strict=False)]
    return _example(units, joined, labels, id=id, source=source)


def example_from_text(
    text: str, finder: WordFinder, label_set: LabelSet, *, id: str, source: str, has_casing: bool | None = False
) -> Example:
    """An example from punctuated text, its marks read as they are for training.

    Blanks between Han characters are left out. In captions they stand where a line broke, and would show where a
    mark belongs. The units say how they are written where the text tells it: as `has_casing` says, or, where that is
    None, as `data.casings` finds.
    """
    words = finder(text)
    spoken, word_labels = strip_marks(text, words, label_set.mark_labels, label_set.names)
    units: list[str] = []
    joined: list[bool] = []
    labels: list[str] = []
    broken: set[int] = set()
    cased: list[str | None] = []
    begins = sentence_begins(np.isin(word_labels, STOPS))
    tells = written_casings(spoken, begins, has_casing) != UNKNOWN
    for index, (word, label) in enumerate(zip(spoken, word_labels, strict=True)):
        is_han = _HAN_WORD.fullmatch(word) is not None
        parts = _HAN_CHARACTER.findall(word) if is_han else [word.lower()]
        gap = text[words[index - 1].end : words[index].start] if index else ""
        blank = bool(units) and not _both_han(units[-1], parts[0])
        if blank and (is_han or _ENDS_IN_HAN.search(units[-1])):
            blank = any(sign.isspace() for sign in gap)  # between Han text and a Latin word: as it was written
        elif units and not blank and gap.isspace() and labels[-1] == label_set.names[0]:
            broken.add(len(units) - 1)
        units.extend(parts)
        joined.extend([not blank] + [True] * (len(parts) - 1))
        labels.extend([label_set.names[0]] * (len(parts) - 1) + [label])
        cased.extend([word if tells[index] and len(word) == len(word.lower()) else None] * len(parts))
    found = _example(units, joined, labels, id=id, source=source)
    return replace(found, broken=frozenset(broken), cased=tuple(cased) if has_casing is not False else ())


def cut(examples: Sequence[Example], n_words: int) -> list[Example]:
    """The first examples, up to `n_words` units in all; the last one is cut where they are used up."""
    kept: list[Example] = []
    for example in examples:
        if n_words <= 0:
            break
        n_units = min(len(example.spans), n_words)
        if n_units < len(example.spans):
            text, spans = example.text[: example.spans[n_units - 1][1]], example.spans[:n_units]
            labels, cased = example.labels[:n_units], example.cased[:n_units]
            example = replace(example, text=text, spans=spans, labels=labels, ends_text=False, cased=cased)
        kept.append(example)
        n_words -= n_units
    return kept


def code_switched(example: Example) -> Example:
    """The sentences of an example that have Han text and an English word of two letters or more, in their order.

    Between two of them is a blank, but for where Han text stands on either side, as Mandarin is written.
    """
    text, spans, labels = "", list[tuple[int, int]](), list[str]()
    for first, last in _sentences(example):
        start, end = example.spans[first][0], example.spans[last][1]
        units = [example.text[a:b] for a, b in example.spans[first : last + 1]]
        if not (any(map(_HAN_CHARACTER.match, units)) and any(map(_ENGLISH_WORD.fullmatch, units))):
            continue
        text += " " if text and not (_HAN_CHARACTER.match(text[-1]) or _HAN_CHARACTER.match(units[0])) else ""
        moved = len(text) - start
        text += example.text[start:end]
        spans += [(a + moved, b + moved) for a, b in example.spans[first : last + 1]]
        labels += example.labels[first : last + 1]
    return replace(example, text=text, spans=tuple(spans), labels=tuple(labels), broken=frozenset())


def _example(units: Sequence[str], joined: Sequence[bool], labels: Sequence[str], *, id: str, source: str) -> Example:
    """The units written one after the other, with a blank before each that is not `joined` to the one before."""
    text = ""
    spans: list[tuple[int, int]] = []
    for unit, is_joined in zip(units, joined, strict=True):
        text += " " if text and unit and not is_joined else ""
        spans.append((len(text), len(text) + len(unit)))
        text += unit
    return Example(id, source, text, tuple(spans), tuple(labels))


def _without_marks(token: str, marks: frozenset[str]) -> str:
    """A token without the marks that would give the reference away; empty if it has no letter or digit.

    A mark between letters or digits belongs to the token: 1,000, 9:00, u.s.
    """
    if not _LETTER_OR_DIGIT.search(token):
        return ""
    return "".join(
        sign
        for index, sign in enumerate(token)
        if sign not in marks
        or (_LETTER_OR_DIGIT.match(token[index - 1 : index]) and _LETTER_OR_DIGIT.match(token, index + 1))
    )


def _both_han(before: str, after: str) -> bool:
    return bool(_ENDS_IN_HAN.search(before) and _HAN_CHARACTER.match(after))


def _sentences(example: Example) -> list[tuple[int, int]]:
    """The first and last unit of each sentence."""
    ends = [index for index, label in enumerate(example.labels) if label in STOPS]
    if example.labels and (not ends or ends[-1] < len(example.labels) - 1):
        ends.append(len(example.labels) - 1)
    return list(zip([0, *(end + 1 for end in ends)], ends, strict=False))
