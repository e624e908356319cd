"""Takes sentences and words, gives JSON: the list of sentences that is added to a file, and whole restored texts.

It knows nothing about where they came from.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from .timed_sentences import Clock, Sentence
from .transcript import Speech


def sentence_rows(sentences: Sequence[Sentence]) -> list[dict[str, Any]]:
    """`{"start": seconds, "end": seconds, "text": ..., "speaker": ...}` of each; without times or speaker where the
    file has none."""
    rows = []
    for sentence in sentences:
        times = {} if sentence.begins is None else {"start": sentence.begins, "end": sentence.ends}
        speaker = {} if sentence.speaker is None else {"speaker": sentence.speaker}
        rows.append({**times, "text": sentence.text, **speaker})
    return rows


def sentence_list(sentences: Sequence[Sentence], ascii_only: bool = False) -> str:
    """The sentences as a JSON list in one line."""
    return json.dumps(sentence_rows(sentences), ensure_ascii=ascii_only)


def text_row(
    speech: Speech, text: str, words: Sequence[Mapping[str, Any]], sentences: Sequence[Sentence]
) -> dict[str, Any]:
    """One restored text with its words, as `--json` prints it.

    The words keep "start" and "end" as offsets in the original text, and get "begins" and "ends" in seconds where the
    file tells them.
    """
    clock = Clock(speech)
    rows = []
    for word in words:
        row = dict(word)
        if clock:
            row["begins"], row["ends"] = clock.between(word["start"], word["end"])
        rows.append(row)
    named = {} if speech.name is None else {"name": speech.name}
    return {**named, "text": text, "words": rows, "sentences": sentence_rows(sentences)}
