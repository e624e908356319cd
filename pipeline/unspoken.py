"""What a transcript shows and nobody says: names, dashes, sounds, times, tags. One reader for files, calls and text.

    [0:04] Mary Lee: hello            name, shown before what she says
    - hello   >> hello   — hello      another speaker begins; at `>>` also inside a line
    [MUSIC PLAYING]  (applause)  ♪    sounds
    <|zh|>  <|0.00|>  <br>            tags of recognisers and subtitles

What opens a line belongs to what follows it. A name, a sound in brackets or a time in the middle of running text is
text. It knows no words and no formats. Every pattern is possessive, so that time stays linear whatever the text.
"""

from collections import Counter
from collections.abc import Iterable
from itertools import islice
from typing import Literal, NamedTuple

import regex

Layout = Literal["text", "line", "word"]  # running text; a cue or a segment; a word of a recogniser


class Hidden(NamedTuple):
    """A stretch `text[start:end]` that is not said; with the name of who speaks from there on, if it tells one."""

    start: int
    end: int
    kind: str  # "time", "name", "dash", "sound" or "tag"
    name: str | None = None

    @property
    def speaker(self) -> str | None:
        """Who speaks from there on: `JOHN` of `JOHN [whispering]`; None where no name is told."""
        return regex.split(r" ?[\[(]", self.name)[0] if self.name else None

    @property
    def begins_turn(self) -> bool:
        """Whether it says that somebody begins to speak: a name, even of who spoke before, or a dash."""
        return self.kind == "dash" or self.name is not None

    def moved(self, by: int) -> "Hidden":
        """The same where the text has `by` more characters before it."""
        return self._replace(start=max(0, self.start + by), end=self.end + by)


_B = r"[ \t\ufeff\u200e\u200f]*+"
_END = rf"(?={_B}(?:[\r\n]|\Z))"
_TIME = r"\d{1,3}+:\d\d(?::\d\d)?+(?:[.,]\d{1,3}+)?+"
_DATE = rf"\d{{1,4}}+[/.\-]\d{{1,2}}+[/.\-]\d{{2,4}}+,?+{_B}"
# As machines write it and nobody says it: neither brackets nor a name need tell that it is shown.
_ISO = r"\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:[.,]\d{1,9}+)?+)?+(?:Z|[+\-]\d\d(?::?+\d\d)?+)?+(?!\w)"
_DATED = rf"(?:{_ISO}|(?:{_DATE})?+{_TIME}(?:[ \u202f]?+[AaPp]\.?+[Mm]\.?+(?!\w))?+)"
_MOMENT = rf"(?:{_TIME}|\d{{1,6}}+\.\d{{1,3}}+s?+)"
_TO = rf"{_B}(?:-->|->|[-–—]){_B}"
_STAMP = rf"\[{_B}(?:{_DATED}|{_MOMENT}{_TO}{_MOMENT}){_B}\]|\({_DATED}\)|{_ISO}"
_ALONE = rf"{_TIME}(?:{_TO}{_TIME})?+{_END}"

_COLON = r"(?:[:：](?=\s|\Z)|：)"
_NUMBERED = r"(?:[Ss]peaker|SPEAKER)(?:[ _]?+\d{1,3}+|[ _][A-Z])"
_BRACKETED = (
    rf"\[(?P<name>{_NUMBERED})\](?:{_B}[:：])?+|\[(?P<name>[^\W_][^\[\]:\n]{{0,40}}+)\]{_B}[:：]"
    rf"|(?P<name>{_NUMBERED}){_COLON}"
)
# Captions for the deaf say how or where: `JOHN [whispering]: `, `WOMAN (ON PHONE): `, `MAN #1: `.
_MANNER = r"(?:\[[^\[\]()\n]{1,40}+\]|\((?:[a-z][a-z ]{2,39}+|[A-Z][A-Z .\-]{2,39}+)\))"
_CAPITALS = rf"(?P<name>[^\W\d_a-z](?:[A-Z0-9_ .'’#\-]{{1,30}}+){_MANNER}?+){_COLON}"
_ANY_NAME = rf"(?P<name>[^\W_][\w .'’\-]{{0,39}}?)(?:{_B}[\[(]{_TIME}[\])])?+{_B}{_COLON}"
_ABOVE = rf"(?P<name>[^\W\d_][\w.'’\-]*+(?: [\w.'’\-]++){{0,3}}+)(?:[ ]{{2,9}}+|\t){_DATED}{_END}"  # a line of its own

# Han words are not told apart by blanks, so a sound is what ends like one: `(笑)`, `（掌声）`, `(背景音乐)`.
_HAN_SOUND = r"[（(](?>[\u4e00-\u9fff]{0,8}+)(?<=[笑声聲]|音[乐樂]|鼓掌|[叹嘆][气氣]|咳嗽)[）)]"
# One word in parentheses is a sound too, `(laughs)`, `(APPLAUSE)`; several within a line may be said, `(as I said)`.
_ONE_WORD = r"(?<!\w)\((?:[a-z]{3,20}+|[A-Z]{3,20}+)\)(?!\w)"
_NOTES = r"[♩♪♫♬]++"
_WHOLE_LINE = rf"(?:\([^()\n]{{1,200}}+\)|（[^（）\n]{{1,200}}+）){_END}"
_NOT_ALONE = rf"(?=[(（])(?<=\S\s*){_WHOLE_LINE}|{_WHOLE_LINE}(?=\s*+\S)"  # a whole text is text: `(see below)`
# A small word in brackets with others behind it is text, `[the] man`; in running text every one that is no known sound.
_WORD_BEHIND = r"\][ \t]++[^\W_])"
_SOUND = r"laughter|applause|music|silence|noise|pause|crosstalk|inaudible|unintelligible|[a-z]{2,}(?:ing|[^s]s)"
_SMALL_WORD = rf"(?!\[(?!(?:{_SOUND})\])[a-z]++{_WORD_BEHIND}"
_ARTICLE = rf"(?!\[(?:an?|the|this|that|his|her|its|my|our|your|their|and|or|not|to|of|in|is|was){_WORD_BEHIND}"
_BRACKETS = rf"{_ARTICLE}\[[^\[\]]{{0,200}}+\]|【[^【】]{{0,200}}+】"
_OPENING_SOUND = (
    rf"{_SMALL_WORD}\[(?=[^\[\]]*+\])[^\[\]\n]*?\p{{L}}{{3}}[^\[\]\n]{{0,60}}+\](?!\w)"
    rf"|\[[^\[\]\n]{{0,200}}+\]{_END}"
)

_TAG = r"<\|[^|<>\n]{0,40}+\|>|<[bB][rR][ \t]*+/?+>"
_DASH = r"[-‐‑–—](?![-‐‑–—\d])[ \t]*+|>{2,3}+[ \t]*+"
_DASH_IN_TEXT = r"[-‐‑–](?=[ \t])[ \t]*+|—(?!—)[ \t]*+|>{2,3}+[ \t]++"


def _leads(layout: Layout, are_named: bool) -> regex.Pattern[str]:
    """What may stand at the start of a line, one after another."""
    time, names, sounds = (
        _STAMP,
        rf"{_BRACKETED}|{_CAPITALS}",
        rf"{_ONE_WORD}|{_HAN_SOUND}|{_NOTES}",
    )
    if layout == "text":
        before_name = rf"|{_DATED}(?=[ \t\-–—]*+{_ANY_NAME.replace('?P<name>', '?:')})"
        time, names = rf"{time}|{_ALONE}" + before_name * are_named, rf"{names}|{_ABOVE}"
        sounds, dash = (
            rf"{_OPENING_SOUND}|【[^【】\n]{{0,60}}+】{_END}|{sounds}|{_NOT_ALONE}",
            _DASH_IN_TEXT,
        )
    else:
        sounds, dash = rf"{_BRACKETS}|{sounds}|{_WHOLE_LINE}", _DASH
    names += rf"|{_ANY_NAME}" * are_named
    rows = {"time": time, "called": names, "sound": sounds, "dash": dash, "tag": _TAG}
    return regex.compile(
        rf"{_B}(?:{'|'.join(f'(?P<{kind}>{pattern})' for kind, pattern in rows.items())})"
    )


_LEADS = {
    (layout, named): _leads(layout, named) for layout in ("text", "line") for named in (False, True)
}
_TAG_OR_TURN = rf"(?P<tag>{_TAG})|(?P<dash>(?<!\S)>{{2,3}}+(?!\S)[ \t]*+)"
_ANYWHERE = {
    "text": regex.compile(rf"{_TAG_OR_TURN}|(?P<sound>{_NOTES})"),
    "line": regex.compile(
        rf"{_TAG_OR_TURN}|(?P<sound>{_BRACKETS}|{_ONE_WORD}|{_HAN_SOUND}|{_NOTES})"
    ),
}
_LINE = regex.compile(r"[^\r\n]++")
_LINE_END = regex.compile(r"[ \t]*+(?:\r\n|\n|\r)?+")
_CALLED = regex.compile(rf"{_B}(?:(?:{_STAMP}|{_DATED})[ \t\-–—]*+)?+{_ANY_NAME}")
_FULL_NAME = regex.compile(r"\p{Lu}[\w.'’\-]*+(?: \p{Lu}[\w.'’\-]*+){1,3}+")
_LINES_READ = 200  # to find out whether a text names its speakers
_LEAST_NAMED = 3  # lines, and half of all
_LINES_A_NAME = 1.5  # a list (`Price: ...`, `Colour: ...`) has one; people who talk come back


def names_speakers(lines: Iterable[str], are_cues: bool = False) -> bool:
    """Whether most lines begin with the name of who speaks, and these names come back.

    In cues and segments names of two words or more, `Mary Lee: `, need not come back.
    """
    read = list(islice((line for line in lines if line.strip()), _LINES_READ))
    names = Counter(found["name"] for line in read if (found := _CALLED.match(line)))
    n_named = names.total()
    if not names or n_named < len(read) / 2:
        return False
    return (n_named >= _LEAST_NAMED and n_named >= _LINES_A_NAME * len(names)) or (
        are_cues and all(_FULL_NAME.fullmatch(name) for name in names)
    )


def audible(text: str, hidden: Iterable[Hidden]) -> str:
    """The text with blanks in the place of what is hidden."""
    parts: list[str] = []
    done = 0
    for one in hidden:
        parts += [text[done : one.start], " " * (one.end - max(done, one.start))]
        done = max(done, one.end)
    return "".join([*parts, text[done:]]) if parts else text


def find_hidden(text: str, layout: Layout = "text", are_named: bool | None = None) -> list[Hidden]:
    """All that is shown in a text, cue, segment or word (`layout` says in which) and not said, in order.

    `are_named`: what stands before a colon at the start of a line is a speaker's name; None: `names_speakers` decides.
    """
    found: list[Hidden] = []
    if layout != "word":
        if are_named is None:
            are_named = names_speakers(line.group() for line in _LINE.finditer(text))
        pattern = _LEADS[layout, are_named]
        for line in _LINE.finditer(text):
            if not found or found[-1].end <= line.start():  # a sound may go on in the next line
                found += _opening(text, line.start(), line.end(), pattern)
    pattern, done = _ANYWHERE["text" if layout == "text" else "line"], 0
    for one in [*found, Hidden(len(text), len(text), "")]:
        within = pattern.finditer(text, done, one.start)
        found += [Hidden(match.start(), match.end(), str(match.lastgroup)) for match in within]
        done = one.end
    return sorted(found)


def _opening(text: str, start: int, end: int, pattern: regex.Pattern[str]) -> list[Hidden]:
    """What opens the line `text[start:end]`; a line in which nothing is said goes with the line end behind it."""
    found: list[Hidden] = []
    while start < end and not (found and found[-1].name) and (match := pattern.match(text, start)):
        name = match["name"]
        found.append(Hidden(start, match.end(), "name" if name else str(match.lastgroup), name))
        start = match.end()
    if found and not text[start:end].strip():
        found[-1] = found[-1]._replace(end=_LINE_END.match(text, start).end())
    return found
