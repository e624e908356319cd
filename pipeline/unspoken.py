"""What a transcript shows and nobody says: names, dashes, sounds, times, tags. One reader for files, calls and text.

    [0:04] Mary Lee: hello            name, shown before what she says
    0:04 hello                        time, where most lines begin with one
    Mary Lee 00:00:04                 name, in a line of its own
    - hello   >> hello   — hello      another speaker begins; at `>>` also inside a line
    [MUSIC PLAYING]  (applause)  ♪    sounds
    <|zh|>  <|0.00|>  <br>  ESC[0m    tags of recognisers and subtitles, colours of a terminal

What opens a line belongs to what follows it. A name, a sound in brackets or a time in the middle of running text is
text. Some of what is said is written as something else; the model reads a letter or a word there:

    it&#39;s   caf&eacute;   the [ __ ] car   a *** car   so ⁇ said

It knows no words and no formats. Every pattern is possessive, so that time stays linear whatever the text. Marks that
are written after words and brackets must not change what is found: a text restored is restored again.
"""

import html
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator
from html.entities import name2codepoint
from typing import Literal, NamedTuple

import regex

from .conventions import known_marks
from .patterns import Patterns

Layout = Literal["text", "line", "word"]  # running text; a cue or a segment; a word of a recogniser


class Hidden(NamedTuple):
    """A stretch `text[start:end]` that is not said as it is written; with the name of who speaks from there on."""

    start: int
    end: int
    kind: str  # "time", "name", "dash", "sound", "tag" or "sign"
    name: str | None = None
    read: str = ""  # the letter or word that is said there; empty where nothing is

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


class Names(NamedTuple):
    """Which speakers and times a text shows in ways that other texts use for other things."""

    before_colon: bool = False  # `Agent: hello`
    after_times: bool = False  # lines begin with times: `0:04 hello`
    alone: frozenset[str] = frozenset()  # these stand in lines of their own

    def beside(self, later: "Names") -> "Names":
        """What a later part of the text shows, which need not show again how its lines begin."""
        return Names(
            later.before_colon or self.before_colon,
            later.after_times or self.after_times,
            later.alone or self.alone,
        )


_MARKS = regex.escape("".join(known_marks(",.?!:;…、—")))
ENTITY = rf"&(?:amp;)*+(?:apos|{'|'.join(name2codepoint)}|\#\d{{1,7}}+|\#[xX][0-9a-fA-F]{{1,6}}+);|&(?:amp;)++"
_ROWS = r"""
GAP = [ \t\ufeff\u200e\u200f]*+
END = (?={GAP}(?:[\r\n]|\Z))
CLOCK = (?:\d{1,3}+:\d{1,2}+:\d{1,2}+|\d{1,3}+:\d\d)
TIME = {CLOCK}(?:[.,]\d{1,9}+)?+
DATE = \d{1,4}+[/.\-]\d{1,2}+[/.\-]\d{2,4}+,?+{GAP}
# As machines write it and nobody says it: neither brackets nor a name need tell that it is shown.
ISO = \d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:[.,]\d{1,9}+)?+)?+(?:Z|[+\-]\d\d(?::?+\d\d)?+)?+(?!{MARK}*+\w)
DATED = (?:{ISO}|(?:{DATE})?+{TIME}(?:[ \u202f]?+[AaPp]\.?+[Mm]\.?+(?!\w))?+)
MOMENT = (?:{TIME}|\d{1,6}+\.\d{1,3}+s?+)
TO = {GAP}(?:-->|->|[-–—]){GAP}
IN_BRACKETS = \[{GAP}(?:{DATED}|{MOMENT}{TO}{MOMENT}){GAP}\]|\({DATED}\)
STAMP = (?:\*\*(?:{IN_BRACKETS})\*\*|{IN_BRACKETS}|{ISO})
ALONE = {TIME}(?:{TO}{TIME})?+{END}
# Of lyrics and karaoke, inside lines too: `[00:12.50]`, `<00:12.50>`.
INSIDE = [\[<](?:\d{1,3}+:){1,2}+\d\d(?:[.,]\d{1,3}+|(?<=:\d\d:\d\d))[\]>]
COLON = (?:[:：](?=\s|\Z)|：)
ROLE = (?:[说說][话話]人|[发發]言人|[讲講][话話]人|主持人|嘉[宾賓]|[记記]者|[观觀][众眾]|旁白|主播)
NUMBERED = (?:(?:[Ss]peaker|SPEAKER)(?:[ _]?+\d{1,3}+|[ _](?:[A-Z]|\?))|{ROLE}[ _]?+\d{1,3}+)
BRACKETED = (?:\[(?P<name>{NUMBERED})\]|\((?P<name>{NUMBERED})\)|【(?P<name>{ROLE}[ _]?+\d{0,3}+)】)(?:{GAP}[:：])?+
    |\[(?P<name>[^\W_][^\[\]:\n]{0,40}+)\]{GAP}[:：]
    |\*\*(?P<name>[^\W_][\w .'’\-]{0,39}+)(?:\*\*{GAP}[:：]|[:：]\*\*)
    |(?P<name>{NUMBERED})(?:{COLON}|{END}(?=\s*+\S))
# Captions for the deaf say how or where: `JOHN [whispering]: `, `WOMAN (ON PHONE): `, `MAN #1: `. A mark before the
# bracket ends a sentence, not a name.
MANNER = (?:\[[^\[\]()\n]{1,40}+\]|\((?:[a-z][a-z ]{2,39}+|[A-Z][A-Z .\-]{2,39}+)\))
CAPITALS = (?P<name>[^\W\d_a-z](?:[A-Z0-9_ .'’#\-]{1,30}+)(?:(?<!{MARK}){MANNER})?+){COLON}
ANYBODY = [^\W_][\w .'’\-]{0,39}?
AFTER_NAME = (?:{GAP}[\[(]{TIME}[\])])?+{GAP}{COLON}
ANY_NAME = (?P<name>{ANYBODY}){AFTER_NAME}
# Names in lines of their own, with a time: `Mary Lee 00:04`, `[00:00:01.10] - Mary Lee`.
# Of Teams: `1 minute 4 seconds`.
SPELLED = (?:\d++ hours?+ )?+(?:\d++ minutes?+ )?+\d++ (?:second|minute)s?+
WHEN = (?:{DATED}|{SPELLED}|[\[(]{TIME}[\])])
FULL_NAME = \p{Lu}[\w.'’\-]*+(?: \p{Lu}[\w.'’\-]*+){1,3}+
PLAIN_NAME = [^\W\d_][\w.'’\-]*+(?: (?!\d)[\w.'’\-]++){0,3}+
AFTER_TIME = {STAMP}{GAP}[-–—][ \t]++(?P<name>{FULL_NAME}|{NUMBERED}){END}
BEFORE_TIME = (?P<name>{PLAIN_NAME})(?:[ ]{2,9}+|\t){WHEN}{END}|(?P<name>{FULL_NAME}|{NUMBERED}) {WHEN}{END}
# Han words are not told apart by blanks, so a sound is what ends like one: `(笑)`, `（掌声）`, `(背景音乐)`.
HAN_SOUND = [（(](?>[\u4e00-\u9fff]{0,8}+)(?<=[笑声聲]|音[乐樂]|鼓掌|[叹嘆][气氣]|咳嗽)[）)]
# One word in parentheses is a sound too, `(laughs)`, `(APPLAUSE)`; several within a line may be said, `(as I said)`.
ONE_WORD = (?<!\w{MARK}{0,3})\((?:[a-z]{3,20}+|[A-Z]{3,20}+)\)(?!{MARK}*+\w)
NOTES = [♩♪♫♬]++
WHOLE_LINE = (?:\([^()\n]{1,200}+\)|（[^（）\n]{1,200}+）){END}
# A whole text is text: `(see below)`.
NOT_ALONE = (?=[(（])(?<=\S\s*){WHOLE_LINE}|{WHOLE_LINE}(?=\s*+\S)
# What stands for a word that was left out, or not understood. Other words in capitals are sounds: `[BLANK_AUDIO]`.
LEFT_OUT = unk|unknown|names?|person|pii|phi|pci|redacted|location|address|city|country|date|dob|age
    |email|phone|number|org|organi[sz]ation|company|account|card|password|url|username|ssn|zip|money
    |occupation|profanity|expletive|censored
NOISE = AUDIO|SOUND|MUSIC|NOISE|SPE|SILEN|LAUGH|APPLAU|CLAP|COUGH|TALK|AUDIBLE|PLAY|SING
HAN_LEFT_OUT = 姓名|名字|人名|[电電][话話]|手机号?|地址|地名|公司|机构|身份证号?|邮箱|日期|年龄|号码|卡号|银行卡号?
FOR_A_WORD = \[(?:(?i:{LEFT_OUT})(?:[ _\-]?+\d{1,3}+)?+
    |(?![A-Z_]{0,40}?(?:{NOISE}))[A-Z]++(?:_[A-Z0-9]++)++)\]|[\[【](?:{HAN_LEFT_OUT})[\]】]
SIGNS = (?:\*{2,}+|_{2,}+|[█■]{2,}+|\#{2,}+)
SIGNS_FOR_A_WORD = \[[ \t]*+(?:_{1,20}+|\?{1,3}+|\*{1,20}+)[ \t]*+\]|(?<!\S)⁇(?!⁇)
    |(?<=(?:\s|\p{Han}|\A){MARK}{0,3})(?:(?<=\S[ \t]?){SIGNS}|(?!\#){SIGNS}(?={MARK}*+[ \t]++\S))
    (?={MARK}*+(?:\s|\p{Han}|\Z))
# `[the] man`: a small word in brackets, followed by another word, is text. In running text any word in lower case is,
# except a known sound.
FOLLOWED = \]{MARK}*+[ \t]++[^\W_])
SOUND = laughter|applause|music|silence|noise|pause|crosstalk|inaudible|unintelligible|
    [a-z]{2,}(?:ing|[^s]s)
SMALL_WORD = (?!\[(?!(?:{SOUND})\])[a-z]++{FOLLOWED}
ARTICLE = (?!\[(?:an?|the|this|that|his|her|its|my|our|your|their|and|or|not|to|of|in|is|was){FOLLOWED}
NO_WORD = (?!{FOR_A_WORD}|{SIGNS_FOR_A_WORD})
BRACKETS = {NO_WORD}(?:{ARTICLE}\[[^\[\]]{0,200}+\]|【[^【】]{0,200}+】)
OPENING_SOUND = {NO_WORD}(?:{SMALL_WORD}\[(?=[^\[\]]*+\])[^\[\]\n]*?\p{L}{3}[^\[\]\n]{0,60}+\](?!{MARK}*+\w)
    |\[[^\[\]\n]{0,200}+\]{END}|【[^【】\n]{0,60}+】{END})
# Of words that blanks part.
LETTER = [^\W_\p{Han}\p{Hiragana}\p{Katakana}]
# Of terminals: colours.
ESCAPE = \x1b(?:\[[0-?]*+[ -/]*+[@-~]|\][^\x07\x1b\n]{0,200}+(?:\x07|\x1b\\)|[@-Z\\^_])
TAG = <\|[^|<>\n]{0,40}+\|>|<[bB][rR][ \t]*+/?+>|{ESCAPE}
ANGLES = (?:>{2,3}+|(?:&(?:amp;)*+gt;){2,3}+)
DASH = [-‐‑–—](?![-‐‑–—\d])[ \t]*+|{ANGLES}[ \t]*+
DASH_IN_TEXT = [-‐‑–](?=[ \t])[ \t]*+|—(?!—)[ \t]*+|{ANGLES}[ \t]++
TURN = (?<!\S){ANGLES}(?!\S)[ \t]*+|\[(?i:speaker[_ ](?:turn|change))\]
# What may stand at the start of a line, one after another; `_NAMED`: where names stand before colons.
NAMES = {BRACKETED}|{CAPITALS}
TEXT_REST = (?P<dash>{TURN}|{DASH_IN_TEXT})
    |(?P<sound>{OPENING_SOUND}|{ONE_WORD}|{HAN_SOUND}|{NOTES}|{NOT_ALONE})|(?P<tag>{TAG})
LINE_REST = (?P<dash>{TURN}|{DASH})|(?P<sound>{BRACKETS}|{ONE_WORD}|{HAN_SOUND}|{NOTES}|{WHOLE_LINE})
    |(?P<tag>{TAG})
TEXT = {GAP}(?:(?P<above>{AFTER_TIME})|(?P<time>{STAMP}|{ALONE})|(?P<called>{NAMES}|{BEFORE_TIME})
    |{TEXT_REST})
TEXT_NAMED = {GAP}(?:(?P<above>{AFTER_TIME})
    |(?P<time>{STAMP}|{ALONE}|{DATED}(?=[ \t\-–—]*+(?:{ANYBODY}){AFTER_NAME}))
    |(?P<called>{NAMES}|{BEFORE_TIME}|{ANY_NAME})|{TEXT_REST})
LINE = {GAP}(?:(?P<above>{AFTER_TIME})|(?P<time>{STAMP})|(?P<called>{NAMES})|{LINE_REST})
LINE_NAMED = {GAP}(?:(?P<above>{AFTER_TIME})|(?P<time>{STAMP})|(?P<called>{NAMES}|{ANY_NAME})|{LINE_REST})
# What may stand anywhere.
IN_ANY_LAYOUT = (?P<joint>(?<={LETTER})(?:{ESCAPE})++(?={LETTER}))|(?P<tag>{TAG})|(?P<dash>{TURN})
    |(?P<word>{SIGNS_FOR_A_WORD})|(?P<time>{INSIDE})|(?P<entity>{ENTITY})
# Most places are passed over quickly.
FIRST = (?=[\x1b<>&\[\](（【*_#█■⁇♩♪♫♬])
TEXT_ANYWHERE = {FIRST}(?:{IN_ANY_LAYOUT}|(?P<sound>{NOTES}))
LINE_ANYWHERE = {FIRST}(?:{IN_ANY_LAYOUT}|(?P<sound>{BRACKETS}|{ONE_WORD}|{HAN_SOUND}|{NOTES}))
# Lines that begin with times.
TIMED = {GAP}{DATED}(?:{TO}{TIME})?+[ \t\-–—]++(?=\S)
# Who is named by a text.
CALLED = {GAP}(?:(?:{STAMP}|{DATED})[ \t\-–—]*+)?+{ANY_NAME}
TIMES_ALONE = {GAP}(?:{ALONE}|{STAMP}{END})
# A word of running text begins with a small letter.
NAME_ALONE = {GAP}(?:{STAMP}{GAP}(?:[-–—][ \t]++)?+)?+(?:(?P<name>{PLAIN_NAME}) (?P<when>{WHEN})
    |(?P<name>\p{Lu}[\w.'’\-]*+(?: [\p{Lu}\d][\w.'’\-]*+){0,3}+|\p{Han}{2,4}+)){END}
INSIDE_WORD = (?:{LETTER}|;)(?:{LETTER}|&)
"""


_PATTERNS = Patterns(_ROWS, ENTITY=ENTITY, MARK=f"[{_MARKS}]")
_A_WORD = "x"  # short, and any model has seen it
_LINE = regex.compile(r"[^\r\n]++")
_LINE_END = regex.compile(r"[ \t]*+(?:\r\n|\n|\r)?+")
_BLOCK_END = regex.compile(r"(?:\r\n|\n|\r)[ \t]*+(?:\r\n|\n|\r)\s*+")
# Marks of other scripts, and `,.?` that stand inside no number, address or abbreviation: all that may be written.
_WRITTEN_MARK = regex.compile(rf"[{''.join(known_marks(',.?').keys() - {*',.?'})}]|[,.?](?!\w)")
_LINES_READ = 200  # to find out whether a text names its speakers
_LINE_READ = 500  # characters of each
_LEAST_NAMED = 3  # lines, and half of all
_LINES_A_NAME = 1.5  # a list (`Price: ...`, `Colour: ...`) has one; people who talk come back
_JOINER = "\u2060"  # nothing is shown or said there, and the word goes on


def find_names(texts: Iterable[str], are_cues: bool = False) -> Names:
    """Which names begin most lines, or stand above most blocks of lines, and come back.

    In cues and segments names of two words or more, `Mary Lee: `, need not come back.
    """
    called, alone = Counter[str](), Counter[str]()
    n_lines = n_blocks = n_timed = 0
    for lines in _blocks(texts):
        read = lines[:1] if are_cues else lines
        n_blocks += 1
        n_lines += len(read)
        n_timed += sum(map(bool, map(_PATTERNS["TIMED"].match, read)))
        called.update(found["name"] for line in read if (found := _PATTERNS["CALLED"].match(line)))
        first = 1 if _PATTERNS["TIMES_ALONE"].match(lines[0]) else 0
        for n, line in enumerate(lines):
            found = _PATTERNS["NAME_ALONE"].match(line)
            if found and (found["when"] or n == first < len(lines) - 1):
                alone[found["name"]] += 1
        if n_lines >= _LINES_READ:
            break
    come_back = _come_back(called) or (
        are_cues and all(map(_PATTERNS["FULL_NAME"].fullmatch, called))
    )
    stand_above = _come_back(alone) and alone.total() >= n_blocks / 2
    return Names(
        bool(called) and come_back and called.total() >= n_lines / 2,
        n_timed >= max(_LEAST_NAMED, n_lines / 2),
        frozenset(alone) if stand_above else frozenset(),
    )


def _blocks(texts: Iterable[str]) -> Iterator[list[str]]:
    """The lines of each block, without what a restorer may have written: who is named is the same in restored text."""
    for text in texts:
        for block in _BLOCK_END.splititer(text):
            starts = itertools.islice(_LINE.finditer(block), _LINES_READ)
            lines = [line.group()[:_LINE_READ] for line in starts]
            if shown := [_WRITTEN_MARK.sub("", line) for line in lines if line.strip()]:
                yield shown


def _come_back(names: Counter[str]) -> bool:
    return names.total() >= max(_LEAST_NAMED, _LINES_A_NAME * len(names))


def audible(text: str, hidden: Iterable[Hidden]) -> str:
    """The text as it is said, as long as before: with blanks in the place of what is not."""
    parts = []
    done = 0
    for one in hidden:
        start = max(done, one.start)
        read = one.read.ljust(one.end - start, _JOINER) if one.read else " " * (one.end - start)
        parts += [text[done : one.start], read]
        done = max(done, one.end)
    return "".join([*parts, text[done:]])


def find_hidden(text: str, layout: Layout = "text", names: Names | None = None) -> list[Hidden]:
    """All that is shown in a text, cue, segment or word (`layout` says in which) and not said so, in order.

    `names` are those of the whole transcript; None: those of this text.
    """
    found: list[Hidden] = []
    if layout != "word":
        names = find_names([text]) if names is None else names
        for line in _LINE.finditer(text):
            if not found or found[-1].end <= line.start():  # a sound may go on in the next line
                found += _opening(text, line.start(), line.end(), layout, names)
    pattern, done = _PATTERNS[f"{'TEXT' if layout == 'text' else 'LINE'}_ANYWHERE"], 0
    for one in [*found, Hidden(len(text), len(text), "")]:
        found += [_hidden(match) for match in pattern.finditer(text, done, one.start)]
        done = one.end
    return sorted(found)


def with_signs_read(text: str) -> str:
    """A text out of which all is gone that nobody says: letters and words stand where they are read."""
    return audible(text, (one for one in find_hidden(text, "word") if one.read))


def _hidden(match: regex.Match[str]) -> Hidden:
    """What a pattern found inside a line; what is said there, too."""
    kind = str(match.lastgroup)
    start, end = match.span()
    read = {"word": _A_WORD, "joint": _JOINER}.get(kind, "")
    if kind == "entity":
        around = match.string[start - 1 : start] + match.string[end : end + 1]
        read = _said(decoded(match.group()), around)
    return Hidden(start, end, "sign" if read else kind, read=read)


def decoded(text: str) -> str:
    """The text with the characters that entities stand for; one may be escaped several times: `&amp;#39;`."""
    return _PATTERNS["ENTITY"].sub(lambda match: html.unescape(match[0].replace("amp;", "")), text)


def _said(sign: str, around: str) -> str:
    """What is read for a character between two others: letters, and signs inside a word."""
    if sign.isalnum():
        return sign
    # ʼ is a letter, which the model is shown as an apostrophe.
    inside_word = {"&": "&", "'": "ʼ", "’": "ʼ", "‘": "ʼ"}
    return inside_word.get(sign, "") if _PATTERNS["INSIDE_WORD"].fullmatch(around) else ""


def _opening(text: str, start: int, end: int, layout: Layout, names: Names) -> list[Hidden]:
    """What opens the line `text[start:end]`; a line in which nothing is said goes with the line end behind it."""
    found = []
    match = _PATTERNS["NAME_ALONE"].match(text, start) if names.alone else None
    if match and match["name"] in names.alone:
        found.append(Hidden(start, match.end(), "name", match["name"]))
        start = match.end()
    if names.after_times and (match := _PATTERNS["TIMED"].match(text, start, end)):
        found.append(Hidden(start, match.end(), "time"))
        start = match.end()
    pattern = _PATTERNS[layout.upper() + "_NAMED" * names.before_colon]
    while start < end and not (found and found[-1].name) and (match := pattern.match(text, start)):
        name = match["name"]
        found.append(Hidden(start, match.end(), "name" if name else str(match.lastgroup), name))
        start = match.end()
    if found and not text[start:end].strip():
        found[-1] = found[-1]._replace(end=_LINE_END.match(text, start).end())
    return found
