"""Words -> pieces, and where the slot of each word is among them. One path for training and serving.

It knows nothing of text offsets and marks.

    words    hello     this    is      josh
    pieces   ▁hell  o  ▁this   ▁is     ▁jos  h
    index     1     2   3       4       5    6
    slots           2   3       4            6    <- the last piece of each word

A word becomes the pieces that it has in running text: after a blank, or in Han and kana text after nothing. What a
blank looks like is left to the tokenizer (`▁hell`, `Ġhell`, or `hell` where it is the rest of a word that is marked).
Traditional Han words have the pieces of their simplified form.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from transformers import PreTrainedTokenizerBase

from .conventions import UNSPACED, script_of
from .segmentation import SIMPLIFIED

# Of a longer word (a link, a wall of letters) the first and the last pieces are shown.
MAX_WORD_PIECES = 32
CACHED_WORDS = 200_000  # about 50 MB
LONGEST_CACHED = 64  # characters
Pieces = list[int]  # ids
ModelConfig = Any  # a `PunctuationRestorationConfig`, whose folder is another one in the project
BEFORE = "a"  # a word is split after this one, which no vocabulary joins to a blank or to a Han character


def as_shown(spoken: Iterable[str]) -> list[str]:
    """Words as the encoder sees them: in lower case, Han words in simplified characters, but not those with kana."""
    return [
        word.translate(SIMPLIFIED) if script_of(word) == "Han" else word
        for word in map(str.lower, spoken)
    ]


class SlotEncoder:
    """Turns words into what the encoder reads.

    Args:
        tokenizer: the tokenizer of the encoder. Instead of a special piece that it lacks, one that it has is used.
        config: a `PunctuationRestorationConfig`.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, config: ModelConfig) -> None:
        self.tokenizer, self.config = tokenizer, config
        self._before = self._split([BEFORE])[0]
        self.bos_id = self._special_id("cls", "bos", "eos", "sep", "pad", "unk")
        self.eos_id = self._special_id("sep", "eos", "bos", "cls", "pad", "unk")
        self.unk_id = self._special_id("unk", "mask", "pad", "eos", "bos")
        self.pad_id = self._special_id("pad", "eos", "sep", "unk", "bos")
        self._n_kept = min(MAX_WORD_PIECES, config.max_window_pieces - 3)
        self._special_ids = set(tokenizer.all_special_ids)
        self._blank: Any = self._split([BEFORE + " "])[0][len(self._before) :] or [
            tokenizer.convert_tokens_to_ids("▁")
        ]
        self._cache: dict[str, Pieces] = {}

    def __getstate__(self) -> dict[str, Any]:
        # Alike before and after use, for those who compare what is pickled.
        return {**self.__dict__, "_cache": {}}

    def pieces(self, spoken: Sequence[str]) -> list[Pieces]:
        """Piece ids of each word, one or more a word, without slots. Text never becomes a special piece."""
        # A full cache is replaced, never emptied: another thread may be reading from it.
        cache = self._cache = self._cache if len(self._cache) <= CACHED_WORDS else {}
        known = {word: cache[word] for word in dict.fromkeys(spoken) if word in cache}
        if new := [word for word in dict.fromkeys(spoken) if word not in known]:
            split = self._split if self.config.words_alone else self._split_in_running_text
            for word, pieces in zip(new, split(as_shown(new)), strict=True):
                known[word] = self._tidy(pieces)
                if len(word) <= LONGEST_CACHED:
                    cache[word] = known[word]
        return [known[word] for word in spoken]

    def assemble(self, pieces: Sequence[Pieces], final: bool = True) -> tuple[Pieces, list[int]]:
        """One window: piece ids from `<s>` to `</s>`, and for each word the index of its slot among them.

        Args:
            pieces: those of each word.
            final: whether the text ends with the last word; only then the model reads `</s>`.
        """
        ids, slot_positions = [self.bos_id], []
        for word in pieces:
            ids += word
            slot_positions.append(len(ids) - 1)
        if final:
            ids.append(self.eos_id)
        return ids, slot_positions

    def _split(self, texts: Sequence[str]) -> list[Pieces]:
        encoded = self.tokenizer(
            list(texts), add_special_tokens=False, split_special_tokens=True, verbose=False
        )
        return encoded.input_ids

    def _split_in_running_text(self, words: Sequence[str]) -> list[Pieces]:
        """The pieces of words after another word, without those of that word."""
        texts = [BEFORE + ("" if script_of(word) in UNSPACED else " ") + word for word in words]
        split = self._split(texts)
        n_before = len(self._before)
        for index, ids in enumerate(split):
            # Some tokenizers split the word before otherwise, depending on what follows.
            is_after = ids[:n_before] == self._before
            split[index] = ids[n_before:] if is_after else self._split([words[index]])[0]
        return split

    def _tidy(self, ids: Pieces) -> Pieces:
        # The vocabularies of SentencePiece models hold `<s>` and its like, which text may spell out.
        ids = [self.unk_id if index in self._special_ids else index for index in ids]
        if self.config.words_alone and len(ids) > 1 and ids[:1] == self._blank:
            ids = ids[1:]
        if len(ids) > self._n_kept:
            n_last = self._n_kept // 2
            ids = ids[: self._n_kept - n_last] + ids[len(ids) - n_last :]
        return [self.unk_id] if not ids or ids == self._blank else ids

    def _special_id(self, *kinds: str) -> int:
        """The first of some special pieces that the tokenizer has; a period where it has none."""
        ids = (getattr(self.tokenizer, f"{kind}_token_id", None) for kind in kinds)
        return next((index for index in ids if index is not None), self._split(["."])[0][-1])
