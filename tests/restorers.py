"""Stand-ins for the model, which know no language, and the recorded transcripts that tests restore with them."""

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings

from punctuation_restoration.pipeline.edits import edited
from punctuation_restoration.pipeline.items import read_item
from punctuation_restoration.transcripts import RestoredTranscript, read_bytes, restore_file

SIGN = "‡"  # stands for a mark; it occurs nowhere else
ANY_WORD = re.compile(r"[\u4e00-\u9fff]|[^\W_\u4e00-\u9fff]+(?:['.][^\W_\u4e00-\u9fff]+)*")
RECORDED = Path(__file__).resolve().parents[1] / "examples" / "inputs"
Command = Callable[..., tuple[int, bytes, str]]  # `punctuate`: its exit code, output and messages
patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # of properties of whole files


class StandIn:
    """A restorer that writes the mark which `mark_of` gives for a word's number and letters, and keeps its options."""

    def __init__(self, mark_of: Callable[[int, str], str]) -> None:
        self.mark_of, self.calls = mark_of, list[dict[str, Any]]()

    def __call__(self, items: Iterable[Any], **options: Any) -> Iterator[dict[str, Any]]:
        self.calls.append(options)
        for item in items:
            text = read_item(item).text
            words: list[dict[str, Any]] = []
            for n, match in enumerate(ANY_WORD.finditer(text), start=1):
                words.append({"word": match.group(), "start": match.start(), "end": match.end()})
                words[-1] |= {"mark": self.mark_of(n, match.group()), "score": 0.8, "label": "", "source": "model"}
            edits: Any = [
                {"start": one["end"], "removed": "", "inserted": one["mark"], "source": "model"}
                for one in words
                if one["mark"]
            ]
            yield {"text": edited(text, edits), "edits": edits, "words": words}


def without_marks(text: str) -> str:
    return re.sub("[,.?，。？]", "", text)


def marking(after: dict[str, str]) -> StandIn:
    """A restorer that writes given marks after given words; that of "*" after all others."""
    return StandIn(lambda n, word: after.get(word, after.get("*", "")))


mark_everything = marking({"*": SIGN})  # the most that a restorer could do


def srt(*texts: str) -> str:
    return "\n".join(f"{n}\n00:00:{n:02},000 --> 00:00:{n:02},900\n{text}\n" for n, text in enumerate(texts, start=1))


def restored_source(name: str, after: dict[str, str], **options: Any) -> str:
    transcript, _ = read_bytes((RECORDED / name).read_bytes(), name=name)
    return restore_file(marking(after), transcript, **options).source()


def marks_alone(restored: RestoredTranscript) -> str:
    """The file with its marks alone."""
    if restored.transcript.document is None:
        return restored.source()
    return restored.transcript.document.written((each.edits, None) for each in restored.speeches)


def write_texts(**files: str) -> None:
    """Files `name.txt` in the working folder."""
    for name, text in files.items():
        Path(f"{name}.txt").write_text(text, encoding="utf-8")
