"""What may be a word: patterns of letters, links, numbers, abbreviations, pictures; jieba for runs of Han characters.

It knows signs, and nothing of offsets or of what marks mean. Every pattern is possessive throughout, so that time stays
linear whatever the text.
"""

import contextlib
import functools
import itertools
import logging
import os
from collections.abc import Iterable
from typing import Any

import regex
from huggingface_hub import constants

from .conventions import EMOTICON, ENCLOSING, KANA
from .simplified import SIMPLIFIED

# Words whose final point belongs to them, in lower case and without that point. Letters with points between them
# (u.s.a., e.g.) are found by their shape.
ABBREVIATIONS = frozenset(
    "mr mrs ms dr prof st sr jr rev hon gov capt lt sgt maj mt vs etc inc ltd corp dept approx vol eds cf jan feb apr "
    "aug sept oct nov dec dll dsb sdn bhd hj hjh jln spt yb yab ybhg ph.d b.sc m.sc".split()
)
ABBREVIATIONS_BEFORE_NUMBERS = frozenset("no nos p pp fig figs ch sec art eq bil".split())

# Pictures, flags and skin tones; the signs that Unicode counts among them but print sets as letters belong to words.
_PICTURE = r"[\p{Extended_Pictographic}--[©®™ℹ]]\p{Regional_Indicator}\p{Emoji_Modifier}"
_KEYCAP = r"[0-9#*]\uFE0F?+\u20E3"
_HYPHENS = "-‐‑"
_HAN = r"\p{Han}[\p{M}\p{Cf}]*+"
# A run of Han characters beside kana is Japanese, and part of one word with them. A longer run is Chinese that has a
# Japanese word beside it, and must not lose its slots.
_JAPANESE = rf"(?=\p{{Han}})(?:(?<=[{KANA}]\p{{M}}?)(?:{_HAN}){{1,6}}+(?!\p{{Han}})|(?:{_HAN}){{1,6}}+(?=[{KANA}]))"
# An apostrophe or a quote between these is inside a word.
_LETTER = r"[[\p{L}\p{N}]--\p{Han}]"

# What may stand in a word, marks that are part of it included.
WORD_SIGNS = regex.compile(rf"(?V1)[^\s\p{{Cc}}\p{{Cs}}\p{{Han}}{_PICTURE}]+")
HAS_LETTER_OR_DIGIT = regex.compile(r"[\p{L}\p{N}]")
HAN_CHARACTER = regex.compile(_HAN)
LETTERS_WITH_POINTS = regex.compile(r"\p{L}(?:\.\p{L})+")
COMBINING = regex.compile(r"[\p{M}\u200D]*+")
BLANK = regex.compile(r"\s")
STANDING_QUOTE = regex.compile(rf"(?V1)[\"＂]|(?<!{_LETTER})['`´＇]|['`´＇](?!{_LETTER})")

# What is spoken of a word: plain apostrophes and hyphens, nothing invisible.
SPOKEN = str.maketrans(
    dict.fromkeys("’‘`´＇ʼ", "'")
    | dict.fromkeys("‐‑", "-")
    | dict.fromkeys("\u00ad\u180e\u200b\u200e\u200f\u2060\u2061\u2062\u2063\u2064\ufeff", None)
)


class WordPatterns:
    """What depends on which signs are marks.

    Attributes:
        word: everything that is or may be a word, and the pictures that are none. Its groups: `plain`, ASCII words with
            a blank before and after each; `picture`; `link`; `han`, Han characters without kana beside them, which
            marks and single blanks may interrupt; `other`, a word if it has a letter or a digit.
        link_tail: what follows a link without a blank but does not belong to it: marks, brackets and pictures.
    """

    def __init__(self, marks: frozenset[str]) -> None:
        mark = _set(marks)
        core, word = _word_parts(marks)
        han = rf"(?!{_JAPANESE})(?:{_HAN})++"
        # A link ends at white space, Han and kana, and at every quote and mark that is not ASCII.
        outside = _escaped(sign for sign in ENCLOSING | marks if not sign.isascii())
        inside = rf"[^\s\p{{Cc}}\p{{Cs}}\p{{Han}}\p{{Hiragana}}\p{{Katakana}}<>\"`{outside}]++"
        scheme = r"(?:\p{Latin}[\p{Latin}0-9+.\-]{0,19}+://|www\.|mailto:)"
        groups = {
            "plain": r"(?<![^ ])(?:[A-Za-z]++(?:'[A-Za-z]++)?+[ ])++",
            "picture": rf"{_KEYCAP}|[{_PICTURE}][{_PICTURE}\p{{M}}\u200D\U000E0020-\U000E007F]*+|{EMOTICON}",
            "link": rf"(?<![\p{{Latin}}[\p{{N}}--\p{{Han}}]]){scheme}{inside}",
            "han": rf"{han}(?:{mark}*+(?:[ ]{mark}*+)?+{han})*+",
            "other": rf"(?:(?<!\S)\.(?=[\p{{L}}\p{{N}}]))?+{core}++{word}",  # .5 and .NET begin with their point
        }
        self.word = regex.compile("(?V1)" + "|".join(f"(?P<{name}>{pattern})" for name, pattern in groups.items()))
        self.link_tail = regex.compile(rf"(?V1r)[{_PICTURE}{_escaped(marks | ENCLOSING)}]*+\Z")
        # The gap, which may hold marks, between a point and the next word.
        self._before_capital, self._before_number = (regex.compile(rf"{mark}*+[ ]\p{{{kind}}}") for kind in ("Lu", "N"))

    def owns_point(self, word: str, text: str, end: int) -> bool:
        """Whether the point after a word, which ends at `end` of a text, belongs to it."""
        if not text.startswith(".", end) or text.startswith("..", end):
            return False
        lower = word.lower()
        if lower in ABBREVIATIONS or LETTERS_WITH_POINTS.fullmatch(word):
            return True
        if len(word) == 1 and word.isupper() and word != "I" and self._before_capital.match(text, end + 1):
            return True  # an initial
        return lower in ABBREVIATIONS_BEFORE_NUMBERS and self._before_number.match(text, end + 1) is not None


def _word_parts(marks: frozenset[str]) -> tuple[str, str]:
    """One character of a word; and how a word continues after signs that belong to it only between its characters."""
    hyphen = _set(_HYPHENS)
    sign = rf"[^\s\p{{Cc}}\p{{Cs}}\p{{Han}}{_PICTURE}{_escaped(ENCLOSING | marks | set(_HYPHENS))}]"
    core = rf"[A-Za-z]++|(?!{_KEYCAP}){sign}|{_JAPANESE}"
    joiners = [
        rf"\.(?={sign})",  # 3.5, example.com
        r"(?<=\p{N})[,:：．–—‒](?=\p{N})",  # 1,000, 12:30, 1990–1995
        r"(?<=[\p{L}\p{M}\p{N}])['’＇](?=[\p{L}\p{N}])",  # it's
        r"(?<=\p{L})[‘`´](?=\p{L})",  # Hawai‘i
        r"(?<=\p{Latin}):(?=[\\/])",  # C:\file
        r"\?(?=[\p{Latin}0-9_.\-]{1,40}+=)",  # watch?v=1
    ]
    if marks.isdisjoint(_HYPHENS):
        core += rf"|(?<!{hyphen}){hyphen}(?!{hyphen})"
    else:  # a label set in which hyphens are marks
        joiners.append(rf"{hyphen}(?={sign})")
    core = f"(?:{core})"
    plural = rf"(?<=\p{{L}})\([A-Za-z]{{1,2}}\){core}*+"  # file(s)
    return core, rf"(?:(?:{'|'.join(joiners)}){core}++|{plural})*+"


def _set(signs: Iterable[str]) -> str:
    return f"[{_escaped(signs)}]"


def _escaped(signs: Iterable[str]) -> str:
    """The signs as the inside of a set."""
    return "".join(f"\\U{ord(sign):08x}" for sign in sorted(signs))


# jieba's own default is a file in the shared temporary folder, which another user may own or have written.
JIEBA_CACHE = os.path.join(constants.HF_HOME, "punctuation-restoration")
# This one, here and the like, which jieba would cut behind 呢. In Mandarin 呢 ends a clause, but their other halves do
# not begin one unless in longer words (个人), which jieba prefers.
CANTONESE_WORDS = "呢度 呢個 呢啲 呢位 呢次 呢件 呢間 呢排 呢樣 呢句".split()


class HanSegmenter:
    """Cuts Han text into words by jieba, which is loaded at the first Han text.

    jieba's dictionary is Simplified, so it is shown every character's simplified form; the words keep their own.

    Args:
        dictionary: path of a jieba user dictionary, or its lines: one `word [frequency [tag]]` each.

    Raises:
        ImportError: at the first Han text, if jieba is not installed.
        ValueError: if there is no dictionary file at the path, or a word to add is empty; at the first Han text, if
            the file is not in jieba's format.
    """

    def __init__(self, dictionary: str | os.PathLike[str] | Iterable[str] | None = None) -> None:
        self.dictionary: Any = dictionary
        if isinstance(dictionary, str | os.PathLike):
            if not os.path.isfile(dictionary):
                raise ValueError(
                    f"Expected a file at jieba_dictionary={os.fspath(dictionary)!r}, there is none. Correct the path, "
                    "or give the words themselves in a list."
                )
        elif dictionary is not None:
            self.dictionary = tuple(dictionary)
            if not all(isinstance(word, str) and word for word in self.dictionary):
                raise ValueError(f"Expected words in jieba_dictionary, got {self.dictionary!r:.80}. Correct the list.")

    def __call__(self, run: str) -> list[str]:
        """Words of `run`, in order; joined they are `run`."""
        # Without jieba's hidden Markov model, which joins characters to words that no dictionary has: such words
        # swallow 0.9 % of the marks of real talks, dictionary words 0.35 %, for 2 % more words (docs/log.md).
        if len(run) == 1:
            return [run]
        words = self._tokenizer.cut(run.translate(SIMPLIFIED), HMM=False)
        ends = itertools.accumulate(map(len, words), initial=0)
        return [run[start:end] for start, end in itertools.pairwise(ends)]

    @functools.cached_property
    def _tokenizer(self) -> Any:
        if self.dictionary is None:
            return _default_tokenizer()
        tokenizer, given = _new_tokenizer(), self.dictionary
        try:
            with contextlib.nullcontext(given) if isinstance(given, tuple) else open(given, encoding="utf-8") as lines:
                tokenizer.load_userdict(line.translate(SIMPLIFIED) for line in lines)
        except (OSError, ValueError) as error:
            raise ValueError(
                f"Expected a jieba dictionary in UTF-8 (`word frequency tag` a line) at {given}, got: {error}. Correct "
                "the path or the file."
            ) from error
        return tokenizer

    def __getstate__(self) -> dict[str, object]:
        return {"dictionary": self.dictionary}  # the loaded tokenizer holds a lock, which cannot be sent to a worker


def _new_tokenizer() -> Any:
    try:
        import jieba  # here, because it takes as long to load as all of this package
    except ImportError as error:
        raise ImportError(
            "Expected jieba, which finds the words of Mandarin text; it is not installed. Run `pip install jieba`."
        ) from error
    jieba.setLogLevel(logging.CRITICAL)  # with a read-only home jieba builds its table anew, in a second: no news
    with contextlib.suppress(OSError):
        os.makedirs(JIEBA_CACHE, exist_ok=True)
    tokenizer = jieba.Tokenizer()
    tokenizer.tmp_dir = JIEBA_CACHE
    tokenizer.initialize()
    for word in CANTONESE_WORDS:
        tokenizer.suggest_freq(word.translate(SIMPLIFIED), tune=True)
    return tokenizer


_default_tokenizer = functools.cache(_new_tokenizer)
