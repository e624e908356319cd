"""Decisions -> what the caller gets: edits, and as their views text, sentences, a recogniser's chunks; words.

Takes an item and the decision on each of its words. Knows nothing of models or windows.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from .casing import raised
from .decisions import Decision, PreparedItem
from .edits import Edit, ascending, change, edited, edited_between, marks_of, restoring_edits, sentence_ranges
from .words import Word


def make_result(
    prepared: PreparedItem,
    decided: Sequence[Decision],
    labels: Sequence[Mapping[str, str]],
    scores: Sequence[Mapping[str, float]] | None = None,
    cased: Sequence[tuple[str, str]] = (),
    sentences: bool = False,
    return_words: bool = True,
) -> Any:
    """What the pipeline gives for one item; its class says what that is.

    `labels` is the configuration's table. `scores` has the probability of every label for each word. `cased` has each
    word in its plain letters, and in those that it has inside a sentence; none where letters stay as they are.
    """
    item, words = prepared.item, prepared.words
    rows = [labels[decision.label] for decision in decided]
    marks = marks_of(words, rows)
    entries: list[dict[str, Any]] = [
        {
            "word": word.text, "start": word.start, "end": word.end,
            "label": row["name"], "mark": mark[1], "score": score, "source": source,
        }
        for word, row, mark, (_, score, source) in zip(words, rows, marks, decided, strict=True)
    ]  # fmt: skip
    new = [("", "") if decision.source == "input" else mark for mark, decision in zip(marks, decided, strict=True)]
    edits = restoring_edits(item.spoken, words, new, entries, prepared.replaced)
    ranges = sentence_ranges(item.spoken, edits, entries, item.turns) if cased or sentences else []
    if cased:
        edits = ascending([*edits, *_capitals(item.text, words, ranges, cased)])
    result: dict[str, Any] = {"text": edited(item.text, edits), "edits": edits}
    if return_words:
        for name, values in (("timestamp", prepared.times), ("scores", scores)):
            for entry, value in zip(entries, values or [], strict=False):
                entry[name] = value
        result["words"] = entries
    if sentences:
        result["sentences"] = []
        for first, end in ranges:
            mark, start, stop = prepared.found[end - 1], words[first].mark_from, words[end - 1].mark_at
            stop = max(stop, mark.end) if mark else stop
            said = edited_between(item.text, edits, start, stop)
            result["sentences"].append({"text": said, "start": start, "end": stop})
    if item.recognised is None:
        return result
    restored = item.recognised.restored(edits)
    if isinstance(restored, dict) and "chunks" in restored:  # of transformers, whose results are flat
        return {**result, **restored}
    return {**restored, "punctuation": result} if isinstance(restored, dict) else restored


def _capitals(
    text: str, words: Sequence[Word], ranges: Sequence[tuple[int, int]], cased: Sequence[tuple[str, str]]
) -> list[Edit]:
    """The edits that give words in lower case their forms, sentences their capital, and the English `I` its own.

    A sentence's first word with a capital in its form (iPhone) gets no other. Words that have capitals of their own,
    links and addresses stay as they are.
    """
    firsts = {first for first, _ in ranges}
    edits = []
    for index, (word, (plain, form)) in enumerate(zip(words, cased, strict=True)):
        spoken = word.spoken if plain == word.text else word.spoken.lower()
        is_english_i = spoken == "i" or spoken.startswith("i'")  # also in I'm, I'll, I've, I'd
        if not (is_english_i or spoken.islower()) or "://" in plain or "@" in plain:
            continue
        if is_english_i or (index in firsts and form == plain):
            offset = next((place for place, sign in enumerate(plain) if sign.isalnum()), 0)
            form = plain[:offset] + raised(plain[offset]) + plain[offset + 1 :]
        for offset, (sign, wanted) in enumerate(zip(word.text, form, strict=True)):
            if sign != wanted:
                edits.append(change(text, word.start + offset, wanted, "truecase"))
    return edits
