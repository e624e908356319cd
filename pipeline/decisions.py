"""What a model says of the words of a text -> what is decided of each: its label, with a probability and a source.

It knows labels by name and number, and nothing of windows or edits. In this order:

    given         marks that the text has make others nearby less likely
    ends          a sentence ends where another speaker begins, and before an empty line
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
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import regex

from .conventions import PAIRS, ends_sentence
from .items import Item, Time, TimedSpan
from .marks import FoundMark
from .slots import ModelConfig
from .spoken_forms import Forms
from .words import Word

LEAST_THRESHOLD = 1e-9  # what a probability is divided by where the threshold is 0
# Of a word to open its sentence. Where all have less, its `?` stays alone, as in English.
LEAST_CHANCE = 0.01
NEARBY = 40  # words; of 20, 40, 80 and all words the best where half of the marks were missing
EMPTY_LINE = regex.compile(r"(?>\r\n|\n|\r)[^\S\r\n]*+[\r\n]|\u2029")

Label = Mapping[str, str]  # a row of the configuration's table


class Decision(NamedTuple):
    """The label of a word, its probability, and who decided."""

    label: int
    score: float
    source: str


@dataclass(frozen=True, slots=True)
class PreparedItem:
    """An item and what is known of its words before the model is asked."""

    item: Item
    words: list[Word]
    found: list[FoundMark | None]  # the mark that the text has after each word
    fixed: list[Decision | None]  # what is decided already
    borders: list[int]  # where another speaker or a paragraph begins
    forms: Forms  # numbers, times and addresses as they are spoken
    replaced: Set[str] = frozenset()  # the signs that are taken out first
    times: Sequence[tuple[Time, Time]] | None = (
        None  # when the words were said; None where nobody knows
    )


class Choice(NamedTuple):
    """Which labels may be chosen."""

    # (M,) the label that gets a label's probability: itself, if it may be chosen.
    goes_to: np.ndarray
    # (M,) the probability from which a label is chosen; infinite: it must be the most probable.
    thresholds: np.ndarray


def make_choice(
    config: ModelConfig,
    marks: str | Sequence[str] = "basic",
    thresholds: Mapping[str, float] | None = None,
) -> Choice:
    """What `marks` and `thresholds` allow, a ValueError for what cannot be; sets have what opens with what closes.

    Names of labels may be written in small letters.
    """
    names, basic = config.label_names, config.basic_labels
    spelled = {name.lower(): name for name in names}
    ends = [label["name"] for label in config.labels if ends_sentence(label["after"])]
    sets = {"basic": [names[index] for index in basic], "all": names, "sentence-ends": ends}
    given = sets.get(marks, [marks]) if isinstance(marks, str) else marks
    wanted = [spelled.get(str(name).lower(), name) for name in given]
    if set(wanted) - set(names):
        known = f"'basic', 'all', 'sentence-ends' or labels among {names}"
        raise ValueError(f"Expected marks to be {known}, got {marks!r}. Pass one of these.")
    if isinstance(marks, str) and marks in sets:
        signs = {label["after"] for label in config.labels if label["name"] in wanted}
        wanted = [
            *wanted,
            *(label["name"] for label in config.labels if PAIRS.get(label["before"]) in signs),
        ]
    goes_to = [
        next((n for n in (index, basic[index]) if names[n] in wanted), 0)
        for index in range(len(names))
    ]
    if isinstance(thresholds, Mapping):
        thresholds = {spelled.get(str(name).lower(), name): p for name, p in thresholds.items()}
    config.check_thresholds(thresholds or {})
    limits = [(thresholds or {}).get(name, np.inf) for name in names]
    return Choice(np.array(goes_to), np.array(limits))


def fix(
    config: ModelConfig, found: Sequence[FoundMark | None], known: Mapping[int, str]
) -> list[Decision | None]:
    """For each word what a mark of the text or the caller decides; a ValueError for an unknown label or word."""
    ids: dict[str | None, int] = {name: index for index, name in enumerate(config.label_names)}
    fixed = [Decision(ids.get(mark.label, 0), 1.0, "input") if mark else None for mark in found]
    for index, name in known.items():
        if not 0 <= index < len(found) or name not in ids:
            raise ValueError(
                f"Expected 'known' to map word indices below {len(found)} to labels among {list(ids)}, got "
                f"{index}: {name!r}. Count words as result['words'] does."
            )
        fixed[index] = fixed[index] or Decision(ids[name], 1.0, "known")
    return fixed


def decide(
    prepared: PreparedItem,
    probabilities: np.ndarray,
    config: ModelConfig,
    choice: Choice,
) -> tuple[list[Decision], np.ndarray]:
    """What is decided of each word, and its probabilities (W, M) after all that was weighed.

    `probabilities` (W, M) are the model's.
    """
    item, words = prepared.item, prepared.words
    probabilities = calibrated(probabilities, config.calibration_temperature)
    last = last_words(prepared.borders, words)
    probabilities = end_sentences(probabilities, last, config)
    nothing = np.eye(len(config.labels))[0]
    probabilities[sorted(prepared.forms.unbroken.difference(last))] = nothing
    if words and item.unfinished and not (item.decides_last or config.open_ends):
        probabilities[-1] = nothing  # the model takes the end of what it sees for the end of a text
    if not prepared.replaced:
        is_written = [
            mark is not None and mark.source == "input" and choice.goes_to[mark.label] > 0
            for mark in prepared.fixed
        ]
        probabilities = weigh_given(
            probabilities, np.array(is_written, dtype=bool), choice.goes_to > 0, last
        )
    labels, shared = decode(probabilities, choice)
    # Before an empty line or another speaker a sentence ends, whatever the thresholds.
    for index in last:
        likeliest = 1 + shared[index, 1:].argmax()
        is_end = ends_sentence(config.labels[likeliest]["after"])
        if is_end and shared[index, likeliest] and not labels[index]:
            labels[index] = likeliest
    is_free = np.array([given is None for given in prepared.fixed], dtype=bool)
    labels[~is_free] = [given.label for given in prepared.fixed if given]
    labels = match_pairs(labels, shared, config.labels, is_free, item.unfinished)
    scores = shared[np.arange(len(labels)), labels].tolist()
    made = (
        Decision(label, score, "model")
        for label, score in zip(labels.tolist(), scores, strict=True)
    )
    decisions = [given or decided for given, decided in zip(prepared.fixed, made, strict=True)]
    return decisions, probabilities


def calibrated(probabilities: Any, temperature: float) -> np.ndarray:
    """Probabilities (W, M) of logits that were divided by a temperature (Guo et al. 2017, section 4.2)."""
    powers = np.asarray(probabilities, dtype=np.float64) ** (1 / temperature)
    return powers / powers.sum(axis=1, keepdims=True)


def weigh_given(
    probabilities: np.ndarray, is_given: np.ndarray, may_be_written: np.ndarray, last: Sequence[int]
) -> np.ndarray:
    """Probabilities (W, M) of marks in a text that has some marks, those of the words that `is_given` (W,).

    Whoever has written 80 % of the marks around a word would have written one there in 80 % of the cases. So the odds
    of a new mark are multiplied by the share of the marks nearby that are missing: those expected of words without one,
    among these and the given ones. Another given mark never raises this share, so a text that is restored twice gets
    nothing new. `may_be_written` (M,) says which labels count; `last` words, and that of the text, keep their odds.
    """
    if not is_given.any():
        return probabilities
    expected = probabilities[:, may_be_written].sum(axis=1)
    expected[is_given] = 0
    n_missing = _nearby(expected)
    share = n_missing / np.maximum(n_missing + _nearby(is_given), np.finfo(float).tiny)
    share[is_given] = 1
    share[[*last, -1]] = 1
    weighed = probabilities.copy()
    weighed[:, 1:] *= share[:, None]
    return weighed / weighed.sum(axis=1, keepdims=True)


def _nearby(values: np.ndarray) -> np.ndarray:
    """For each word the sum of the values (W,) of those that are at most `NEARBY` words away."""
    n_words = len(values)
    sums = np.concatenate([[0.0], np.cumsum(values)])
    indices = np.arange(n_words)
    return sums[np.minimum(indices + NEARBY + 1, n_words)] - sums[np.maximum(indices - NEARBY, 0)]


def borders_of(text: str, turns: Sequence[int]) -> list[int]:
    """Where another speaker or a paragraph begins, in order: at changes of speaker and empty lines."""
    return sorted([*turns, *(match.start() for match in EMPTY_LINE.finditer(text))])


def last_words(borders: Sequence[int], words: Sequence[Word]) -> list[int]:
    """The words before a border, in order."""
    ends = [word.end for word in words]
    return sorted({bisect_right(ends, offset) - 1 for offset in borders} - {-1, len(ends) - 1})


def end_sentences(probabilities: np.ndarray, last: list[int], config: ModelConfig) -> np.ndarray:
    """Probabilities (W, M) in which the words `last` end sentences."""
    is_end = [ends_sentence(label["after"]) for label in config.labels]
    if last and any(is_end):
        probabilities[last] *= is_end
        probabilities[last] /= np.maximum(
            probabilities[last].sum(axis=1, keepdims=True), np.finfo(float).tiny
        )
    return probabilities


def decode(probabilities: Any, choice: Choice) -> tuple[np.ndarray, np.ndarray]:
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
    labels: np.ndarray,
    scores: np.ndarray,
    table: Sequence[Label],
    is_free: np.ndarray,
    unfinished: bool = False,
) -> np.ndarray:
    """Label ids (W,) in which the signs of every sentence match.

    A sentence that ends with a closing sign is opened once: by a mark that is given, or else at the likeliest free word
    among those that open something already or have no mark; the last word takes both signs. Other opening signs go,
    except in the last sentence of a text that is `unfinished`. `scores` (W, M) are 0 for labels that may not be chosen;
    `table` holds the labels by id; labels that are not `is_free` (W,) stay.
    """
    if not any(label["before"] in PAIRS and not label["after"] for label in table):
        return labels
    ids = {(label["before"], label["after"]): index for index, label in enumerate(table)}
    ends = np.array([ends_sentence(label["after"]) for label in table])[labels]
    if not unfinished:
        ends[-1:] = True
    opens = is_free & np.isin(labels, [ids[sign, ""] for sign in PAIRS if (sign, "") in ids])
    matched = labels.copy()
    for first, end in itertools.pairwise([0, *(np.flatnonzero(ends) + 1)]):
        here, last = slice(first, end), end - 1
        matched[here][opens[here]] = 0
        pair = next(
            (pair for pair in PAIRS.items() if ids.get(("", pair[1])) == labels[last]), ("", "")
        )
        opening, both = ids.get((pair[0], ""), 0), ids.get(pair, 0)
        if not opening or opening in labels[here][~is_free[here]]:
            continue
        wanted = np.append(np.full(last - first, opening), both)
        may_open = is_free[here] & np.append(matched[first:last] == 0, both > 0)
        chances = np.where(may_open, scores[np.arange(first, end), wanted] + opens[here], 0.0)
        word = chances.argmax()
        if chances[word] >= LEAST_CHANCE:
            matched[first + word] = wanted[word]
    return matched


def word_times(words: Sequence[Word], spans: Sequence[TimedSpan]) -> list[tuple[Time, Time]]:
    """For each word the start of the first span that it touches and the end of the last; (None, None) without one."""
    starts, ends = [span.start for span in spans], [span.end for span in spans]
    touched = [(bisect_right(ends, word.start), bisect_left(starts, word.end)) for word in words]
    return [(spans[a].time[0], spans[b - 1].time[1]) if a < b else (None, None) for a, b in touched]
