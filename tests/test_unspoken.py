"""What a text or a transcript shows and nobody says: it is read nowhere, in no layout, and stays where it is."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from restorers import mark_everything, marking, marks_alone, srt

from punctuation_restoration.pipeline.items import read_item
from punctuation_restoration.pipeline.unspoken import find_hidden
from punctuation_restoration.transcripts import read_bytes, read_source, restore_file, restore_transcript, write_as


def said(source: str, file_format: str) -> str:
    (speech,) = read_source(source, file_format).speeches
    return " ".join(speech.text.split())


LINES = [
    "[SPEAKER_00]: hello you", "[Ahmad bin Ali]: hello you", "SPEAKER_1: hello you", "Speaker 1: hello you",
    "Speaker A: hello you", "JOHN [whispering]: hello you", "WOMAN (ON PHONE): hello you", "MAN #1: hello you",
    "- hello you", "— hello you",
    ">> hello you", "[CROWD CHEERING] hello you", "(sighs) hello you", "♪♪ hello you ♪♪", "<|ms|><|SAD|>hello you",
    "(speaker 0) hello you", "[Speaker 2] hello you", "**Mary Lee:** hello you",
    "【主持人】hello you", "主持人1：hello you", "[SPEAKER_TURN] hello you", "hello [speaker_turn] you",
    "&gt;&gt; hello you", "&amp;gt;&amp;gt; hello you", "hello&nbsp;&nbsp;you", "hello &#62;&#62; you",
    "[00:12.50]hello <00:13.00>you[00:13.50]", "\x1b[38;5;71mhello\x1b[0m you\x1b[1;31m", "\x1b[1mhello\x1b[K you",
    "<|1.20|> hello you<|3.40|>", "2024-01-01T12:00:05Z hello you", ">> hello >> you", "hello >>> you",
]  # fmt: skip
KEPT = [
    "[the] man came", "(see below)", "it began at 12:30 sharp", "we met ANNA: she left", "from 3 - 4 people came",
    "minus -5 degrees", "-5 degrees", "a (b c) d", "well—no", "the time is 12:30", "Note: hello", "3 < 5 and 7 > 6",
    "see a>>b", "at 2024-01-01T12:00:05Z he came",
    "the cat(s) came, (a) one (2020) and (b) more", "it goes a --> b",
]  # fmt: skip


def in_every_layout(*texts: str) -> list[tuple[str, str]]:
    """The same lines as text, as subtitles, and as segments of a recogniser."""
    segments = [{"start": n, "end": n + 1, "text": f" {text}"} for n, text in enumerate(texts)]
    return [("\n".join(texts), "txt"), (srt(*texts), "srt"), (json.dumps({"segments": segments}), "json")]


@pytest.mark.parametrize("shown", LINES)
def test_what_is_not_said_is_read_nowhere(restore: Any, shown: str) -> None:
    for source, file_format in in_every_layout("so", shown, "yes"):
        assert said(source, file_format) == "so hello you yes"
        marked = marks_alone(restore_file(mark_everything, read_source(source, file_format)))
        marked = marked.replace("\\u2021", "‡")
        assert marked.replace("‡", "") == source
        assert [marked.count(f"{word}‡") for word in ("so", "hello", "you", "yes", "")] == [1, 1, 1, 1, 4]
    result = restore(f"so\n{shown}\nyes")
    assert [word["word"] for word in result["words"]] == ["so", "hello", "you", "yes"]
    assert "".join(sign for sign in result["text"] if sign not in ",.?") == f"so\n{shown}\nyes".replace(".", "")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0:00 hello you\n0:04 are the\n1:02:03 saya awak", "hello you are the saya awak"),
        ("00:01 - 00:04 hello you\n00:04 - 00:09 are the\nstill\n00:09 - 00:12 saya", "hello you are the still saya"),
        ("12:05 PM Ann: hello\n12:06 PM Bo: you\n12:07 PM Ann: are\n12:09 PM Bo: the", "hello you are the"),
        # Too few, or in too few lines.
        ("0:00 hello\n0:04 you", "0:00 hello 0:04 you"),
        ("at\n9:30 we\n10:30 you\n11:30 saya\nhello\nthe\nis", "at 9:30 we 10:30 you 11:30 saya hello the is"),
    ],
)
def test_times_before_most_lines_are_not_read(restore: Any, text: str, words: str) -> None:
    assert said(text, "txt") == words
    assert [word["word"] for word in restore(text)["words"]] == words.split()
    marked = marks_alone(restore_file(mark_everything, read_source(text, "txt")))
    assert marked.replace("‡", "") == text
    assert said(marked.replace("‡", ","), "txt").replace(",", "") == words


@pytest.mark.parametrize("text", KEPT)
def test_in_the_middle_of_a_text_they_are_text(text: str) -> None:
    assert find_hidden(text) == []
    assert said(f"{text}\n", "txt") == text
    assert text == "(see below)" or said(srt(text), "srt") == text


@pytest.mark.parametrize(
    "text",
    [
        "[00:00.000 --> 00:02.500]  hello you\n[00:02.500 --> 00:04.000]  are the",
        "[0.00 - 2.50] SPEAKER_00: hello you\n[2.50 - 4.00] SPEAKER_01: are the",
        "[0.00s -> 2.50s] hello you\n[2.50s -> 4.00s] are the",
        "0:00\nhello you\n0:04\nare the",
        "[00:12.50] hello you\n[00:14.10] are the",
        "00:00:01 - 00:00:03\nhello you\n\n00:00:03 - 00:00:05\nare the",
        "Ann Lee  0:02\nhello you\n\nBo Li  0:05\nare the",
        "Ann Lee  3:45 PM\nhello you\n\nBo Li  3:46 PM\nare the",
        "[12/05/2024, 3:45:12 PM] hello you\n[12/05/2024, 3:45:20\u202fPM] are the",
        "2024-01-01T12:00:05Z Ann: hello\n[2024-01-01T12:00:06+01:00] Bo: you\n2024-01-01T12:00:07.125 Ann: are the",
        "Ann Lee 00:00:01\nhello you\n\nBo Li 00:00:03\nare the",
        "发言人1 00:01\nhello you\n\n发言人2 00:08\nare the",
        "Ann (00:01)\nhello\n\nBo (00:02)\nyou\n\nAnn (00:08)\nare the",
        "Ann 0:02\nhello\nBo 0:03\nyou\nAnn 0:05\nare the",
        "[00:00:01.10] - Ann Lee\nhello you\n\n[00:00:03.10] - Bo Li\nare the",
        "[00:00:01] - Ann\nhello\n\n[00:00:03] - Bo\nyou\n\n[00:00:05] - Ann\nare the",
        "0:0:1.0 --> 0:0:4.0\nAnn\nhello\n\n0:0:4.0 --> 0:0:6.0\nBo\nyou\n\n0:0:6.0 --> 0:0:6.5\nAnn\nare the",
        "Ann Lee   0 minutes 4 seconds\nhello you\n\nBo Li   1 hour 1 minute 4 seconds\nare the",
        "**[00:00:04]** hello you\n**[00:00:08]** are the",
        "SPEAKER_00\nhello you\n\nSPEAKER_01\nare the",
        "说话人 1\nhello you\n说话人 2\nare the",
        "[00:04] Speaker 1\nhello you\n[00:08] Speaker 2\nare the",
        "小明\nhello\n\n小红\nyou\n\n小明\nare the",
        "12/05/24, 15:45 - Ann: hello\n12/05/24, 15:46 - Bo: you\n12/05/24, 15:47 - Ann: are the",
    ],
)
def test_times_in_plain_text_are_not_read(restore: Any, text: str) -> None:
    assert said(text, "txt") == "hello you are the"
    result = restore(text)
    assert [word["word"] for word in result["words"]] == ["hello", "you", "are", "the"]
    assert restore_file(restore, read_source(text, "txt")).source() == result["text"]


READ_AS = [
    ("it&#39;s", "it's"), ("don&amp;#39;t", "don't"), ("r&amp;d", "r&d"), ("caf&eacute;", "café"),
    ("it&apos;s", "it's"), ("r&amp;amp;amp;d", "r&d"),
    ("&#20320;&#22909;", "你好"), ("ev\x1b[0m\x1b[1mery", "every"), ("[ __ ]", "x"), ("[?]", "x"), ("***", "x"),
    ("⁇", "x"), ("####", "x"),
]  # fmt: skip


@pytest.mark.parametrize(("written", "read"), READ_AS)
def test_what_is_said_and_written_as_something_else_is_one_word(restore: Any, written: str, read: str) -> None:
    for text in (f"hello {written} you", f"hello\n- are {written}\nyou"):
        for source, file_format in in_every_layout(*text.splitlines()):
            restored = restore_file(restore, read_source(source, file_format))
            marked = marks_alone(restored).encode().decode("unicode_escape" if "\\u" in source else "utf-8")
            assert re.search(rf" {re.escape(written)}[,.?，。？]", marked)
            again = read_source(restored.source(), file_format)
            assert restore_file(restore, again).source() == restored.source()
        result = restore({"text": text})
        (word,) = [word for word in result["words"] if word["word"] == written]
        assert restore.find_words(read_item(text).audible)[result["words"].index(word)].spoken == read


def test_what_was_left_out_is_a_word_and_other_words_in_brackets_are_sounds() -> None:
    for word in ("[PERSON_NAME]", "[unk]", "[NAME_1]", "[PII]", "【姓名】"):
        assert said(srt(f"i am {word} hello"), "srt") == f"i am {word} hello"
        assert find_hidden(f"{word} hello") == []
    for sound in ("[BLANK_AUDIO]", "[NO_SPEECH]", "[LAUGHTER]", "[door]", "【音乐】"):
        assert said(srt(f"i am {sound} hello"), "srt") == "i am hello"


def test_a_new_name_ends_a_sentence_in_every_layout() -> None:
    told = ["[SPEAKER_00]: are you", "[SPEAKER_01]: saya", "[SPEAKER_01]: awak"]
    for source, file_format in in_every_layout(*told):
        (speech,) = read_source(source, file_format).speeches
        assert [speech.text[turn:].split()[0] for turn in speech.turns] == ["saya"]
        assert [name for _, name in speech.speakers] == ["SPEAKER_00", "SPEAKER_01"]
    assert len(read_item("\n".join(told)).turns) == 2  # the first name begins a turn as well, before any word
    assert len(read_item("JOHN: are you\nJOHN [low]: saya\nJOHN (LOW): awak").turns) == 1
    for item in ("are you >> saya", {"words": ["are", "you", ">>", "saya"]}):
        (turn,) = read_item(item).turns
        assert read_item(item).text[turn:].split() == ["saya"]
    assert [find_hidden(text) for text in ("FIG (a): x", "USA (2020): x", "I AM (John): x")] == [[], [], []]


CALL = "Agent: hello how are you\n[00:04] Mary Lee: i am ill\r\nvery ill\n\nAgent (0:09): oh no\nMary Lee： 我 很 好\n"


def test_names_and_times_are_not_read_and_stay_where_they_are() -> None:
    transcript, _ = read_bytes(CALL.encode(), name="call.txt")
    (speech,) = transcript.speeches
    assert " ".join(speech.text.split()) == "hello how are you i am ill very ill oh no 我 很 好"
    assert [speech.text[turn:].split()[0] for turn in speech.turns] == ["i", "oh", "我"]
    restored = restore_file(marking({"you": "?", "ill": ".", "no": "!"}), transcript)
    assert restored.source() == CALL.replace("you\n", "you?\n").replace("ill", "ill.").replace("no\n", "no!\n")
    assert [f"{one.speaker}: {one.text}" for one in restored.speeches[0].sentences] == [
        "Agent: hello how are you?", "Mary Lee: i am ill.", "Mary Lee: very ill.", "Agent: oh no!",
        "Mary Lee: 我 很 好",
    ]  # fmt: skip
    assert write_as(restored, "txt").splitlines()[:2] == ["AGENT: hello how are you?", "MARY LEE: i am ill."]


@pytest.mark.parametrize(
    "text",
    [
        "Price: ten\nColour: red\nSize: big\nWeight: none\n",  # a list: no name comes back
        "Agent: hello\nand more\nand more\nAgent: bye\nand more\nAgent: so\nand more\n",  # fewer than half
        "Agent: hello\nAgent: bye\n",
        "see http://a.b\nsee http://a.b\nsee http://a.b\n",
        "we met at 10:30\nhe left at 10:50\n",
        "Yeah\nhello\nYeah\nyou\nYeah\nso\n",
        "at 10:30 we met\nat 10:45 we left\nat 10:50 we slept\n",
    ],
)
def test_what_only_looks_like_turns_is_read_as_it_stands(text: str) -> None:
    transcript, _ = read_bytes(text.encode(), name="a.txt")
    assert (transcript.format, transcript.speeches[0].text) == ("txt", text)


@given(st.lists(st.tuples(st.sampled_from(["A: ", "Bo Li: ", "[1:02] A: ", ""]), st.text("a b:é你\t", max_size=8))))
def test_only_marks_are_added(turns: list[tuple[str, str]]) -> None:
    source = "\n".join(name + said for name, said in turns)
    restored = restore_file(marking({"*": "‡"}), read_bytes(source.encode(), "txt")[0]).source()
    assert restored.replace("‡", "") == source


def test_a_copy_of_the_whole_text_gets_its_marks_beside_dashes_and_sounds(restore: Any) -> None:
    texts = [" - hello you", " (applause)", " - saya [door] awak"]
    segments = [{"start": n, "end": n + 1, "text": text} for n, text in enumerate(texts)]
    result = restore_transcript(restore, {"text": "".join(texts), "segments": segments})
    assert result["text"] == "".join(segment["text"] for segment in result["segments"])
    assert result["segments"][1]["text"] == " (applause)"
    assert result["segments"][2]["text"].startswith(" - saya")
