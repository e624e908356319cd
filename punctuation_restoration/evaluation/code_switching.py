"""Examples -> their sentences that have Han text and English words, as one text each. Knows nothing about models."""

from dataclasses import replace

import regex

from punctuation_restoration.evaluation.examples import Example

STOPS = ("PERIOD", "QUESTION")
_HAN = regex.compile(r"\p{Han}")
_ENGLISH_WORD = regex.compile(r"[a-z]{2,}(?:['’-][a-z]+)*")


def code_switched(example: Example) -> Example:
    """The sentences of an example that have Han text and an English word of two letters or more, in their order.

    Between two of them is a blank, but for where Han text stands on either side, as Mandarin is written.
    """
    text, spans, labels = "", list[tuple[int, int]](), list[str]()
    for first, last in _sentences(example):
        start, end = example.spans[first][0], example.spans[last][1]
        units = [example.text[a:b] for a, b in example.spans[first : last + 1]]
        if not (any(map(_HAN.match, units)) and any(map(_ENGLISH_WORD.fullmatch, units))):
            continue
        text += " " if text and not (_HAN.match(text[-1]) or _HAN.match(units[0])) else ""
        moved = len(text) - start
        text += example.text[start:end]
        spans += [(a + moved, b + moved) for a, b in example.spans[first : last + 1]]
        labels += example.labels[first : last + 1]
    return replace(example, text=text, spans=tuple(spans), labels=tuple(labels))


def _sentences(example: Example) -> list[tuple[int, int]]:
    """The first and last unit of each sentence."""
    ends = [index for index, label in enumerate(example.labels) if label in STOPS]
    if example.labels and (not ends or ends[-1] < len(example.labels) - 1):
        ends.append(len(example.labels) - 1)
    return list(zip([0, *(end + 1 for end in ends)], ends, strict=False))
