"""When words were said: times for words from times for stretches of text, pauses, and what they say about marks.

Takes words and timed spans, seconds throughout. Knows nothing of labels but that the first writes nothing.
"""

import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

import numpy as np

from .speech import Time, TimedSpan
from .words import Word

OVERLAP = 0.05  # seconds by which a word may begin before the last one ends; times are rounded
MAX_DOUBLINGS = 3.0  # a pause of three times the limit or more multiplies the odds of a mark by eight


def word_times(words: Sequence[Word], spans: Sequence[TimedSpan]) -> list[tuple[Time, Time]]:
    """For each word the start of the first span that it touches and the end of the last; (None, None) without one."""
    starts, ends = [span.start for span in spans], [span.end for span in spans]
    touched = [(bisect_right(ends, word.start), bisect_left(starts, word.end)) for word in words]
    return [(spans[a].time[0], spans[b - 1].time[1]) if a < b else (None, None) for a, b in touched]


def pause_lengths(times: Sequence[tuple[Time, Time]]) -> np.ndarray:
    """Seconds of silence after each word, (W,), out of the (start, end) of each.

    NaN where it is not known: after the last word, and between words that have one time together, as those of a
    subtitle do. Where the next one follows at once, it is not known after the last of these either: subtitles stay on
    the screen until then. Where all words follow at once, nothing is known: so do Whisper's, however long one paused.
    """
    lengths = np.full(len(times), np.nan)
    for index, (own, (following, _)) in enumerate(itertools.pairwise(times)):
        least = OVERLAP if times[index - 1 : index] == [own] else -OVERLAP
        if own[1] is not None and following is not None and following - own[1] >= least:
            lengths[index] = max(0.0, following - own[1])
    if not (lengths > OVERLAP).any():
        lengths[:] = np.nan
    return lengths


def weigh_pauses(probabilities: np.ndarray, lengths: np.ndarray, pause: float) -> np.ndarray:
    """Raise the chance of a mark where the speaker paused.

    The odds of any mark against none are doubled for a pause of `pause` seconds, and multiplied by two again for each
    further `pause` seconds, up to eight; shorter pauses change nothing. Which mark it is stays the model's decision.

    `probabilities` are (W, M), the first column for "no mark", as are those returned, each row summing to 1; `lengths`
    (W,) are those of the pauses after the words, NaN where unknown, and `pause` is one, in seconds.
    """
    doublings = np.where(lengths >= pause, np.minimum(lengths / pause, MAX_DOUBLINGS), 0.0)
    weighed = np.array(probabilities, dtype=np.float64)
    weighed[:, 1:] *= 2.0 ** doublings[:, None]
    return weighed / weighed.sum(axis=1, keepdims=True)
