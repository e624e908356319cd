"""Words -> pieces with a slot after each word, and where the slots stand. One path for training and serving.

Takes spoken words, gives piece ids. It knows nothing of text offsets, and of marks only the piece that fills a slot.

    words    hello         this      is        josh
    pieces   ▁hell o <m>   ▁this <m> ▁is <m>   ▁jos h <m>
    index     1    2  3     4     5   6   7     8   9  10
    slots            3           5       7            10    <- the <mask> after each word
    marks           "."         ""      ""           ","

A lone `▁` in front of other pieces is dropped: SentencePiece puts it before most Han words, where it would make three
pieces of two, and the slot before each word already says that a word begins.
"""

from collections.abc import Sequence
from typing import Any

MAX_WORD_PIECES = 32  # of a longer word (a link, a wall of letters) the first and the last pieces are shown
CACHED_WORDS = 200_000  # about 50 MB


class SlotEncoder:
    """Turns words into what the encoder reads.

    Args:
        tokenizer: the tokenizer of the encoder, with `mask_token`, `unk_token`, and `<s>` and `</s>` or their like.
        config: a `PunctuationRestorationConfig`, or anything with its fields.

    Raises:
        ValueError: if the tokenizer lacks a piece that the configuration needs.
    """

    def __init__(self, tokenizer: Any, config: Any) -> None:
        self.tokenizer = tokenizer
        self.lowercase: bool = config.lowercase
        self.has_slots: bool = config.slot_style != "last-piece"  # a slot may take a piece: its mask, or its mark
        self.has_masks: bool = config.slot_style == "mask"
        self.bos_id: int = _special_id(tokenizer, "bos_token", "cls_token")
        self.eos_id: int = _special_id(tokenizer, "eos_token", "sep_token")
        self.unk_id: int = _special_id(tokenizer, "unk_token")
        self.pad_id: int = _special_id(tokenizer, "pad_token")
        self.mask_id: int = _special_id(tokenizer, "mask_token")
        self.fill_ids: list[int] = [self._fill_id(label) for label in config.labels]
        self._n_kept = max(1, min(MAX_WORD_PIECES, config.max_window_pieces - 3))
        self._special_ids = set(tokenizer.all_special_ids)
        self._blank_id = tokenizer.convert_tokens_to_ids("▁")
        self._cache: dict[str, list[int]] = {}

    def pieces(self, spoken: Sequence[str]) -> list[list[int]]:
        """Piece ids of each word, one or more a word, without slots. Text never becomes a special piece."""
        words = [word.lower() for word in spoken] if self.lowercase else list(spoken)
        if len(self._cache) > CACHED_WORDS:
            self._cache.clear()
        new = [word for word in dict.fromkeys(words) if word not in self._cache]
        if new:
            encoded = self.tokenizer(new, add_special_tokens=False, split_special_tokens=True, verbose=False).input_ids
            self._cache.update((word, self._tidy(ids)) for word, ids in zip(new, encoded, strict=True))
        return [self._cache[word] for word in words]

    def n_pieces(self, pieces: Sequence[list[int]], filled: Sequence[int | None] | None = None) -> list[int]:
        """Pieces that each word takes in a window, with its mask or its known mark; `filled` as for `assemble`."""
        if self.has_masks or not self.has_slots or filled is None:
            return [len(ids) + self.has_masks for ids in pieces]
        return [len(ids) + bool(label) for ids, label in zip(pieces, filled, strict=True)]

    def assemble(
        self, pieces: Sequence[list[int]], filled: Sequence[int | None] | None = None
    ) -> tuple[list[int], list[int]]:
        """One window.

        Args:
            pieces: the pieces of its words.
            filled: for each word the label id that is shown in its slot, or None for a mask; None masks all.

        Returns:
            Piece ids from `<s>` to `</s>`, and for each word the index of its slot among them. Where masks join late
            (`slot_style="late-mask"`) only known marks stand among the pieces, as in any text, and the index is that
            of the word's last piece; so it is without slots (`"last-piece"`), where nothing can be filled.
        """
        ids, slot_positions = [self.bos_id], []
        for index, word in enumerate(pieces):
            ids.extend(word)
            label = filled[index] if filled is not None and self.has_slots else None
            slot_positions.append(len(ids) - 1 + self.has_masks)
            if self.has_masks:
                ids.append(self.mask_id if label is None else self.fill_ids[label])
            elif label:  # the first label writes nothing
                ids.append(self.fill_ids[label])
        ids.append(self.eos_id)
        return ids, slot_positions

    def _tidy(self, ids: list[int]) -> list[int]:
        # The vocabularies of SentencePiece models hold `<s>` and its like, which text may spell out.
        ids = [self.unk_id if index in self._special_ids else index for index in ids]
        if len(ids) > 1 and ids[0] == self._blank_id:
            ids = ids[1:]
        if len(ids) > self._n_kept:
            n_last = self._n_kept // 2
            ids = ids[: self._n_kept - n_last] + (ids[-n_last:] if n_last else [])
        return ids or [self.unk_id]

    def _fill_id(self, label: dict[str, str]) -> int:
        index = self.tokenizer.convert_tokens_to_ids(label["fill"])
        if index is None or index == self.unk_id:
            raise ValueError(
                f"Expected the fill piece {label['fill']!r} of label {label['name']} in the tokenizer's vocabulary, "
                "it is not there. Choose another piece in the configuration's labels, or add it to the tokenizer."
            )
        return index


def _special_id(tokenizer: Any, *names: str) -> int:
    for name in names:
        if getattr(tokenizer, name, None) is not None:
            return getattr(tokenizer, f"{name}_id")
    raise ValueError(
        f"Expected a tokenizer with {' or '.join(names)}, {type(tokenizer).__name__} has none. Use the tokenizer of a "
        "masked language model (XLM-R, BERT and their like)."
    )
