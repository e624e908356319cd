"""How each script writes each mark: a table, and the scripts of characters. Knows nothing of words or labels.

To teach it another script, add a row; whatever a row leaves out is written as in Latin text.
"""

import regex

# Marks as labels name them -> marks as the script writes them.
WRITTEN_MARKS: dict[str, dict[str, str]] = {
    "Han": {",": "，", ".": "。", "?": "？", "!": "！", ";": "；", ":": "："},
    "Arabic": {",": "،", "?": "؟", ";": "؛"},
    "Devanagari": {".": "।"},
    "Latin": {},
}

SENTENCE_ENDS = ".?!"  # as labels name them

OPENERS = "\"'“‘„‚«‹「『（(《〈【〔[{¿¡"
CLOSERS = "\"'”’»›」』）)》〉】〕]}"
AMBIGUOUS_QUOTES = "\"'"  # the same sign opens and closes
QUOTES_AND_BRACKETS = "".join(sorted(set(OPENERS + CLOSERS) - set("¿¡"))) + "`´"

_SCRIPT = regex.compile(r"(?P<Han>\p{Han})|(?P<Arabic>\p{Arabic})|(?P<Devanagari>\p{Devanagari})|(?P<Latin>\p{L})")


def script_of(word: str) -> str | None:
    """Script of a word's last letter, a row of the table; None for a word without letters, such as a number."""
    script = None
    for match in _SCRIPT.finditer(word):
        script = match.lastgroup
    return script


def written(mark: str, script: str) -> str:
    """`mark` as `script` writes it."""
    row = WRITTEN_MARKS.get(script, {})
    return "".join(row.get(sign, sign) for sign in mark)
