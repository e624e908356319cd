"""When words were said: times for words from times for stretches of text, and what pauses say about marks.

Takes words and timed spans, seconds throughout. Knows nothing of labels but that the first writes nothing.
"""

import itertools
from collections.abc import Sequence

import numpy as np

from .items import Time, TimedSpan
from .words import Word

MAX_DOUBLINGS = 3.0  # a pause of three times the limit or more multiplies the odds of a mark by eight


def word_times(words: Sequence[Word], spans: Sequence[TimedSpan]) -> list[tuple[Time, Time]]:
    """For each word the start of the first span that it touches and the end of the last; (None, None) without one."""
    times: list[tuple[Time, Time]] = []
    first = 0
    for word in words:
        while first < len(spans) and spans[first].end <= word.start:
            first += 1
        last = first
        while last < len(spans) and spans[last].start < word.end:
            last += 1
        times.append((spans[first].time[0], spans[last - 1].time[1]) if last > first else (None, None))
    return times


def weigh_pauses(probabilities: np.ndarray, times: Sequence[tuple[Time, Time]], pause: float) -> np.ndarray:
    """Raise the chance of a mark where the speaker paused.

    The odds of any mark against none are doubled for a pause of `pause` seconds, and multiplied by two again for each
    further `pause` seconds, up to eight; shorter pauses change nothing. Which mark it is stays the model's decision.

    `probabilities` are (W, M), the first column for "no mark", as are those returned, each row summing to 1; `times`
    are (start, end) of each word, and `pause` a length, in seconds.
    """
    lengths = np.zeros(len(probabilities))
    for index, ((_, end), (following, _)) in enumerate(itertools.pairwise(times)):
        if end is not None and following is not None:
            lengths[index] = following - end
    doublings = np.where(lengths >= pause, np.minimum(lengths / pause, MAX_DOUBLINGS), 0.0)
    weighed = np.array(probabilities, dtype=np.float64)
    weighed[:, 1:] *= 2.0 ** doublings[:, None]
    return weighed / weighed.sum(axis=1, keepdims=True)
