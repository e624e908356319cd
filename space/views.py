"""What the page shows of a restored text: the decisions that the model doubts, and what else it considered.

Takes a text and what the pipeline gave for it, gives strings for Gradio. It knows no model and no page.
"""

import html
import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from punctuation_restoration.pipeline.edits import Edit, edited_between, follows

SHARE, SURE = 10, 0.6  # one decision is shown for ten marks, but none of this probability or more
LEAST = 0.05  # what is less probable is no alternative
EMPTY = '<p class="hint">Your text comes here with its marks. Places that the model is unsure of are underlined.</p>'
HINT = (
    "Underlined: where the model is least sure. Touch or focus one to see what else it considered."
)
SURE_HINT = "The model is sure of every mark."


def doubtful(words: Sequence[Mapping[str, Any]]) -> set[int]:
    """Indices of the words whose marks, or lack of one, the model is least sure of: one for ten marks, rounded up."""
    own = [
        index
        for index, word in enumerate(words)
        if word["source"] == "model" and word["score"] < SURE
    ]
    n_shown = math.ceil(sum(bool(word["mark"]) for word in words) / SHARE)
    return set(sorted(own, key=lambda index: words[index]["score"])[:n_shown])


def parts(
    text: str, edits: Sequence[Edit], words: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[str, int | None]]:
    """The restored text in parts: each word with its inserted mark and its index, all else with None."""
    marks, done = [edit["start"] for edit in edits if follows(edit)], 0
    until = [*(word["start"] for word in words[1:]), len(text)]
    for index, (word, following) in enumerate(zip(words, until, strict=False)):
        own = marks[bisect_left(marks, word["end"]) : bisect_right(marks, following)]
        end = max([word["end"], *own])  # a mark may stand behind a closing quote
        yield edited_between(text, edits, done, word["start"]), None
        yield edited_between(text, edits, word["start"], end), index
        done = end
    yield edited_between(text, edits, done, len(text)), None


def restored_html(text: str, edits: Sequence[Edit], words: Sequence[Mapping[str, Any]]) -> str:
    """The restored text, its doubtful places underlined; each shows its alternatives when it is touched or focused."""
    shown, doubts = [], doubtful(words)
    for part, index in parts(text, edits, words):
        said = html.escape(part)
        if index in doubts:
            choices = f'<span class="choices" role="tooltip">{alternatives(words[index]["scores"])}</span>'
            said = f'<span class="doubt" tabindex="0">{said}{choices}</span>'
        shown.append(said)
    return (
        f'<p class="shown">{"".join(shown)}</p><p class="hint">{HINT if doubts else SURE_HINT}</p>'
    )


def alternatives(scores: Mapping[str, float]) -> str:
    """Labels and their probabilities, the likeliest first."""
    ranked = sorted(
        ((score, label) for label, score in scores.items() if score >= LEAST), reverse=True
    )
    named = (
        f"{'no mark' if label == 'O' else label.lower()} {score:.0%}" for score, label in ranked
    )
    return html.escape(", ".join(named))


def speed_line(words: Sequence[Mapping[str, Any]], seconds: float) -> str:
    """One line about a restored text."""
    n_marks = sum(bool(word["mark"]) and word["source"] != "input" for word in words)
    counts = (
        f"{n:,} {thing}{'' if n == 1 else 's'}"
        for n, thing in ((len(words), "word"), (n_marks, "mark"))
    )
    told = f"{', '.join(counts)} inserted in {seconds * 1000:,.0f} ms"
    return f"{told}: **{len(words) / seconds:,.0f} words a second**"
