"""Takes a file's bytes, gives its text and its encoding, and turns text back into the same encoding.

It guesses nothing: a byte order mark, or the name that the caller gives, says the encoding; without both it is UTF-8.
A wrong guess would garble a file silently. It knows nothing about formats, but how to say where one is broken.
"""

import codecs
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from .speech import Speech

LINE_END = re.compile(r"\r\n|\n|\r")
_BYTE_ORDER_MARKS = {  # of UTF-32 first: they begin as those of UTF-16
    "utf-32-le": codecs.BOM_UTF32_LE, "utf-32-be": codecs.BOM_UTF32_BE,
    "utf-8": codecs.BOM_UTF8, "utf-16-le": codecs.BOM_UTF16_LE, "utf-16-be": codecs.BOM_UTF16_BE,
}  # fmt: skip
# Names that leave the byte order to the mark; without a mark, little-endian is what files in the wild are.
_WITHOUT_MARK = {"utf-8-sig": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}


class FormatError(ValueError):
    """A transcript that cannot be read as what it was said to be.

    `problem` says what was expected, what came and what to do; `line` counts from 1; `path` is filled in by whoever
    opened the file, since the readers see only its text.
    """

    def __init__(self, problem: str, *, line: int | None = None):
        super().__init__(problem)
        self.problem, self.line = problem, line
        self.path: str | None = None

    def __str__(self) -> str:
        if self.path is None:
            return self.problem if self.line is None else f"line {self.line}: {self.problem}"
        return f"{self.path}{'' if self.line is None else f':{self.line}'}: {self.problem}"


@dataclass(slots=True)
class Transcript:
    """A file as read."""

    source: str
    format: str
    speeches: list[Speech]
    warnings: list[str] = field(default_factory=list)
    # The values of JSON, which are written anew; other files are edited in place.
    document: Any = None


@dataclass(frozen=True, slots=True)
class Encoding:
    """How a file's text was written as bytes: a codec's name and the byte order mark it began with (often none)."""

    name: str = "utf-8"
    mark: bytes = b""

    def encode(self, text: str) -> bytes:
        """Text as bytes of this encoding; a `FormatError` for a character that it lacks, as Latin-1 a Han comma."""
        return b"".join(self.encode_parts([text]))

    def encode_parts(self, parts: Iterable[str]) -> Iterator[bytes]:
        """A text that comes in parts as bytes that join to the whole; raises what `encode` does."""
        yield self.mark
        line = 1
        for part in parts:
            try:
                yield part.encode(self.name)
            except UnicodeEncodeError as error:
                raise FormatError(
                    f"Expected text that {self.name} can write, got {part[error.start]!r}, which it has not. Convert "
                    "the file to UTF-8 first.",
                    line=line + part.count("\n", 0, error.start),
                ) from error
            line += part.count("\n")


def decode_bytes(content: bytes, name: str | None = None) -> tuple[str, Encoding]:
    """A file's bytes as text, with the encoding to write it back in.

    A `FormatError` says that the bytes are not valid in the encoding, or that there is none of that name.
    """
    marked = next(
        (codec for codec, mark in _BYTE_ORDER_MARKS.items() if content.startswith(mark)), None
    )
    try:
        wanted = marked or "utf-8" if name is None else codecs.lookup(name).name
        "a".encode(wanted)  # a codec such as rot13, which is none of text, is refused only here
    except LookupError as error:
        raise FormatError(
            f"Expected the name of an encoding such as utf-8 or gb18030, got {name!r}."
        ) from error
    if wanted in _WITHOUT_MARK:
        wanted = marked or _WITHOUT_MARK[wanted]
    encoding = Encoding(wanted, _BYTE_ORDER_MARKS[wanted] if wanted == marked else b"")
    content = content.removeprefix(encoding.mark)
    if name is None and marked is None and b"\x00" in content:
        line = content.count(b"\n", 0, content.index(b"\x00")) + 1
        problem = "Expected text, got a file with zero bytes, which looks binary. Name its encoding (--encoding)."
        raise FormatError(problem, line=line)
    try:
        return content.decode(wanted), encoding
    except UnicodeDecodeError as error:
        raise FormatError(
            f"Expected {wanted.upper()}, got byte 0x{content[error.start]:02x} at byte "
            f"{error.start + len(encoding.mark)}: {error.reason}. The file is cut off, or has another encoding: name "
            "it (--encoding), or convert the file to UTF-8.",
            line=content[: error.start].count(b"\n") + 1,
        ) from error


def line_of(source: str, position: int, start: int = 0) -> int:
    """The line (from 1) on which `source[position]` stands, counted from that of `start`."""
    return 1 + sum(1 for _ in LINE_END.finditer(source, start, position))
