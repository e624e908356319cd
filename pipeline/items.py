"""What a caller may hand in -> one text and what is known about it. Knows the shapes of items, not what words are.

There are two doors. What a recogniser gives, `recognisers.py` reads; read here are a string and our own dictionaries,
which `PunctuationRestorationPipeline` describes. The indices of "known" count the words that the pipeline finds, in
Mandarin jieba's, not the items of "words".
"""

import itertools
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import regex

from .layouts import Part, listed, seconds
from .recognisers import Recognised, is_pair, opens_transcript, read_recognised
from .speech import Line, Time, TimedSpan
from .unspoken import Hidden, find_hidden
from .words import Word

logger = logging.getLogger(__name__)

KEYS = {
    "text": {"text", "turns", "spans", "unfinished", "known"},
    "words": {"words", "timestamps", "known"},
}
_HAN_END, _HAN_START = regex.compile(r"\p{Han}\p{M}*+\Z"), regex.compile(r"\p{Han}")


@dataclass(frozen=True, slots=True)
class Item:
    """One text to restore."""

    text: str
    known: Mapping[int, str] = field(default_factory=dict)  # index of a word -> name of its label
    spans: list[TimedSpan] | None = None  # when its parts were said, in order; None without times
    turns: tuple[int, ...] = ()  # characters where another speaker begins, in order
    unfinished: bool = False  # whether the text goes on
    decides_last: bool = (
        False  # whether its last word is decided although it goes on, by any model: in a stream
    )
    words: Sequence[Word] | None = None  # those of the text, where they are found already
    recognised: Recognised | None = None  # what a recogniser gave, to be given back
    spoken: str = (
        ""  # the text with blanks in the place of all that is not said, the text itself by default
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "spoken", self.spoken or self.text)


def read_item(item: Any) -> Item:
    """Read one item: a TypeError for what is none, a ValueError for a dictionary with other keys or values."""
    if isinstance(item, Item):
        return item
    if isinstance(item, str):
        return _read_text(item)
    if not isinstance(item, Mapping):
        return _read_recognised(item, {})
    known = item.get("known") or {}
    if not isinstance(known, Mapping) or not all(isinstance(index, int) for index in known):
        raise ValueError(
            f"Expected 'known' as {{word index: label name}}, got {known!r}. Pass such a dictionary."
        )
    words = listed(item.get("words"))
    has_objects = bool(words) and not isinstance(words[0], str)
    if (
        has_objects
        or not set(item) <= KEYS["text"] | KEYS["words"]
        or {"text", "words"} <= set(item)
    ):
        return _read_recognised(item, known)
    if not any(name in item and set(item) <= keys for name, keys in KEYS.items()):
        raise ValueError(
            "Expected a dictionary with 'text' (perhaps with 'turns', 'spans', 'unfinished') or 'words' (perhaps with "
            "'timestamps'), and perhaps 'known', or with a recogniser's 'segments', got the keys "
            f"{sorted(map(str, item))}. Correct them."
        )
    if "words" in item:
        return _read_words(listed(item["words"]), item.get("timestamps"), known)
    text, turns, spans = item["text"], item.get("turns", ()), item.get("spans")
    if not isinstance(text, str):
        raise ValueError(
            f"Expected 'text' to be a string, got {type(text).__name__}. Pass a string."
        )
    if (
        isinstance(turns, str)
        or not isinstance(turns, Sequence)
        or not all(isinstance(turn, int) for turn in turns)
    ):
        raise ValueError(
            f"Expected 'turns' as a list of character offsets, got {turns!r:.80}. Pass integers."
        )
    return _read_text(
        text, turns, known=known, spans=_read_spans(spans), unfinished=bool(item.get("unfinished"))
    )


def _read_spans(given: Any) -> list[TimedSpan] | None:
    try:
        spans = [
            TimedSpan(start, end, _read_time(time)) for start, end, time in listed(given) or ()
        ]
        are_places = all(isinstance(place, Integral) for span in spans for place in span[:2])
        in_order = [place for span in spans for place in span[:2]]
        if (
            are_places
            and (given is None or listed(given) is not None)
            and in_order == sorted(in_order)
        ):
            return spans or None
    except (TypeError, ValueError):
        pass
    wanted = "[(start, end, (begins, ends)), ...] in characters and seconds, one after another"
    raise ValueError(f"Expected 'spans' as {wanted}, got {given!r:.80}. Pass such a list.")


def _read_time(time: Any) -> tuple[Time, Time]:
    begins, ends = map(seconds, listed(time) or ())
    return begins, ends


def _read_recognised(given: Any, known: Mapping[int, str]) -> Item:
    is_given_pair = is_pair(given)
    if is_given_pair:
        given = (list(given[0]), given[1])
    elif isinstance(given, list | tuple | Iterator):
        given = list(given)
    is_list = isinstance(given, list) and (not given or opens_transcript(given[0]))
    if not (is_list or is_given_pair or Part(given).says()):
        raise TypeError(
            f"Expected a string or a dictionary with 'text' or 'words', or a recogniser's segments, got "
            f"{type(given).__name__}. Pass the text itself, {{'words': [...]}} for words, or of another object the "
            "dictionary in it that has them (`.model_dump()`, `.to_dict()`)."
        )
    found = read_recognised(given)
    for warning in found.warnings:
        logger.warning(warning)
    speech, goes_on = found.speech, isinstance(given, Mapping) and bool(given.get("unfinished"))
    return Item(
        speech.text,
        known,
        speech.spans or None,
        tuple(speech.turns),
        unfinished=goes_on,
        recognised=found,
    )


def _read_text(text: str, turns: Sequence[int] = (), **more: Any) -> Item:
    """A text in which what is not said is hidden."""
    hidden = find_hidden(text)
    changes = tuple(sorted({*turns, *turns_in(hidden)}))
    return Item(text, turns=changes, spoken=Line(text, hidden=hidden).spoken, **more)


def turns_in(hidden: Iterable[Hidden], speaker: str | None = None) -> list[int]:
    """Where another speaker's turn begins: after a dash, and after a name that is not `speaker`, who spoke before."""
    turns = []
    for one in hidden:
        if one.begins_turn and (one.speaker is None or one.speaker != speaker):
            turns.append(one.end)
            speaker = one.speaker
    return turns


def join_words(words: Sequence[str]) -> str:
    """One text of words: with one space between them, with none between two Han words."""
    pairs = itertools.pairwise(words)
    borders = [
        "" if _HAN_END.search(word) and _HAN_START.match(following) else " "
        for word, following in pairs
    ]
    return "".join(word + border for word, border in zip(words, [*borders, ""], strict=False))


def places_of(words: Iterable[str], text: str) -> Iterator[int]:
    """Where each word begins in a text that `join_words` made of them."""
    place = 0
    for word in words:
        yield (place := text.index(word, place))
        place += len(word)


def _read_words(words: Any, timestamps: Any, known: Mapping[int, str]) -> Item:
    if (
        isinstance(words, str)
        or not isinstance(words, Sequence)
        or not all(isinstance(word, str) for word in words)
    ):
        raise ValueError(
            f"Expected 'words' to be a list of strings, got {words!r:.80}. Pass one string a word."
        )
    text = join_words(words)
    places = list(places_of(words, text))
    hidden = [
        one.moved(place)
        for word, place in zip(words, places, strict=True)
        for one in find_hidden(word, "word")
    ]
    spoken, turns = Line(text, hidden=hidden).spoken, tuple(turns_in(hidden))
    if timestamps is None:
        return Item(text, known, turns=turns, spoken=spoken)
    times = listed(timestamps)
    if times is None or len(times) != len(words):
        got = timestamps if times is None else len(times)
        raise ValueError(
            f"Expected one (start, end) a word: {len(words)} words, got {got}. Pair them first."
        )
    spans = []
    for index, (word, place, time) in enumerate(zip(words, places, times, strict=True)):
        try:
            moments = _read_time(time)
        except ValueError as error:
            problem = f"Expected word {index} to have a time (start, end) in seconds, got {time!r}. Pass two numbers."
            raise ValueError(problem) from error
        spans.append(TimedSpan(place, place + len(word), moments))
    return Item(text, known, spans, turns, spoken=spoken)
