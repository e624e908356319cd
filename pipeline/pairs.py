"""Labels -> labels whose pairs are whole: no `¿` that nothing closes, no `?` of Spanish that nothing opens.

Takes the label of each word and what the model gives all labels; knows no text. It stands between decoding and edits.

    words      hola   cómo           estás           bien
    decoded    COMMA  OPEN_QUESTION  O               PERIOD     nothing closes it: no mark (Zhu et al. 2022)
    matched    COMMA  O              O               PERIOD
    decoded    COMMA  O              CLOSE_QUESTION  PERIOD     nothing opens it: the likeliest word does
    matched    COMMA  OPEN_QUESTION  CLOSE_QUESTION  PERIOD
"""

import itertools
from collections.abc import Mapping

import numpy as np

from .conventions import PAIRS
from .decoding import is_sentence_end

# Where every word of a sentence is less likely to open it, its `?` stays alone: so a model may know Spanish beside
# languages that have no `¿`.
LEAST_CHANCE = 0.01


def match_pairs(
    labels: np.ndarray, scores: np.ndarray, table: list[dict[str, str]], is_free: np.ndarray, unfinished: bool = False
) -> np.ndarray:
    """Label ids (W,) in which the signs of every sentence match.

    One that ends with a closing sign is opened once: by a mark that is given, or else at the likeliest free word among
    those that open something already or have no mark; the last word takes both signs. What else opens goes.

    Args:
        labels: (W,) label ids.
        scores: (W, M) what the model gives each label; nothing to those that may not be chosen.
        table: the labels of the configuration, in the order of their ids.
        is_free: (W,) whether the model has decided the label; the others stay.
        unfinished: whether the text goes on: what opens its last sentence may be closed later.
    """
    if not any(label["before"] in PAIRS and not label["after"] for label in table):
        return labels
    ids = {(label["before"], label["after"]): index for index, label in enumerate(table)}
    ends = np.array([is_sentence_end(label) for label in table])[labels]
    if not unfinished:
        ends[-1:] = True
    matched = labels.copy()
    for first, end in itertools.pairwise([0, *(np.flatnonzero(ends) + 1)]):
        place = slice(first, end)
        matched[place] = _matched(labels[place], scores[place], is_free[place], ids)
    return matched


def _matched(
    labels: np.ndarray, scores: np.ndarray, is_free: np.ndarray, ids: Mapping[tuple[str, str], int]
) -> np.ndarray:
    """One sentence; `ids` are the labels that write these signs before and after a word."""
    opens = is_free & np.isin(labels, [ids[sign, ""] for sign in PAIRS if (sign, "") in ids])
    matched = np.where(opens, 0, labels)
    pair = next((pair for pair in PAIRS.items() if ids.get(("", pair[1])) == labels[-1]), ("", ""))
    opening, both = ids.get((pair[0], ""), 0), ids.get(pair, 0)
    if not opening or opening in labels[~is_free]:
        return matched
    wanted = np.append(np.full(len(labels) - 1, opening), both)
    may_open = is_free & np.append(matched[:-1] == 0, both > 0)
    chances = np.where(may_open, scores[np.arange(len(labels)), wanted] + opens, 0.0)
    word = chances.argmax()
    if chances[word] >= LEAST_CHANCE:
        matched[word] = wanted[word]
    return matched
