"""What a model says of the words of a text -> what is decided of each: its label, with a probability and a source.

It knows labels by name and number, and nothing of windows or edits. In this order:

    ends          a sentence ends where another speaker begins, and before an empty line
    forms         no mark inside a number or an address
    given         marks that the text has make others nearby less likely
    choice        the most probable label, within the marks and thresholds that the caller allows
    pairs         no `¿` that nothing closes, no `?` of Spanish that nothing opens

    words      hola   cómo           estás           bien
    chosen     COMMA  OPEN_QUESTION  O               PERIOD     nothing closes it: no mark (Zhu et al. 2022)
    matched    COMMA  O              O               PERIOD
    chosen     COMMA  O              CLOSE_QUESTION  PERIOD     nothing opens it: the likeliest word does
    matched    COMMA  OPEN_QUESTION  CLOSE_QUESTION  PERIOD

Letters in shapes: W words, M labels.
"""

import itertools
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import regex

from .conventions import PAIRS, stop_labels
from .items import Item
from .marks import FoundMark
from .slots import ModelConfig
from .spoken_forms import Forms
from .words import Word

LEAST_THRESHOLD = 1e-9  # what a probability is divided by where the threshold is 0
# Of a word to open its sentence. Where all have less, nothing opens it, as in English.
LEAST_CHANCE = 0.01
NEARBY = 40  # words; of 20, 40, 80 and all words the best where half of the marks were missing
EMPTY_LINE = regex.compile(r"(?>\r\n|\n|\r)[^\S\r\n]*+[\r\n]|\u2029")

Array = np.ndarray
Label = Mapping[str, str]  # a row of the configuration's table


@dataclass(frozen=True, slots=True)
class PreparedItem:
    """An item and what is known of its words before the model is asked."""

    item: Item
    words: list[Word]
    marks: list[FoundMark | None]  # the mark that the text has after each word
    given: Array  # (W,) the label that is decided already; -1 where the model decides
    sources: list[str]  # who decides: "input", "known" or "model"
    borders: list[int]  # where another speaker or a paragraph begins
    forms: Forms  # numbers, times and addresses as they are spoken
    removed: list[int] | None  # offsets of the marks that are taken out first; None: all stay


class Choice(NamedTuple):
    """Which labels may be chosen.

    Where `!` may not be written and `.` may, `goes_to` of `!` is the label of `.`, which gets the probability of both.
    """

    # (M,) the label that gets a label's probability: itself, if it may be chosen.
    goes_to: Array
    # (M,) the probability from which a label is chosen; infinite: it must be the most probable.
    thresholds: Array


def make_choice(
    config: ModelConfig,
    marks: str | Sequence[str] = "basic",
    thresholds: Mapping[str, float] | None = None,
) -> Choice:
    """What `marks` and `thresholds` allow, a ValueError for what cannot be; sets have what opens with what closes.

    Names of labels may be written in small letters.
    """
    names, labels, basic = config.label_names, config.labels, config.basic_labels
    stops = np.flatnonzero(stop_labels(labels))
    sets = {"basic": basic, "all": range(len(names)), "sentence-ends": stops}
    ids = {name.lower(): index for index, name in enumerate(names)}
    if isinstance(marks, str) and marks in sets:
        closing = {labels[index]["after"] for index in sets[marks]}
        opening = [n for n, label in enumerate(labels) if PAIRS.get(label["before"]) in closing]
        allowed = {*sets[marks], *opening}
    else:
        listed = [marks] if marks is None or isinstance(marks, str) else marks
        allowed = {ids.get(str(name).lower(), -1) for name in listed}
    if -1 in allowed:
        known = f"'basic', 'all', 'sentence-ends' or labels among {names}"
        raise ValueError(f"Expected marks to be {known}, got {marks!r}. Pass one of these.")
    thresholds = thresholds or {}
    config.check_thresholds(thresholds)
    limits = np.full(len(names), np.inf)
    for name, limit in thresholds.items():
        limits[ids[str(name).lower()]] = limit
    goes_to = [
        next((label for label in (index, basic[index]) if label in allowed), 0)
        for index in range(len(names))
    ]
    return Choice(np.array(goes_to), limits)


def what_is_given(
    config: ModelConfig, marks: Sequence[FoundMark | None], known: Mapping[int, str]
) -> tuple[Array, list[str]]:
    """For each word the label that a mark of the text or the caller decides, -1 without one; and who decides.

    Raises:
        ValueError: for an unknown label or word.
    """
    ids: dict[str | None, int] = {name: index for index, name in enumerate(config.label_names)}
    labels = np.array([ids.get(mark.label, 0) if mark else -1 for mark in marks], dtype=int)
    sources = ["input" if mark else "model" for mark in marks]
    for index, name in known.items():
        if not 0 <= index < len(marks) or name not in ids:
            raise ValueError(
                f"Expected 'known' to map word indices below {len(marks)} to labels among {list(ids)}, got "
                f"{index}: {name!r}. Count words as result['words'] does."
            )
        if not marks[index]:
            labels[index] = ids[name]
            sources[index] = "known"
    return labels, sources


def decide(
    prepared: PreparedItem,
    probabilities: Array,
    shares: Array,
    config: ModelConfig,
    choice: Choice,
) -> tuple[Array, Array, Array]:
    """The label of each word (W,), its probability (W,), and those of all labels after everything was weighed (W, M).

    `probabilities` (W, M) are the model's, calibrated. The odds of a mark are multiplied by `shares` (W,), see
    `missing_shares`; the last word of a sentence or of the text keeps its odds.
    """
    last = last_words(prepared.borders, prepared.words)
    nothing = np.eye(len(config.labels))[0]
    probabilities = end_sentences(probabilities.astype(np.float64), last, config)
    probabilities[sorted(prepared.forms.unbroken.difference(last))] = nothing
    shares = shares.copy()
    shares[last] = 1
    shares[-1:] = 1
    # A sign that opens depends on the one that closes.
    stands_after = [label["after"] != "" for label in config.labels]
    probabilities[:, stands_after] *= shares[:, None]
    probabilities = _with_sum_1(probabilities)
    labels, shared = decode(probabilities, choice)
    # Before an empty line or another speaker a sentence ends, whatever the thresholds.
    ending = (shared[last] * stop_labels(config.labels)).argmax(axis=1)
    labels[last] = np.where(labels[last] > 0, labels[last], ending)
    is_free = prepared.given < 0
    labels = np.where(is_free, labels, prepared.given)
    labels = match_pairs(labels, shared, config.labels, is_free, prepared.item.final)
    scores = np.where(is_free, shared[np.arange(len(labels)), labels], 1.0)
    return labels, scores, probabilities


def calibrated(probabilities: Any, temperature: float) -> Array:
    """Probabilities (W, M) of logits that were divided by a temperature (Guo et al. 2017, section 4.2)."""
    return _with_sum_1(np.asarray(probabilities, dtype=np.float64) ** (1 / temperature))


def _with_sum_1(rows: Array) -> Array:
    """Probabilities (W, M) from their ratios; rows of zeros stay."""
    return rows / np.maximum(rows.sum(axis=1, keepdims=True), np.finfo(float).tiny)


def missing_shares(probabilities: Array, is_given: Array, choice: Choice) -> Array:
    """For each word of a window the share of the marks nearby that are missing, (W,): 1 where none is given.

    Whoever has written 80 % of the marks around a word would have written one there in 80 % of the cases. Those missing
    are expected of words without a mark, by `probabilities` (W, M) of the model; those `is_given` (W,) are there. A
    given mark that the model did not expect may be one that it expected at the word before or after, so their shares
    are less. Another given mark never raises a share, so a text that is restored twice gets nothing new. Only the words
    of one window count, so that a stream gets the marks of one call.
    """
    if not is_given.any():
        return np.ones(len(is_given))
    of_mark = probabilities[:, choice.goes_to > 0].sum(axis=1, dtype=np.float64)
    n_missing = _nearby(np.where(is_given, 0, of_mark))
    shares = n_missing / np.maximum(n_missing + _nearby(is_given), np.finfo(float).tiny)
    as_expected = np.where(is_given, of_mark, 1)
    shares[1:] *= as_expected[:-1]
    shares[:-1] *= as_expected[1:]
    shares[is_given] = 1
    return shares


def _nearby(values: Array) -> Array:
    """For each word the sum of the values (W,) of those that are at most `NEARBY` words away."""
    sums = np.convolve(values, np.ones(2 * NEARBY + 1))
    return sums[NEARBY : NEARBY + len(values)]


def borders_of(text: str, turns: Sequence[int]) -> list[int]:
    """Where another speaker or a paragraph begins, in order: at changes of speaker and empty lines."""
    return sorted([*turns, *(match.start() for match in EMPTY_LINE.finditer(text))])


def last_words(borders: Sequence[int], words: Sequence[Word]) -> list[int]:
    """The words before a border, in order; neither the last word of the text nor what is before the first."""
    ends = [word.end for word in words]
    return sorted({bisect_right(ends, offset) - 1 for offset in borders} - {-1, len(ends) - 1})


def end_sentences(probabilities: Array, last: list[int], config: ModelConfig) -> Array:
    """Probabilities (W, M) in which the words `last` end sentences, if a label does."""
    if any(are_stops := stop_labels(config.labels)):
        probabilities[last] = _with_sum_1(probabilities[last] * are_stops)
    return probabilities


def decode(probabilities: Any, choice: Choice) -> tuple[Array, Array]:
    """Label ids (W,), chosen by probabilities (W, M), and these probabilities as they are shared.

    A label that is not allowed gives its probability to its basic label (`!` to the period), or to "no mark". Of the
    labels that reach their thresholds the one with the highest ratio is chosen, however probable "no mark" is. A label
    without a threshold must be the most probable of all.
    """
    n_labels = len(choice.goes_to)
    rows = np.array(probabilities, dtype=np.float64).reshape(-1, n_labels)
    scores = rows @ np.eye(n_labels)[choice.goes_to]
    # (W, M); 0 for labels without a threshold.
    ratios = scores / np.maximum(choice.thresholds, LEAST_THRESHOLD)
    ratios[ratios < 1] = 0.0
    reached = ratios.argmax(axis=1)  # the first label, "no mark", where none reaches its threshold
    has_none = np.isinf(choice.thresholds)
    likeliest = np.where(has_none | (ratios > 0), scores, -1.0).argmax(axis=1)
    # A mark without a threshold that is the most probable stays, whatever else reaches its own.
    takes_likeliest = (reached == 0) | (has_none[likeliest] & (likeliest > 0))
    return np.where(takes_likeliest, likeliest, reached), scores


def match_pairs(
    labels: Array,
    scores: Array,
    table: Sequence[Label],
    is_free: Array,
    final: bool = True,
) -> Array:
    """Label ids (W,) in which the signs of every sentence match.

    A sentence that ends with a closing sign is opened once: by a mark that is given, or else at the likeliest free word
    among those that open something already or have no mark; the last word takes both signs. Other opening signs go,
    except in the last sentence of a text that is not `final`. `scores` (W, M) are 0 for labels that may not be chosen;
    `table` holds the labels by id; labels that are not `is_free` (W,) stay.
    """
    ids = {(label["before"], label["after"]): index for index, label in enumerate(table)}
    # A closing label -> the one that opens, and the one that does both, or 0.
    partners = {
        ids.get(("", closing)): (ids[opening, ""], ids.get((opening, closing), 0))
        for opening, closing in PAIRS.items()
        if (opening, "") in ids
    }
    if not partners or not labels.size:
        return labels
    openings = [opening for opening, _ in partners.values()]
    ends = np.flatnonzero(np.take(stop_labels(table), labels)) + 1
    if final:
        ends = np.union1d(ends, len(labels))
    matched = labels.copy()
    for first, end in itertools.pairwise([0, *ends]):
        sentence, free = matched[first:end], is_free[first:end]  # views
        opening, both = partners.get(sentence[-1], (0, 0))
        opened = free & np.isin(sentence, openings)
        sentence[opened] = 0
        if not opening or opening in sentence:
            continue
        chances = np.where(free & (sentence == 0), scores[first:end, opening] + opened, 0.0)
        chances[-1] = scores[end - 1, both] if both and free[-1] else 0.0
        word = chances.argmax()
        if chances[word] >= LEAST_CHANCE:
            sentence[word] = both if word == len(sentence) - 1 else opening
    return matched
