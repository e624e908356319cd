"""What recognisers and services give, and users hand in: every layout comes back in its own shape with marks."""

import json
import logging
from dataclasses import dataclass
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from punctuation_restoration.transcripts import read_bytes, restore_transcript
from punctuation_restoration.transcripts.recognisers import Recognised, read_transcripts


@pytest.mark.parametrize("empty", ["segments", "chunks", "words"])
def test_an_empty_list_beside_content_is_no_content(restore: Any, empty: str) -> None:
    words = [{"word": word, "start": n, "end": n + 1} for n, word in enumerate(["hello", "you"])]
    for row in ({"text": "hello you", empty: []}, {"text": "hello you", empty: [], "word_segments": words}):
        assert restore_transcript(restore, row)["text"] == restore("hello you")["text"]
    with_words = restore_transcript(restore, {"text": "hello you", "segments": [], "words": words})
    assert " ".join(word["word"] for word in with_words["words"]) == with_words["text"]


NUMBERS = [np.float32, np.float64, np.int64, np.float16, Decimal, lambda value: np.array(value)]


@pytest.mark.parametrize("number", NUMBERS)
def test_times_may_be_numbers_of_any_kind(restore: Any, number: Any) -> None:
    words = [{"word": word, "start": number(n), "end": number(n + 1)} for n, word in enumerate(["hello", "you"])]
    text = restore("hello you")["text"]
    assert " ".join(word["word"] for word in restore_transcript(restore, words)) == text
    assert restore_transcript(restore, {"segments": [{"text": "hello you", "start": number(0), "end": number(2)}]})[
        "segments"
    ][0]["text"]
    times = [(number(0), number(1)), (number(1), number(2))]
    chunks = [{"text": word, "timestamp": time} for word, time in zip(["hello", " you"], times, strict=True)]
    assert restore_transcript(restore, {"text": "hello you", "chunks": chunks})["text"] == text


class Computed:
    """As stable-ts: the text follows from the words."""

    def __init__(self, words: list[Any]) -> None:
        self.words, self.start, self.end = words, 0.0, 1.0

    @property
    def text(self) -> str:
        return "".join(word["word"] for word in self.words)


class Whole:
    def __init__(self, segments: list[Any]) -> None:
        self.segments = segments

    @property
    def text(self) -> str:
        return "".join(segment.text for segment in self.segments)


Frozen = type("Frozen", (Computed,), {"text": property(lambda self: "hello you")})


def test_objects_that_compute_their_text_are_written_where_they_can_be(restore: Any) -> None:
    words = [{"word": word, "start": n, "end": n + 1} for n, word in enumerate([" hello", " you"])]
    given = Whole([Computed(words)])
    assert restore_transcript(restore, given).text == restore(" hello you")["text"]
    assert given.text == " hello you"
    with pytest.raises(ValueError, match=r"'text' can be written, got a Frozen.*to_dict"):
        restore_transcript(restore, Whole([Frozen(words)]))
    assert words[0]["word"] == " hello"


def test_arrays_are_lists(restore: Any) -> None:
    text = restore("hello you")["text"]
    assert restore_transcript(restore, {"text": "hello you", "words": np.array(["hello", "you"])})["text"] == text


def test_a_row_of_a_data_set_comes_back_with_marks(restore: Any) -> None:
    row = {"id": 7, "audio": {"path": "a.wav"}, "text": "hello you", "duration": 1.5}
    assert restore_transcript(restore, row) == {**row, "text": restore("hello you")["text"]}


def test_what_is_not_known_of_times_and_speakers_is_told(caplog: pytest.LogCaptureFixture) -> None:
    read({"words": [{"word": "hello", "beginSample": 3, "talkerName": "A", "temperature": 0}]})
    assert "'beginSample' may tell times and are not read; name them in `keys`" in caplog.text
    assert "temperature" not in caplog.text
    words = [{"text": "hello", "start": 100, "end": 400}, {"text": "you", "start": 500, "end": 900}]
    assert [span.time for span in read({"text": "hello you", "words": words}).speech.spans] == [(0.1, 0.4), (0.5, 0.9)]
    assert read({"text": "hello you", "timestamp": [[0, 1]] * 3}).speech.spans == []
    assert "'timestamp' may tell times and are not read" in caplog.text


@pytest.mark.parametrize(
    ("start", "end", "wanted", "warning"),
    [
        ({"seconds": "1", "nanos": 250_000_000}, {"seconds": 2}, (1.25, 2.0), ""),
        ("1000", "1900", (1.0, 1.9), ""), ("1", "2", (1, 2), ""), (-0.02, 0.5, (0, 0.5), ""),
        (-1, -1, (None, None), "before it or the recording begins"), (2, 1, (None, None), "it ends (1) before it"),
    ],
)  # fmt: skip
def test_times_may_be_text_or_below_zero(start: Any, end: Any, wanted: Any, warning: str) -> None:
    item = read({"segments": [{"text": "hello you", "start": start, "end": end}]})
    assert item.speech.spans[0].time == wanted
    assert warning in " ".join(item.warnings)
    assert bool(warning) == bool(item.warnings)


def read(value: Any) -> Recognised:
    found = read_transcripts(value)
    assert isinstance(found, Recognised)
    logging.getLogger(__name__).warning(found.warnings)
    return found


def pieces(*texts: str, key: str = "word", **more: Any) -> list[Any]:
    return [{key: text, "start": n, "end": n + 1, **more} for n, text in enumerate(texts)]


def test_words_are_parted_as_they_are_written() -> None:
    whisper = pieces(" it", "'s", " 3", ".5", " percent", " of", " 12", ",000")
    two = [{"start": 0, "words": pieces("hello", " you")}, {"start": 2, "words": pieces("are", " the")}]
    items = [{"alternatives": [{"content": text}]} for text in ("Hello", "there", ",", "Dr", ".", "Lim", ".")]
    for value, text in (
        ({"words": whisper}, " it's 3.5 percent of 12,000"),
        ({"segments": two}, "hello you are the"),
        ({"results": {"items": items}}, "Hello there, Dr. Lim."),
        ({"words": pieces("at", "3", "%", "(", "ok", ")", "“", "yes", "”")}, "at 3% ( ok) “ yes”"),
    ):
        assert read(value).speech.text == text


def test_an_entry_that_says_nothing_is_passed_over_and_one_that_repeats_all_is_a_copy() -> None:
    silent = [{"alternatives": [{}]}, {"alternatives": []}, {"text": None}, {"word": ""}]
    said = [{"alternatives": [{"transcript": text}]} for text in ("hello you", " are the")]
    again = {"alternatives": [{"words": pieces("hello", "you", "are", "the", speakerTag=1)}]}
    for rows in ([*said, *silent], [*silent, *said], [*said, again]):
        item = read({"results": rows})
        assert item.speech.text.split() == ["hello", "you", "are", "the"]
        assert len(item.speech.spans or ()) == (4 if again in rows else 0)
        assert not item.warnings
    vosk = [{"partial": ""}, {"result": pieces("hello"), "text": "hello"}, {"partial": "you"}, {"text": ""}]
    assert read({"segments": [*silent[3:], {"text": "hello"}]}).speech.text == "hello"
    assert read_bytes(json.dumps(vosk).encode(), name="a.json")[0].speeches[0].text == "hello"


def test_every_channel_is_read_and_what_is_not_is_told(caplog: pytest.LogCaptureFixture) -> None:
    channels = [{"alternatives": [{"transcript": text}, {"transcript": "or so"}]} for text in ("hello you", "saya ya")]
    item = read({"results": {"channels": channels, "utterances": [{"transcript": "hello you"}]}})
    assert item.speech.text.split() == ["hello", "you", "saya", "ya"]
    assert len(item.speech.turns) == 1
    assert "results.utterances[0]: it does not spell what is said" in caplog.text
    chunks = [{"text": " hello", "timestamp": (0.0, 1.0)}, {"text": " you", "timestamp": (None, None)}]
    assert [span.time for span in read({"text": "hello you", "chunks": chunks}).speech.spans] == [(0.0, 1.0)]


@pytest.mark.parametrize(
    "interim",
    [
        {"partial": "hello you"}, {"partial": "hello you", "partial_result": pieces("hello", "you")},
        {"results": [{"alternatives": [{"transcript": "hello you "}], "final": False}]},
        {"is_final": False, "channel": {"alternatives": [{"transcript": "hello you", "words": pieces("hello")}]}},
        {"isFinal": False, "text": "hello you"},
        {"type": "Turn", "end_of_turn": False, "transcript": "hello you", "words": pieces("hello", "you")},
        {"message_type": "PartialTranscript", "text": "hello you"},
        {"message": "AddPartialTranscript", "metadata": {"transcript": "hello you"}},
        {"type": "partial", "elements": [{"type": "text", "value": "hello"}]},
        {"Transcript": {"Results": [{"IsPartial": True, "Alternatives": [{"Transcript": "hello you"}]}]}},
        {"result": {"text": "", "utterances": [{"definite": False, "text": "hello you"}]}},
    ],
)  # fmt: skip
def test_what_is_heard_so_far_is_told_again_and_not_read(restore: Any, interim: Any) -> None:
    assert restore_transcript(restore, interim) == interim
    rows = [interim, {"result": pieces("hello", "you"), "text": "hello you"}]
    result = restore_transcript(restore, rows)
    assert (result[0], result[1]["text"]) == (interim, restore("hello you")["text"])
    assert read(rows).speech.text == "hello you"


def test_a_row_of_readings_is_a_part_of_one_transcript() -> None:
    rows = [{"alternatives": [{"text": text, "confidence": 9}, {"text": "no"}]} for text in ("hello you", "are the")]
    assert read(rows).speech.text.split() == ["hello", "you", "are", "the"]


@pytest.mark.parametrize("key", ["translation", "translations", "translated_results"])
def test_what_was_said_is_read_and_not_its_translation(key: str) -> None:
    other = {"de": [{"content": "Guten Morgen zusammen, hallo", "start": 0, "end": 2}]}
    told = read({"results": pieces("hello", "you", key="content"), key: other}).speech
    assert told.text.split() == ["hello", "you"]


def test_entries_that_call_themselves_words_are_words() -> None:
    def entry(text: str, kind: str = "word") -> Any:
        return {"type": kind, "start_time": 0, "end_time": 1, "alternatives": [{"content": text, "confidence": 1}]}

    said = [entry("Good"), entry("morning"), entry(",", "punctuation"), entry("all"), entry(".", "punctuation")]
    assert read({"results": said}).speech.text == "Good morning, all."
    assert read({"results": [entry("大家"), entry("好")]}).speech.text == "大家好"


@pytest.mark.parametrize(
    ("key", "values", "wanted"),
    [
        ("channel", (0, 1), ["channel 0", "channel 1"]), ("channelTag", (1, 2), ["channel 1", "channel 2"]),
        ("ParticipantRole", ("AGENT", "CUSTOMER"), ["AGENT", "CUSTOMER"]), ("role", ("a", "b"), ["a", "b"]),
        ("channel", (0, 0), []),
    ],
)  # fmt: skip
def test_who_speaks_is_told_by_channels_and_roles(key: str, values: Any, wanted: Any) -> None:
    rows = [{"text": "hello you", "start": n, "end": n + 1, key: value} for n, value in enumerate(values)]
    assert [name for _, name in read({"segments": rows}).speech.speakers] == wanted
    named = [{**row, "speaker": f"S{n}"} for n, row in enumerate(rows) if "hannel" in key]
    assert [name for _, name in read({"segments": named}).speech.speakers] == ["S0", "S1"][: len(named)]


def timed(text: str = "word", start: str = "start", end: str = "end", unit: float = 1, **more: Any) -> list[Any]:
    """Two words as a recogniser gives them, with its keys and its unit of time."""
    heard = [("hello", 0.1, 0.4), ("you", 0.5, 0.9)]
    return [{text: word, start: round(a * unit, 3), end: round(b * unit, 3), **more} for word, a, b in heard]


SEGMENT = {"text": "hello you", "start": 1.0, "end": 2.0, "speaker": "A"}


def test_a_row_may_be_one_segment_and_words_without_times_leave_it_its_own() -> None:
    bare = {**SEGMENT, "words": [{"word": "hello"}, {"word": "you"}]}
    for row in (SEGMENT, {**SEGMENT, "words": ["hello", "you"]}, bare, {"segments": [bare]}):
        (speech,) = read_bytes(json.dumps(row).encode(), "jsonl")[0].speeches
        assert ([span.time for span in speech.spans], speech.speakers) == ([(1.0, 2.0)], [(0, "A")])
    assert read({"text": "hello you", "offset": 12}).speech.spans == []  # of characters, perhaps


def test_words_tell_the_times_of_segments_even_where_the_last_of_these_is_a_sound() -> None:
    segments = [{"text": "hello you", "start": 0, "end": 2}, {"text": "[music]", "start": 2, "end": 3}]
    told = read({"segments": segments, "words": pieces("hello", "you")}).speech
    assert told.spans == [(0, 5, (0.0, 1.0)), (6, 9, (1.0, 2.0))]


def test_a_speaker_without_a_name_is_none_and_a_date_is_no_time_of_what_is_said() -> None:
    rows = [{**SEGMENT, "speaker": name} for name in ("", None, " ")]
    assert read_bytes(json.dumps(rows).encode(), name="a.json")[0].speeches[0].speakers == []
    calls = [{"text": text, "start_time": "2024-05-01T10:00:00Z"} for text in ("hello", "you")]
    assert len(read_bytes(json.dumps(calls).encode(), name="a.json")[0].speeches) == 2


SAID = "hello you"
HEARD = timed()
OTHERS: dict[str, Any] = {
    "Deepgram": {"metadata": {}, "results": {"channels": [{"alternatives": [{"transcript": SAID, "words": HEARD}]}]}},
    "AWS": {"jobName": "a", "results": {"transcripts": [{"transcript": SAID}], "items": [
        {"start_time": str(one["start"]), "end_time": str(one["end"]), "alternatives": [{"content": one["word"]}]}
        for one in HEARD
    ]}},
    "Google": {"results": [{"alternatives": [{"transcript": SAID, "words": [
        {"word": one["word"], "startTime": f"{one['start']}s", "endTime": f"{one['end']}s"} for one in HEARD
    ]}]}]},
    "Rev": {"monologues": [{"speaker": 0, "elements": [
        timed("value", "ts", "end_ts")[0], {"type": "punct", "value": " "}, timed("value", "ts", "end_ts")[1]]}]},
    "Gladia": {"result": {"transcription": {"full_transcript": SAID, "utterances": [
        {"text": SAID, "start": 0.1, "end": 0.9, "speaker": 0, "words": HEARD}]}}},
    "ElevenLabs": {"language_code": "en", "text": SAID, "words": [
        timed("text")[0], {"text": " ", "start": 0.4, "end": 0.5, "type": "spacing"}, timed("text")[1]]},
    "Speechmatics": {"format": "2.9", "results": [
        {"type": "word", "start_time": one["start"], "end_time": one["end"], "alternatives": [{"content": one["word"]}]}
        for one in HEARD
    ]},
    "AssemblyAI": {"audio_duration": 1, "text": SAID, "utterances": None, "words": timed("text", unit=1000)},
    "Azure, batch": {"timestamp": "2026-01-01", "durationInTicks": 1e7, "recognizedPhrases": [
        {"offset": "PT0.1S", "duration": "PT0.8S", "offsetInTicks": 1e6, "durationInTicks": 8e6, "nBest": [
            {"lexical": SAID, "display": "Hello you.", "words": [
                {"word": "hello", "offset": "PT0.1S", "duration": "PT0.3S"},
                {"word": "you", "offsetInTicks": 5e6, "durationInTicks": 4e6}]}]}]},
    "podcasts": {"version": "1.0.0", "segments": [
        {"speaker": "A", "startTime": 0.1, "endTime": 0.4, "body": "hello"},
        {"speaker": "A", "startTime": 0.5, "endTime": 0.9, "body": "you"}]},
    "youtube-transcript-api": {"segments": [
        {"text": "hello", "start": 0.1, "duration": 0.3}, {"text": "you", "start": 0.5, "duration": 0.4}]},
    "Azure, SDK": {"DisplayText": "Hello, you.", "Offset": 1000000, "Duration": 8000000, "NBest": [
        {"Lexical": SAID, "Words": [
            {"Word": "hello", "Offset": 1000000, "Duration": 3000000},
            {"Word": "you", "Offset": 5000000, "Duration": 4000000}]}]},
    "Azure, fast": {"combinedPhrases": [{"text": SAID}], "phrases": [
        {"text": SAID, "offsetMilliseconds": 100, "durationMilliseconds": 800}]},
    "YouTube": {"wireMagic": "pb3", "events": [
        {"tStartMs": 0, "dDurationMs": 9000, "id": 1},
        {"tStartMs": 100, "dDurationMs": 800, "segs": [{"utf8": "hello", "acAsrConf": 0}]},
        {"tStartMs": 500, "dDurationMs": 400, "segs": [{"utf8": "you", "tOffsetMs": 300}, {"utf8": "\n"}]},
    ]},
    "FunASR": {"key": "a", "text": SAID, "words": ["hello", "you"], "timestamp": [[100, 400], [500, 900]]},
    "FunASR, text": {"key": "a", "text": SAID, "timestamp": [[100, 400], [500, 900]]},
    "whisper.cpp": {"result": {"language": "en"}, "transcription": [
        {"timestamps": {"from": "00:00:00,100", "to": "00:00:00,900"}, "offsets": {"from": 100, "to": 900},
         "text": f" {SAID}"}]},
    "Volcengine": {"reqid": "a", "result": [{"text": SAID, "utterances": [
        {"text": SAID, "start_time": 100, "end_time": 900, "words": timed("text", "start_time", "end_time", 1000)}]}]},
    "Huawei": {"resp_type": "RESULT", "segments": [{"start_time": 100, "end_time": 900, "result": {
        "text": SAID, "word_info": timed("word", "start_time", "end_time", 1000)}}]},
    "Tencent": {"ResultDetail": [{"FinalSentence": SAID, "StartMs": 100, "EndMs": 900, "SpeakerId": 0, "Words": [
        {"Word": "hello", "OffsetStartMs": 0, "OffsetEndMs": 300},
        {"Word": "you", "OffsetStartMs": 400, "OffsetEndMs": 800}]}]},
    "DashScope": {"transcripts": [{"text": SAID, "sentences": [
        {"begin_time": 100, "end_time": 900, "text": SAID, "words": [
            {"begin_time": 100, "end_time": 400, "text": "hello ", "punctuation": ""},
            {"begin_time": 500, "end_time": 900, "text": "you", "punctuation": ""}]}]}]},
    "Aliyun": {"Result": {"Sentences": [{"BeginTime": 100, "EndTime": 900, "Text": SAID, "ChannelId": 0}],
                          "Words": timed("Word", "BeginTime", "EndTime", 1000)}},
    "Amazon Connect": {"Transcript": timed(
        "Content", "BeginOffsetMillis", "EndOffsetMillis", 1000, ParticipantId="AGENT")},
    "Leopard": {"transcript": SAID, "words": timed("word", "start_sec", "end_sec")},
    "Smallest": {"transcription": SAID, "utterances": [{"text": SAID, "start": 0.1, "end": 0.9}]},
    "Watson": {"result_index": 0, "results": [{"final": True, "alternatives": [
        {"transcript": f"{SAID} ", "timestamps": [["hello", 0.1, 0.4], ["you", 0.5, 0.9]]}]}]},
    "NeMo": {"words": timed("word", "start_time", "end_time", speaker_label="A")},
}  # fmt: skip


@dataclass
class Fetched:
    """As youtube-transcript-api has it."""

    snippets: list[Any]
    video_id: str = "a"


TURNS = [("A", "hello", 0.1, 0.4), ("B", "you", 0.5, 0.9)]
BY_RULE: dict[str, Any] = {
    "names of speakers": [{"text": t, "start": a, "end": b, "speaker_name": who} for who, t, a, b in TURNS],
    "speakers that have names": [{"text": t, "start": a, "end": b, "speaker": {"name": who}} for who, t, a, b in TURNS],
    "numbers beside names": {"lines": [{"text": t, "begin": a, "stop": b, "spk_id": 1, "speakerName": who}
                                       for who, t, a, b in TURNS]},
    "participants": {"transcript": [{"sentence": t, "startMs": a * 1000, "durationMs": round((b - a) * 1000),
                                     "participant": who} for who, t, a, b in TURNS]},
    "from and to": {"body": [{"content": t, "from": a, "to": b, "talker": who} for who, t, a, b in TURNS]},
    "clocks": {"data": {"items": [{"transcript": t, "timestamp": f"00:00:00,{a * 1000:.0f}", "speakerTag": who}
                                  for who, t, a, b in TURNS]}},
    "an object": Fetched([SimpleNamespace(text=t, start=a, duration=round(b - a, 1), spk=who)
                          for who, t, a, b in TURNS]),
}  # fmt: skip


@pytest.mark.parametrize("name", BY_RULE)
def test_texts_times_and_speakers_are_known_by_the_names_of_their_keys(restore: Any, name: str) -> None:
    value = BY_RULE[name]
    speech = read(value).speech
    assert speech.text.split() == ["hello", "you"]
    ends = [span.time[1] or 0.4 * (n + 1) + 0.1 * n for n, span in enumerate(speech.spans)]
    assert ([span.time[0] for span in speech.spans], ends) == ([0.1, 0.5], [0.4, 0.9])
    assert [who for _, who in speech.speakers] == ["A", "B"]
    assert type(restore_transcript(restore, value)) is type(value)
    assert read(value).warnings == []


def test_what_names_do_not_tell_a_caller_says(restore: Any) -> None:
    value = {"rows": [{"say": t, "t0": a, "t1": b, "who": {"nick": w}} for w, t, a, b in TURNS], "text of": "a b"}
    with pytest.raises(ValueError, match=r"got the keys rows, text of, rows\.say, rows\.t0.*--keys text=NAME"):
        restore_transcript(restore, value)
    keys = {"text": "say", "start": "t0", "end": "t1", "speaker": "who.nick"}
    result = restore_transcript(restore, value, keys=keys)
    assert [row["say"][:-1] for row in result["rows"]] == ["hello", "you"]
    told = [(row["start"], row["end"], row["speaker"]) for row in result["sentences"]]
    assert told == [(0.1, 0.4, "A"), (0.5, 0.9, "B")]
    assert read_bytes(json.dumps(value).encode(), "json", keys=keys)[0].speeches[0].text == "hello you"
    with pytest.raises(ValueError, match=r"Expected keys for text, start, end, speaker, got \['words'\]"):
        restore_transcript(restore, value, keys={"words": "rows"})


def test_of_several_readings_the_first_is_read_and_the_others_stay(restore: Any) -> None:
    first = {"confidence": 200.1, "result": pieces("hello", "you"), "text": "hello you"}
    vosk = {"alternatives": [first, {"confidence": 180.1, "text": "hallo you"}]}
    result = restore_transcript(restore, vosk)
    assert result["alternatives"][0]["text"] == restore("hello you")["text"]
    assert result["alternatives"][1] == vosk["alternatives"][1]
    assert [row["start"] for row in result["sentences"]][:1] == [0.0]
    kaldi = {"result": {"hypotheses": [{"transcript": "hello you"}, {"transcript": "hallo you", "likelihood": 11}]}}
    texts = [one["transcript"] for one in restore_transcript(restore, kaldi)["result"]["hypotheses"]]
    assert texts == [restore("hello you")["text"], "hallo you"]


@pytest.mark.parametrize(
    "more",
    [
        {"from": "Mary", "to": "John"}, {"from": {"name": "Mary"}}, {"to": "de"}, {"time": "10:05 AM"},
        {"timestamp": "05/05/2024 10:00:00"}, {"timestamp": "2024-05-05"}, {"start": "2024-05-05T10:00:00Z"},
    ],
)  # fmt: skip
def test_what_is_no_time_under_a_name_of_times_is_passed_over(restore: Any, more: Any) -> None:
    for value in ({"messages": [{**more, "text": SAID}]}, {**more, "segments": [{"text": SAID, "start": 0.5}]}):
        told = read(value).speech
        assert (told.text, [span.time for span in told.spans]) == (SAID, [(0.5, None)] * ("segments" in value))


@pytest.mark.parametrize("more", [{"start": "soon"}, {"end": "x"}, {"from": "12:70:80:90"}, {"start": "9" * 5000}])
def test_a_time_that_is_none_is_an_error_where_nothing_else_was_meant(more: Any) -> None:
    with pytest.raises(ValueError, match="Expected times"):
        read({"segments": [{"text": SAID, **more}]})


@pytest.mark.parametrize("name", [*OTHERS, *BY_RULE])
def test_what_was_restored_is_known_again(restore: Any, name: str) -> None:
    value = (OTHERS | BY_RULE)[name]
    once = restore_transcript(restore, value)
    twice = restore_transcript(restore, once)
    if isinstance(twice, dict):  # the time inside a segment is shared out over more characters
        sentences = [[row["text"] for row in value.pop("sentences", [])] for value in (dict(once), twice)]
        assert sentences[0] == sentences[1]
        assert twice == {key: value for key, value in once.items() if key != "sentences"}
    else:
        assert twice == once
    again, before = read(once), read(value)
    assert [span.time for span in again.speech.spans] == [span.time for span in before.speech.spans]
    assert [who for _, who in again.speech.speakers] == [who for _, who in before.speech.speakers]
    assert not again.warnings


BARE = pieces("Hello", "how", "are", "you", "it's", "5")
MARKED = "Hello, how are “you?” It's $5."


@pytest.mark.parametrize(
    "given",
    [
        {"text": MARKED, "words": BARE}, {"text": MARKED, "segments": [{"text": f" {MARKED}"}], "words": BARE},
        {"segments": [{"text": MARKED, "start": 0, "end": 9, "words": BARE}]},
    ],
)  # fmt: skip
def test_words_without_the_marks_of_their_text_tell_its_times_and_get_its_marks(restore: Any, given: Any) -> None:
    item = read(given)
    assert item.speech.text.strip() == MARKED
    told = [(item.speech.text[start:end].lower(), *time) for start, end, time in item.speech.spans]
    assert told == [(word["word"].lower(), word["start"], word["end"]) for word in BARE]
    assert not item.warnings
    for options in ({}, {"existing": "replace"}):
        result = restore_transcript(restore, given, **options)
        words = result.get("words") or result["segments"][0]["words"]
        marked = restore(MARKED, **options)["text"].replace("“", "").replace("”", "").replace("$", "").lower()
        assert " ".join(word["word"] for word in words).lower() == marked


def test_of_words_and_a_text_with_other_letters_the_text_is_read_if_it_is_no_title_and_the_other_is_told() -> None:
    for words, read_words in ((["Hello", "who"], False), (["Hello", "how", "are"], False), (["Bye"] * 6, True)):
        item = read({"text": "Hello, how", "words": pieces(*words)})
        assert item.speech.text.split() == (words if read_words else ["Hello,", "how"])
        assert f"{'text' if read_words else 'words[0]'}: it does not spell what is said" in str(item.warnings)
    spoken = [{**word, "speaker": n} for n, word in enumerate(pieces("Hello", "how"))]
    assert read({"text": "Hello, how?", "words": spoken}).speech.turns == [7]
    deepgram = [{"word": "hello", "punctuated_word": "Hello,"}, {"word": "five", "punctuated_word": "$5."}]
    assert read({"transcript": "Hello, $5.", "words": deepgram}).warnings == []


@pytest.mark.parametrize(
    ("written", "wanted"), [("PT1M", 60), ("PT1H3.5S", 3603.5), ("PT1H2M", 3720), ("PT2M0,5S", 120.5), ("1:02", 62)]
)
def test_a_duration_may_leave_out_what_is_zero(written: str, wanted: float) -> None:
    phrase = {"offset": written, "duration": "PT2S", "nBest": [{"lexical": SAID}]}
    assert read({"recognizedPhrases": [phrase]}).speech.spans[0].time == (wanted, wanted + 2)


@pytest.mark.parametrize("name", OTHERS)
def test_services_are_read_with_their_times(restore: Any, name: str) -> None:
    item = read(OTHERS[name])
    assert item.speech.text.split() == ["hello", "you"]
    starts = [span.time[0] for span in item.speech.spans]
    assert (starts[0], item.speech.spans[-1].time[1] or 0.9) == (0.1, 0.9)
    assert None not in starts
    assert max(start for start in starts if start is not None) <= 0.9
    assert not item.warnings
    written = json.dumps(restore_transcript(restore, OTHERS[name]))
    assert json.dumps("hello" + restore("hello you")["text"][5])[1:-1] in written
    for several in (OTHERS[name], [OTHERS[name]]):
        transcript, _ = read_bytes(json.dumps(several).encode(), name="a.json")
        assert transcript.speeches[0].text.split() == ["hello", "you"]
