"""The table of doubtful marks, by hand."""

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from punctuation_restoration.cli import punctuate
from punctuation_restoration.transcripts import read_bytes, restore_transcript, review

SRT = b"1\n00:00:01,000 --> 00:00:03,000\nso we met him\n\n2\n01:00:04,000 --> 01:00:05,000\nyes\n"


def unsure(items: Iterable[str], **options: Any) -> Iterator[dict[str, Any]]:
    for text in items:
        scores = {"O": 0.31, "COMMA": 0.02, "PERIOD": 0.5, "QUESTION": 0.17}
        words, start = [], 0
        for n, word in enumerate(text.split()):
            start = text.index(word, start)
            sure = {"label": "O", "score": 0.9 - n / 100, "source": "model", "scores": {"O": 0.9}}
            words.append({"word": word, "start": start, "end": start + len(word), **sure})
            start += len(word)
        words[3] |= {"label": "PERIOD", "score": 0.5, "scores": scores}
        words[4] |= {"score": 0.1, "source": "input"}
        edits = [{"start": words[3]["end"], "removed": "", "inserted": ".", "score": 0.5}]
        yield {"text": text, "edits": edits, "words": words}


def test_doubtful_words_stand_with_time_words_and_alternatives() -> None:
    transcript, _ = read_bytes(SRT, name="talk.srt")
    rows = review(restore_transcript(transcript, unsure), 0.6).splitlines()
    assert rows == [
        "time\tscore\twords\talternatives",
        "0:00:02.538\t0.50\tso we met him.\tno mark 0.31, QUESTION 0.17",
    ]
    assert len(review(restore_transcript(transcript, unsure), 0.885).splitlines()) == 3


def test_texts_without_times_have_none(tiny_checkpoint: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert punctuate.main(["--model", tiny_checkpoint, "--quiet", "--review", "1.1", "--text", "hello you"]) == 0
    lines = [line.split("\t") for line in capfd.readouterr().out.splitlines()]
    assert [(line[0], len(line)) for line in lines[1:]] == [("", 4), ("", 4)]
    assert lines[1][2].rstrip(",.?") == "hello"
