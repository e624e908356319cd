"""Takes a restored transcript, gives a table of the places where the model was unsure, for who checks them by eye.

time          score  words                             alternatives
0:01:02.480   0.43   and then we met the director.     no mark 0.31, COMMA 0.22
"""

from collections.abc import Iterator, Mapping
from typing import Any

from .restoring import RestoredSpeech, RestoredTranscript
from .timed_sentences import Clock, clock_time, spoken_sentences

COLUMNS = ("time", "score", "words", "alternatives")
N_BEFORE = 6  # words are shown before a doubtful place
LEAST = 0.05  # probability from which an alternative is worth a look


def review(restored: RestoredTranscript, doubt: float) -> str:
    """Tab-separated rows, one for each word whose mark, or want of one, has a score below `doubt`.

    The words need `"scores"`: restore with `all_scores=True`. Of several recordings the time has the name before it.
    """
    rows = (row for speech in restored.speeches for row in _rows(speech, doubt))
    return "\n".join(("\t".join(COLUMNS), *("\t".join(row) for row in rows), ""))


def _rows(speech: RestoredSpeech, doubt: float) -> Iterator[tuple[str, str, str, str]]:
    clock = Clock(speech.speech)
    said = [
        word.said + word.gap for each in spoken_sentences(speech.speech, speech.edits, speech.words) for word in each
    ]
    for index, word in enumerate(speech.words):
        if word["source"] == "model" and word["score"] < doubt:
            begins, _ = clock.between(word["start"], word["end"])
            time = " ".join(filter(None, (speech.speech.name, "" if begins is None else clock_time(begins))))
            shown = " ".join("".join(said[max(0, index - N_BEFORE) : index + 1]).split())
            yield time, f"{word['score']:.2f}", shown, _alternatives(word)


def _alternatives(word: Mapping[str, Any]) -> str:
    others = {name: score for name, score in word["scores"].items() if name != word["label"] and score >= LEAST}
    ranked = sorted(others.items(), key=lambda item: -item[1])
    return ", ".join(f"{'no mark' if name == 'O' else name} {score:.2f}" for name, score in ranked)
