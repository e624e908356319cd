"""Encodings of files: named or marked, never guessed, and written back as they were read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from restorers import marking, patient

from punctuation_restoration.transcripts import FormatError, read_bytes, restore_file
from punctuation_restoration.transcripts.file_text import decode_bytes

MANDARIN = "大家好我们今天在北京开会\n你们都知道这个问题吗\n"
FRENCH = "on est allé à la plage hier\nc'était très agréable\n"


@pytest.mark.parametrize("name", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig", "GB18030", "gbk"])
def test_an_encoding_is_named_or_marked_and_written_back(name: str) -> None:
    bare = MANDARIN.encode({"utf-16": "utf-16-le", "utf-32": "utf-32-le", "utf-8-sig": "utf-8"}.get(name, name))
    for content in (bare, MANDARIN.encode(name)):
        text, encoding = decode_bytes(content, name)
        assert text == MANDARIN
        assert encoding.encode(text) == b"".join(encoding.encode_parts([text[:9], "", text[9:]])) == content
    if name.endswith(("16", "32", "sig")):
        assert decode_bytes(content) == (text, encoding)


@pytest.mark.parametrize(("text", "codec"), [(MANDARIN, "gb18030"), (FRENCH, "latin-1"), ("привет всем", "koi8-r")])
def test_other_encodings_are_refused_rather_than_guessed_and_read_when_named(text: str, codec: str) -> None:
    with pytest.raises(FormatError, match=r"name it \(--encoding\)"):
        decode_bytes(f"{text}\n".encode(codec))
    assert decode_bytes(f"{text}\n".encode(codec), codec)[0] == text + "\n"


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        ("大家好\n我们".encode()[:-1], None, "line 2: Expected UTF-8, got byte 0xe4"),
        (b"\x7fELF\x02\x01\x01\x00\x00\x00\x03", None, "looks binary"),
        (b"hello\nth\xffre\xff\xff\n", "ascii", "line 2: Expected ASCII"),
        (b"hello\nth\xffre\xff\xff\n", "gb18030", "line 2: Expected GB18030"),
        (b"hello", "utf-9", "Expected the name of an encoding"),
        (b"hello", "rot13", "Expected the name of an encoding"),
    ],
)
def test_what_is_not_in_the_encoding_is_refused(content: bytes, name: str | None, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        decode_bytes(content, name)


def test_a_mark_that_the_encoding_lacks_is_an_error_and_not_a_question_mark() -> None:
    transcript, encoding = read_bytes(FRENCH.encode("latin-1"), "txt", encoding="latin-1")
    restored = restore_file(marking({"agréable": "。"}), transcript)
    with pytest.raises(FormatError, match="line 2: Expected text that iso8859-1 can write"):
        encoding.encode(restored.source())


@patient
@given(st.binary(max_size=60))
def test_whatever_is_read_is_written_back_byte_for_byte(content: bytes) -> None:
    try:
        text, encoding = decode_bytes(content)
    except FormatError:
        return
    assert encoding.encode(text) == content
