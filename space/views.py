"""What the page shows of a restored text: marks in colour, doubtful ones underlined, and what else they could be.

Takes what `restorer.py` gives, gives HTML; `page.js` makes it answer. In a text on its way to the page a number stands
before each inserted mark, so that a mark which a visitor changes is changed in every copy and format:

    text     hello<0>, how are you<1>?      choices   0: [",", "", "."]   1: ["?"]

The letter after a doubtful mark has a number too where it is a capital after one choice and not after another.
A number is written in signs that nobody else writes and that take no room in a line. This module knows no model and no
Gradio.
"""

import html
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from punctuation_restoration.pipeline.casing import sentence_start
from punctuation_restoration.pipeline.conventions import ends_sentence, written
from punctuation_restoration.pipeline.edits import Edit, Row, ascending, follows, make_edit

SHARE, SURE = 10, 0.6  # one decision is shown for ten marks, but none of this probability or more
LEAST = 0.05  # what is less probable is no alternative
# Combining numbers of the Mende script; there are more numbers than a text may have characters.
FIRST_DIGIT, BASE, N_DIGITS = 0x1E8D0, 7, 7
NUMBER = re.compile("([\U0001e8d0-\U0001e8d6]{7})")
# What is underlined before a doubtful mark: a word or two Han characters, and the signs after it.
LAST_WORD = re.compile(r"([㐀-鿿]{1,2}|[^\s㐀-鿿]{1,40}|)\Z")

LINKED_CHARACTERS = 20_000  # of a text that a link carries

EMPTY = (
    "Your text comes here with its marks, in colour. Where the model is not sure it is underlined."
)
DOUBTS = "Underlined: not sure. Press such a place to put the next best mark there."
SURE_OF_ALL = "The model is sure of every mark."
SWITCH = (
    '<span class="switch" role="group" aria-label="What is shown">'
    '<button type="button" data-do="before" aria-pressed="false">Before</button>'
    '<button type="button" data-do="after" aria-pressed="true">After</button></span>'
    '<button type="button" data-do="copy">Copy</button>'
)


class Choices(NamedTuple):
    """The signs that may be in one place, the one that is written first, and what they are called."""

    signs: list[str]
    names: Sequence[str] = ()  # "comma 42%"; empty where there is no doubt
    of: int | None = None  # of a letter that depends on a mark: the number of that mark


class Doubt(NamedTuple):
    """What a doubtful mark may be; and the letter after it, if that depends on the mark: its offset, what it may be."""

    choices: Choices
    letter: tuple[int, list[str]] | None = None


class Shown(NamedTuple):
    """A restored text, as the page shows it; its texts have numbers before their marks."""

    files: dict[str, str]  # format -> content; the first one is the file's own
    shown: str  # the format that is shown
    before: str  # what came
    choices: list[Choices]
    n_words: int
    name: str = "restored"  # of the files to download
    # Of the file's own format; with "-sig" it begins with a byte order mark.
    encoding: str = "utf-8"


def number_sign(number: int) -> str:
    """The number of a mark, in signs."""
    return "".join(chr(FIRST_DIGIT + number // BASE**n % BASE) for n in range(N_DIGITS))


def doubtful(words: Sequence[Row]) -> list[int]:
    """Indices of the words whose marks, or lack of one, the model is least sure of: one for ten marks, rounded up."""
    n_shown = math.ceil(sum(word["mark"] != "" for word in words) / SHARE)
    unsure = [
        index
        for index, word in enumerate(words)
        if word["source"] == "model" and word["score"] < SURE
    ]
    return sorted(unsure, key=lambda index: words[index]["score"])[:n_shown]


def alternatives(
    entry: Row, script: str, labels: Sequence[Mapping[str, str]], goes_to: Sequence[int]
) -> Choices:
    """What a doubtful word may be followed by: what is written, then the likeliest.

    `labels` is the model's table; `goes_to` has the label that is written in the place of each.
    """
    scores = Counter[int]()
    for target, score in zip(goes_to, entry["scores"].values(), strict=True):
        scores[target] += score
    now = list(entry["scores"]).index(entry["label"])
    likely = [n for n, score in scores.most_common() if score >= LEAST and not labels[n]["before"]]
    chosen = list(dict.fromkeys([now, *likely]))
    signs = [written(labels[n]["after"], script) for n in chosen]
    names = [f"{labels[n]['name'].lower() if n else 'no mark'} {scores[n]:.0%}" for n in chosen]
    return Choices(signs, names)


def first_letter(following: Row, signs: Sequence[str]) -> tuple[int, list[str]] | None:
    """The letter that begins the word after a doubtful mark, where it is written otherwise after another mark."""
    inside = following.get("inside", "")
    capitalised = sentence_start(inside)
    if inside == capitalised or following["word"].lower() != inside:
        return None
    n = next(n for n, sign in enumerate(inside) if sign != capitalised[n])
    letters = [(capitalised if ends_sentence(sign) else inside)[n] for sign in signs]
    return (following["start"] + n, letters) if len(set(letters)) > 1 else None


def numbered(
    text: str, edits: Iterable[Edit], doubts: Mapping[int, Doubt], choices: list[Choices]
) -> list[Edit]:
    """The edits of a text with a number before each mark, and one more where it is doubtful that there is no mark.

    `doubts` are by the offset where a mark is written. What the numbers mean is appended to `choices`.
    """
    capitals = {edit["start"]: edit for edit in edits if edit["source"] == "truecase"}
    others = [edit for edit in edits if edit["source"] != "truecase"]
    others += [
        make_edit(offset, "", "", "model", "O")
        for offset, missing in doubts.items()
        if not missing.choices.signs[0]
    ]
    for n, mark in enumerate(others):
        if mark["label"] and follows(mark):
            number, doubt = len(choices), doubts.get(mark["start"])
            if not doubt or doubt.choices.signs[0] != mark["inserted"]:
                doubt = Doubt(Choices([mark["inserted"]]))
            choices.append(doubt.choices)
            if doubt.letter:
                offset, letters = doubt.letter
                sign = text[offset]
                letter = capitals.get(offset) or make_edit(offset, sign, sign, "truecase")
                if letter["inserted"] == letters[0]:
                    choices.append(Choices(letters, of=number))
                    capitals[offset] = _with_number(letter, number + 1)
            others[n] = _with_number(mark, number)
    return ascending([*others, *capitals.values()])


def _with_number(edit: Edit, number: int) -> Edit:
    return {**edit, "inserted": number_sign(number) + edit["inserted"]}


def card(result: Shown) -> str:
    """A result, with its buttons."""
    said = "".join(_marked(result.files[result.shown], result.choices))
    can_be_linked = [*result.files] == ["txt"] and len(result.before) <= LINKED_CHARACTERS
    packed = json.dumps(result._asdict(), ensure_ascii=False)
    n_marks = sum(choice.signs[0] != "" and choice.of is None for choice in result.choices)
    told = f"{_counted(result.n_words, 'word')}, {_counted(n_marks, 'mark')} put in."
    hint = DOUBTS if any(choice.names for choice in result.choices) else SURE_OF_ALL
    return (
        f'<div class="card" data-result="{html.escape(packed)}">{_tools(result.files, can_be_linked)}'
        f'<p class="hint">{told} {hint}</p><p class="shown" tabindex="0">{said}</p>'
        f'<p class="before" tabindex="0" hidden>{html.escape(result.before)}</p></div>'
    )


def _marked(text: str, choices: Sequence[Choices]) -> Iterator[str]:
    """The shown text, as HTML."""
    before, *rest = NUMBER.split(text)
    by_sign = {number_sign(number): number for number in range(len(choices))}
    for sign, following in zip(rest[::2], rest[1::2], strict=True):
        number = by_sign[sign]
        choice = choices[number]
        written = html.escape(choice.signs[0])
        if choice.names:
            begins = LAST_WORD.search(before).start()  # type: ignore[union-attr]  # it may be empty
            listed = "".join(
                f'<span class="{"on" * (index == 0)}">{html.escape(name)}</span>'
                for index, name in enumerate(choice.names)
            )
            yield f'{html.escape(before[:begins])}<span class="doubt" role="button" tabindex="0" '
            yield f'data-number="{number}">{html.escape(before[begins:])}<ins>{written}</ins>'
            yield f'<span class="choices" role="tooltip">{listed}</span></span>'
        elif choice.of is None:
            yield f"{html.escape(before)}<ins>{written}</ins>"
        else:
            yield f'{html.escape(before)}<span data-letter="{number}">{written}</span>'
        before = following.removeprefix(choice.signs[0])
    yield html.escape(before)


def _counted(n: int, thing: str) -> str:
    return f"{n:,} {thing}{'' if n == 1 else 's'}"


def _tools(formats: Iterable[str], can_be_linked: bool) -> str:
    """The buttons of a result."""

    save = "".join(
        f'<button type="button" data-do="save" data-format="{ending}">Download .{ending}</button>'
        for ending in formats
    )
    link = '<button type="button" data-do="link">Copy a link</button>' if can_be_linked else ""
    return f'<div class="tools">{SWITCH}{save}{link}</div>'


def without_result(said: str) -> str:
    """A card without a result: its buttons do nothing."""
    tools = _tools(["txt"], False).replace("<button", "<button disabled")
    return f'<div class="card">{tools}{said}</div>'


def hint(text: str) -> str:
    """A card that says what to do."""
    return without_result(f'<p class="hint">{html.escape(text)}</p>')


def problem(text: str) -> str:
    """A card that says what went wrong."""
    told = f"<strong>Not restored.</strong> {html.escape(text)}"
    return without_result(f'<p class="problem" role="alert">{told}</p>')


def progress(doing: str, share: float | None = None, so_far: str = "") -> str:
    """A card on its way: what is done, a share of 1 where it is known, and the text that is ready."""
    value, told = ("", "") if share is None else (f' value="{share:.3f}"', f" {share:.0%}")
    return without_result(
        f'<p class="hint" role="status"><progress max="1"{value}></progress> {doing}{told}</p>'
        f'<p class="shown">{html.escape(so_far)}</p>'
    )
