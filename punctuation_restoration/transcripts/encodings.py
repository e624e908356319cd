"""Takes a file's bytes, gives its text and the name of its encoding, and turns text back into the same encoding.

It guesses nothing: a byte order mark, or the name that the caller gives, says the encoding; without both it is UTF-8.
A wrong guess would garble a file silently. It knows nothing about formats.
"""

import codecs
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .errors import FormatError

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Names that leave the byte order to the mark; without a mark, little-endian is what files in the wild are.
_WITHOUT_MARK = {"utf-8-sig": "utf-8", "utf-16": "utf-16-le"}


@dataclass(frozen=True, slots=True)
class Encoding:
    """How a file's text was written as bytes: a codec's name and the byte order mark it began with (often none)."""

    name: str
    mark: bytes = b""

    def encode(self, text: str) -> bytes:
        """Text as bytes of this encoding.

        Raises:
            FormatError: a character, such as a Han comma in Latin-1, does not exist in this encoding.
        """
        return b"".join(self.encode_parts([text]))

    def encode_parts(self, parts: Iterable[str]) -> Iterator[bytes]:
        """A text that comes in parts as bytes that join to the whole.

        Raises:
            FormatError: as `encode`.
        """
        if self.mark:
            yield self.mark
        line = 1
        for part in parts:
            try:
                yield part.encode(self.name)
            except UnicodeEncodeError as error:
                raise FormatError(
                    f"Expected text that {self.name} can write, got {part[error.start]!r}, which it has not. "
                    "Convert the file to UTF-8 first.",
                    line=line + part.count("\n", 0, error.start),
                ) from error
            line += part.count("\n")


UTF8 = Encoding("utf-8")


def decode_bytes(content: bytes, name: str | None = None) -> tuple[str, Encoding]:
    """A file's bytes as text, with the encoding to write it back in.

    Without the encoding's name it is that of the byte order mark, or UTF-8 where there is no mark.

    Raises:
        FormatError: the bytes are not valid in the encoding, or there is none of that name.
    """
    encoding = _encoding_of(content, name)
    content = content.removeprefix(encoding.mark)
    if name is None and not encoding.mark and b"\x00" in content:
        line = content.count(b"\n", 0, content.index(b"\x00")) + 1
        raise FormatError(
            "Expected text, got a file with zero bytes, which looks binary. Name its encoding (--encoding).", line=line
        )
    try:
        text = content.decode(encoding.name)
    except UnicodeDecodeError as error:
        raise FormatError(
            f"Expected {encoding.name.upper()}, got byte 0x{content[error.start]:02x} at byte "
            f"{error.start + len(encoding.mark)}: {error.reason}. The file is cut off, or has another encoding: name "
            "it (--encoding), or convert the file to UTF-8.",
            line=content[: error.start].count(b"\n") + 1,
        ) from error
    return text, encoding


def _encoding_of(content: bytes, name: str | None) -> Encoding:
    mark, marked = next((row for row in _BYTE_ORDER_MARKS if content.startswith(row[0])), (b"", "utf-8"))
    try:
        wanted = marked if name is None else codecs.lookup(name).name
    except LookupError as error:
        raise FormatError(f"Expected the name of an encoding such as utf-8 or gb18030, got {name!r}.") from error
    if wanted in _WITHOUT_MARK:
        wanted = marked if mark else _WITHOUT_MARK[wanted]
    return Encoding(wanted, mark if wanted == marked else b"")
