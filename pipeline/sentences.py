"""Labels -> sentences: where they begin and end, and their capitals. Knows nothing of scores or of how marks look."""

from collections.abc import Sequence

from .edits import Edit, change
from .words import Word


def sentence_ranges(ends: Sequence[bool]) -> list[tuple[int, int]]:
    """Sentences as ranges of words (first, end), from whether each word ends one. The last one may be unfinished."""
    ranges, first = [], 0
    for index, is_end in enumerate(ends):
        if is_end:
            ranges.append((first, index + 1))
            first = index + 1
    if first < len(ends):
        ranges.append((first, len(ends)))
    return ranges


def capitals(text: str, words: Sequence[Word], ranges: Sequence[tuple[int, int]]) -> list[Edit]:
    """The edits that give sentences their capital, and the English `I` its own (also in I'm, I'll, I've, I'd).

    Only the first letter of a word in lower case changes; links and words such as iPhone stay as they are.
    """
    firsts = {first for first, _ in ranges}
    edits = []
    for index, word in enumerate(words):
        is_english_i = word.spoken == "i" or word.spoken.startswith("i'")
        if not is_english_i and (index not in firsts or not word.spoken.islower() or "://" in word.text):
            continue
        offset = next((place for place, sign in enumerate(word.text) if sign.isalnum()), None)
        if offset is None or not word.text[offset].islower():
            continue
        # One letter for one: `ß`.upper() is two letters, `ß`.title() too, so it stays.
        capital = word.text[offset].upper()
        if len(capital) == 1:
            edits.append(change(text, word.start + offset, capital, "truecase"))
    return edits
