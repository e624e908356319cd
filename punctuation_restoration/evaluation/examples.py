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

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
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

    names: tuple[str, ...]  # the no-mark label first
    # What each mark in a reference text means; None where it is only removed.
    mark_labels: Mapping[str, str | None]
    renamed: Mapping[str, str]  # the name in `names` that each label of the model means

    @property
    def stops(self) -> list[str]:
        """The labels that end a sentence."""
        meant = self.mark_labels.items()
        return sorted({name for mark, name in meant if name and ends_sentence(mark)})


def standard_labels(config: Any) -> LabelSet:
    """The four labels of the literature, in which benchmarks are scored, for a model with any labels.

    A mark means what the default table says: an exclamation mark of a model counts as a period, as in the reference. A
    label that this table does not know counts as no mark.
    """
    names = tuple(label["name"] for label in DEFAULT_LABELS)
    renamed = {
        label["name"]: DEFAULT_MARK_LABELS.get(label["after"][-1:], names[0])
        for label in config.labels
    }
    return LabelSet(names, DEFAULT_MARK_LABELS, renamed)


def own_labels(config: Any) -> LabelSet:
    """The labels and the table of marks of the model itself."""
    names = tuple(config.label_names)
    return LabelSet(names, dict(config.mark_labels), {name: name for name in names})


@dataclass(frozen=True, slots=True)
class Example:
    """A text to restore and its reference."""

    id: str
    text: str  # without marks
    # Of every unit, in order; start and end are equal for a token without letters and digits.
    spans: tuple[tuple[int, int], ...]
    labels: tuple[str, ...]  # the name of the label after each unit
    ends_text: bool = True  # whether the last unit ends the document; false where it was cut
    # How each unit is written, None where nobody knows; empty if not asked for.
    cased: tuple[str | None, ...] = ()


class Unit(NamedTuple):
    """A unit on its way into an example: its text, its label, and how it is joined to the one before."""

    text: str  # lower case; empty for a token without letters and digits
    label: str
    is_joined: bool  # without a blank
    cased: str | None = None


def example_from_tokens(
    id: str, tokens: Sequence[str], labels: Sequence[str], label_set: LabelSet
) -> Example:
    """An example from tokens with one label each; split English clitics are joined to the word before them."""
    units: list[Unit] = []
    before = ""
    for token, label in zip(tokens, labels, strict=True):
        text = _without_marks(token.lower(), label_set)
        units.append(Unit(text, label, text in CLITICS or _both_han(before, text)))
        before = text
    return _example(id, units)


def example_from_text(
    id: str, text: str, finder: WordFinder, label_set: LabelSet, casing: bool = False
) -> Example:
    """An example from punctuated text, its marks read as they are for training.

    Blanks between Han characters are left out. In captions they stand where a line broke, and would show where a
    mark belongs. With `casing` the units say how they are written where the text tells it, see `data.casings`.
    """
    words = finder(text)
    spoken, labels = strip_marks(text, words, label_set.mark_labels, label_set.names)
    begins = sentence_begins(np.isin(labels, label_set.stops))
    is_known = written_casings(spoken, begins) != UNKNOWN
    units: list[Unit] = []
    before, previous_end = "", 0
    for index, word in enumerate(spoken):
        is_han = _HAN_WORD.fullmatch(word) is not None
        parts = _HAN_CHARACTER.findall(word) if is_han else [word.lower()]
        is_joined = not before or _both_han(before, parts[0])
        if not is_joined and (is_han or _ENDS_IN_HAN.search(before)):
            # Between Han text and a Latin word: as it was written.
            is_joined = not BLANK.search(text, previous_end, words[index].start)
        cased = word if casing and is_known[index] and len(word) == len(word.lower()) else None
        units += [Unit(part, label_set.names[0], True, cased) for part in parts]
        units[-len(parts)] = units[-len(parts)]._replace(is_joined=is_joined)
        units[-1] = units[-1]._replace(label=labels[index])
        before, previous_end = parts[-1], words[index].end
    example = _example(id, units)
    return replace(example, cased=tuple(unit.cased for unit in units)) if casing else example


def cut(examples: Sequence[Example], n_words: int) -> list[Example]:
    """The first examples, up to `n_words` units in all; the last one is cut where they are used up."""
    kept: list[Example] = []
    for example in examples:
        if n_words < len(example.spans):
            example = replace(
                example,
                text=example.text[: example.spans[n_words - 1][1]],
                spans=example.spans[:n_words],
                labels=example.labels[:n_words],
                ends_text=False,
                cased=example.cased[:n_words],
            )
        kept.append(example)
        n_words -= len(example.spans)
        if n_words <= 0:
            break
    return kept


def code_switched(example: Example, label_set: LabelSet) -> Example:
    """The sentences of an example that have Han text and an English word of two letters or more, in their order.

    Between two of them is a blank, but for where Han text stands on either side, as Mandarin is written.
    """
    text = ""
    spans: list[tuple[int, int]] = []
    labels: list[str] = []
    stops = [index for index, label in enumerate(example.labels, 1) if label in label_set.stops]
    for first, end in itertools.pairwise([0, *stops, len(example.labels)]):
        own_spans = example.spans[first:end]
        units = [example.text[slice(*span)] for span in own_spans]
        has_han = any(map(_HAN_CHARACTER.match, units))
        if not has_han or not any(map(_ENGLISH_WORD.fullmatch, units)):
            continue
        if text and not _ENDS_IN_HAN.search(text) and not _HAN_CHARACTER.match(units[0]):
            text += " "
        moved = len(text) - own_spans[0][0]
        spans += [(start + moved, end + moved) for start, end in own_spans]
        text += example.text[own_spans[0][0] : own_spans[-1][1]]
        labels += example.labels[first:end]
    return replace(example, text=text, spans=tuple(spans), labels=tuple(labels))


def _example(id: str, units: Sequence[Unit]) -> Example:
    """The units written one after the other, with a blank before each that is not joined to the one before."""
    text = ""
    spans: list[tuple[int, int]] = []
    for unit in units:
        text += " " if text and unit.text and not unit.is_joined else ""
        spans.append((len(text), len(text) + len(unit.text)))
        text += unit.text
    return Example(id, text, tuple(spans), tuple(unit.label for unit in units))


def _without_marks(token: str, label_set: LabelSet) -> str:
    """A token without the marks that would give the reference away; empty if it has no letter or digit.

    A mark between letters or digits belongs to the token: 1,000, 9:00, u.s.
    """
    marks = f"[{''.join(map(regex.escape, known_marks(label_set.mark_labels)))}]"
    outside = rf"(?<!{_LETTER_OR_DIGIT}){marks}|{marks}(?!{_LETTER_OR_DIGIT})"
    return regex.sub(outside, "", token) if regex.search(_LETTER_OR_DIGIT, token) else ""


def _both_han(before: str, after: str) -> bool:
    return bool(_ENDS_IN_HAN.search(before) and _HAN_CHARACTER.match(after))
