"""A run of Han characters -> words, by jieba. Knows nothing of marks, offsets or other scripts.

jieba's dictionary is Simplified, so it is shown every character's simplified form; the words keep their own. It is
loaded when the first Han text comes, so that other languages work without it.
"""

import contextlib
import functools
import itertools
import logging
import os
from collections.abc import Iterable
from typing import Any

from huggingface_hub import constants

from .simplified import SIMPLIFIED

# jieba's own default is a file in the shared temporary folder, which another user may own or have written.
JIEBA_CACHE = os.path.join(constants.HF_HOME, "punctuation-restoration")
# This one, here and the like, which jieba would cut behind 呢. In Mandarin 呢 ends a clause, but their other halves do
# not begin one unless in longer words (个人), which jieba prefers.
CANTONESE_WORDS = "呢度 呢個 呢啲 呢位 呢次 呢件 呢間 呢排 呢樣 呢句".split()


class HanSegmenter:
    """Cuts Han text into words.

    Args:
        dictionary: path of a jieba user dictionary (one `word [frequency [tag]]` a line), or words to add.

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
        tokenizer = _new_tokenizer()
        if isinstance(self.dictionary, tuple):
            for word in self.dictionary:
                tokenizer.add_word(word.translate(SIMPLIFIED))
            return tokenizer
        try:
            with open(self.dictionary, encoding="utf-8") as lines:
                tokenizer.load_userdict(line.translate(SIMPLIFIED) for line in lines)
        except (OSError, ValueError) as error:
            raise ValueError(
                f"Expected a jieba dictionary in UTF-8 (`word frequency tag` a line) at {self.dictionary}, got: "
                f"{error}. Correct the path or the file."
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
