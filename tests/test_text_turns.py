"""Plain text that names its speakers: read without the names, marked in place; what only looks like it is not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from restorers import marking

from punctuation_restoration.transcripts import read_bytes, restore_transcript, write_as

CALL = "Agent: hello how are you\n[00:04] Mary Lee: i am ill\r\nvery ill\n\nAgent (0:09): oh no\nMary Lee： 我 很 好\n"


def test_names_and_times_are_not_read_and_stay_where_they_are() -> None:
    transcript, _ = read_bytes(CALL.encode(), name="call.txt")
    (speech,) = transcript.speeches
    assert " ".join(speech.text.split()) == "hello how are you i am ill very ill oh no 我 很 好"
    assert [speech.text[turn:].split()[0] for turn in speech.turns] == ["i", "oh", "我"]
    restored = restore_transcript(transcript, marking({"you": "?", "ill": ".", "no": "!"}))
    assert restored.source() == CALL.replace("you\n", "you?\n").replace("ill", "ill.").replace("no\n", "no!\n")
    assert [(one.text, one.row()["speaker"]) for one in restored.speeches[0].sentences] == [
        ("hello how are you?", "Agent"),
        ("i am ill.", "Mary Lee"),
        ("very ill.", "Mary Lee"),
        ("oh no!", "Agent"),
        ("我 很 好", "Mary Lee"),
    ]
    assert write_as(restored, "txt").splitlines()[:2] == ["AGENT: hello how are you?", "MARY LEE: i am ill."]


@pytest.mark.parametrize(
    "text",
    [
        "Price: ten\nColour: red\nSize: big\nWeight: none\n",  # a list: no name comes back
        "Agent: hello\nand more\nand more\nAgent: bye\nand more\nAgent: so\nand more\n",  # fewer than half
        "Agent: hello\nAgent: bye\n",
        "see http://a.b\nsee http://a.b\nsee http://a.b\n",
        "at 10:30 we met\nat 10:45 we left\nat 10:50 we slept\n",
    ],
)
def test_what_only_looks_like_turns_is_read_as_it_stands(text: str) -> None:
    transcript, _ = read_bytes(text.encode(), name="a.txt")
    assert (transcript.format, transcript.speeches[0].text) == ("txt", text)


@given(st.lists(st.tuples(st.sampled_from(["A: ", "Bo Li: ", "[1:02] A: ", ""]), st.text("a b:é你\t", max_size=8))))
def test_only_marks_are_added(turns: list[tuple[str, str]]) -> None:
    source = "\n".join(name + said for name, said in turns)
    restored = restore_transcript(read_bytes(source.encode(), "txt")[0], marking({"*": "‡"})).source()
    assert restored.replace("‡", "") == source
