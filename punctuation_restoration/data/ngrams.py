"""An n-gram model of words, and how likely it finds other words: interpolated Kneser-Ney (Chen & Goodman 1999).

Takes and gives arrays; a word is any 64-bit number. Knows nothing of files, pieces or marks. Not a library's: the
Python package of KenLM only reads models that a program in C++ has made, and nltk.lm goes through all its n-grams again
for each word that it scores with this smoothing.

    words        a   b   a   c            two texts, "a b" and "a c"
    padded   s s a b   s s a c            for order 3: two starts before each
    n-gram (2)   sa ab     sa ac          its number; a word is found from the number of the n-gram before it
"""

from dataclasses import dataclass

import numpy as np

ORDER = 4  # Fu et al. (2021)
START, UNKNOWN, FIRST_WORD = 0, 1, 2  # ids: before a text, not in the model, the first word of the vocabulary


@dataclass(frozen=True, slots=True)
class _Level:
    """The n-grams of one length. A context is an n-gram of the level below; the only one of the first level is 0."""

    keys: np.ndarray  # (n_grams,) sorted: context * size of the vocabulary + word
    counts: np.ndarray  # (n_grams,) of the longest n-grams occurrences, of others different words before them
    discount: float
    totals: np.ndarray  # (n_contexts,) sum of the counts that follow a context
    kinds: np.ndarray  # (n_contexts,) how many different words follow it

    def find(self, keys: np.ndarray) -> np.ndarray:
        """The numbers of n-grams, -1 for those that are not there."""
        places = np.minimum(self.keys.searchsorted(keys), len(self.keys) - 1)
        return np.where(self.keys[places] == keys, places, -1)

    def interpolated(self, contexts: np.ndarray, ids: np.ndarray, shorter: np.ndarray) -> np.ndarray:
        """Probabilities after a context, from those after a context that is one word `shorter`."""
        counts = np.where(ids >= 0, self.counts[ids], 0)
        totals = np.where(contexts >= 0, self.totals[contexts], 0)
        left = self.discount * self.kinds[contexts] * shorter
        return np.where(totals > 0, (np.maximum(counts - self.discount, 0) + left) / np.maximum(totals, 1), shorter)


class NgramModel:
    """The n-grams of some texts.

    Args:
        words: all texts, one after the other, (n_words,) uint64.
        starts: first word of each text, (n_texts,), the first of them 0.
        order: words of the longest n-gram.

    Raises:
        ValueError: if there are no words.
    """

    def __init__(self, words: np.ndarray, starts: np.ndarray, order: int = ORDER):
        if not len(words):
            raise ValueError("Expected words to count n-grams of, got none. Give a text.")
        self.order, self.vocabulary = order, np.unique(words)
        self._size = np.int64(len(self.vocabulary) + FIRST_WORD)
        padded, is_word = self._padded(words, starts)
        numbered = [np.zeros(len(padded), dtype=np.int64)]  # of every order: the n-gram that ends at each word
        keys = []
        for length in range(1, order + 1):
            found, numbers = np.unique(_before(numbered[-1], length) * self._size + padded, return_inverse=True)
            keys.append(found)
            numbered.append(numbers)
        self._levels = [
            _level(keys[n], _counts(len(keys[n]), numbered[n + 1 : n + 3], is_word), self._size, int(numbered[n].max()))
            for n in range(order)
        ]

    def log_probabilities(self, words: np.ndarray, starts: np.ndarray) -> np.ndarray:
        """The natural logarithm of each word's probability after the words before it, (n_words,).

        A word that the model does not know has the probability of one unknown word. Arguments as for the model.
        """
        padded, is_word = self._padded(words, starts)
        ids = np.zeros(len(padded), dtype=np.int64)
        probabilities = np.full(len(padded), 1 / (len(self.vocabulary) + 1))
        for length, level in enumerate(self._levels, 1):
            contexts = _before(ids, length)
            ids = level.find(contexts * self._size + padded)
            probabilities = level.interpolated(contexts, ids, probabilities)
        return np.log(probabilities[is_word])

    def _padded(self, words: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Ids of words with starts before each text, and which of them are words."""
        places = np.minimum(self.vocabulary.searchsorted(words), len(self.vocabulary) - 1)
        ids = np.where(self.vocabulary[places] == words, places + FIRST_WORD, UNKNOWN)
        padded = np.insert(ids, np.repeat(starts, self.order - 1), START)
        return padded, padded != START


def _before(ids: np.ndarray, length: int) -> np.ndarray:
    """The context of each n-gram of a length: the number of the shorter one that ends a word earlier."""
    return ids if length == 1 else np.concatenate([[0], ids[:-1]])  # 0 is always the n-gram of starts alone


def _counts(n_grams: int, numbered: list[np.ndarray], is_word: np.ndarray) -> np.ndarray:
    """The count of each n-gram, given where it ends and, but for the longest, where n-grams one word longer end."""
    ids = numbered[0][is_word]
    if len(numbered) > 1:
        ids = ids[np.unique(numbered[1][is_word], return_index=True)[1]]  # once for each different word before
    return np.bincount(ids, minlength=n_grams)


def _level(keys: np.ndarray, counts: np.ndarray, size: np.int64, last_context: int) -> _Level:
    contexts = keys // size
    once, twice = (int((counts == n).sum()) for n in (1, 2))
    discount = once / (once + 2 * twice) if once else 0.5  # Ney, Essen & Kneser (1994); it must leave something
    totals, kinds = (np.bincount(contexts, values, last_context + 1) for values in (counts, counts > 0))
    return _Level(keys, counts, discount, totals, kinds)
