"""Takes a transcript and a restorer, gives the transcript restored; plain text also part by part.

It knows nothing about formats, and leaves to the restorer how a long text is cut.
"""

import functools
import heapq
import io
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Protocol

from ..pipeline.edits import Edit, edited
from ..pipeline.speech import Speech, Transcript, in_track
from .timed_sentences import Clock, Sentence, find_sentences

LONG = 40_000  # characters; a longer text is restored as a stream, whose memory does not grow with it


class Restorer(Protocol):
    """What restores texts; `transformers.pipeline("punctuation-restoration")` is one."""

    def __call__(self, items: Iterable[Any], **options: Any) -> Iterable[Mapping[str, Any]]:
        """For each item one `{"text", "edits", "words"}`, in order.

        An item is a text, or `{"text", "turns"}` where speakers change; with `pause` also `"chunks"`.
        """

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
        source = self.transcript.source
        # The marks are written into every copy of a speech.
        tracks = [in_track(track, restored.edits) for restored in self.speeches for track in restored.speech.tracks]
        written, done = io.StringIO(), 0
        for start, end, changed in heapq.merge(*tracks, key=itemgetter(0, 1)):
            written.write(source[done:start])
            written.write(changed)
            done = max(done, end)
        written.write(source[done:])
        return written.getvalue()


def restore_transcript(
    transcript: Transcript, restore: Restorer, *, keep_words: bool = True, **options: Any
) -> RestoredTranscript:
    """Restore all speeches of a transcript; the restorer gets `options`, and with `pause` among them also the times.

    Args:
        keep_words: False spares their memory (0.4 kB a word) where neither words nor sentences are wanted; JSON with
            times, which gets sentences, keeps them all the same.
        options: among them may be `on_progress`, which is called with the number of characters just done.

    Raises:
        ValueError: the restorer changed words, or gave another number of results than it got texts.
    """
    speeches = [RestoredSpeech(speech, [], []) for speech in transcript.speeches]
    for n, result in _restored(transcript.speeches, restore, **options):
        speeches[n].edits.extend(result["edits"])
        if keep_words or (transcript.document is not None and speeches[n].speech.spans):
            speeches[n].words.extend(result["words"])
    return RestoredTranscript(transcript, speeches)


def is_plain(transcript: Transcript) -> bool:
    """Whether the file is its speech, and nothing else."""
    runs = [run for speech in transcript.speeches for track in speech.tracks for run in track]
    return transcript.format == "txt" and len(runs) <= 1 and len(transcript.speeches) <= 1


def restored_parts(transcript: Transcript, restore: Restorer, **options: Any) -> Iterator[str]:
    """What `restore_transcript(...).source()` gives, as it is restored: memory does not grow with the text.

    For plain text only in which all is said. The options are those of `restore_transcript`.

    Raises:
        ValueError: another transcript, or what `restore_transcript` raises.
    """
    if not is_plain(transcript):
        raise ValueError(f"Expected plain text to restore part by part, got {transcript.format}.")
    run = next((run for speech in transcript.speeches for run in speech.tracks[0]), None)
    yield transcript.source[: run.source_start] if run else transcript.source
    for _, result in _restored(transcript.speeches, restore, **options):
        yield result["text"]
    yield transcript.source[run.source_end :] if run else ""


def _restored(
    speeches: Sequence[Speech], restore: Restorer, on_progress: Callable[[int], None] | None = None, **options: Any
) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """What the restorer gives for each speech, by its number, checked.

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
            for edit in result["edits"]:
                _check(edit, speeches[n].text)
            if on_progress:
                on_progress(len(result["text"]) - sum(len(e["inserted"]) - len(e["removed"]) for e in result["edits"]))
            yield n, result


def _in_parts(speech: Speech, restore: Restorer, options: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    condition = bool(options.get("truecase"))  # capitals depend on the marks before
    known = {"spans": speech.spans if "pause" in options else [], "turns": speech.turns, "condition": condition}
    return restore.stream_results([speech.text], **known, **options)


def _item(speech: Speech, options: Mapping[str, Any]) -> str | dict[str, Any]:
    """What the restorer gets: the text, with its changes of speaker, and its times where they are asked for."""
    spans = speech.spans if "pause" in options else []
    chunks = [{"text": speech.text[start:end], "timestamp": time} for start, end, time in spans]
    known = {name: value for name, value in (("chunks", chunks), ("turns", speech.turns)) if value}
    return {"text": speech.text, **known} if known else speech.text


def _check(edit: Edit, text: str) -> None:
    """Refuse an edit that changes a word."""
    removed, inserted = edit["removed"], edit["inserted"]
    is_word = any(sign.isalnum() for sign in removed + inserted)
    if not text.startswith(removed, edit["start"]) or (is_word and removed.lower() != inserted.lower()):
        raise ValueError(
            f"Expected edits of marks and capitals, got {inserted!r} for {removed!r} where the text has "
            f"{text[edit['start'] : edit['start'] + 20]!r}. A restorer must not change words."
        )
