"""Text that switches language: sentences and words of one language put between and into those of another.

    saya tak pasti. kita jumpa esok?                    a window of one language
    saya tak pasti. what time is it? kita jumpa esok?   a sentence after a sentence
    saya tak pasti. kita the morning train jumpa esok?  words within a clause, where neither has a mark
    saya tak pasti. kita see you at eight?              the rest of a sentence, with its stop

Made text, not said by anybody: it shows that the language says nothing about where a sentence ends.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from punctuation_restoration.data.streams import SentenceBorders, Words, WordStream, joined, parted

SENTENCE_WORDS = 25  # of a longer sentence its last words are taken
RUN_WORDS = 6  # at most, of those put into a clause
WORDS_A_SPLICE = 25  # a window has up to one splice for so many words


class Splicer:
    """Puts words of other streams into a window.

    Args:
        streams: those of the sampler.
        probabilities: how often each is drawn, (n_streams,).
        shares: for each language id the share of its windows that get words of another, by its id.
        stop_ids: label ids that end a sentence.
        borders: gives the sentences of a stream by its number.
    """

    def __init__(
        self,
        streams: Sequence[WordStream],
        probabilities: np.ndarray,
        shares: Mapping[int, Mapping[int, float]],
        stop_ids: np.ndarray,
        borders: Callable[[int], SentenceBorders],
    ):
        self.streams, self.shares, self.stop_ids, self.borders = streams, shares, stop_ids, borders
        languages = np.array([stream.language_id for stream in streams])
        is_human = np.array([not stream.is_pseudo for stream in streams])
        self._weights = {other: probabilities * is_human * (languages == other) for other in set(languages.tolist())}

    def __call__(self, words: Words, language_id: int, generator: np.random.Generator) -> Words:
        """The words, or the words with splices of one other language, drawn by the shares."""
        kind = generator.random()
        for other, share in self.shares.get(language_id, {}).items():
            if kind < share:
                for _ in range(int(generator.integers(1, 2 + len(words[2]) // WORDS_A_SPLICE))):
                    words = self._spliced(words, other, generator)
                return words
            kind -= share
        return words

    def _spliced(self, words: Words, other: int, generator: np.random.Generator) -> Words:
        """One splice more, where there are words for it and a place."""
        weights = self._weights[other]
        if not weights.any():
            return words
        number = int(generator.choice(len(weights), p=weights / weights.sum()))
        sentence = self._sentence(number, generator)
        labels, kind = words[2], generator.integers(3)
        stops = np.isin(labels, self.stop_ids).nonzero()[0]
        if kind == 0:  # a run without marks into a clause
            places, run = (labels == 0).nonzero()[0], _run(sentence, generator)
            if not len(places) or not len(run[2]):
                return words
            before, after = parted(words, int(places[generator.integers(len(places))]) + 1)
            return joined(before, run, after)
        if not len(stops):
            return words
        number_of_stop = int(generator.integers(len(stops)))
        end = int(stops[number_of_stop]) + 1
        before, after = parted(words, end)
        if kind == 1:  # a sentence after a sentence
            return joined(before, sentence, after)
        first = int(stops[number_of_stop - 1]) + 1 if number_of_stop else 0
        before = parted(before, first + int(generator.integers(end - first)))[0]  # the rest of a sentence
        return joined(before, parted(sentence, int(generator.integers(len(sentence[2]))))[1], after)

    def _sentence(self, number: int, generator: np.random.Generator) -> Words:
        """A sentence of a stream, or its last words if it is long."""
        borders = self.borders(number).words
        place = int(generator.integers(len(borders) - 1)) if len(borders) > 1 else 0
        first, end = borders[place], borders[min(place + 1, len(borders) - 1)]
        first = max(int(first), int(end) - SENTENCE_WORDS)
        return self.streams[number].words(first, int(end) - first)


def _run(words: Words, generator: np.random.Generator) -> Words:
    """Some words one after the other that have no marks; none where all have one."""
    free = (words[2] == 0).nonzero()[0]
    if not len(free):
        return parted(words, 0)[0]
    behind = parted(words, int(free[generator.integers(len(free))]))[1]
    marked = behind[2].nonzero()[0]
    n_words = min(int(marked[0]) if len(marked) else len(behind[2]), int(generator.integers(1, RUN_WORDS + 1)))
    return parted(behind, n_words)[0]
