"""Pauses between words: read off their times, and told in seconds."""

import numpy as np
import pytest
from transformers import pipeline

from punctuation_restoration.cli.options import parse_args
from punctuation_restoration.pipeline.decisions import pause_lengths

WORDS = ["hello", "you", "are", "the", "saya", "awak"]
FAR = [(n * 2.0, n * 2.0 + 0.5) for n in range(6)]


def test_pauses_are_read_off_times_where_there_are_any():
    times = [(0.0, 0.5), (0.5, 1.0), (1.25, 2.0), (1.97, 3.0), (2.0, 3.0), (None, None), (6.0, None), (7.0, 8.0)]
    lengths = pause_lengths(times)
    np.testing.assert_allclose(lengths, [0, 0.25, 0, *[np.nan] * 5])
    assert pause_lengths([]).shape == (0,)
    at_once = [(float(n), n + 1.0) for n in range(4)]
    assert np.isnan(pause_lengths(at_once)).all()  # a recogniser that measures no silence
    assert pause_lengths([*at_once, (4.5, 5.0)])[:4].tolist() == [0, 0, 0, 0.5]


def test_words_of_one_cue_have_no_pause_between_them():
    cues = [(0.0, 2.0), (0.0, 2.0), (3.0, 4.0), (3.0, 4.0), (4.0, 5.0), (5.0, 6.0)]
    np.testing.assert_array_equal(pause_lengths(cues), [np.nan, 1, np.nan, np.nan, 0, np.nan])


def test_a_wish_at_construction_can_be_taken_back(tiny_checkpoint, tiny_pipeline):
    wishing = pipeline("punctuation-restoration", model=tiny_checkpoint, device="cpu", pause=0.4)
    item = {"words": WORDS, "timestamps": FAR}
    assert wishing(item) == tiny_pipeline(item, pause=0.4) != tiny_pipeline(item)
    assert wishing(item, pause=None) == tiny_pipeline(item)


@pytest.mark.parametrize("pause", ["long", "learned", 0, -1.0])
def test_another_pause_than_seconds_is_refused(tiny_pipeline, pause):
    with pytest.raises(ValueError, match="pause in seconds, above 0, got"):
        tiny_pipeline("hello", pause=pause)


def test_the_command_takes_seconds(capsys):
    assert parse_args(["--pause", "0.5"]).pause == 0.5
    with pytest.raises(SystemExit):
        parse_args(["--pause", "long"])
    assert "number of 0.01 or more, got 'long'" in capsys.readouterr().err
