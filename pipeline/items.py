"""What a caller may hand in -> one text and what is known about it. Knows the shapes of items, not what words are.

An item is a string or one of our own dictionaries, which are read here, or what a recogniser gives (`recognisers.py`):

    {"text": ...}                       text
    {"words": [...]}                    words of a recogniser; perhaps with "timestamps": [(start, end), ...]
    {"text": ..., "chunks": [...]}      what transformers' speech recognition gives with return_timestamps="word"
    {"segments": [...], ...}            what Whisper and others give, with keys of any name
    [...]                               segments or words alone, objects or dictionaries
    ([...], info)                       what faster-whisper returns
    an object                           with "text" and perhaps "segments" or "words", as packages of services give it

What may stand beside them, the pipeline's class says; "unfinished": True is what its keyword `final` takes for False.
The indices of "known" count the words that the pipeline finds, in Mandarin jieba's, not the items of "words".
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from numbers import Real
from typing import Any

import regex

from .recognisers import Recognised, has, is_pair, opens_transcript, read_recognised
from .speech import Time, TimedSpan
from .unspoken import find_hidden
from .words import Word

# What may stand beside it.
KEYS = {"text": {"text", "chunks", "turns", "unfinished", "known"}, "words": {"words", "timestamps", "known"}}
ONLY_OURS = {"turns", "timestamps"}
_HAN_END, _HAN_START = regex.compile(r"\p{Han}\p{M}*+\Z"), regex.compile(r"\p{Han}")


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
    spoken: str = ""  # the text with blanks in the place of all that is not said, the text itself by default

    def __post_init__(self) -> None:
        object.__setattr__(self, "spoken", self.spoken or self.text)


def read_item(item: Any) -> Item:
    """Read one item.

    Raises:
        TypeError: if it is neither a string nor a dictionary, nor what a recogniser gives.
        ValueError: if the dictionary has other keys or values than those described above.
    """
    if isinstance(item, Item):
        return item
    if isinstance(item, str):
        return _said(item)
    if not isinstance(item, Mapping):
        return _read_recognised(item, {})
    known = item.get("known") or {}
    if not isinstance(known, Mapping) or not all(isinstance(index, int) for index in known):
        raise ValueError(f"Expected 'known' as {{word index: label name}}, got {known!r}. Correct it.")
    return _read_own(item, known) if _is_own(item) else _read_recognised(item, known)


def _is_own(item: Mapping[str, Any]) -> bool:
    """Whether a dictionary has our own keys alone, or one that no recogniser has beside a text or words."""
    if isinstance(words := _listed(item.get("words")), list) and words and not isinstance(words[0], str):
        return False
    is_one = any(name in item and set(item) <= keys for name, keys in KEYS.items())
    return (
        is_one or not item or ("segments" not in item and any(isinstance(item.get(key), Sequence) for key in ONLY_OURS))
    )


def _read_own(item: Mapping[str, Any], known: Mapping[int, str]) -> Item:
    if not any(name in item and set(item) <= keys for name, keys in KEYS.items()):
        raise ValueError(
            "Expected a dictionary with 'text' (perhaps with 'chunks', 'turns', 'unfinished') or 'words' (perhaps with "
            "'timestamps'), and perhaps 'known', or with a recogniser's 'segments', got the keys "
            f"{sorted(map(str, item))}. Correct them."
        )
    if "words" in item:
        return _read_words(_listed(item["words"]), _listed(item.get("timestamps")), known)
    text, chunks = item["text"], _listed(item.get("chunks"))
    if not isinstance(text, str):
        raise ValueError(f"Expected 'text' to be a string, got {type(text).__name__}. Pass a string.")
    turns = item.get("turns", ())
    if isinstance(turns, str) or not isinstance(turns, Sequence) or not all(isinstance(turn, int) for turn in turns):
        raise ValueError(f"Expected 'turns' as a list of characters' numbers, got {turns!r:.80}. Correct it.")
    spans = None if chunks is None else _chunk_spans(text, chunks)
    return _said(
        text, turns, known=known, spans=spans, chunks=chunks and list(chunks), unfinished=bool(item.get("unfinished"))
    )


def _read_recognised(given: Any, known: Mapping[int, str]) -> Item:
    if is_pair(given):
        given = (list(given[0]), given[1])
    elif isinstance(given, list | tuple | Iterator):
        given = list(given)
    is_list = isinstance(given, list) and (not given or opens_transcript(given[0]))
    is_object = isinstance(getattr(given, "text", None), str) or has(given, "segments")
    if not (is_list or is_object or is_pair(given) or isinstance(given, Mapping)):
        raise TypeError(
            f"Expected a string or a dictionary with 'text' or 'words', or a recogniser's segments, got "
            f"{type(given).__name__}. Pass the text itself, {{'words': [...]}} for words, or of another object the "
            "dictionary in it that has them (`.model_dump()`, `.to_dict()`)."
        )
    found = read_recognised(given)
    speech = found.speech
    is_unfinished = isinstance(given, Mapping) and bool(given.get("unfinished"))
    return Item(
        speech.text,
        known,
        speech.spans or None,
        turns=tuple(speech.turns),
        unfinished=is_unfinished,
        recognised=found,
    )


def _said(text: str, turns: Sequence[int] = (), spans: list[TimedSpan] | None = None, **more: Any) -> Item:
    """A text in which what is not said is hidden; a new name and a dash begin another speaker's turn."""
    hidden = find_hidden(text)
    if spans is not None:
        parts = ((span.start, text[span.start : span.end]) for span in spans)
        found = ((at, one) for at, part in parts for one in find_hidden(part, "line" if " " in part else "word", False))
        hidden = sorted({*hidden, *(one._replace(start=at + one.start, end=at + one.end) for at, one in found)})
    spoken, done, speaker, changes = [], 0, None, set(turns)
    for start, end, kind, name in hidden:
        if start < done:
            continue
        spoken += [text[done:start], " " * (end - start)]
        if kind == "dash" or (name is not None and name != speaker):
            changes.add(end)
            speaker = name
        done = end
    shown = "".join([*spoken, text[done:]])
    return Item(text, spans=spans, turns=tuple(sorted(changes)), spoken=shown, **more)


def _listed(values: Any) -> Any:
    """Arrays and the like as lists; everything else as it is."""
    return values.tolist() if hasattr(values, "tolist") else values


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


def _chunk_spans(text: str, chunks: Any) -> list[TimedSpan]:
    if not isinstance(chunks, Sequence) or not all(
        isinstance(chunk, Mapping) and isinstance(chunk.get("text"), str) for chunk in chunks
    ):
        raise ValueError(f"Expected 'chunks' as a list of {{'text', 'timestamp'}}, got {chunks!r:.80}. Correct it.")
    return _spans(text, [chunk["text"] for chunk in chunks], [chunk.get("timestamp") for chunk in chunks])


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
    pair = _listed(time)
    moments = [_listed(moment) for moment in pair] if isinstance(pair, list | tuple) and len(pair) == 2 else [""]
    if not all(moment is None or isinstance(moment, Real | Decimal) for moment in moments):
        raise ValueError(f"Expected word {index} to have a time (start, end) in seconds, got {time!r}. Correct it.")
    begins, ends = (moment if moment is None or isinstance(moment, int) else float(moment) for moment in moments)
    return _known(begins), _known(ends)


def _known(moment: Any) -> Time:
    return moment if moment is None or math.isfinite(moment) else None
