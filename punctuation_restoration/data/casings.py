"""The casing labels of a text: which words have capitals inside a sentence, where the text shows it.

    He said: i went home. MONDAY, then?     mostly lower case at sentence starts: unknown
    Monday came. NASA called Mary.          as it is: came, called; capital: Mary; upper: NASA; Monday began

A model learns how a word is written in the middle of a sentence. The first word of a sentence has a capital anyway, so
its casing is unknown, unless it has more than one capital, or the document writes it in one way elsewhere. Headlines,
sentences in capitals, and documents with careless capitals are unknown too: the constants below are the limits.
"""

from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from punctuation_restoration.pipeline.casing import AS_IS, CAPITAL, ENGLISH_I, casing_of

Array = np.ndarray
UNKNOWN = 255  # the byte of a word whose casing is unknown

LEAST_STARTS = 0.7  # of sentences that begin with a letter, the share that begins with a capital
MOST_CAPITALS = 0.6  # of words inside sentences; more is a list of titles
# likewise of one sentence of `LEAST_WORDS` or more; more is a headline
MOST_CAPITALS_OF_SENTENCE = 0.75
LEAST_WORDS = 4
LONG = 200  # words with letters inside sentences, none of which has a capital: names were written small

_shape_of = lru_cache(1 << 16)(
    lambda word: UNKNOWN if (casing := casing_of(word)) is None else casing
)


def written_casings(words: Sequence[str], begins: Array) -> Array:
    """The casing (n_words,) uint8 of each word as the document writes it, `UNKNOWN` where that shows nothing.

    Args:
        words: as the document writes them, without marks.
        begins: (n_words,) of bool, whether each begins a sentence.
    """
    shapes = np.fromiter(map(_shape_of, words), dtype=np.uint8)
    has_letter = shapes != UNKNOWN
    has_capital = has_letter & (shapes != AS_IS)
    is_i = [word.lower() in ENGLISH_I for word in words]
    inside = ~begins & ~np.array(is_i, dtype=bool)
    starts, n_capitals = has_capital[begins & has_letter], np.count_nonzero(has_capital & inside)
    is_small = not n_capitals and np.count_nonzero(has_letter & inside) >= LONG
    is_careless = len(starts) and starts.mean() < LEAST_STARTS
    is_titles = n_capitals > MOST_CAPITALS * np.count_nonzero(inside)
    if is_small or is_careless or is_titles:
        return np.full_like(shapes, UNKNOWN)
    sentence = np.cumsum(begins)  # the number of each word's sentence
    kinds = (has_letter, inside, has_capital & inside, has_letter & (shapes > CAPITAL))
    # Of each word's sentence
    n_words, n_inside, n_raised, n_upper = (np.bincount(sentence, kind)[sentence] for kind in kinds)
    is_headline = (n_inside >= LEAST_WORDS) & (n_raised >= MOST_CAPITALS_OF_SENTENCE * n_inside)
    is_headline |= (n_words >= 2) & (n_upper == n_words)
    return np.where(is_headline, UNKNOWN, shapes).astype(np.uint8)


def casing_targets(words: Sequence[str], begins: Array, written: Array) -> Array:
    """The casing that a model learns for each word, (n_words,) uint8, from the result of `written_casings`."""
    inside = defaultdict[str, set[int]](set)  # the casings of each word
    for index in np.flatnonzero(~begins & (written != UNKNOWN)).tolist():
        inside[words[index].lower()].add(int(written[index]))
    targets = written.copy()
    for index in np.flatnonzero(begins & (written == CAPITAL)).tolist():
        casings = inside[words[index].lower()]
        targets[index] = min(casings) if len(casings) == 1 else UNKNOWN
    return targets


def sentence_begins(is_stop: Array) -> Array:
    """Whether each word (n_words,) begins a sentence, given whether a sentence ends behind it."""
    begins = np.roll(is_stop, 1).astype(bool)
    begins[:1] = True
    return begins
