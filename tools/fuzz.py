"""Restores made-up texts in all layouts, twice, and prints what goes wrong: `python -m tools.fuzz --texts 10000`.

The texts mix what transcripts have beside words: tags, brackets, times, names, entities, terminal escapes, scripts. In
the place of a model stands what draws a mark by the words around a place, so that restored text gets the same again.
Checked is that marks are all that is added, and that restoring what was restored changes nothing.
"""

import argparse
import json
import random
import sys
import traceback
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from punctuation_restoration.modeling.configuration_punctuation import (
    DEFAULT_LABELS,
    DEFAULT_MARK_LABELS,
)
from punctuation_restoration.pipeline.conventions import known_marks
from punctuation_restoration.pipeline.decisions import borders_of
from punctuation_restoration.pipeline.edits import edited, marks_of, restoring_edits
from punctuation_restoration.pipeline.items import read_item
from punctuation_restoration.pipeline.marks import find_marks
from punctuation_restoration.pipeline.words import Word, WordFinder
from punctuation_restoration.transcripts import FormatError, read_source, restore_file

MARKS = frozenset(known_marks(DEFAULT_MARK_LABELS))
NAMES = [label["name"] for label in DEFAULT_LABELS]
PARTS = (
    "hello|you are|it's|saya|awak|I|Dr.|3.5|12:30|no|the|so|a|see you|你好|我们今天|大家|北京|Python|アー|你|x@y.com"
    "|file(s)|[see you]|[the]|[door]|[Mary]|[PERSON_NAME]|[unk]|[ __ ]|[?]|***|⁇|####|[BLANK_AUDIO]"
    "|[SPEAKER_TURN]|[|]|(laughs)|(as I said)|(笑)|(|)|【音乐】|【姓名】|【主持人】|♪|- |— |>> |>>|-|--|Mary: |ANNA: "
    "|Mary Lee: |[SPEAKER_00]: |(speaker 0) |Speaker 1|说话人 1|Mary Lee 00:01|Mary|[00:01]|[00:01.50]"
    "|<00:01.50>|0:04|(0:04)|2024-01-01T12:00:05Z|**|<i>|</i>|<br>|{\\an8}|<|\x1b[0m|\x1b[1;31m|&gt;&gt;"
    "|&#39;|it&#39;s|&amp;|r&amp;d|&nbsp;|caf&eacute;|&quot;|&|;|&amp;#39;|<|zh|>|'|\"|“|”|「|」|,|.|?|。|，|…|!"
    "|:|👍|\u200b|1|2|\\N|/|*|_"
).split("|")
BLANKS = [" "] * 8 + ["\n", "\n\n", "", "", "", "  ", "\t", "\r\n"]


class StandIn:
    """Restores as the pipeline does, with labels drawn by the words around a place."""

    def __init__(self) -> None:
        self.find_words = WordFinder(DEFAULT_MARK_LABELS)

    def __call__(self, items: Iterable[Any], **options: Any) -> Iterator[dict[str, Any]]:
        for given in items:
            item = read_item(given)
            words = self.find_words(item.audible, item.turns)
            borders = borders_of(item.audible, item.turns)
            found = find_marks(item.audible, words, DEFAULT_MARK_LABELS, NAMES, borders)
            rows = [DEFAULT_LABELS[0 if found[n] else _drawn(words, n)] for n in range(len(words))]
            why = [{"label": row["name"], "score": 1.0, "source": "model"} for row in rows]
            edits = restoring_edits(item.audible, words, marks_of(words, rows), why)
            entries = [
                {"word": word.text, "start": word.start, "end": word.end, **reason}
                for word, reason in zip(words, why, strict=True)
            ]
            yield {"text": edited(item.text, edits), "edits": edits, "words": entries}


def _drawn(words: Sequence[Word], n: int) -> int:
    """A label: any of the four, a mark more often than not."""
    spoken = "|".join(word.spoken for word in words[max(0, n - 1) : n + 2])
    return zlib.crc32(spoken.encode("utf-8", "surrogatepass")) % 4


def made_text(draw: random.Random) -> str:
    """A few parts with blanks or line ends between them."""
    return "".join(draw.choice(PARTS) + draw.choice(BLANKS) for _ in range(draw.randint(1, 12))).strip("\n\r")


def made_source(draw: random.Random) -> tuple[str, str]:
    """A text in one of the layouts, and its format."""
    texts = [made_text(draw) for _ in range(draw.randint(1, 4))]
    layout = draw.choice(("txt", "txt", "srt", "vtt", "json", "words", "jsonl"))
    if layout in ("srt", "vtt"):
        cues = [
            f"{n}\n00:00:0{n}{',' if layout == 'srt' else '.'}000 --> 00:00:0{n}.900\n{text}\n"
            for n, text in enumerate(texts, 1)
        ]
        return "\n".join([*(["WEBVTT\n"] if layout == "vtt" else []), *cues]), layout
    if layout == "json":
        segments = [{"start": n, "end": n + 1, "text": text} for n, text in enumerate(texts)]
        whole = [{"text": " ".join(texts)}, {}][draw.randrange(2)]
        return json.dumps({**whole, "segments": segments}, ensure_ascii=False), "json"
    if layout == "words":
        words = [word for text in texts for word in text.split()]
        rows = [{"word": word, "start": n, "end": n + 1} for n, word in enumerate(words)]
        return json.dumps({"words": rows}, ensure_ascii=False), "json"
    if layout == "jsonl":
        return "\n".join(json.dumps({"text": text}, ensure_ascii=False) for text in texts), "jsonl"
    return "\n".join(texts), "txt"


def problem_of(source: str, file_format: str, restore: StandIn) -> str | None:
    """What is wrong with restoring a text; None where all is right, or it is refused with a reason."""
    try:
        marked = _marked(source, file_format, restore)
        left = iter(marked)
        added = []
        for sign in source:
            added += list(iter(lambda sign=sign: next(left), sign))
        added += left
        if not MARKS.issuperset(added):
            return f"more than marks was added: {marked!r}"
        again = _marked(marked, file_format, restore)
        return None if again == marked else f"{marked!r}\n    became {again!r}"
    except FormatError:
        return None
    except (StopIteration, RuntimeError):
        return "something was lost"
    except Exception:
        return traceback.format_exc(limit=-3)


def _marked(source: str, file_format: str, restore: StandIn) -> str:
    """The file with its marks, and without the sentences that JSON gets beside them."""
    transcript = read_source(source, file_format)
    restored = restore_file(restore, transcript)
    if transcript.document is None:
        return restored.source()
    return transcript.document.written((one.edits, None) for one in restored.speeches)


def main(argv: Sequence[str] | None = None) -> int:
    """Print each violation; returns 1 if there is any."""
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz", description=__doc__)
    parser.add_argument("--texts", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args(argv)
    draw, restore, n_wrong = random.Random(args.seed), StandIn(), 0
    for _ in range(args.texts):
        source, file_format = made_source(draw)
        if problem := problem_of(source, file_format, restore):
            n_wrong += 1
            print(f"{file_format} {source!r}\n    {problem}", flush=True)
    print(f"{args.texts} texts, {n_wrong} violations")
    return bool(n_wrong)


if __name__ == "__main__":
    sys.exit(main())
