"""How a word is written, and how to write it so, letter for letter.

    monday  nasa's  mcdonald  covid-19      as a recogniser writes them
    1       2       3         2             capital, upper, mixed: see `CASINGS`
    Monday  NASA's  McDonald  COVID-19

It knows sentences by their first words alone: where they begin follows from the marks that are written.
"""

import itertools
from collections.abc import Callable, Container, Mapping, Sequence

import numpy as np
import regex

from .edits import Edit, make_edit
from .words import Word

AS_IS, CAPITAL, UPPER, MIXED = range(4)  # places in `configuration_punctuation.CASINGS`
LEAST_WORDS = 3  # in a text of capitals alone: `NASA` and `NASA JPL` stay
LEAST_STRETCH = 8  # in a text that has small letters too: no list of acronyms is as long
OTHERS_WEIGHT = 0.5  # of 0.5, 1 and 2 the best on held-out talks and news (docs/log.md)

# Links, addresses, and names of hosts and files: `example.com`, `a.tar.gz`, but not `U.S.A.` and `Ph.D`.
_ADDRESS = regex.compile(r"://|@|\\|\Awww\.|\A[/~]|(?<=\w)\.(?=\w\w)")
# What English hangs on words, which stays as it is: NASA's, we'll.
_ENDING = regex.compile(r"(?<=.)['’‘`´＇ʼ]\p{Ll}{1,2}\Z")
_FIRST_SIGN = regex.compile(r"[\p{L}\p{N}]")
ENGLISH_I = ("i", "i'm", "i'll", "i've", "i'd")
_PART = regex.compile(r"(?:^|[\-‐‑'’‘`´＇ʼ])[^\p{L}]*\p{Ll}")  # up to the first letter of it


def casing_of(word: str) -> int | None:
    """The casing of a written word; None where it has no letter that could be another."""
    letters = [sign for sign in stem_of(word) if sign.islower() or sign.isupper()]
    n_upper = sum(map(str.isupper, letters))
    if not letters:
        return None
    if n_upper == 0:
        return AS_IS
    if n_upper == 1 and letters[0].isupper():
        return CAPITAL
    return UPPER if n_upper == len(letters) else MIXED


def agreed(probabilities: np.ndarray, words: Sequence[str]) -> np.ndarray:
    """Scores (W, C) of the casing of each word: its probabilities, and those of the same word elsewhere in the text.

    A name is a name throughout a text, and some places show it better than others (Krishnan & Manning 2006).
    """
    _, kinds, counts = np.unique(
        np.array(words, dtype=object), return_inverse=True, return_counts=True
    )
    sums = np.zeros((len(counts), probabilities.shape[1]))
    np.add.at(sums, kinds, probabilities)
    others = (sums[kinds] - probabilities) / np.maximum(counts[kinds] - 1, 1)[:, None]
    return probabilities + OTHERS_WEIGHT * others


def stem_of(word: str) -> str:
    """A word without `'s` and its like, as it is in the list of mixed words."""
    return _ENDING.sub("", word)


def recased(word: str, casing: int, mixed: Mapping[str, str]) -> str:
    """A word in lower case as its casing wants it, letter for letter; the ending of `nasa's` stays.

    `mixed` gives the words with capitals inside, by their lower case: these have them with any casing, since no model
    sees `iPhone` often enough to tell it from `Paris`. Other mixed words get a capital at the start and after each
    hyphen and apostrophe.
    """
    stem = stem_of(word)
    form = mixed.get(stem.rstrip("."), "")  # the point of an abbreviation is not in the list
    if casing == AS_IS:
        return word
    if form:
        stem = form + stem[len(form) :]
    elif casing == UPPER:
        stem = _each(str.upper, stem)
    else:
        n_parts = int(casing == CAPITAL)  # 0: all of them
        stem = _PART.sub(_in_capitals, stem, n_parts)
    return stem + word[len(stem) :]


def _each(change: Callable[[str], str], signs: str) -> str:
    """Each sign changed by itself, but for those that would be two (`ß`), since one letter stands for one."""
    return "".join(sign if len(change(sign)) > 1 else change(sign) for sign in signs)


def _in_capitals(match: regex.Match[str]) -> str:
    return _each(str.upper, match.group())


def forms_inside(
    words: Sequence[Word],
    probabilities: np.ndarray,
    mixed_case: Sequence[str],
    unchanged: Container[int],
) -> list[str]:
    """How each word is written inside a sentence.

    Words that have capitals of their own, links, addresses and names of files stay as they are. `probabilities` (W, C)
    are those of the casings, (W, 0) if the model knows none; `mixed_case` lists words with capitals inside, of which
    the first of two alike counts. Words with an index in `unchanged` get no letters by their casing.
    """
    plain = without_shouting([word.text for word in words])
    casings = [AS_IS] * len(words)
    if probabilities.shape[1]:
        scores = agreed(probabilities, [word.spoken.lower() for word in words])
        casings = scores.argmax(axis=1).tolist()
    mixed = {
        form.lower(): form
        for form in reversed(mixed_case)
        if len(form.lower()) == len(form)  # İ becomes two letters
    }
    forms = []
    for index, (word, lowered, casing) in enumerate(zip(words, plain, casings, strict=True)):
        has_capitals = lowered == word.text and not lowered.islower()
        if word.spoken.lower() in ENGLISH_I:
            lowered = sentence_start(lowered)
        elif _ADDRESS.search(lowered):
            lowered = word.text
        elif not has_capitals and index not in unchanged:
            lowered = recased(lowered, casing, mixed)
        forms.append(lowered)
    return forms


def sentence_start(form: str) -> str:
    """A word at the start of a sentence: it gets a capital if it has none, as `iPhone` has."""
    if not form.islower():
        return form
    return _FIRST_SIGN.sub(_in_capitals, form, 1)


def capital_edits(
    text: str, words: Sequence[Word], forms: Sequence[str], firsts: Container[int]
) -> list[Edit]:
    """The edits that write words as their forms are, those with an index in `firsts` as starts of sentences."""
    edits = []
    for index, (word, form) in enumerate(zip(words, forms, strict=True)):
        is_capitalised = index in firsts and not _ADDRESS.search(form)
        form = sentence_start(form) if is_capitalised else form
        for offset, old, new in zip(itertools.count(word.start), word.text, form, strict=False):
            # Not where something is only read, as of `&eacute;`.
            if old != new and text[offset] == old:
                edits.append(make_edit(offset, old, new, "truecase"))
    return edits


def without_shouting(words: Sequence[str]) -> list[str]:
    """The words, those of a stretch in capitals in lower case: there capitals tell nothing.

    A stretch is a text in capitals of `LEAST_WORDS` words or more, or a part of a text of `LEAST_STRETCH` or more.
    Words without capital letters, such as numbers and Han, do not break it. Shorter ones are acronyms: they stay.
    """
    n_spelled = sum(any(map(str.isalpha, word)) for word in words)
    cased = (index for index, word in enumerate(words) if word.lower() != word.upper())
    plain = list(words)
    for is_shouted, group in itertools.groupby(cased, key=lambda index: words[index].isupper()):
        stretch = list(group)
        least = LEAST_WORDS if len(stretch) == n_spelled else LEAST_STRETCH
        if is_shouted and len(stretch) >= least:
            for index in stretch:
                plain[index] = _each(str.lower, words[index])
    return plain
