"""Counts what was predicted against what stands in the reference.

Takes two lists of labels over the same words, gives additive counts: those of two halves of a test, added, are those
of the whole, so that shards can be scored apart and joined. Knows nothing about texts, models or files.

    reference   COMMA   O      O       PERIOD        one label a word (or Han character)
    predicted   COMMA   COMMA  O       O
    counted     hit     insertion      deletion      a wrong mark in the right place is a substitution
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

NO_MARK = "O"
NOT_SCORED = -100  # the label id of positions without a reference, as in training

Pairs = Counter[tuple[str, str]]  # (label in the reference, label predicted) -> number of words


@dataclass(frozen=True)
class Counts:
    """Additive counts of one or more texts.

    Args:
        label_names: all labels, the no-mark label first.
        mid_text: pairs of (reference, predicted) over every word but the last of each text.
        end_text: the same pairs over the last word of each text, where a stop is easy to guess.
        stray: marks predicted inside a word of the reference, by label. They are insertions, but no word of their own.
    """

    label_names: tuple[str, ...]
    mid_text: Pairs = field(default_factory=Counter)
    end_text: Pairs = field(default_factory=Counter)
    stray: Counter[str] = field(default_factory=Counter)

    def __add__(self, other: "Counts") -> "Counts":
        if self.label_names != other.label_names:
            raise ValueError(
                f"Expected counts over the same labels, got {self.label_names} and {other.label_names}. "
                "Only counts of the same label set can be added."
            )
        return Counts(
            self.label_names,
            self.mid_text + other.mid_text,
            self.end_text + other.end_text,
            self.stray + other.stray,
        )

    @property
    def pairs(self) -> Pairs:
        """Pairs over all words, wherever they stand."""
        return self.mid_text + self.end_text

    @property
    def n_words(self) -> int:
        """Number of words scored: each once."""
        return self.mid_text.total() + self.end_text.total()

    def merged(self, groups: dict[str, str]) -> "Counts":
        """The same counts with labels renamed by `groups`; labels that it does not name stay as they are."""

        def rename(pairs: Pairs) -> Pairs:
            merged: Pairs = Counter()
            for (reference, predicted), n in pairs.items():
                merged[groups.get(reference, reference), groups.get(predicted, predicted)] += n
            return merged

        stray: Counter[str] = Counter()
        for label, n in self.stray.items():
            stray[groups.get(label, label)] += n
        names = tuple(dict.fromkeys(groups.get(name, name) for name in self.label_names))
        return Counts(names, rename(self.mid_text), rename(self.end_text), stray)

    def to_dict(self) -> dict[str, Any]:
        """The counts as JSON can hold them: `{"mid_text": {"COMMA": {"O": 3}}, ...}`."""
        return {
            "mid_text": _nested(self.mid_text),
            "end_text": _nested(self.end_text),
            "stray": dict(sorted(self.stray.items())),
        }

    @classmethod
    def from_dict(cls, label_names: Sequence[str], content: dict[str, Any]) -> "Counts":
        """The counts that `to_dict` wrote.

        Raises:
            ValueError: if a label in `content` is not in `label_names`, or a key is missing.
        """
        try:
            counts = cls(
                tuple(label_names),
                _flat(content["mid_text"]),
                _flat(content["end_text"]),
                Counter(content["stray"]),
            )
        except KeyError as error:
            raise ValueError(
                f"Expected counts with the keys mid_text, end_text and stray, got {sorted(content)}. "
                "Was the file written by evaluate.py?"
            ) from error
        _check_names({name for pair in counts.pairs for name in pair} | set(counts.stray), counts.label_names)
        return counts


def count_labels(
    reference: Sequence[int | str],
    predicted: Sequence[int | str],
    label_names: Sequence[str],
    *,
    ends_text: bool = False,
) -> Counts:
    """Counts over one text, or over words whose borders of text do not matter.

    Args:
        reference, predicted: one label a word, as a name or as an index into `label_names`. Words whose reference is
            -100 are left out.
        label_names: all labels, the no-mark label first.
        ends_text: whether the last word ends a text, and is counted apart.

    Raises:
        ValueError: if the lists differ in length, or a label is unknown.
    """
    if len(reference) != len(predicted):
        raise ValueError(
            f"Expected one predicted label per word: {len(reference)} words, {len(predicted)} predicted labels. "
            "Was the text segmented twice?"
        )
    names = tuple(label_names)
    # Counting first and naming after keeps the loop short for hundreds of thousands of words.
    n_mid = max(len(reference) - 1, 0) if ends_text else len(reference)
    mid_text = _named(Counter(zip(reference[:n_mid], predicted[:n_mid], strict=True)), names)
    end_text = _named(Counter(zip(reference[n_mid:], predicted[n_mid:], strict=True)), names)
    return Counts(names, mid_text, end_text)


def _named(pairs: Counter[tuple[int | str, int | str]], names: tuple[str, ...]) -> Pairs:
    """Pairs of names from pairs of names or indices."""
    known: dict[int | str, str] = {name: name for name in names}
    known.update(enumerate(names))
    named: Pairs = Counter()
    for (reference, predicted), n in pairs.items():
        if reference == NOT_SCORED:
            continue
        _check_names({reference, predicted}, tuple(known))
        named[known[reference], known[predicted]] += n
    return named


def _check_names(found: set[Any], known: Sequence[Any]) -> None:
    unknown = found - set(known)
    if unknown:
        raise ValueError(
            f"Expected labels among {list(known)}, got {sorted(map(str, unknown))}. "
            "Were reference and prediction made with the same label names?"
        )


def _nested(pairs: Pairs) -> dict[str, dict[str, int]]:
    nested: dict[str, dict[str, int]] = {}
    for (reference, predicted), n in sorted(pairs.items()):
        nested.setdefault(reference, {})[predicted] = n
    return nested


def _flat(nested: dict[str, dict[str, int]]) -> Pairs:
    return Counter({(reference, predicted): n for reference, row in nested.items() for predicted, n in row.items()})
