"""However often a sign is repeated, reading takes time in proportion."""

import contextlib
import json
import string
import sys
import time
import unicodedata

import pytest
from restorers import srt

from punctuation_restoration.transcripts import read_source


def signs_of_all_classes() -> list[str]:
    """A sign of each of Unicode's classes, and all of ASCII that are neither letters nor digits."""
    by_class = {unicodedata.category(sign): sign for sign in map(chr, range(sys.maxunicode, -1, -1))}
    del by_class["Cs"]
    return sorted({*string.punctuation, *string.whitespace, *"♪♫【】（）“”—–…\u3000", *by_class.values()})


PATTERNS = ["{0}", "{0} ", "a{0}", "{0}1", "[{0}", "<{0}", "{0}:", "&{0}", "1:{0}", "({0}", "- {0}"]


def seconds_of(pattern: str, sign: str, n_characters: int, file_format: str) -> float:
    """Processor time of reading so many characters of a repeated pattern."""
    text = pattern.format(sign) * (n_characters // len(pattern.format(sign)))
    segments = {"segments": [{"start": 0, "end": 1, "text": text}], "text": text}
    source = {"txt": text, "srt": srt(text), "json": json.dumps(segments)}[file_format]
    begins = time.process_time()
    with contextlib.suppress(ValueError):
        [speech.source_edits([]) for speech in read_source(source, file_format).speeches]
    return time.process_time() - begins


@pytest.mark.slow
@pytest.mark.parametrize("file_format", ["txt", "srt", "json"])
def test_no_repeated_sign_takes_long(file_format: str) -> None:
    """2 kB are read in a moment; where they are not, eight times as much takes no more than thirty times as long.

    A search that begins anew at each character takes sixty-four times as long, each time that it is measured.
    """
    slow = []
    for sign in signs_of_all_classes():
        for pattern in PATTERNS:
            for _ in range(3):
                little = seconds_of(pattern, sign, 2_000, file_format)
                if little < 0.02 or (much := seconds_of(pattern, sign, 16_000, file_format)) < 30 * little:
                    break
            else:
                slow.append((pattern, sign, little, much))
    assert not slow
