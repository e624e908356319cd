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


@pytest.mark.slow
@pytest.mark.parametrize("file_format", ["txt", "srt", "json"])
def test_no_repeated_sign_takes_long(file_format: str) -> None:
    """100 kB within a second: 2 kB of each in a share of it, and where that takes long, the whole.

    Other tests run beside this one, so the whole has two seconds more.
    """
    slow = []
    for sign in signs_of_all_classes():
        for pattern in PATTERNS:
            for n_characters in (2_000, 100_000):
                text = pattern.format(sign) * (n_characters // len(pattern.format(sign)))
                segments = {"segments": [{"start": 0, "end": 1, "text": text}], "text": text}
                source = {"txt": text, "srt": srt(text), "json": json.dumps(segments)}[file_format]
                begins = time.process_time()
                with contextlib.suppress(ValueError):
                    [speech.source_edits([]) for speech in read_source(source, file_format).speeches]
                seconds = time.process_time() - begins
                if seconds < (0.02 if n_characters < 100_000 else 3.0):
                    break
            else:
                slow.append((pattern, sign, seconds))
    assert not slow
