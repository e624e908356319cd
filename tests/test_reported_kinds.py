"""Kinds of input that users report: what is not said, layouts of recognisers, numbers of any kind, endless signs."""

import contextlib
import json
import string
import sys
import time
import unicodedata
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from restorers import mark_everything, marking, marks_alone, srt

from punctuation_restoration.pipeline.items import read_item
from punctuation_restoration.pipeline.unspoken import find_hidden
from punctuation_restoration.transcripts import read_bytes, read_source, restore_transcript, write_as


def said(source: str, file_format: str) -> str:
    (speech,) = read_source(source, file_format).speeches
    return " ".join(speech.text.split())


def signs_of_all_classes() -> list[str]:
    """A sign of each of Unicode's classes, and all of ASCII that are neither letters nor digits."""
    by_class = {unicodedata.category(sign): sign for sign in map(chr, range(sys.maxunicode, -1, -1))}
    del by_class["Cs"]
    return sorted({*string.punctuation, *string.whitespace, *"♪♫【】（）“”—–…\u3000", *by_class.values()})


PATTERNS = ["{0}", "{0} ", "a{0}", "{0}1", "[{0}", "<{0}", "{0}:", "&{0}", "1:{0}", "({0}", "- {0}"]


@pytest.mark.slow
@pytest.mark.parametrize("file_format", ["txt", "srt", "json"])
def test_no_repeated_sign_takes_long(file_format: str) -> None:
    """100 kB within a second: 4 kB of each in a share of it, and where that takes long, the whole.

    Other tests run beside this one, so the whole has two seconds more.
    """
    slow = []
    for sign in signs_of_all_classes():
        for pattern in PATTERNS:
            for n_characters in (4_000, 100_000):
                text = pattern.format(sign) * (n_characters // len(pattern.format(sign)))
                segments = {"segments": [{"start": 0, "end": 1, "text": text}], "text": text}
                source = {"txt": text, "srt": srt(text), "json": json.dumps(segments)}[file_format]
                begins = time.process_time()
                with contextlib.suppress(ValueError):
                    [speech.source_edits([]) for speech in read_source(source, file_format).speeches]
                seconds = time.process_time() - begins
                if seconds < (0.08 if n_characters < 100_000 else 3.0):
                    break
            else:
                slow.append((pattern, sign, seconds))
    assert not slow


@pytest.mark.parametrize("empty", ["segments", "chunks", "words"])
def test_an_empty_list_beside_content_is_no_content(restore: Any, empty: str) -> None:
    words = [{"word": word, "start": n, "end": n + 1} for n, word in enumerate(["hello", "you"])]
    for row in ({"text": "hello you", empty: []}, {"text": "hello you", empty: [], "word_segments": words}):
        assert restore(row)["text"] == restore("hello you")["text"]
    with_words = restore({"text": "hello you", "segments": [], "words": words})
    assert " ".join(word["word"] for word in with_words["words"]) == with_words["text"]


NUMBERS = [np.float32, np.float64, np.int64, np.float16, Decimal, lambda value: np.array(value)]


@pytest.mark.parametrize("number", NUMBERS)
def test_times_may_be_numbers_of_any_kind(restore: Any, number: Any) -> None:
    words = [{"word": word, "start": number(n), "end": number(n + 1)} for n, word in enumerate(["hello", "you"])]
    text = restore("hello you")["text"]
    assert " ".join(word["word"] for word in restore(words)) == text
    assert restore({"segments": [{"text": "hello you", "start": number(0), "end": number(2)}]})["segments"][0]["text"]
    times = [(number(0), number(1)), (number(1), number(2))]
    ours = restore({"words": ["hello", "you"], "timestamps": times})
    assert [word["timestamp"] for word in ours["words"]] == [(0, 1), (1, 2)]
    chunks = [{"text": word, "timestamp": time} for word, time in zip(["hello", " you"], times, strict=True)]
    assert restore({"text": "hello you", "chunks": chunks})["text"] == text


LINES = [
    "[SPEAKER_00]: hello you", "[Ahmad bin Ali]: hello you", "SPEAKER_1: hello you", "Speaker 1: hello you",
    "Speaker A: hello you", "JOHN [whispering]: hello you", "WOMAN (ON PHONE): hello you", "MAN #1: hello you",
    "- hello you", "— hello you",
    ">> hello you", "[CROWD CHEERING] hello you", "(sighs) hello you", "♪♪ hello you ♪♪", "<|ms|><|SAD|>hello you",
    "<|1.20|> hello you<|3.40|>",
]  # fmt: skip
KEPT = [
    "[the] man came", "(see below)", "it began at 12:30 sharp", "we met ANNA: she left", "from 3 - 4 people came",
    "minus -5 degrees", "-5 degrees", "a (b c) d", "well—no", "the time is 12:30", "Note: hello", "3 < 5 and 7 > 6",
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
        marked = marks_alone(restore_transcript(read_source(source, file_format), mark_everything))
        marked = marked.replace("\\u2021", "‡")
        assert marked.replace("‡", "") == source
        assert [marked.count(f"{word}‡") for word in ("so", "hello", "you", "yes", "")] == [1, 1, 1, 1, 4]
    result = restore(f"so\n{shown}\nyes")
    assert [word["word"] for word in result["words"]] == ["so", "hello", "you", "yes"]
    assert "".join(sign for sign in result["text"] if sign not in ",.?") == f"so\n{shown}\nyes".replace(".", "")


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
        "12/05/24, 15:45 - Ann: hello\n12/05/24, 15:46 - Bo: you\n12/05/24, 15:47 - Ann: are the",
    ],
)
def test_times_in_plain_text_are_not_read(restore: Any, text: str) -> None:
    assert said(text, "txt") == "hello you are the"
    result = restore(text)
    assert [word["word"] for word in result["words"]] == ["hello", "you", "are", "the"]
    assert restore_transcript(read_source(text, "txt"), restore).source() == result["text"]


def test_a_new_name_ends_a_sentence_in_every_layout() -> None:
    told = ["[SPEAKER_00]: are you", "[SPEAKER_01]: saya", "[SPEAKER_01]: awak"]
    for source, file_format in in_every_layout(*told):
        (speech,) = read_source(source, file_format).speeches
        assert [speech.text[turn:].split()[0] for turn in speech.turns] == ["saya"]
        assert [name for _, name in speech.speakers] == ["SPEAKER_00", "SPEAKER_01"]
    assert len(read_item("\n".join(told)).turns) == 2  # the first name begins a turn as well, before any word
    assert len(read_item("JOHN: are you\nJOHN [low]: saya\nJOHN (LOW): awak").turns) == 1
    assert [find_hidden(text) for text in ("FIG (a): x", "USA (2020): x", "I AM (John): x")] == [[], [], []]


CALL = "Agent: hello how are you\n[00:04] Mary Lee: i am ill\r\nvery ill\n\nAgent (0:09): oh no\nMary Lee： 我 很 好\n"


def test_names_and_times_are_not_read_and_stay_where_they_are() -> None:
    transcript, _ = read_bytes(CALL.encode(), name="call.txt")
    (speech,) = transcript.speeches
    assert " ".join(speech.text.split()) == "hello how are you i am ill very ill oh no 我 很 好"
    assert [speech.text[turn:].split()[0] for turn in speech.turns] == ["i", "oh", "我"]
    restored = restore_transcript(transcript, marking({"you": "?", "ill": ".", "no": "!"}))
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


def test_a_copy_of_the_whole_text_gets_its_marks_beside_dashes_and_sounds(restore: Any) -> None:
    texts = [" - hello you", " (applause)", " - saya [door] awak"]
    segments = [{"start": n, "end": n + 1, "text": text} for n, text in enumerate(texts)]
    result = restore({"text": "".join(texts), "segments": segments})
    assert result["text"] == "".join(segment["text"] for segment in result["segments"])
    assert result["segments"][1]["text"] == " (applause)"
    assert result["segments"][2]["text"].startswith(" - saya")


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
    assert restore(given).text == restore(" hello you")["text"]
    assert given.text == " hello you"
    with pytest.raises(ValueError, match=r"'text' can be written, got a Frozen.*to_dict"):
        restore(Whole([Frozen(words)]))
    assert words[0]["word"] == " hello"


def test_arrays_are_lists(restore: Any) -> None:
    text = restore("hello you")["text"]
    times = np.array([[0, 0.5], [0.5, np.nan]], dtype=np.float32)
    ours = restore({"words": np.array(["hello", "you"]), "timestamps": times})
    assert (ours["text"], [word["timestamp"] for word in ours["words"]]) == (text, [(0, 0.5), (0.5, None)])
    assert restore({"text": "hello you", "words": np.array(["hello", "you"])})["text"] == text


def test_a_row_of_a_data_set_comes_back_with_marks(restore: Any) -> None:
    row = {"id": 7, "audio": {"path": "a.wav"}, "text": "hello you", "duration": 1.5}
    assert restore(row) == {**row, "text": restore("hello you")["text"], "punctuation": restore(row)["punctuation"]}


def test_what_is_not_known_of_times_and_speakers_is_told(caplog: pytest.LogCaptureFixture) -> None:
    read_item({"words": [{"word": "hello", "beginSample": 3, "talkerName": "A", "temperature": 0}]})
    assert "'beginSample' look like times and are not known" in caplog.text
    assert "'talkerName' look like speakers" in caplog.text
    assert "temperature" not in caplog.text
    words = [{"text": "hello", "start": 100, "end": 400}, {"text": "you", "start": 500, "end": 900}]
    assert [span.time for span in read_item({"text": "hello you", "words": words}).spans] == [(0.1, 0.4), (0.5, 0.9)]
    assert "read as milliseconds" in caplog.text  # in seconds nobody speaks so slowly
    assert read_item({"text": "hello you", "timestamp": [[0, 1]] * 3}).spans is None
    assert "the 3 times are not one for each word" in caplog.text


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
        assert read_item(value).text == text


def test_an_entry_that_says_nothing_is_passed_over_and_one_that_repeats_all_is_a_copy() -> None:
    silent = [{"alternatives": [{}]}, {"alternatives": []}, {"text": None}, {"word": ""}]
    said = [{"alternatives": [{"transcript": text}]} for text in ("hello you", " are the")]
    again = {"alternatives": [{"words": pieces("hello", "you", "are", "the", speakerTag=1)}]}
    for rows in ([*said, *silent], [*silent, *said], [*said, again]):
        item = read_item({"results": rows})
        assert item.text.split() == ["hello", "you", "are", "the"]
        assert len(item.spans or ()) == (4 if again in rows else 0)
        assert not item.recognised.warnings
    vosk = [{"partial": ""}, {"result": pieces("hello"), "text": "hello"}, {"partial": "you"}, {"text": ""}]
    assert read_item({"segments": [*silent[3:], {"text": "hello"}]}).text == "hello"
    assert read_bytes(json.dumps(vosk).encode(), name="a.json")[0].speeches[0].text == "hello"


def test_every_channel_is_read_and_what_is_not_is_told(caplog: pytest.LogCaptureFixture) -> None:
    channels = [{"alternatives": [{"transcript": text}, {"transcript": "or so"}]} for text in ("hello you", "saya ya")]
    item = read_item({"results": {"channels": channels, "utterances": [{"transcript": "hello you"}]}})
    assert item.text.split() == ["hello", "you", "saya", "ya"]
    assert len(item.turns) == 1
    assert "the texts under results.utterances.*.transcript are not read" in caplog.text
    chunks = [{"text": " hello", "timestamp": (0.0, 1.0)}, {"text": " you", "timestamp": (None, None)}]
    assert [span.time for span in read_item({"text": "hello you", "chunks": chunks}).spans] == [(0.0, 1.0)]


def timed(text: str = "word", start: str = "start", end: str = "end", unit: float = 1, **more: Any) -> list[Any]:
    """Two words as a recogniser gives them, with its keys and its unit of time."""
    heard = [("hello", 0.1, 0.4), ("you", 0.5, 0.9)]
    return [{text: word, start: round(a * unit, 3), end: round(b * unit, 3), **more} for word, a, b in heard]


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
    "sherpa-onnx": {"text": " hello you", "tokens": [" hel", "lo", " you", ""], "timestamps": [0.1, 0.2, 0.5, 0.9]},
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
        {"tStartMs": 200, "dDurationMs": 800, "segs": [{"utf8": "you", "tOffsetMs": 300}, {"utf8": "\n"}]},
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
    "NeMo": {"words": timed("word", "start_time", "end_time", speaker_label="A")},
}  # fmt: skip


@pytest.mark.parametrize(
    ("written", "wanted"), [("PT1M", 60), ("PT1H3.5S", 3603.5), ("PT1H2M", 3720), ("PT2M0,5S", 120.5), ("1:02", 62)]
)
def test_a_duration_may_leave_out_what_is_zero(written: str, wanted: float) -> None:
    phrase = {"offset": written, "duration": "PT2S", "nBest": [{"lexical": SAID}]}
    assert read_item({"recognizedPhrases": [phrase]}).spans[0].time == (wanted, wanted + 2)


@pytest.mark.parametrize("name", OTHERS)
def test_services_are_read_with_their_times(restore: Any, name: str) -> None:
    item = read_item(OTHERS[name])
    assert item.text.split() == ["hello", "you"]
    starts = [span.time[0] for span in item.spans]
    assert (starts[0], item.spans[-1].time[1] or 0.9) == (0.1, 0.9)
    assert None not in starts
    assert max(start for start in starts if start is not None) <= 0.9
    assert not item.recognised.warnings
    written = json.dumps(restore(OTHERS[name]))
    assert json.dumps("hello" + restore("hello you")["text"][5])[1:-1] in written
    for several in (OTHERS[name], [OTHERS[name]]):
        transcript, _ = read_bytes(json.dumps(several).encode(), name="a.json")
        assert transcript.speeches[0].text.split() == ["hello", "you"]
