"""Text that switches language: sentences and words of one language put between and into those of another.

    saya tak pasti. kita jumpa esok?                    a window of one language
    saya tak pasti. what time is it? kita jumpa esok?   a sentence after a sentence
    saya tak pasti. kita the morning train jumpa esok?  words within a clause, where neither has a mark
    saya tak pasti. kita see you at eight?              the rest of a sentence, with its stop

Made text, not said by anybody: it shows that the language says nothing about where a sentence ends.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from punctuation_restoration.data.streams import SentenceBorders, Words, WordStream, joined

SENTENCE_WORDS = 25  # of a longer sentence its last words are taken
RUN_WORDS = 6  # at most, of those put into a clause
WORDS_A_SPLICE = 25  # a window has up to one splice for so many words


@dataclass
class Splicer:
    """Puts words of other streams into a window."""

    streams: Sequence[WordStream]  # those of the sampler
    languages: Sequence[str]  # of each stream
    probabilities: np.ndarray  # how often each is drawn, (n_streams,)
    # For each language the share of its windows that get words of another. One without streams gives none.
    shares: Mapping[str, Mapping[str, float]]
    stop_ids: Sequence[int]  # label ids that end a sentence
    borders: Callable[[int], SentenceBorders]  # the sentences of a stream by its number

    def __post_init__(self) -> None:
        human = self.probabilities * [not stream.is_pseudo for stream in self.streams]
        self._weights = {other: human * (np.array(self.languages) == other) for other in self.languages}

    def __call__(self, words: Words, language: str, generator: np.random.Generator) -> Words:
        """The words, or the words with splices of one other language, drawn by the shares."""
        kind = generator.random()
        for other, share in self.shares.get(language, {}).items():
            if other in self._weights and kind < share:
                for _ in range(int(generator.integers(1, 2 + len(words.labels) // WORDS_A_SPLICE))):
                    words = self._spliced(words, other, generator)
                return words
            kind -= share if other in self._weights else 0
        return words

    def _spliced(self, words: Words, other: str, generator: np.random.Generator) -> Words:
        """One splice more, where there are words for it and a place."""
        weights = self._weights[other]
        if not weights.any():
            return words
        number = int(generator.choice(len(weights), p=weights / weights.sum()))
        sentence = self._sentence(number, generator)
        kind = generator.integers(3)
        if kind == 0:  # a run without marks into a clause
            places, run = (words.labels == 0).nonzero()[0], _run(sentence, generator)
            if not len(places) or not len(run.labels):
                return words
            before, after = words.parted(int(places[generator.integers(len(places))]) + 1)
            return joined(before, run, after)
        ends = [0, *(np.isin(words.labels, self.stop_ids).nonzero()[0] + 1).tolist()]
        if len(ends) == 1:
            return words
        place = int(generator.integers(1, len(ends)))
        before, after = words.parted(ends[place])
        if kind == 2:  # the rest of a sentence
            before, _ = before.parted(int(generator.integers(ends[place - 1], ends[place])))
            _, sentence = sentence.parted(int(generator.integers(len(sentence.labels))))
        return joined(before, sentence, after)

    def _sentence(self, number: int, generator: np.random.Generator) -> Words:
        """A sentence of a stream, or its last words if it is long."""
        borders = self.borders(number).words
        place = int(generator.integers(len(borders) - 1)) if len(borders) > 1 else 0
        first, end = borders[place], borders[min(place + 1, len(borders) - 1)]
        first = max(int(first), int(end) - SENTENCE_WORDS)
        return self.streams[number].words(first, int(end) - first)


def _run(words: Words, generator: np.random.Generator) -> Words:
    """Some words one after the other that have no marks; none where all have one."""
    free = (words.labels == 0).nonzero()[0]
    if not len(free):
        return words.parted(0)[0]
    _, behind = words.parted(int(free[generator.integers(len(free))]))
    marked = behind.labels.nonzero()[0]
    n_words = min([*marked[:1].tolist(), len(behind.labels), int(generator.integers(1, RUN_WORDS + 1))])
    return behind.parted(n_words)[0]
