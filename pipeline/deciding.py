"""What models say of the words of a text -> what is decided of each word: its label, with a probability and a source.

Takes a document and probabilities, gives decisions. It knows nothing of windows, and writes nothing.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .decoding import Choice, calibrated, decode, end_sentences
from .marks import FoundMark
from .pairs import match_pairs
from .results import Decision, PreparedItem
from .spoken_forms import unbroken
from .timing import pause_lengths, weigh_pauses
from .words import Word

Reading = tuple[list[Decision], np.ndarray]  # what is decided of each word, and its probabilities (W, M)


def fix(config: Any, found: Sequence[FoundMark | None], known: Mapping[int, str]) -> list[Decision | None]:
    """For each word what is decided before the model is asked, if anything is: by a mark of the text, or the caller.

    Raises:
        ValueError: for a known label or word that does not exist.
    """
    rows = dict(zip(config.label_names, config.labels, strict=True))
    no_mark = config.label_names[0]
    fixed = [None if mark is None else Decision(rows[mark.label or no_mark], 1.0, "input") for mark in found]
    for index, name in known.items():
        if not 0 <= index < len(found) or name not in rows:
            raise ValueError(
                f"Expected 'known' to map word indices below {len(found)} to labels among {list(rows)}, got "
                f"{index}: {name!r}. Correct it."
            )
        fixed[index] = fixed[index] or Decision(rows[name], 1.0, "known")
    return fixed


def decide(
    document: PreparedItem,
    each: list[Any],
    configs: list[Any],
    choice: Choice,
    pause: float | None = None,
    final: bool = True,
) -> Reading:
    """What is decided of each word; `each` has the probabilities (W, M) of each model, `configs` its configuration."""
    config, words = configs[0], document.words
    pairs = zip(each, configs, strict=True)
    probabilities = np.mean([calibrated(rows, own.calibration_temperature) for rows, own in pairs], axis=0)
    if pause is not None and document.times:
        probabilities = weigh_pauses(probabilities, pause_lengths(document.times), pause)
    probabilities = end_sentences(probabilities, _last_before(document.item.turns, words), config)
    nothing = np.eye(len(config.labels))[0]
    probabilities[unbroken(document.forms)] = nothing
    if words and not (final or config.open_ends):  # the model takes the end of what it sees for a text's
        probabilities[-1] = nothing
    labels, _ = decode(probabilities, choice)
    is_free = np.array([given is None for given in document.fixed], dtype=bool)
    labels[~is_free] = [config.label_names.index(given.row["name"]) for given in document.fixed if given]
    shared = choice.shared(probabilities)
    labels = match_pairs(labels, shared, config.labels, is_free, document.item.unfinished)
    scores = shared[np.arange(len(labels)), labels]
    decided = [
        given or Decision(config.labels[label], score, "model")
        for given, label, score in zip(document.fixed, labels.tolist(), scores.tolist(), strict=True)
    ]
    return decided, probabilities


def _last_before(turns: Sequence[int], words: Sequence[Word]) -> list[int]:
    """The words before changes of speaker; not the last of all, behind which nobody has begun."""
    ends = [word.end for word in words] if turns else []
    return sorted({bisect_right(ends, turn) - 1 for turn in turns} - {-1, len(ends) - 1})
