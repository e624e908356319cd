"""Takes a transcript and a restorer, gives the transcript restored; plain text also piece by piece.

A restorer is any callable that takes an iterator of items (texts; with `pause`, `{"text", "chunks"}`) and gives, in
order, one `{"text": ..., "words": [{"start", "end", ...}, ...]}` for each;
`transformers.pipeline("punctuation-restoration")` is one. It knows nothing about formats.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .edits import Edit, SourceEdit, apply_to_source, apply_to_text, find_edits
from .sentences import Sentence, find_sentences
from .transcripts import Speech, Transcript
from .writing_json import sentence_list

Restorer = Callable[..., Iterable[Mapping[str, Any]]]
PLAIN_FORMATS = ("txt", "lines")
BLOCK_CHARACTERS = 40_000  # of a long text are restored at a time; some 8,000 English words
CONTEXT_CHARACTERS = 2_000  # are shown on both sides of a block, more than any window of the model reaches


@dataclass(frozen=True, slots=True)
class RestoredSpeech:
    """A speech, what changes in it, and its words as the restorer gave them (offsets in the original text)."""

    speech: Speech
    edits: list[Edit]
    words: list[dict[str, Any]]

    @property
    def text(self) -> str:
        return apply_to_text(self.speech.text, self.edits)

    @property
    def sentences(self) -> list[Sentence]:
        return find_sentences(self.speech, self.edits, self.words)


@dataclass(frozen=True, slots=True)
class RestoredTranscript:
    """A transcript and its restored speeches."""

    transcript: Transcript
    speeches: list[RestoredSpeech]

    def source(self, paint: Callable[[SourceEdit], str] | None = None, with_sentences: bool = True) -> str:
        """The file with its marks, in its own format, sentences added where the format has a place for them.

        `paint` may dress up each change, for a terminal.
        """
        additions = list(self._additions()) if with_sentences else []
        return apply_to_source(self.transcript, [speech.edits for speech in self.speeches], additions, paint)

    def _additions(self) -> Iterator[SourceEdit]:
        for restored in self.speeches:
            place = restored.speech.addition
            if place is not None:
                sentences = sentence_list(restored.sentences, ascii_only=self.transcript.escape == "json")
                yield SourceEdit(place.start, place.end, place.lead + sentences)


@dataclass(frozen=True, slots=True)
class _Block:
    """`speech.text[start:end]` is decided here; `shown_from` to `shown_to` is what the restorer sees."""

    n_speech: int
    start: int
    end: int
    shown_from: int
    shown_to: int


def restore_transcript(
    transcript: Transcript,
    restore: Restorer,
    *,
    on_progress: Callable[[int], None] | None = None,
    block_characters: int = BLOCK_CHARACTERS,
    context_characters: int = CONTEXT_CHARACTERS,
    keep_words: bool = True,
    **options: Any,
) -> RestoredTranscript:
    """Restore all speeches of a transcript.

    Args:
        transcript: what a reader gave.
        restore: the restorer; it gets `options`. With an option `pause` it also gets the times.
        on_progress: called with the number of characters just done.
        block_characters, context_characters: a longer text is cut into overlapping blocks of this size, of which only
            the middle is kept, so that no mark depends on where the cut fell.
        keep_words: False spares their memory (0.4 kB a word) where neither words nor sentences are wanted; speeches
            that have a place for sentences keep them all the same.

    Raises:
        ValueError: the restorer changed words, or gave another number of results than it got texts.
    """
    speeches = [RestoredSpeech(speech, [], []) for speech in transcript.speeches]
    for block, result in _results(transcript, restore, block_characters, context_characters, options):
        restored = speeches[block.n_speech]
        words = _words(block, result)
        restored.edits.extend(_scored(_owned_edits(restored.speech, block, result), words))
        if keep_words or restored.speech.addition is not None:
            restored.words.extend(word for word in words if block.start <= word["start"] < block.end)
        if on_progress:
            on_progress(block.end - block.start)
    return RestoredTranscript(transcript, speeches)


def restored_pieces(
    transcript: Transcript,
    restore: Restorer,
    *,
    on_progress: Callable[[int], None] | None = None,
    block_characters: int = BLOCK_CHARACTERS,
    context_characters: int = CONTEXT_CHARACTERS,
    **options: Any,
) -> Iterator[str]:
    """What `restore_transcript(...).source()` gives, as it is restored: memory does not grow with the text.

    For plain text only, which is all one after another. The arguments are those of `restore_transcript`.

    Raises:
        ValueError: another format, or what `restore_transcript` raises.
    """
    if transcript.format not in PLAIN_FORMATS:
        raise ValueError(f"Expected plain text to restore piece by piece, got {transcript.format}.")
    source, done = transcript.source, 0
    for block, result in _results(transcript, restore, block_characters, context_characters, options):
        speech = transcript.speeches[block.n_speech]
        at = speech.tracks[0][0].source_start  # where the speech begins in the file
        parts: list[str] = []
        for edit in _owned_edits(speech, block, result):
            place = at + edit.start
            while edit.start == edit.end and not edit.opens and place > done and source[place - 1].isspace():
                place -= 1  # a mark stands behind a word
            parts += [source[done:place], edit.written]
            done = max(done, place, at + edit.end if edit.end > edit.start else 0)
        parts.append(source[done : at + block.end])
        done = max(done, at + block.end)
        yield "".join(parts)
        if on_progress:
            on_progress(block.end - block.start)
    yield source[done:]


def _results(
    transcript: Transcript, restore: Restorer, size: int, context: int, options: Mapping[str, Any]
) -> Iterator[tuple[_Block, Mapping[str, Any]]]:
    """The blocks of all speeches, with what the restorer gives for each."""
    blocks = [
        block for n, speech in enumerate(transcript.speeches) for block in _plan_blocks(n, speech.text, size, context)
    ]
    items = (_item(transcript.speeches[block.n_speech], block, "pause" in options) for block in blocks)
    results = iter(restore(items, **options)) if blocks else iter(())
    for block in blocks:
        result = next(results, None)
        if result is None:
            raise ValueError(f"Expected one result a text, got fewer than {len(blocks)}. Is the restorer right?")
        yield block, result


def _item(speech: Speech, block: _Block, with_times: bool) -> str | dict[str, Any]:
    """What the restorer gets: the text, with times only where they are asked for and known."""
    text = speech.text[block.shown_from : block.shown_to]
    if not with_times or not speech.timings:
        return text
    chunks = [
        {"text": speech.text[timing.start : timing.end], "timestamp": (timing.begins, timing.ends)}
        for timing in sorted(speech.timings, key=lambda timing: timing.start)
        if block.shown_from <= timing.start and timing.end <= block.shown_to
    ]
    return {"text": text, "chunks": chunks}


def _plan_blocks(n_speech: int, text: str, size: int, context: int) -> Iterator[_Block]:
    """Cut after a blank where there is one nearby; Han text may have none, and is cut anywhere."""
    if not text.strip():
        return
    start = 0
    while start < len(text):
        end = len(text) if len(text) - start <= size + size // 4 else _cut(text, start + size, size // 4)
        shown_from = _cut(text, start - context, context // 2) if start > context else 0
        shown_to = _cut(text, end + context, context // 2) if end + context < len(text) else len(text)
        yield _Block(n_speech, start, end, shown_from, shown_to)
        start = end


def _cut(text: str, near: int, reach: int) -> int:
    """The place just behind the last blank among the `reach` characters before `near`, or `near`."""
    for place in range(near, max(0, near - reach), -1):
        if text[place - 1].isspace():
            return place
    return near


def _owned_edits(speech: Speech, block: _Block, result: Mapping[str, Any]) -> Iterator[Edit]:
    """What a block decides, with offsets in the speech; what it only saw is decided by its neighbours."""
    for edit in find_edits(speech.text[block.shown_from : block.shown_to], result["text"]):
        moved = replace(edit, start=edit.start + block.shown_from, end=edit.end + block.shown_from)
        if block.start <= _owner_place(moved) < block.end:
            yield moved


def _words(block: _Block, result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The words that a block saw, with offsets in the speech."""
    by = block.shown_from
    return [{**word, "start": word["start"] + by, "end": word["end"] + by} for word in result.get("words") or ()]


def _owner_place(edit: Edit) -> int:
    """The character that decides which block an edit belongs to: a mark belongs to what stands before it."""
    return edit.start if edit.opens or edit.end > edit.start else max(0, edit.start - 1)


def _scored(edits: Iterable[Edit], words: Sequence[Mapping[str, Any]]) -> Iterator[Edit]:
    """Edits with how sure the model was: the score of the word to which a mark belongs."""
    n = 0
    for edit in edits:
        while n + 1 < len(words) and words[n + 1]["end"] <= edit.start:
            n += 1
        is_next = edit.opens and n + 1 < len(words) and words[n]["end"] <= edit.start
        word = words[n + 1 if is_next else n] if words else {}
        yield replace(edit, score=word.get("score"))
