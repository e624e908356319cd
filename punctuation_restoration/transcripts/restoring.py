"""Takes a transcript and a restorer, gives the transcript restored; plain text also part by part.

It knows nothing about formats, and leaves to the restorer how a long text is cut.
"""

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ..pipeline.edits import Edit, edited
from ..pipeline.speech import Speech
from .file_text import Transcript
from .timed_sentences import Clock, Sentence, find_sentences

LONG = 40_000  # characters; a longer text is restored as a stream, whose memory does not grow with it


class Restorer(Protocol):
    """What restores texts; `transformers.pipeline("punctuation-restoration")` is one."""

    def __call__(self, items: Iterable[Any], **options: Any) -> Iterable[Mapping[str, Any]]:
        """`{"text", "edits", "words"}` for each text, or `{"text", "turns", "spans"}` with what is known of it."""

    def stream_results(self, texts: Iterable[str], **options: Any) -> Iterable[Mapping[str, Any]]:
        """The same for one long text, in parts, with offsets in the whole; it is asked only for texts that are long."""


@dataclass(frozen=True)
class RestoredSpeech:
    """A speech, its edits and its words as the restorer gave them, with offsets in the original text."""

    speech: Speech
    edits: list[Edit]
    words: list[Mapping[str, Any]]

    @property
    def text(self) -> str:
        return edited(self.speech.text, self.edits)

    @functools.cached_property
    def clock(self) -> Clock:
        """When its parts were said."""
        return Clock(self.speech)

    @functools.cached_property
    def sentences(self) -> list[Sentence]:
        return find_sentences(self.speech, self.edits, self.words, self.clock)


@dataclass(frozen=True, slots=True)
class RestoredTranscript:
    """A transcript and its restored speeches."""

    transcript: Transcript
    speeches: list[RestoredSpeech]

    def source(self) -> str:
        """The file with its marks, in its own format, sentences added where JSON has times."""
        if self.transcript.document is not None:
            rows = [[one.row() for one in each.sentences] if each.speech.spans else [] for each in self.speeches]
            return str(self.transcript.document.written([each.edits for each in self.speeches], rows))
        source, parts, done = self.transcript.source, [], 0
        changes = [change for each in self.speeches for change in each.speech.source_edits(each.edits)]
        for start, end, written in changes:
            parts += [source[done:start], written]
            done = end
        return "".join([*parts, source[done:]])


def restore_transcript(
    transcript: Transcript, restore: Restorer, *, keep_words: bool = True, **options: Any
) -> RestoredTranscript:
    """Restore all speeches of a transcript; the restorer gets `options`, and with `pause` among them also the times.

    Args:
        keep_words: False spares their memory (0.4 kB a word) where neither words nor sentences are wanted; JSON with
            times, which gets sentences, keeps them all the same.
        options: among them may be `on_progress`, which is called with the number of characters just done.
    """
    speeches = [RestoredSpeech(speech, [], []) for speech in transcript.speeches]
    for n, result in _restored(transcript.speeches, restore, **options):
        speeches[n].edits.extend(result["edits"])
        if keep_words or (transcript.document is not None and speeches[n].speech.spans):
            speeches[n].words.extend(result["words"])
    return RestoredTranscript(transcript, speeches)


def restored_parts(transcript: Transcript, restore: Restorer, **options: Any) -> Iterator[str]:
    """What `restore_transcript(...).source()` gives of plain text, as it is restored: memory does not grow with it.

    Raises:
        ValueError: another format.
    """
    if not is_plain(transcript):
        raise ValueError(f"Expected plain text to restore part by part, got {transcript.format}.")
    yield "" if transcript.speeches else transcript.source
    for _, result in _restored(transcript.speeches, restore, **options):
        yield result["text"]


def is_plain(transcript: Transcript) -> bool:
    """Whether the file is its speech, and nothing else."""
    return transcript.format == "txt" and all(each.text == transcript.source for each in transcript.speeches)


def _restored(
    speeches: Sequence[Speech], restore: Restorer, on_progress: Callable[[int], None] | None = None, **options: Any
) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """What the restorer gives for each speech, by its number.

    Short speeches are restored together, so that batches are full; a long one comes in parts.
    """
    spoken = [n for n, speech in enumerate(speeches) if speech.text.strip()]
    for is_long, group in itertools.groupby(spoken, key=lambda n: len(speeches[n].text) > LONG):
        numbers = list(group)
        results: Iterable[tuple[int, Mapping[str, Any]]]
        if is_long:
            results = ((n, result) for n in numbers for result in _in_parts(speeches[n], restore, options))
        else:
            items = (_item(speeches[n], options) for n in numbers)
            results = zip(numbers, restore(items, **options), strict=True)
        for n, result in results:
            if on_progress:
                on_progress(len(result["text"]) - sum(len(e["inserted"]) - len(e["removed"]) for e in result["edits"]))
            yield n, result


def _in_parts(speech: Speech, restore: Restorer, options: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    condition = bool(options.get("truecase"))  # capitals depend on the marks before
    spans = speech.spans if "pause" in options else []
    return restore.stream_results([speech.text], spans=spans, turns=speech.turns, condition=condition, **options)


def _item(speech: Speech, options: Mapping[str, Any]) -> str | dict[str, Any]:
    """What the restorer gets: the text, with its changes of speaker, and its times where they are asked for."""
    spans = speech.spans if "pause" in options else []
    known = {name: value for name, value in (("spans", spans), ("turns", speech.turns)) if value}
    return {"text": speech.text, **known} if known else speech.text
