"""What the page shows of a restored text: the decisions that the model doubts, and what else it considered.

Takes a text and what the pipeline gave for it, gives strings for Gradio. It knows no model and no page.
"""

import html
import math
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

SHARE, SURE = 10, 0.6  # one decision is shown for ten marks, but none of this probability or more
LEAST = 0.05  # what is less probable is no alternative
EMPTY = '<p class="hint">Your text comes here with its marks. Places that the model is unsure of are underlined.</p>'
HINT = "Underlined: where the model is least sure. Touch or focus one to see what else it considered."
SURE_HINT = "The model is sure of every mark."


def doubtful(words: Sequence[Mapping[str, Any]]) -> set[int]:
    """Indices of the words whose marks, or lack of one, the model is least sure of: one for ten marks, rounded up."""
    own = [index for index, word in enumerate(words) if word["source"] == "model" and word["score"] < SURE]
    n_shown = math.ceil(sum(bool(word["mark"]) for word in words) / SHARE)
    return set(sorted(own, key=lambda index: words[index]["score"])[:n_shown])


def parts(
    text: str, edits: Sequence[Mapping[str, Any]], words: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[str, int | None]]:
    """The restored text in parts: each word with its inserted mark and its index, all else with None."""
    waiting, place = deque(sorted(edits, key=itemgetter("start"))), 0

    def until(end: int, with_mark: bool = False) -> str:
        """The restored text up to `end`, and with the next mark that was inserted."""
        nonlocal place
        made = ""
        while waiting and (waiting[0]["start"] < end or with_mark):
            edit = waiting.popleft()
            with_mark &= edit["start"] < end or not edit["label"]
            made += text[place : edit["start"]] + edit["inserted"]
            place = edit["start"] + len(edit["removed"])
        made, place = made + text[place:end], max(place, end)
        return made

    for index, word in enumerate(words):
        yield until(word["start"]), None
        yield until(word["end"], with_mark=bool(word["mark"]) and word["source"] == "model"), index
    yield until(len(text)), None
    assert not waiting


def restored_html(text: str, edits: Sequence[Mapping[str, Any]], words: Sequence[Mapping[str, Any]]) -> str:
    """The restored text, its doubtful places underlined; each shows its alternatives when it is touched or focused."""
    shown, doubts = [], doubtful(words)
    for part, index in parts(text, edits, words):
        said = html.escape(part)
        if index in doubts:
            choices = f'<span class="choices" role="tooltip">{alternatives(words[index]["scores"])}</span>'
            said = f'<span class="doubt" tabindex="0">{said}{choices}</span>'
        shown.append(said)
    return f'<p class="shown">{"".join(shown)}</p><p class="hint">{HINT if doubts else SURE_HINT}</p>'


def alternatives(scores: Mapping[str, float]) -> str:
    """Labels and their probabilities, the likeliest first."""
    ranked = sorted(((score, label) for label, score in scores.items() if score >= LEAST), reverse=True)
    named = (f"{'no mark' if label == 'O' else label.lower()} {score:.0%}" for score, label in ranked)
    return html.escape(", ".join(named))


def speed_line(words: Sequence[Mapping[str, Any]], seconds: float) -> str:
    """One line about a restored text."""
    n_marks = sum(bool(word["mark"]) and word["source"] != "input" for word in words)
    counts = (f"{n:,} {thing}{'' if n == 1 else 's'}" for n, thing in ((len(words), "word"), (n_marks, "mark")))
    told = f"{', '.join(counts)} inserted in {seconds * 1000:,.0f} ms"
    return f"{told}: **{len(words) / seconds:,.0f} words a second**"
