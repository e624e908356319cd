"""Numbers, letters, times and addresses as they are said: between which words no mark can be. Knows words, no marks.

    it's four four seven oh            digits one by one; counting, `one two three go`, stays free
    nineteen eighty four, 二零二一年    years
    two hundred and five               one number in several words
    three point five, 三点五            decimals
    the b b c, at k l c c              three letters or more
    at 3 30 pm, 1 250 000, 012 345 6789
    john at gmail dot com slash help

Each word, and each part of a Han or hyphenated word, becomes one sign, its kind. So a pattern of kinds finds what is
said in any language. What is written in digits, and addresses, are found in the text itself.
"""

import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import regex

from .segmentation import SIMPLIFIED
from .words import Word

# A line for each kind: its sign, and its words in the order of their values.
ENGLISH = """
D one two three four five six seven eight nine
Z zero nought
O oh
x double triple treble
n ten
N eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen
t twenty
T thirty forty fifty sixty seventy eighty ninety
F first second third fourth fifth sixth seventh eighth ninth
H hundred
K thousand
M million
B billion trillion
& and
. point dot
f half quarter quarters
c dollar dollars pound pounds euro euros ringgit
s cent cents pence
$ rm usd sgd myr s$ us$
i number code pin otp tac room extension version flight
b is
w at by until before after
q am pm a.m p.m o'clock
a a i
o o
l b c d e f g h j k l m n p q r s t u v w x y z
"""
MALAY = """
D satu dua tiga empat lima enam tujuh lapan sembilan
Z kosong sifar
n sepuluh
N sebelas
E belas
U puluh
H ratus
h seratus
K ribu
k seribu
M juta
m sejuta
B bilion trilion
& dan
. perpuluhan titik
f setengah suku
s sen
i nombor kod bilik versi
j telefon akaun tempahan pesanan tiket rujukan kad bilik resit polisi
p saya dia kami anda encik puan
b ialah adalah
w pukul jam
q pagi tengah petang malam
"""
HAN = """
一 一 二 三 四 五 六 七 八 九
零 零 〇 幺
两 两
十 十
百 百
千 千
万 万
亿 亿
点 点
年 年
分 分
之 之
半 半
块 块
毛 毛
"""
# Kinds of numbers in digits: one digit, an hour or minutes, a group of a longer number, hours and minutes, any other.
DIGITS = regex.compile(
    r"(?P<D>\d)|(?P<m2>[0-5]\d)|(?P<g3>\d{3,4})|(?P<C>\d\d?[:.][0-5]\d)|\d[\d.,]*+"
)
# What may come before the sign that decides has a limit: the search begins at each word, and must not read to the end
# each time.
SAID = regex.compile(
    r"""(?x)
    (?(DEFINE)
        (?P<digit> x?[DZOo])
        (?P<numeral> [23C9])
        (?P<below100> [tT][DF]?|DU(?:D(?![UEH]))?|DE|[nND])
        (?P<below1000> (?:(?:(?&below100)|a)H|h)(?:&?(?&below100)(?!H))?|(?&below100)|(?&numeral))
        (?P<and> (?:&(?=[DnNtTha]))?)
        (?P<number> (?=[DnNtThkma23C9])
            (?:(?:(?&below1000)|a)B(?&and))?
            (?:(?:(?:(?&below1000)|a)M|m)(?&and))?
            (?:(?:(?:(?&below1000)|a)K|k)(?&and))?
            (?:(?&below1000)(?![HKMB]))?
            (?:(?:&a)?f)?)
        (?P<hour> [DnN]|DE|2)
        (?P<minutes> [tT]D?|[nN]|[ZO]D|DUD?|DE|2)
        (?P<half> q|[al]l)
        (?P<below10000> (?:[一两]千零?)?(?:[一两]百零?)?(?:一?十)?零?[一两]?)
        (?P<han> (?=[一两十零])(?:(?&below10000)(?<=[一两十百千])亿零?)?
            (?:(?&below10000)(?<=[一两十百千])万零?)?(?&below10000))
    )
    (?=[^-][^-])(?:
        [D2]点(?:[D2]分?|半)?
        # Digits that are named before may count.
        |ij?p?b?(?:(?&digit){2,30}|3{2,8}|(?&digit)(?=\.))(?:\.(?&digit){1,30})?
        # Times.
        |w?(?&hour)(?&minutes)(?&half)|w(?&hour)(?&minutes)(?![HKMBUE])|w?(?:C|(?&hour))(?&half)|wC
        # Years.
        |(?:[nNt](?:[tT](?:D|(?!T))|[nN]|[ZO]D)|(?:N|DE)(?:DUD?|DE)|DU(?:DUD|DE))(?![HKMBUE])
        |[一零]{3,30}年?(?![十百千万亿])
        # Digits one by one.
        |(?:(?&digit){2,30}x?[DZ]|[DZ]x[DZ])(?![HKMBUE])
        # Decimals, amounts, numbers.
        |(?&number)\.(?:(?&digit){1,30}|(?&below100)|(?&numeral))
        |(?&number)c&?(?&number)s
        |\$?(?&number)
        |(?:百分之)?(?&han)(?:(?<!两)点[一零]{1,30}|点(?:(?&han)分|半)|块(?&han)毛?一?)?
        # Letters.
        |(?!aaa)[lao]{2}(?:[lao]{0,30}[lo]|a)
    )"""
)
# Of whole words, with one blank between them.
WRITTEN = regex.compile(
    "(?<=^| )(?:"
    # Telephone numbers.
    r"(?=(?:[+ \-]{0,2}\d){7,15}(?:$| \D))(?:\+\d{1,4}|60(?:1\d)?|0\d{0,3})(?: \d{2,9}(?:-\d{3,4})?){1,4}"
    r"|0\d{1,3}-\d{3,4}(?: \d{3,4}){1,2}"
    r"|1 [38]00(?: \d{2,4}){2,3}"
    r"|1[3-9]\d \d{4} \d{4}"  # of China
    r"|[3689]\d{3} \d{4}"  # of Singapore and Hong Kong
    r"|\d{6} \d{2} \d{4}"  # a Malaysian identity card
    r"|(?!(?:(?:19|20)\d\d ?){4})\d{4}(?: \d{4}){3}"  # a bank card, but not four years
    r"|\d{1,3}(?: \d{3}){1,5}(?:\.\d+)?"  # 1 250 000
    r"|(?P<address>(?:(?:\S+ (?:dot|titik|点) ){0,4}\S+ at )?(?:\S+ (?:dot|titik|点) ){1,4}"
    r"(?:com|net|org|edu|gov|io|co|my|sg|uk|cn|tw|hk|id)"
    r"(?: (?:dot|titik|点) (?:com|net|org|edu|gov|io|co|my|sg|uk|cn|tw|hk|id))?(?: slash \S+)*)"
    ")(?=$| )"
)
POINTS = ("point", "titik")
# `one point` that is no decimal; also at the start of a text.
BEFORE_POINT = {"at", "this", "that", "make", "made", "only", "just", "pada"}
# Between two words, without blanks: 约翰·史密斯, 三～五天, 中文/English.
TIES = frozenset("·・‧•～~/／\\|｜+＋&＆-－")

_TOKENS = regex.compile(r"\p{Han}|[^\p{Han}\-]++")
_LINES = [line.split() for line in (HAN + MALAY + ENGLISH).splitlines() if line]
KINDS = {word: kind for kind, *words in _LINES for word in words}
_FIRST_VALUES = {"D": 1, "n": 10, "N": 11, "t": 20, "T": 30, "一": 1}  # of what people count with
VALUES = {
    word: value
    for kind, *words in _LINES
    if kind in _FIRST_VALUES
    for value, word in zip(
        itertools.count(_FIRST_VALUES[kind], 10 if kind == "T" else 1), words, strict=False
    )
} | {digit: int(digit) for digit in "123456789"}


class Forms(NamedTuple):
    """Indices of words of a text."""

    unbroken: set[int]  # those after which no mark can be
    addresses: set[int]  # those of e-mail and web addresses, which have no capitals


def find_forms(text: str, words: Sequence[Word]) -> Forms:
    """What is found among the words of a text."""
    # İ becomes two letters when it is lowered: offsets are counted after that.
    lowered = [word.spoken.lower().translate(SIMPLIFIED) for word in words]
    forms = Forms(set(_inside_said(lowered)), set())
    ends = [n - 1 for n in itertools.accumulate(len(word) + 1 for word in lowered)]
    for match in WRITTEN.finditer(" ".join(lowered)):
        inside = _ending_inside(match, ends)
        forms.unbroken.update(inside)
        if match["address"] is not None:
            forms.addresses.update(inside, [inside.stop])
    for index, (word, following) in enumerate(itertools.pairwise(words)):
        # The sign may be part of the second word: `3日～5日`.
        if text[word.end : max(following.start, word.end + 1)] in TIES:
            forms.unbroken.add(index)
    return forms


def _inside_said(words: Sequence[str]) -> Iterator[int]:
    """The words inside what is said in several words, but for its last one."""
    tokens = []
    ends = []
    for word in words:
        tokens += _TOKENS.findall(word)
        ends.append(len(tokens))
    kinds = "".join([KINDS.get(token) or _kind_of_digits(token) for token in tokens])
    for match in SAID.finditer(kinds):
        start, end = match.span()
        said = tokens[start:end]
        if len(said) < 2 or _is_count(said):
            continue
        # The last word may be one that goes on: 三点一般.
        is_cut = said[-1] == "一" and said[-2] in "点块" and ends[bisect_left(ends, end)] > end
        if not (
            is_cut or _is_apart(tokens[max(0, start - 1) : start], said, tokens[end : end + 1])
        ):
            yield from _ending_inside(match, ends)


def _kind_of_digits(token: str) -> str:
    """The kind of a number in digits, `-` for anything else."""
    match = DIGITS.fullmatch(token)
    return (match.lastgroup or "9")[-1] if match else "-"


def _is_count(tokens: Sequence[str]) -> bool:
    """Whether somebody counts up or down: `one two three`, `twenty thirty forty`, 三二一, `ten eleven`."""
    values = [VALUES.get(token, 0) for token in tokens]
    steps = {following - value for value, following in itertools.pairwise(values)}
    least = 2 if all(9 < value < 20 for value in values) else 3
    return len(values) >= least and min(values) > 0 and steps in ({1}, {-1}, {10})


def _is_apart(before: Sequence[str], said: Sequence[str], following: Sequence[str]) -> bool:
    """Whether the last word is said of something else: `at one point two people`, `number one one of them`."""
    is_point = said[1] in POINTS and said[0] in ("one", "satu") and BEFORE_POINT.issuperset(before)
    last_but_one = KINDS.get(said[-2], "-") in "DZO."
    is_of = following == ["of"] and (last_but_one or KINDS.get(said[-1]) == "f")
    is_am = said[-1] == "am" and following == ["i"]
    is_item = said[-1] == "一" and said[-2] == "点" and following in (["是"], ["要"])
    return is_point or is_of or is_am or is_item


def _ending_inside(match: regex.Match[str], ends: Sequence[int]) -> range:
    """The words that end inside a match, from the ends of all of them."""
    return range(bisect_right(ends, match.start()), bisect_left(ends, match.end()))
