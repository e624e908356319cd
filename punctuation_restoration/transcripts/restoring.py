"""Takes a transcript and a restorer, gives the transcript restored; plain text also part by part.

It knows nothing about formats, and leaves to the restorer how a long text is cut.
"""

import heapq
import io
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Protocol

from ..pipeline.edits import Edit, edited
from ..pipeline.speech import SourceEdit, Speech, Transcript, in_track
from .timed_sentences import Sentence, find_sentences

PLAIN_FORMATS = ("txt", "lines")
LONG = 40_000  # characters; a longer text is restored as a stream, whose memory does not grow with it


class Restorer(Protocol):
    """What restores texts; `transformers.pipeline("punctuation-restoration")` is one."""

    def __call__(self, items: Iterable[Any], **options: Any) -> Iterable[Mapping[str, Any]]:
        """For each item one `{"text", "edits", "words"}`, in order.

        An item is a text, or `{"text", "turns"}` where speakers change; with `pause` also `"chunks"`.
        """

    def stream_results(self, texts: Iterable[str], **options: Any) -> Iterable[Mapping[str, Any]]:
        """The same for one long text, in parts, with offsets in the whole; it is asked only for texts that are long."""


@dataclass(frozen=True, slots=True)
class RestoredSpeech:
    """A speech, its edits and its words as the restorer gave them, with offsets in the original text."""

    speech: Speech
    edits: list[Edit]
    words: list[Mapping[str, Any]]

    @property
    def text(self) -> str:
        return edited(self.speech.text, self.edits)

    @property
    def sentences(self) -> list[Sentence]:
        return find_sentences(self.speech, self.edits, self.words)


@dataclass(frozen=True, slots=True)
class RestoredTranscript:
    """A transcript and its restored speeches."""

    transcript: Transcript
    speeches: list[RestoredSpeech]

    def source(self, paint: Callable[[SourceEdit], str] | None = None) -> str:
        """The file with its marks, in its own format, sentences added where the format has a place for them.

        `paint` may dress up each change, for a terminal.
        """
        source, is_ascii_json = self.transcript.source, self.transcript.is_ascii_json
        additions = []
        for restored in self.speeches:
            if place := restored.speech.addition:
                sentences = json.dumps([each.row() for each in restored.sentences], ensure_ascii=is_ascii_json)
                additions.append(SourceEdit(place.start, place.end, place.lead + sentences))
        # The marks are written into every copy of a speech.
        tracks = [in_track(track, restored.edits) for restored in self.speeches for track in restored.speech.tracks]
        written, done = io.StringIO(), 0
        for change in heapq.merge(additions, *tracks, key=itemgetter(0, 1)):
            written.write(source[done : change.start])
            if change.edit and is_ascii_json:
                change = change._replace(written=json.dumps(change.written)[1:-1])
            written.write(paint(change) if paint else change.written)
            done = max(done, change.end)
        written.write(source[done:])
        return written.getvalue()


def restore_transcript(
    transcript: Transcript, restore: Restorer, *, keep_words: bool = True, **options: Any
) -> RestoredTranscript:
    """Restore all speeches of a transcript; the restorer gets `options`, and with `pause` among them also the times.

    Args:
        keep_words: False spares their memory (0.4 kB a word) where neither words nor sentences are wanted; speeches
            that have a place for sentences keep them all the same.
        options: among them may be `on_progress`, which is called with the number of characters just done.

    Raises:
        ValueError: the restorer changed words, or gave another number of results than it got texts.
    """
    speeches = [RestoredSpeech(speech, [], []) for speech in transcript.speeches]
    for n, result in _restored(transcript.speeches, restore, **options):
        speeches[n].edits.extend(result["edits"])
        if keep_words or speeches[n].speech.addition is not None:
            speeches[n].words.extend(result["words"])
    return RestoredTranscript(transcript, speeches)


def restored_parts(transcript: Transcript, restore: Restorer, **options: Any) -> Iterator[str]:
    """What `restore_transcript(...).source()` gives, as it is restored: memory does not grow with the text.

    For plain text only, which is all one after another. The options are those of `restore_transcript`.

    Raises:
        ValueError: another format, or what `restore_transcript` raises.
    """
    if transcript.format not in PLAIN_FORMATS:
        raise ValueError(f"Expected plain text to restore part by part, got {transcript.format}.")
    done = 0
    for n, result in _restored(transcript.speeches, restore, **options):
        run = transcript.speeches[n].tracks[0][0]
        yield transcript.source[done : run.source_start] + result["text"]
        done = run.source_end
    yield transcript.source[done:]


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
            n_added = sum(_n_added(edit, speeches[n].text) for edit in result["edits"])
            if on_progress:
                on_progress(len(result["text"]) - n_added)
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


def _n_added(edit: Edit, text: str) -> int:
    """The number of characters that an edit adds; refuses one that changes a word."""
    removed, inserted = edit["removed"], edit["inserted"]
    is_word = any(sign.isalnum() for sign in removed + inserted)
    if not text.startswith(removed, edit["start"]) or (is_word and removed.lower() != inserted.lower()):
        raise ValueError(
            f"Expected edits of marks and capitals, got {inserted!r} for {removed!r} where the text has "
            f"{text[edit['start'] : edit['start'] + 20]!r}. A restorer must not change words."
        )
    return len(inserted) - len(removed)
