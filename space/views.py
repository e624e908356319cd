"""What the page shows of a restored text: marks by certainty, the masks that the model saw.

Takes a text and what the pipeline gave for it, gives strings and lists for Gradio. It knows no model and no page.
"""

import html
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

SURE, LIKELY, UNSURE, OWN = "sure (90 % and more)", "likely (70 to 90 %)", "unsure (below 70 %)", "was in the text"
LIMITS = ((0.9, SURE), (0.7, LIKELY))
# The names that the page's style sheet gives their colours.
CLASSES = {SURE: "sure", LIKELY: "likely", UNSURE: "unsure", OWN: "own"}
TITLE = '<p class="certain-title">How sure the model is of each mark</p>'
NO_TEXT = f'{TITLE}<p class="empty">Your text, with a colour for each mark that was put in.</p>'
NOTHING_TO_SHOW = "<p>Type or choose a sentence, and its masks will stand here.</p>"


def certainty_of(decided: Mapping[str, Any]) -> str:
    """The name of how sure a mark is, by its edit or its word."""
    if decided["source"] == "input":
        return OWN
    return next((name for limit, name in LIMITS if decided["score"] >= limit), UNSURE)


def highlights(
    text: str, edits: Sequence[Mapping[str, Any]], words: Sequence[Mapping[str, Any]]
) -> list[tuple[str, Mapping[str, Any] | None]]:
    """The restored text in parts: each mark with its edit, everything else with None.

    Joined, the parts are the restored text. A mark that stands in the text already comes as an edit that puts it in its
    own place.
    """
    ends = [*(word["start"] for word in words[1:]), len(text)]
    own = [
        {**word, "start": text.index(mark, word["end"]), "removed": mark, "inserted": mark}
        for word, end in zip(words, ends, strict=False)
        if word["source"] == "input" and (mark := word["mark"]) and mark in text[word["end"] : end]
    ]
    parts: list[tuple[str, Mapping[str, Any] | None]] = []
    place = 0
    for edit in sorted([*edits, *own], key=itemgetter("start")):
        parts += [(text[place : edit["start"]], None), (edit["inserted"], edit if edit["label"] else None)]
        place = edit["start"] + len(edit["removed"])
    return [part for part in [*parts, (text[place:], None)] if part[0]]


def certainty_html(parts: Sequence[tuple[str, Mapping[str, Any] | None]]) -> str:
    """What `highlights` gives, its marks coloured, each with its probability as a title; and what the colours mean."""
    shown = []
    names = dict(CLASSES)
    if not any(edit and certainty_of(edit) == OWN for _, edit in parts):
        del names[OWN]
    for text, edit in parts:
        said = html.escape(text)
        if edit:
            kind = certainty_of(edit)
            title = kind if kind == OWN else f"{edit['label'].lower()}, {edit['score']:.0%}"
            said = f'<mark class="{CLASSES[kind]}" title="{html.escape(title)}">{said}</mark>'
        shown.append(said)
    legend = "".join(f'<li><span class="{name}"></span>{kind}</li>' for kind, name in names.items())
    return f'{TITLE}<p class="certain">{"".join(shown)}</p><ul class="legend" aria-label="Colours">{legend}</ul>'


def masks_html(slots: Sequence[tuple[str, str]], words: Sequence[Mapping[str, Any]]) -> str:
    """Each of the first words with its pieces, what stands in its slot (`slots` has both), and what was decided."""
    if not slots:
        return NOTHING_TO_SHOW
    items = []
    for (pieces, slot), word in zip(slots, words, strict=False):
        percent = "" if word["source"] == "input" else f" {word['score']:.0%}"
        mark = word["mark"] or "no mark"
        kind = CLASSES[certainty_of(word)] if word["mark"] else "none"
        items.append(
            f'<li><span class="pieces">{html.escape(pieces)}</span> <span class="slot">{html.escape(slot)}</span> '
            f'<span class="choice {kind}">{html.escape(mark)}{percent}</span></li>'
        )
    n_more = len(words) - len(slots)
    more = f"<p>and {n_more:,} words more.</p>" if n_more else ""
    return f'<ol class="masks">{"".join(items)}</ol>{more}'


def speed_line(words: Sequence[Mapping[str, Any]], seconds: float) -> str:
    """One line about a restored text."""
    n_marks = sum(bool(word["mark"]) and word["source"] != "input" for word in words)
    counts = (f"{n:,} {thing}{'' if n == 1 else 's'}" for n, thing in ((len(words), "word"), (n_marks, "mark")))
    told = f"{', '.join(counts)} inserted in {seconds * 1000:,.0f} ms"
    return f"{told}: **{len(words) / seconds:,.0f} words a second**"
