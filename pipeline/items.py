"""What a caller may hand in -> one text and what is known about it. Knows the shapes of items, not what words are.

An item is a string, a dictionary, or what a recogniser gives:

    {"text": ...}                       text
    {"words": [...]}                    words of a recogniser; perhaps with "timestamps": [(start, end), ...]
    {"text": ..., "chunks": [...]}      what transformers' speech recognition gives with return_timestamps="word"
    {"segments": [...], ...}            what Whisper and others give (`recognisers.py`), with keys of any name
    [...]                               segments or words alone, objects or dictionaries
    ([...], info)                       what faster-whisper returns
    an object                           with "text" and perhaps "segments" or "words", as packages of services give it

What may stand beside them, the pipeline's class says; "unfinished": True is what its keyword `final` takes for False.
The indices of "known" count the words that the pipeline finds, in Mandarin jieba's, not the items of "words".
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import regex

from .placed_values import has
from .recognisers import Recognised, is_pair, is_recognised, opens_transcript, read_recognised
from .speech import Time, TimedSpan
from .words import Word

# What may stand beside it.
KEYS = {"text": {"text", "chunks", "turns", "unfinished", "known"}, "words": {"words", "timestamps", "known"}}
_HAN_END, _HAN_START = regex.compile(r"\p{Han}\p{M}*\Z"), regex.compile(r"\p{Han}")


@dataclass(frozen=True, slots=True)
class Item:
    """One text to restore."""

    text: str
    known: Mapping[int, str] = field(default_factory=dict)  # index of a word -> name of its label
    spans: list[TimedSpan] | None = None  # when its parts were said, in order; None without times
    chunks: list[Mapping[str, Any]] | None = None  # the recogniser's own, to be given back; one span each
    turns: tuple[int, ...] = ()  # characters where another speaker begins, in order
    unfinished: bool = False  # whether the text goes on
    decides_last: bool = False  # whether its last word is decided although it goes on, by any model: in a stream
    words: Sequence[Word] | None = None  # those of the text, where they are found already
    recognised: Recognised | None = None  # what a recogniser gave, to be given back


def read_item(item: Any) -> Item:
    """Read one item.

    Raises:
        TypeError: if it is neither a string nor a dictionary, nor what a recogniser gives.
        ValueError: if the dictionary has other keys or values than those described above.
    """
    if isinstance(item, Item):
        return item
    if isinstance(item, str):
        return Item(item)
    if is_pair(item):
        return _recognised_item((list(item[0]), item[1]), {})
    if isinstance(item, list | tuple | Iterator):
        values = list(item)
        if not values or opens_transcript(values[0]):
            return _recognised_item(values, {})
    if not isinstance(item, Mapping):
        if isinstance(getattr(item, "text", None), str) or has(item, "segments"):
            return _recognised_item(item, {})
        raise TypeError(
            f"Expected a string or a dictionary with 'text' or 'words', or a recogniser's segments, got "
            f"{type(item).__name__}. Pass the text itself, {{'words': [...]}} for words, or of another object the "
            "dictionary in it that has them (`.model_dump()`, `.to_dict()`)."
        )
    known = item.get("known") or {}
    if not isinstance(known, Mapping) or not all(isinstance(index, int) for index in known):
        raise ValueError(f"Expected 'known' as {{word index: label name}}, got {known!r}. Correct it.")
    if is_recognised(item):
        return _recognised_item(item, known)
    if not any(name in item and set(item) <= keys for name, keys in KEYS.items()):
        raise ValueError(
            "Expected a dictionary with 'text' (perhaps with 'chunks', 'turns', 'unfinished') or 'words' (perhaps with "
            "'timestamps'), and perhaps 'known', or with a recogniser's 'segments', got the keys "
            f"{sorted(map(str, item))}. Correct them."
        )
    if "words" in item:
        return _read_words(item["words"], item.get("timestamps"), known)
    text, chunks = item["text"], item.get("chunks")
    if not isinstance(text, str):
        raise ValueError(f"Expected 'text' to be a string, got {type(text).__name__}. Pass a string.")
    turns = item.get("turns", ())
    if isinstance(turns, str) or not isinstance(turns, Sequence) or not all(isinstance(turn, int) for turn in turns):
        raise ValueError(f"Expected 'turns' as a list of characters' numbers, got {turns!r:.80}. Correct it.")
    found = Item(text, known) if chunks is None else _read_chunks(text, chunks, known)
    return replace(found, turns=tuple(sorted(turns)), unfinished=bool(item.get("unfinished")))


def _recognised_item(given: Any, known: Mapping[int, str]) -> Item:
    found = read_recognised(given)
    speech = found.speech
    return Item(speech.text, known, speech.spans or None, turns=tuple(speech.turns), recognised=found)


def join_words(words: Sequence[str]) -> str:
    """One text of words: with one space between them, with none between two Han words."""
    parts: list[str] = []
    for word in words:
        if parts and not (_HAN_END.search(parts[-1]) and _HAN_START.match(word)):
            parts.append(" ")
        parts.append(word)
    return "".join(parts)


def _read_words(words: Any, timestamps: Any, known: Mapping[int, str]) -> Item:
    if isinstance(words, str) or not isinstance(words, Sequence) or not all(isinstance(word, str) for word in words):
        raise ValueError(f"Expected 'words' to be a list of strings, got {words!r:.80}. Pass one string a word.")
    text = join_words(words)
    if timestamps is None:
        return Item(text, known)
    n_times = len(timestamps) if isinstance(timestamps, Sequence) else repr(timestamps)
    if n_times != len(words):
        raise ValueError(f"Expected one (start, end) a word: {len(words)} words, got {n_times}. Pair them first.")
    return Item(text, known, _spans(text, words, timestamps))


def _read_chunks(text: str, chunks: Any, known: Mapping[int, str]) -> Item:
    if not isinstance(chunks, Sequence) or not all(
        isinstance(chunk, Mapping) and isinstance(chunk.get("text"), str) for chunk in chunks
    ):
        raise ValueError(f"Expected 'chunks' as a list of {{'text', 'timestamp'}}, got {chunks!r:.80}. Correct it.")
    times = [chunk.get("timestamp") for chunk in chunks]
    return Item(text, known, _spans(text, [chunk["text"] for chunk in chunks], times), list(chunks))


def _spans(text: str, parts: Sequence[str], times: Sequence[Any]) -> list[TimedSpan]:
    """Where the parts stand in the text, blanks around them left out, and when they were said."""
    spans, place = [], 0
    for index, (part, time) in enumerate(zip(parts, times, strict=True)):
        said = part.strip()
        start = text.find(said, place)
        if start < 0:
            raise ValueError(
                f"Expected the text to contain the chunks in order, chunk {index} ({said!r}) is not in "
                f"{text[place:]!r:.60}. Pass text and chunks of the same recogniser call."
            )
        place = start + len(said)
        spans.append(TimedSpan(start, place, _read_time(time, index)))
    return spans


def _read_time(time: Any, index: int) -> tuple[Time, Time]:
    is_pair = isinstance(time, Sequence) and not isinstance(time, str) and len(time) == 2
    if not is_pair or not all(moment is None or isinstance(moment, int | float) for moment in time):
        raise ValueError(f"Expected word {index} to have a time (start, end) in seconds, got {time!r}. Correct it.")
    return time[0], time[1]
