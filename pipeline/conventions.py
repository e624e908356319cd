"""How each script writes each mark, what ends a sentence, which signs are quotes and brackets: tables.

To teach it another script, add a row; whatever a row leaves out is written as in Latin text.
"""

from collections.abc import Iterable, Mapping

import regex

# Marks as labels name them -> marks as the script writes them. Rows are named as Unicode names the script; Kana means
# Hiragana and Katakana, Latin all scripts that have no row. A word's script is that of its last letter.
WRITTEN_MARKS: dict[str, dict[str, str]] = {
    "Han": {",": "，", "、": "、", ".": "。", "?": "？", "!": "！", ";": "；", ":": "："},
    "Kana": {",": "、", "、": "、", ".": "。", "?": "？", "!": "！", ";": "；", ":": "："},
    "Arabic": {",": "،", "?": "؟", ";": "؛"},
    "Devanagari": {".": "।"},
    "Bengali": {".": "।"},
    "Gurmukhi": {".": "।"},
    "Oriya": {".": "।"},
    "Myanmar": {",": "၊", ".": "။"},
    "Khmer": {".": "។"},
    "Ethiopic": {",": "፣", ".": "።", ";": "፤"},
    "Armenian": {".": "։"},
    "Latin": {},
}
# Only Han and kana have a comma between the parts of a list (Chinese) or of a sentence (Japanese).
WRITTEN_MARKS |= {script: {"、": row.get(",", ","), **row} for script, row in WRITTEN_MARKS.items()}
# Written without blanks: a blank ends their say in how a number beside them is treated.
UNSPACED = ("Han", "Kana")

# Embedding and isolate controls of right-to-left text are brackets that nobody sees.
OPENERS = frozenset(
    "([{（［｛〈《「『【〔〖〘〚｢⟨⟪“‘„‚«‹〝❝¿¡" + "\u2066\u2067\u2068\u202a\u202b\u202d\u202e"
)
CLOSERS = frozenset(")]}）］｝〉》」』】〕〗〙〛｣⟩⟫”’»›〞〟❞" + "\u2069\u202c")
EITHER = frozenset("\"'`´＂＇")  # the same sign opens and closes
# „German“ and »Danish« quotes close with signs that open elsewhere.
TURNED_CLOSERS = frozenset("“‘«‹")
TURNED_OPENERS = frozenset("”’»›")
ENCLOSING, OPENS = OPENERS | CLOSERS | EITHER, OPENERS | EITHER
# Where no word touches the other side.
CLOSES_APART, OPENS_APART = CLOSERS | TURNED_CLOSERS, OPENS | TURNED_OPENERS

# What opens a question or an exclamation -> the mark that closes it, as Spanish, Galician and Asturian write them.
PAIRS = {"¿": "?", "¡": "!"}

# Faces typed with marks, between blanks: neither words nor marks. (The inside of a pattern.)
EMOTICON = r"(?<!\S)(?:[:;]['’]?-?(?:[()\[\]DP/\\|*]++|[poOsSvV3])|<3)(?=[.,!?;:。，！？、)\]\"'”’]*+(?!\S))"

KANA = r"\p{Hiragana}\p{Katakana}ー"  # the inside of a set

_LETTERS_OF = {
    **{name: rf"\p{{{name}}}" for name in WRITTEN_MARKS},
    "Han": r"\p{Han}\p{Bopomofo}",
    "Kana": KANA,
    "Latin": r"\p{L}",
}
_LAST_LETTER = regex.compile(
    "(?r)" + "|".join(f"(?P<{name}>[{_LETTERS_OF[name]}])" for name in WRITTEN_MARKS)
)
_KANA_LETTER = regex.compile(f"[{KANA}]")


def script_of(word: str) -> str | None:
    """Script of a word's last letter, a row of the table; None for a word without letters, such as a number.

    Digits that only one script has count as its letters. A word with kana is Kana even if it ends in Han (いい天気).
    """
    if word.isascii():
        return "Latin" if word.upper() != word.lower() else None
    letter = _LAST_LETTER.search(word)
    if letter and letter.lastgroup == "Han" and _KANA_LETTER.search(word):
        return "Kana"
    return letter.lastgroup if letter else None


def written(mark: str, script: str) -> str:
    """`mark` as `script` writes it."""
    return "".join(WRITTEN_MARKS[script].get(sign, sign) for sign in mark)


def known_marks(marks: Iterable[str]) -> dict[str, str]:
    """Every sign that counts as a mark -> the one of `marks` that it means.

    Those are the given marks of one sign, the forms in which some script writes them, and those that are only read.
    """
    signs = {mark: mark for mark in marks if len(mark) == 1}
    forms = [(mark, form) for row in WRITTEN_MARKS.values() for mark, form in row.items()]
    forms += [(mark, form) for mark, read in ALSO_READ.items() for form in read]
    return {form: mark for mark, form in forms if mark in signs} | signs


# Other forms of a mark, which are not written: half and full width, small and vertical ones, and other scripts' own.
ALSO_READ = {
    ".": "．｡﹒॥۔",
    "?": "፧﹖\u037e‽⁇",
    "!": "﹗",
    "…": "⋯‥",
    ",": "﹐",
    "、": "､﹑",
    ";": "﹔",
    ":": "﹕",
}
SENTENCE_ENDS = known_marks(".?!…")  # every sign, and the mark that it means


def ends_sentence(signs: Iterable[str]) -> bool:
    """Whether signs after a word end a sentence."""
    return not SENTENCE_ENDS.keys().isdisjoint(signs)


def stop_labels(labels: Iterable[Mapping[str, str]]) -> list[bool]:
    """Whether each label ends a sentence, whatever it is called: it writes such a sign after a word."""
    return [ends_sentence(label["after"]) for label in labels]
