"""Takes a file's bytes, gives its text and the name of its encoding, and turns text back into the same encoding.

It never guesses where two readings are plausible: it refuses and asks for the name. It knows nothing about formats.

Why not a general detector: charset-normalizer and chardet always answer with their best guess, and a wrong guess
garbles a file silently. Here an encoding must be proven (a byte order mark, valid UTF-8, the zero bytes of UTF-16) or
the text must look like ordinary Mandarin (GB18030) or ordinary western European text (Latin-1, Windows-1252).
"""

import codecs
import itertools
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .errors import FormatError

_BYTE_ORDER_MARKS = (
    # UTF-32 first: its little-endian mark begins with UTF-16's
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

# The most frequent characters of written and spoken Mandarin; about half of any Mandarin text is made of them.
_COMMON_HAN = frozenset(
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家种事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实"
    "吗呢吧啊什很把让给被谁哪最将已与并或更点问谢请再见今昨明话听做知觉喜欢爱老师工公司北京海市场新高长今政府电影手机钱月日二三四五六七八九十百千万两几第次回比较又才"
)
_MIN_COMMON_SHARE = 0.25  # EUC-KR or Cyrillic read as GB18030 stays far below; see tests/test_formats_encodings.py
_MIN_HAN = 2
_WHOLE_GB = re.compile(r"[\x00-\x7f\u2014-\u2026\u3000-\u3017\u4e00-\u9fff\uff01-\uff5e·]*")
_LATIN_WORD_LETTERS = re.compile(r"[A-Za-zÀ-ÖØ-öø-ÿŒœŠšŽžŸ]")
_RARE_IN_LATIN = re.compile(r"[\x80-\x9f]")


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


def decode(content: bytes, name: str | None = None) -> tuple[str, Encoding]:
    """A file's bytes as text, with the encoding to write it back in.

    `name` is the encoding the caller says it is; without it the encoding is found.

    Raises:
        FormatError: the bytes are not valid in the encoding, or no encoding is plausible enough.
    """
    if name is not None:
        return _decode_as(content, name)
    for mark, codec in _BYTE_ORDER_MARKS:
        if content.startswith(mark):
            return _strictly(content[len(mark) :], Encoding(codec, mark))
    wide = _utf16_without_mark(content)
    if wide is not None:
        return _strictly(content, Encoding(wide))
    if b"\x00" in content:
        line = content.count(b"\n", 0, content.index(b"\x00")) + 1
        raise FormatError(
            "Expected text, got a file with zero bytes, which looks binary. Name its encoding.", line=line
        )
    try:
        return content.decode("utf-8"), UTF8
    except UnicodeDecodeError as error:
        return _decode_legacy(content, error)


def _decode_as(content: bytes, name: str) -> tuple[str, Encoding]:
    try:
        codec = codecs.lookup(name).name
    except LookupError as error:
        raise FormatError(f"Expected the name of an encoding such as utf-8 or gb18030, got {name!r}.") from error
    if codec in ("utf-8-sig", "utf-16", "utf-32"):
        return (
            decode(content) if content.startswith(tuple(m for m, _ in _BYTE_ORDER_MARKS)) else _unmarked(content, codec)
        )
    for mark, marked_codec in _BYTE_ORDER_MARKS:
        if codec == marked_codec and content.startswith(mark):
            return _strictly(content[len(mark) :], Encoding(codec, mark))
    return _strictly(content, Encoding(codec))


def _unmarked(content: bytes, codec: str) -> tuple[str, Encoding]:
    """Without a mark, little-endian is what files in the wild are (and utf-8-sig is plain UTF-8)."""
    return _strictly(content, Encoding({"utf-8-sig": "utf-8"}.get(codec, f"{codec}-le")))


def _strictly(content: bytes, encoding: Encoding) -> tuple[str, Encoding]:
    try:
        text = content.decode(encoding.name)
    except UnicodeDecodeError as error:
        raise FormatError(
            f"Expected {encoding.name}, got bytes {error.object[error.start : error.start + 4]!r} at byte "
            f"{error.start + len(encoding.mark)}: {error.reason}. Is the file cut off, or in another encoding?",
            line=content[: error.start].count(b"\n") + 1,
        ) from error
    if encoding.encode(text) != encoding.mark + content:
        raise FormatError(
            f"Expected {encoding.name} that can be written back as it was, got bytes that would change. "
            "Convert the file to UTF-8 first."
        )
    return text, encoding


def _utf16_without_mark(content: bytes) -> str | None:
    """UTF-16 shows by the zero bytes of its spaces, digits and line ends, and by having no odd characters."""
    sample = content[:4096]
    if len(content) % 2 or 0 not in sample:
        return None
    for codec, zeros, others in (("utf-16-le", sample[1::2], sample[0::2]), ("utf-16-be", sample[0::2], sample[1::2])):
        n_plain = sum(
            1 for zero, byte in zip(zeros, others, strict=True) if zero == 0 and byte in b"\n\r\t -0123456789"
        )
        if n_plain >= max(1, len(zeros) // 50) and _is_ordinary(sample.decode(codec, errors="replace")):
            return codec
    return None


def _is_ordinary(text: str) -> bool:
    """Whether there is nothing that text does not have: control characters, unassigned or private ones."""
    body = text[:-1]  # the sample may end inside a pair of surrogates
    return all(character in "\t\n\r" or unicodedata.category(character) not in ("Cc", "Cn", "Co") for character in body)


def _decode_legacy(content: bytes, utf8_error: UnicodeDecodeError) -> tuple[str, Encoding]:
    """Neither UTF-8 nor UTF-16: GB18030 or a western European code page, if the text looks like it."""
    bad = utf8_error.start
    line = content.count(b"\n", 0, bad) + 1
    n_wide_before = sum(1 for byte in content[:bad] if byte >= 0xC2)
    damaged = FormatError(
        f"Expected UTF-8, got byte 0x{content[bad]:02x} at byte {bad}: {utf8_error.reason}. "
        "The text before it is UTF-8: the file is damaged or was put together from two encodings.",
        line=line,
    )
    if n_wide_before >= 3:
        raise damaged from utf8_error
    if _looks_like_gb18030(content):
        return _strictly(content, Encoding("gb18030"))
    # Some pairs of GB18030 are UTF-8 by chance; Latin-1 would need `Ã©` for that. `Ã` ends no text in Latin-1, either.
    is_cut = bad == len(content) - 1 and content[bad] in b"\xc2\xc3"
    if n_wide_before or is_cut:
        raise damaged from utf8_error
    latin = "cp1252" if _RARE_IN_LATIN.search(content.decode("latin-1")) else "latin-1"
    if _looks_like_latin(content, latin):
        return _strictly(content, Encoding(latin))
    raise FormatError(
        f"Expected UTF-8, got byte 0x{content[bad]:02x} at byte {bad}, and the text is not plainly "
        "UTF-16, GB18030 or Latin-1 either. Name its encoding (--encoding), or convert it to UTF-8.",
        line=line,
    ) from utf8_error


def _looks_like_gb18030(content: bytes) -> bool:
    try:
        text = content.decode("gb18030")
    except UnicodeDecodeError:
        return False
    han = [character for character in text if "\u4e00" <= character <= "\u9fff"]
    if len(han) < _MIN_HAN or not _WHOLE_GB.fullmatch(text):
        return False
    return sum(character in _COMMON_HAN for character in han) >= _MIN_COMMON_SHARE * len(han)


def _looks_like_latin(content: bytes, codec: str) -> bool:
    """Accented letters stand alone inside or at the edge of ASCII words; other code pages give runs of them."""
    try:
        text = content.decode(codec)
    except UnicodeDecodeError:
        return False
    n_letters = len(_LATIN_WORD_LETTERS.findall(text))
    high = [i for i, character in enumerate(text) if ord(character) > 0x7F]
    n_high_letters = sum(1 for i in high if _LATIN_WORD_LETTERS.match(text[i]))
    n_pairs = sum(1 for i, j in itertools.pairwise(high) if j == i + 1)
    return n_letters > 0 and n_high_letters <= 0.3 * n_letters and n_pairs <= 0.1 * len(high)
