"""Files in many encodings: marked or named, otherwise UTF-8; never guessed, always written back as they were."""

import codecs

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from punctuation_restoration.transcripts import FormatError, read_bytes, restore_transcript
from punctuation_restoration.transcripts.file_text import Encoding, decode_bytes

MANDARIN = "大家好我们今天在北京开会\n你们都知道这个问题吗\n"
FRENCH = "on est allé à la plage hier\nc'était très agréable\n"


@pytest.mark.parametrize(
    "content",
    [
        MANDARIN.encode("utf-8"),
        codecs.BOM_UTF8 + MANDARIN.encode("utf-8"),
        codecs.BOM_UTF16_LE + MANDARIN.encode("utf-16-le"),
        codecs.BOM_UTF16_BE + MANDARIN.encode("utf-16-be"),
    ],
    ids=["utf-8", "utf-8-sig", "utf-16-le", "utf-16-be"],
)
def test_unicode_is_found_by_its_mark_and_written_back(content: bytes) -> None:
    text, encoding = decode_bytes(content)
    assert text == MANDARIN
    assert encoding.encode(text) == content


@pytest.mark.parametrize("name", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig", "GB18030", "gbk"])
def test_a_named_encoding_is_read_with_its_mark_or_without(name: str) -> None:
    bare = MANDARIN.encode({"utf-16": "utf-16-le", "utf-8-sig": "utf-8"}.get(name, name))
    for content in (bare, MANDARIN.encode(name)):
        text, encoding = decode_bytes(content, name)
        assert text == MANDARIN
        assert encoding.encode(text) == content


@pytest.mark.parametrize(
    ("text", "codec"),
    [
        (MANDARIN, "gb18030"),
        (FRENCH, "latin-1"),
        ("안녕하세요 오늘 회의를 시작하겠습니다 질문 있습니까", "euc-kr"),
        ("привет всем сегодня мы начинаем встречу", "cp1251"),
        ("привет всем сегодня мы начинаем встречу", "koi8-r"),
        ("大家好我們今天在臺北開會你們都知道這個問題嗎", "big5"),
        ("皆さんこんにちは今日は会議を始めます", "shift-jis"),
        ("皆さんこんにちは今日は会議を始めます", "euc-jp"),
        ("สวัสดีครับวันนี้เราจะเริ่มประชุม", "cp874"),
        ("καλημέρα σε όλους σήμερα αρχίζουμε", "cp1253"),
    ],
)
def test_other_encodings_are_refused_rather_than_guessed_and_read_when_named(text: str, codec: str) -> None:
    content = (text + "\n").encode(codec)
    with pytest.raises(FormatError, match=r"name it \(--encoding\)"):
        decode_bytes(content)
    assert decode_bytes(content, codec)[0] == text + "\n"


def test_a_damaged_utf8_file_is_refused_with_file_and_line() -> None:
    content = "大家好\n我们".encode()[:-1]
    with pytest.raises(FormatError, match=r"talk\.txt:2: Expected UTF-8, got byte 0xe4"):
        read_bytes(content, name="talk.txt")


def test_a_binary_file_is_refused() -> None:
    with pytest.raises(FormatError, match="looks binary"):
        decode_bytes(b"\x7fELF\x02\x01\x01\x00\x00\x00\x03")


@pytest.mark.parametrize("name", ["utf-8", "ascii", "gb18030"])
def test_a_wrong_name_is_refused_with_the_line(name: str) -> None:
    with pytest.raises(FormatError, match="line 2: Expected"):
        decode_bytes(b"hello\nth\xffre\xff\xff\n", name)


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(FormatError, match="Expected the name of an encoding"):
        decode_bytes(b"hello", "utf-9")


def test_a_mark_that_the_encoding_lacks_is_an_error_and_not_a_question_mark() -> None:
    transcript, encoding = read_bytes(FRENCH.encode("latin-1"), "txt", encoding="latin-1")
    edit = {"start": len(FRENCH.rstrip()), "removed": "", "inserted": "。"}
    result = {"text": FRENCH.rstrip() + "。\n", "edits": [edit], "words": []}
    restored = restore_transcript(transcript, lambda texts: (result for _ in texts))
    with pytest.raises(FormatError, match="line 2: Expected text that iso8859-1 can write"):
        encoding.encode(restored.source())


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.binary(max_size=60))
def test_whatever_is_read_is_written_back_byte_for_byte(content: bytes) -> None:
    try:
        text, encoding = decode_bytes(content)
    except FormatError:
        return
    assert encoding.encode(text) == content


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\x00"), max_size=60))
def test_all_utf8_text_is_read_as_utf8(text: str) -> None:
    content = text.encode()
    if not content.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_BE, codecs.BOM_UTF16_LE)):
        assert decode_bytes(content)[0] == text


def test_pieces_are_written_as_the_whole_and_say_on_which_line_a_sign_is_missing() -> None:
    encoding = decode_bytes("大家好我们今天".encode("utf-16"))[1]
    assert b"".join(encoding.encode_parts(["大家\n", "", "好"])) == encoding.encode("大家\n好")
    with pytest.raises(FormatError, match="line 3: Expected text that latin-1 can write"):
        list(Encoding("latin-1").encode_parts(["a\nb", "\nc，"]))
