"""Words lost, doubled, replaced and stammered, on the fly: training text that looks like recognised speech.

Takes a cut window, gives a cut window. Works on pieces and counts; knows nothing of slots, which are made afterwards,
and of text only the fillers it is given.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from punctuation_restoration.data.casings import UNKNOWN
from punctuation_restoration.data.recipe import Augmentation
from punctuation_restoration.data.sampling import CutWindow


@dataclass(frozen=True, slots=True)
class AugmentedWord:
    """One word of a window while it is being changed."""

    pieces: tuple[int, ...]
    label: int
    soft: tuple[int, ...] = ()  # what teachers say; nothing of a word that was put in
    casing: int = UNKNOWN  # likewise


@dataclass
class Augmenter:
    """Changes windows as a recipe's `augmentation` says."""

    settings: Augmentation
    unk_id: int  # piece of an unknown word
    random_ids: Sequence[int]  # pieces that may replace a word's, (n,)
    fillers: Mapping[int, Sequence[Sequence[int]]] = field(default_factory=dict)  # their pieces, by language id

    def __post_init__(self) -> None:
        noises = (self.settings.fillers, self.settings.repeats, self.settings.cut_offs, self.settings.losses)
        self._noise_edges = np.cumsum(noises)

    def __call__(self, window: CutWindow) -> CutWindow:
        """The window, changed; itself where nothing was drawn."""
        generator = np.random.default_rng((*window.seed, 2))
        settings = self.settings
        words: list[AugmentedWord] | None = None
        if settings.rate and generator.random() < settings.windows:
            words = self.alam(unpack(window), generator)
        if self._noise_edges[-1] and generator.random() < settings.noise_windows:
            words = self.noise(words or unpack(window), window.language_id, generator)
        return pack(window, words) if words else window

    def alam(self, words: Sequence[AugmentedWord], generator: np.random.Generator) -> list[AugmentedWord]:
        """Augmentation after Alam, Khan and Alam (2020), word by word.

        A word is touched with probability `rate` (alpha). It is then replaced by `<unk>` or a random piece, with
        probability `substitute` (alpha_sub); removed together with its label (`delete`, alpha_del); or `<unk>` without
        a mark is put before it (the rest). The last word that is left is never removed.
        """
        settings = self.settings
        changed: list[AugmentedWord] = []
        for word, touched, kind in zip(words, generator.random(len(words)), generator.random(len(words)), strict=True):
            if touched >= settings.rate:
                changed.append(word)
            elif kind < settings.substitute:
                piece = self.unk_id
                if generator.random() < settings.random_pieces:
                    piece = int(self.random_ids[int(generator.integers(len(self.random_ids)))])
                changed.append(replace(word, pieces=(piece,), casing=UNKNOWN))
            elif kind >= settings.substitute + settings.delete:
                changed += [AugmentedWord((self.unk_id,), 0), word]
        return changed or [words[0]]

    def noise(
        self, words: Sequence[AugmentedWord], language_id: int, generator: np.random.Generator
    ) -> list[AugmentedWord]:
        """What speakers and recognisers do, each with its own probability a word.

        A filler before the word; the word twice; its first pieces before it (a cut-off start); the word lost, its mark
        going to the word before unless that has one. Marks stay at the end of what was said.
        """
        fillers = self.fillers.get(language_id, [])
        changed: list[AugmentedWord] = []
        for word, place in zip(words, generator.random(len(words)), strict=True):
            kind = int(self._noise_edges.searchsorted(place, side="right"))
            if kind == 0 and fillers:
                changed.append(AugmentedWord(tuple(fillers[int(generator.integers(len(fillers)))]), 0))
            elif kind == 1:
                changed.append(AugmentedWord(word.pieces, 0))
            elif kind == 2 and len(word.pieces) > 1:
                changed.append(AugmentedWord(word.pieces[: int(generator.integers(1, len(word.pieces)))], 0))
            elif kind == 3:
                if changed and word.label and not changed[-1].label:
                    changed[-1] = replace(changed[-1], label=word.label, soft=word.soft)
                continue
            changed.append(word)
        return changed or [words[0]]


def unpack(window: CutWindow) -> list[AugmentedWord]:
    """The words of a window."""
    ids, counts, labels = iter(window.piece_ids.tolist()), window.piece_counts.tolist(), window.labels.tolist()
    soft = [()] * len(labels) if window.soft is None else map(tuple, window.soft.tolist())
    casings = [UNKNOWN] * len(labels) if window.casings is None else window.casings.tolist()
    return [
        AugmentedWord(tuple(itertools.islice(ids, n_pieces)), label, said, casing)
        for n_pieces, label, said, casing in zip(counts, labels, soft, casings, strict=True)
    ]


def pack(window: CutWindow, words: Sequence[AugmentedWord]) -> CutWindow:
    """Words as a window, no longer in pieces and slots together than the one they came from allows.

    Whole words are cut off at the end where insertions made it too long.
    """
    room = len(window.piece_ids) + len(window.labels)
    ends = np.cumsum([len(word.pieces) + 1 for word in words])
    words = words[: max(1, int(ends.searchsorted(room, side="right")))]
    soft = window.soft
    if soft is not None:
        soft = np.array([word.soft or (0,) * soft.shape[1] for word in words], dtype=np.uint8)
    return replace(
        window,
        piece_ids=np.array([piece for word in words for piece in word.pieces], dtype=window.piece_ids.dtype),
        piece_counts=np.array([len(word.pieces) for word in words], dtype=window.piece_counts.dtype),
        labels=np.array([word.label for word in words], dtype=window.labels.dtype),
        soft=soft,
        casings=np.array([word.casing for word in words], dtype=np.uint8),
    )
