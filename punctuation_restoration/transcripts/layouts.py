"""What a dictionary or an object says, by the names of its keys: a text, when it was said, and by whom.

    {"text": "hello you", "start": 0.0, "end": 1.0, "speaker": "A"}

`start`, `startTime`, `begin_time` and `from` are names of one thing; what names cannot tell, a caller says in `keys`.
"""

import functools
import re
from collections.abc import Iterable, Mapping
from typing import Any

from ..pipeline.items import Times, seconds
from .speech import letters

Members = Mapping[Any, Any]
# What a caller says: "text", "start", "end", "speaker" -> the path of keys to it.
Keys = Mapping[str, str]
FIELDS = ("text", "start", "end", "speaker")  # what `keys` may name
# Names of texts, in small letters and without signs; the first that is there is read.
TEXTS = (
    "predtext",  # NeMo's manifests, whose "text" is the reference
    "punctuatedword", "word",
    "lexical",  # Azure's text without marks
    "text", "segment", "sentence", "transcript", "transcription", "fulltranscript", "value",
    "content", "utf8", "finalsentence", "body",
)  # fmt: skip
STARTS = {"start", "begin", "begins", "from"}
ENDS = {"end", "ends", "stop", "to"}
LENGTHS = {"duration", "dur"}
BARE = {"offset", "offsets", "ts", "time", "timestamp", "timestamps"}
UNITS = {"ms": 0.001, "millis": 0.001, "milliseconds": 0.001, "ticks": 1e-7}
BESIDE_TIMES = {*BARE, *UNITS, "t", "d", "in", "at", "s", "sec", "seconds"}
# These, and bare ones, often tell something else: who wrote (`"from": "Mary"`), a language, the time of the day.
LOOSE = {"from", "to"}
ROLES = (("start", STARTS), ("end", ENDS), ("length", LENGTHS), ("bare", {""}))
# They count frames (NeMo), or from the start of their segment (YouTube, Tencent).
OTHER_TIMES = {"start_offset", "end_offset", "tOffsetMs", "OffsetStartMs", "OffsetEndMs"}
SPEAKERS = {"speaker", "spk", "talker", "participant", "role"}
BESIDE_SPEAKERS = {"label", "id", "tag", "name"}
CHANNEL_KEYS = ("channel", "channelTag")  # tell who speaks where nothing else does
CHANNEL = "channel "  # and its number: the name of who speaks in it
# Flags of words that will be told again: of Google and Deepgram, AssemblyAI, Volcengine; of Amazon.
INTERIM = {
    "final": False, "isfinal": False, "endofturn": False, "definite": False, "partial": True, "ispartial": True,
}  # fmt: skip
KINDS = {"type", "messagetype", "message", "event"}  # of a message
of_a_key = functools.lru_cache(maxsize=4096)  # files have few keys, each in every entry
_NAME = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_PARTIAL = re.compile(r"\w*partial\w*", re.IGNORECASE)
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_MOMENT = re.compile(r"[\s\d.,:+\-PTHMSpthms]*")  # `01:02.5`, `1.5s`, `PT1.5S`


@of_a_key
def plain(key: Any) -> str:
    """A key in small letters, without signs."""
    return letters(str(key))


@of_a_key
def _names(key: Any) -> frozenset[str]:
    """The words of a key: "start" and "time" of `startTime`."""
    return frozenset(map(str.lower, _NAME.findall(str(key))))


@of_a_key
def time_role(key: Any) -> tuple[str, float]:
    """What a key tells of a time, "start", "end", "length", "bare" or "" (nothing), and its unit in seconds."""
    names = _names(key)
    core = names - BESIDE_TIMES or ({""} if names & BARE else set())
    roles = [role for role, known in ROLES if len(core) == 1 and core <= known]
    units = [UNITS[name] for name in names if name in UNITS]
    return "" if key in OTHER_TIMES else "".join(roles), sum(units) or 1.0


def kinds_of(members: Members) -> list[str]:
    """What a message says of its kind: "Metadata", "AddPartialTranscript"."""
    return [one for key, one in members.items() if isinstance(one, str) and plain(key) in KINDS]


def is_interim(members: Members) -> bool:
    """Whether the recogniser still listens, and will tell these words again."""
    if any(map(_PARTIAL.fullmatch, kinds_of(members))):  # RevAI, Speechmatics, AssemblyAI
        return True
    return any(
        INTERIM.get(plain(key), ...) is value
        or (isinstance(value, str) and plain(key) == "partial")  # Vosk
        for key, value in members.items()
    )


def looks_like_time(key: Any) -> bool:
    """Whether a key that is not known may yet tell a time."""
    is_known = key in OTHER_TIMES or time_role(key)[0]
    return not is_known and bool(_names(key) & (STARTS | ENDS | BARE))


@of_a_key
def _tells_speaker(key: Any) -> bool:
    names = _names(key)
    return bool(names & SPEAKERS) and names <= SPEAKERS | BESIDE_SPEAKERS


def are_our_sentences(rows: Any) -> bool:
    """Whether a file's "sentences" are what was written here before, so that new ones take their place."""
    return isinstance(rows, list) and all(
        isinstance(row, Mapping) and {"text"} <= row.keys() <= {*FIELDS} for row in rows
    )


def members_of(value: Any) -> Members:
    """What a dictionary or an object holds, by name."""
    if isinstance(value, Mapping):
        return value
    kind = type(value)
    names = [
        *getattr(kind, "_fields", ()),
        *getattr(kind, "__dataclass_fields__", ()),
        *getattr(value, "__dict__", ()),
    ]
    if isinstance(getattr(kind, "text", None), property):  # computed, perhaps from words
        names.append("text")
    return {name: getattr(value, name, None) for name in names if not name.startswith("_")}


def value_at(value: Any, way: Iterable[Any]) -> Any:
    """What keys that follow one another lead to; None where there is nothing."""
    for key in way:
        value = members_of(value).get(key)
    return value


def speaker_in(members: Members, path: str | None) -> str | int | float | None:
    """Who speaks, at this path or by the names of keys; a name is better than a number. None where nobody tells."""
    keys = sorted(filter(_tells_speaker, members), key=lambda key: "name" not in _names(key))
    for value in [value_at(members, path.split("."))] if path else map(members.get, keys):
        match value:
            case {"name": who} | {"label": who} | {"id": who}:
                value = who
        if isinstance(value, str | int | float) and str(value).strip():
            return value
    channels = (members.get(key) for key in CHANNEL_KEYS)
    return next((f"{CHANNEL}{one}" for one in channels if isinstance(one, str | int)), None)


def _tells_other(key: Any, value: Any) -> bool:
    """Whether a value is none of the times that its key may name."""
    names = _names(key)
    if isinstance(value, str):
        return bool(_DATE.match(value)) or (names <= LOOSE | BARE and not _MOMENT.fullmatch(value))
    return isinstance(value, Mapping) and names <= LOOSE


def times_in(members: Members, keys: Keys) -> Times | None:
    """When it was said: start and end, None where one is not known; None where it has no times.

    They are seconds where the names of keys, or times as text, tell so; else of a unit that is found later.

    Raises:
        ValueError: a time that is none.
    """
    told: dict[str, tuple[Any, float]] = {}
    for key, value in members.items():
        role, unit = time_role(key)
        if role and value is not None and not _tells_other(key, value):
            told.setdefault(role, (value, unit))
    for name in ("start", "end"):
        if name in keys and (value := value_at(members, keys[name].split("."))) is not None:
            told[name] = value, 1.0
    nothing = (None, 1.0)
    bare, unit = told.pop("bare", nothing)
    if "start" not in told and bare is not None:
        if isinstance(bare, Mapping):
            return times_in(bare, {})
        match as_list(bare):
            case [begin, end] if as_list(begin) is None:
                told = {"start": (begin, unit), "end": (end, unit)}
            case None if told or (isinstance(bare, str) and not bare.strip().isdecimal()):
                told["start"] = bare, unit  # a number alone may count characters
    begins, ends, length = (
        seconds(*told.get(name, nothing)) for name in ("start", "end", "length")
    )
    if ends is None and begins is not None and length is not None:
        ends = round(begins + length, 6)
    return None if begins is None and ends is None else (begins, ends)


def as_list(values: Any) -> Any:
    """A list or a tuple as it is, an array as a list; None for another value."""
    if isinstance(values, list) or type(values) is tuple:
        return values
    inner = values.tolist() if hasattr(values, "tolist") else None
    return inner if isinstance(inner, list) else None
