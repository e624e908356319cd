"""Where another speaker begins a sentence ends; a text that breaks off ends no sentence."""

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from punctuation_restoration.pipeline.streamer import PunctuationStreamer
from punctuation_restoration.transcripts import read_bytes, restore_transcript

ENDS = {"PERIOD", "QUESTION"}
TEXT = "yes you are the saya hello how are you"


def labels(result: dict[str, Any]) -> list[str]:
    return [word["label"] for word in result["words"]]


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(turns=st.lists(st.integers(0, len(TEXT) + 3)))
def test_a_sentence_ends_before_each_turn_and_all_else_is_as_before(tiny_pipeline: Any, turns: list[int]) -> None:
    without, with_turns = tiny_pipeline(TEXT), tiny_pipeline({"text": TEXT, "turns": turns})
    words = without["words"]
    before = {max((n for n, word in enumerate(words) if word["end"] <= turn), default=-1) for turn in turns}
    for n, (old, new) in enumerate(zip(labels(without), labels(with_turns), strict=True)):
        assert new in ENDS if n in before - {-1, len(words) - 1} else new == old
    assert tiny_pipeline({"text": with_turns["text"]})["text"] == with_turns["text"]


def test_a_mark_that_the_text_has_stays_before_a_turn(tiny_pipeline: Any) -> None:
    assert labels(tiny_pipeline({"text": "you are, hello", "turns": [9]}))[1] == "COMMA"


def test_marks_that_may_not_be_written_are_not_written_before_a_turn(tiny_pipeline: Any) -> None:
    assert labels(tiny_pipeline({"text": TEXT, "turns": [4]}, marks=["COMMA"]))[0] == "O"


def test_a_text_that_breaks_off_has_no_mark_at_its_end(tiny_pipeline: Any) -> None:
    whole, cut = tiny_pipeline(TEXT, thresholds={"PERIOD": 0.0}), tiny_pipeline(
        TEXT, thresholds={"PERIOD": 0.0}, final=False
    )  # fmt: skip
    assert labels(whole)[-1] == "PERIOD"
    assert labels(cut) == [*labels(whole)[:-1], "O"]
    assert labels(tiny_pipeline("hello you.", final=False))[-1] == "PERIOD"
    assert tiny_pipeline("", final=False)["text"] == ""


def test_a_stream_ends_sentences_where_a_call_does(tiny_pipeline: Any) -> None:
    turns = [TEXT.index("hello"), TEXT.index("are you")]
    streamer = PunctuationStreamer(tiny_pipeline, look_ahead=2, left_context=4, turns=turns)
    found = [word for part in (*TEXT.split(" "), None) for word in _step(streamer, part).words]
    assert {word["label"] for word in found if word["word"] in ("saya", "how")} <= ENDS
    assert labels({"words": found})[4] in ENDS


def _step(streamer: PunctuationStreamer, part: str | None) -> Any:
    return streamer.flush() if part is None else streamer.feed(part + " ")


def test_speakers_of_a_file_end_each_others_sentences(tiny_pipeline: Any) -> None:
    srt = "1\n00:00:01,000 --> 00:00:02,000\n- you are the\n- hello saya\n\n"
    transcript, _ = read_bytes(srt.encode(), name="talk.srt")
    words = restore_transcript(transcript, tiny_pipeline).speeches[0].words
    assert words[2]["label"] in ENDS
