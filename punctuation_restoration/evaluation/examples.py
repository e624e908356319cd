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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np
import regex

from punctuation_restoration.data.casings import UNKNOWN, sentence_begins, written_casings
from punctuation_restoration.data.readers import CLITICS
from punctuation_restoration.modeling.configuration_punctuation import (
    DEFAULT_LABELS,
    DEFAULT_MARK_LABELS,
)
from punctuation_restoration.pipeline.conventions import ends_sentence, known_marks
from punctuation_restoration.pipeline.marks import strip_marks
from punctuation_restoration.pipeline.segmentation import BLANK
from punctuation_restoration.pipeline.words import WordFinder

_HAN_CHARACTER = regex.compile(r"\p{Han}\p{M}*")
_HAN_WORD = regex.compile(r"(?:\p{Han}\p{M}*)+")
_ENDS_IN_HAN = regex.compile(r"\p{Han}\p{M}*\Z")
_LETTER_OR_DIGIT = r"[\p{L}\p{N}]"
_ENGLISH_WORD = regex.compile(r"[a-z]{2,}(?:['’-][a-z]+)*")


@dataclass(frozen=True)
class LabelSet:
    """Labels to score in."""

    names: list[str]  # the no-mark label first
    # What each mark in a reference text means; None where it is only removed.
    mark_labels: Mapping[str, str | None]
    renamed: Mapping[str, str]  # the name in `names` that each label of the model means

    @cached_property
    def stops(self) -> list[str]:
        """The labels that end a sentence."""
        return [name for mark, name in self.mark_labels.items() if name and ends_sentence(mark)]

    @cached_property
    def outer_marks(self) -> regex.Pattern[str]:
        """Finds the marks of a token but for those between letters or digits, as in 1,000, 9:00, u.s."""
        marks = f"[{''.join(map(regex.escape, known_marks(self.mark_labels)))}]"
        return regex.compile(rf"(?<!{_LETTER_OR_DIGIT}){marks}|{marks}(?!{_LETTER_OR_DIGIT})")


def standard_labels(config: Any) -> LabelSet:
    """The four labels of the literature, in which benchmarks are scored, for a model with any labels.

    A mark means what the default table says: an exclamation mark of a model counts as a period, as in the reference. A
    label that this table does not know counts as no mark.
    """
    names = [label["name"] for label in DEFAULT_LABELS]
    renamed = {
        label["name"]: DEFAULT_MARK_LABELS.get(label["after"][-1:], names[0])
        for label in config.labels
    }
    return LabelSet(names, DEFAULT_MARK_LABELS, renamed)


def own_labels(config: Any) -> LabelSet:
    """The labels and the table of marks of the model itself."""
    names = config.label_names
    return LabelSet(names, config.mark_labels, dict(zip(names, names, strict=True)))


class Unit(NamedTuple):
    """A place that is scored."""

    text: str  # lower case; empty for a token without letters and digits
    label: str  # the name of the label after it
    blank: str  # what is written before it: a blank, or nothing
    cased: str | None = None  # how it is written inside a sentence, None where nobody knows


@dataclass(frozen=True)
class Example:
    """A text to restore and its reference."""

    id: str
    units: Sequence[Unit]
    ends_text: bool = True  # whether the last unit ends the document; false where it was cut

    @cached_property
    def text(self) -> str:
        """The units as running text."""
        return "".join(unit.blank + unit.text for unit in self.units)

    @cached_property
    def spans(self) -> list[tuple[int, int]]:
        """Where each unit starts and ends in the text."""
        ends = accumulate(len(unit.blank + unit.text) for unit in self.units)
        return [(end - len(unit.text), end) for unit, end in zip(self.units, ends, strict=True)]

    @cached_property
    def labels(self) -> list[str]:
        """The name of the label after each unit."""
        return [unit.label for unit in self.units]


def example_from_tokens(
    id: str, tokens: Sequence[str], labels: Sequence[str], label_set: LabelSet
) -> Example:
    """An example from tokens with one label each; split English clitics are joined to the word before them.

    Marks that would give the reference away are left out, and of a token without a letter or digit everything.
    """
    units = []
    before = ""
    for token, label in zip(tokens, labels, strict=True):
        has_word = regex.search(_LETTER_OR_DIGIT, token)
        text = label_set.outer_marks.sub("", token.lower()) if has_word else ""
        is_apart = before and text and text not in CLITICS and _n_han_sides(before, text) < 2
        units.append(Unit(text, label, " " if is_apart else ""))
        before = text or before
    return Example(id, units)


def example_from_text(id: str, text: str, finder: WordFinder, label_set: LabelSet) -> Example:
    """An example from punctuated text, its marks read as they are for training.

    Blanks between Han characters are left out. In captions they stand where a line broke, and would show where a
    mark belongs. Between Han text and other words they stay as they are.
    """
    words = finder(text)
    spoken, labels = strip_marks(text, words, label_set.mark_labels, label_set.names)
    begins = sentence_begins(np.isin(labels, label_set.stops))
    is_known = written_casings(spoken, begins) != UNKNOWN
    units: list[Unit] = []
    gap_start = 0
    for word, form, label, has_casing in zip(words, spoken, labels, is_known, strict=True):
        parts = _HAN_CHARACTER.findall(form) if _HAN_WORD.fullmatch(form) else [form.lower()]
        n_han_sides = _n_han_sides(units[-1].text, form) if units else 2
        has_blank = BLANK.search(text, gap_start, word.start)
        is_apart = n_han_sides == 0 or (n_han_sides == 1 and has_blank)
        blank, cased = " " if is_apart else "", form if has_casing else None
        for part in parts:
            units.append(Unit(part, label_set.names[0], blank, cased))
            blank = ""
        units[-1] = units[-1]._replace(label=label)
        gap_start = word.end
    return Example(id, units)


def cut(examples: Sequence[Example], n_words: int) -> list[Example]:
    """The first examples, up to `n_words` units in all; the last one is cut where they are used up."""
    kept = []
    for example in examples:
        if n_words < len(example.units):
            example = replace(example, units=example.units[:n_words], ends_text=False)
        if example.units:
            kept.append(example)
        n_words -= len(example.units)
    return kept


def code_switched(example: Example, label_set: LabelSet) -> Example:
    """The sentences of an example that have Han text and an English word of two letters or more, in their order.

    Between two of them is a blank, but for where Han text stands on either side, as Mandarin is written.
    """
    kept: list[Unit] = []
    stops = [index for index, label in enumerate(example.labels, 1) if label in label_set.stops]
    for first, end in pairwise([0, *stops, len(example.units)]):
        sentence = example.units[first:end]
        texts = [unit.text for unit in sentence]
        if any(map(_HAN_CHARACTER.match, texts)) and any(map(_ENGLISH_WORD.fullmatch, texts)):
            is_apart = kept and not _n_han_sides(kept[-1].text, texts[0])
            kept += [sentence[0]._replace(blank=" " if is_apart else ""), *sentence[1:]]
    return replace(example, units=kept)


def _n_han_sides(before: str, after: str) -> int:
    """On how many sides of the gap between two texts Han text is."""
    return bool(_ENDS_IN_HAN.search(before)) + bool(_HAN_CHARACTER.match(after))
