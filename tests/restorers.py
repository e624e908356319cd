"""Stand-ins for the model, which know no language, and the recorded transcripts that tests restore with them."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from punctuation_restoration.transcripts import RestoredTranscript, read_bytes, restore_transcript

SIGN = "‡"  # stands for a mark; it occurs nowhere else
ANY_WORD = re.compile(r"[\u4e00-\u9fff]|[^\W_\u4e00-\u9fff]+")
RECORDED = Path(__file__).resolve().parents[1] / "examples" / "transcripts"


def plain(items: Iterable[Any]) -> Iterator[str]:
    """The texts of what a restorer gets."""
    return (item if isinstance(item, str) else item["text"] for item in items)


def mark_everything(texts: Iterable[str], **options: Any) -> Iterator[dict[str, Any]]:
    """Writes a sign after every word and every Han character: the most that a restorer could do."""
    for text in plain(texts):
        words = [{"word": m.group(), "start": m.start(), "end": m.end(), "score": 1.0} for m in ANY_WORD.finditer(text)]
        edits = [{"start": word["end"], "removed": "", "inserted": SIGN, "score": 1.0} for word in words]
        yield {"text": ANY_WORD.sub(lambda m: m.group() + SIGN, text), "edits": edits, "words": words}


def marking(after: dict[str, str]) -> Any:
    """A restorer that writes given marks after given words; the score is 0.9 where it writes one."""

    def restore(texts: Iterable[str], **options: Any) -> Iterator[dict[str, Any]]:
        for text in plain(texts):
            words, edits = [], []
            parts, done = [], 0
            for match in re.finditer(r"[\u4e00-\u9fff]|[^\W_\u4e00-\u9fff]+(?:['.][^\W_]+)*", text):
                mark = after.get(match.group(), after.get("*", ""))
                words.append({"word": match.group(), "start": match.start(), "end": match.end(), "mark": mark})
                words[-1]["score"] = 0.9 if mark else 0.6
                if mark:
                    edits.append({"start": match.end(), "removed": "", "inserted": mark, "score": 0.9})
                parts += [text[done : match.end()], mark]
                done = match.end()
            yield {"text": "".join([*parts, text[done:]]), "edits": edits, "words": words}

    return restore


def restored_source(name: str, after: dict[str, str], **options: Any) -> str:
    transcript, _ = read_bytes((RECORDED / name).read_bytes(), name=name)
    return restore_transcript(transcript, marking(after), **options).source()


def source_without_sentences(restored: RestoredTranscript) -> str:
    """The file with its marks alone."""
    if restored.transcript.document is None:
        return restored.source()
    return restored.transcript.document.written((each.edits, None) for each in restored.speeches)


class StandIn:
    """A pipeline that puts a period after every third word, and keeps the options of its calls."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []

    def __call__(self, items: Iterable[Any], **options: Any) -> Iterator[dict[str, Any]]:
        self.calls.append(options)
        for text in plain(items):
            words, edits, parts, done = [], [], [], 0
            for n, match in enumerate(ANY_WORD.finditer(text), start=1):
                mark = "." if n % 3 == 0 else ""
                words.append({"word": match.group(), "start": match.start(), "end": match.end(), "mark": mark})
                words[-1]["score"] = (0.95, 0.8, 0.4)[n // 3 % 3]
                if mark:
                    edits.append({"start": match.end(), "removed": "", "inserted": mark, "score": words[-1]["score"]})
                parts += [text[done : match.end()], mark]
                done = match.end()
            yield {"text": "".join([*parts, text[done:]]), "edits": edits, "words": words}
