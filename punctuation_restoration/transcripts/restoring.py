"""Takes a transcript and a restorer, gives the transcript restored, with its sentences.

Sentences are those of `pipeline.edits.sentence_ranges`. It knows nothing about formats, and leaves to the restorer how
a long text is cut.
"""

import functools
import itertools
import logging
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from ..pipeline.edits import Edit, edited, edited_between, sentence_ranges
from ..pipeline.items import Item
from ..pipeline.unspoken import with_signs_read
from ..pipeline.words import before_openers
from .file_text import Transcript
from .layouts import Keys
from .recognisers import Told, each_of, read_transcripts, restored_value
from .speech import UNSPACED_SIGNS, Speech, Times, spliced

LONG = 1_000_000  # characters in one call; a longer text is a stream, which marks it likewise
logger = logging.getLogger(__name__)
# After a blank: an ellipsis or another sign that touches the next word, or the dash of who speaks next.
_BEFORE_WORD = re.compile(r"(?<=\s)(?:(?:\.\.|[^\s,.?!;:])\S*|[-–—]+\s+)\Z")
_HAN_LINE_END = re.compile(rf"(?<=[{UNSPACED_SIGNS}])[^\S\n]*+\n\s*+(?=[{UNSPACED_SIGNS}])")


# What restores texts, as `transformers.pipeline("punctuation-restoration")` does: called with `Item`s and options, it
# gives `{"text", "edits", "words"}` for each. Only for long texts it is asked for `stream_results(texts, **options)`,
# which gives the same of one text in parts, with offsets in the whole.
Restorer = Any
Row = dict[str, Any]  # of JSON


@dataclass(frozen=True, slots=True)
class Sentence:
    """A restored sentence."""

    text: str
    begins: float | None  # seconds; None where the file has no times
    ends: float | None
    speaker: str | None  # who says it, where the file has a name
    lead: str  # `MARY: ` or `- ` where another speaker begins
    words: range  # indices of its words

    def row(self) -> Row:
        """As JSON has it: start and end in seconds, and a speaker, where the file has them."""
        row = {
            "start": self.begins,
            "end": self.ends,
            "text": self.text,
            "speaker": self.speaker,
        }
        return {name: value for name, value in row.items() if value is not None}


class Clock:
    """Says when a part of the speech was said, from what the file tells.

    What has a start alone ends where the next one begins. Inside a cue or segment, whose words have no times of their
    own, time is shared out evenly over the letters, so that marks change no time.
    """

    def __init__(self, speech: Speech) -> None:
        self._n_before = [0, *itertools.accumulate(map(str.isalnum, speech.text))]  # letters
        self.timings: list[tuple[int, int, float, float]] = []  # from letter to letter, seconds
        for span, following in itertools.zip_longest(speech.spans, speech.spans[1:]):
            begins, ends = span.time
            if ends is None:
                ends = following.time[0] if following else begins
            first, last = self._n_before[span.start], self._n_before[span.end]
            if begins is not None and ends is not None and first < last:
                self.timings.append((first, last, begins, ends))

    def between(self, start: int, end: int) -> Times:
        """Seconds at which text[start:end] begins and ends; words without times take those of their neighbours."""
        if not self.timings:
            return None, None
        n_begin, n_end = self._n_before[start], self._n_before[end]
        first = bisect_right(self.timings, n_begin, key=itemgetter(1))
        last = bisect_left(self.timings, n_end, key=itemgetter(0)) - 1
        begins, ends = sorted((self._at(first, n_begin), self._at(last, n_end)))
        return begins, ends

    def _at(self, index: int, n_letters: int) -> float:
        first, last, begins, ends = self.timings[min(max(0, index), len(self.timings) - 1)]
        share = (min(max(first, n_letters), last) - first) / (last - first)
        return round(begins + share * (ends - begins), 3)


@dataclass(frozen=True)
class RestoredSpeech:
    """A speech, its edits and its words as the restorer gave them, with offsets in the original text."""

    speech: Speech
    edits: list[Edit]
    words: list[Mapping[str, Any]]
    stops: Container[str] = ()  # names of the labels that end a sentence

    @property
    def text(self) -> str:
        return edited(self.speech.text, self.edits)

    @functools.cached_property
    def clock(self) -> Clock:
        return Clock(self.speech)

    @functools.cached_property
    def sentences(self) -> list[Sentence]:
        """Its sentences, in one line each. A text without words (signs, pictures) has none."""
        speech, words = self.speech, self.words
        introductions = dict.fromkeys(speech.turns, "- ")
        for offset, name in speech.speakers:
            introductions[offset] = f"{'speaker ' * name.isdigit()}{name}: ".upper()
        leads = {
            bisect_left(words, offset, key=itemgetter("start")): introduction
            for offset, introduction in introductions.items()
        }
        sentences = []
        for first, end in sentence_ranges(speech.text, self.edits, words, speech.turns, self.stops):
            start = words[first]["start"]
            n_before = bisect_right(speech.speakers, start, key=itemgetter(0))
            speaker = speech.speakers[n_before - 1][1] if n_before else None
            begins, ends = self.clock.between(start, words[end - 1]["end"])
            text = self.in_one_line(first, end).strip()
            sentences.append(
                Sentence(text, begins, ends, speaker, leads.get(first, ""), range(first, end))
            )
        return sentences

    @functools.cached_property
    def borders(self) -> list[int]:
        """Offsets between which each word stands, with the signs before it that belong to it."""
        text, turns = self.speech.text, self.speech.turns
        borders = [0]  # signs before the first word go with it
        for word, following in itertools.pairwise(self.words):
            turn = bisect_left(turns, word["end"])
            start = before_openers(text, word["end"], following["start"])
            sign = _BEFORE_WORD.search(text, word["end"], start)
            start = sign.start() if sign else start
            borders.append(min([start, *turns[turn : turn + 1]]))
        return [*borders, len(text)]

    def in_one_line(self, first: int, end: int) -> str:
        """These words restored; line ends between Han characters are left out, others become blanks."""
        text, stop = self.speech.text, self.borders[end]
        following = text[stop : stop + 1]
        restored = edited_between(text, self.edits, self.borders[first], stop)
        restored = _HAN_LINE_END.sub("", restored + following)
        return re.sub(r"\s+", " ", restored).removesuffix(following)


@dataclass(frozen=True, slots=True)
class RestoredTranscript:
    """A transcript and its restored speeches."""

    transcript: Transcript
    speeches: list[RestoredSpeech]

    def told(self) -> Told:
        """For each speech its edits, and its sentences where it has times."""
        for each in self.speeches:
            rows = [one.row() for one in each.sentences] if each.speech.spans else None
            yield each.edits, rows

    def source(self) -> str:
        """The file with its marks, in its own format, sentences added where JSON has times."""
        if self.transcript.document is not None:
            return self.transcript.document.written(self.told())
        changes = [one for each in self.speeches for one in each.speech.source_edits(each.edits)]
        return spliced(self.transcript.source, changes)


def restore_file(
    restore: Restorer, transcript: Transcript, *, keep_words: bool = True, **options: Any
) -> RestoredTranscript:
    """Restore all speeches of a transcript; the restorer gets `options`.

    Args:
        keep_words: False spares their memory (0.4 kB a word) where neither words nor sentences are wanted; JSON with
            times, which gets sentences, keeps them all the same.
        options: among them may be `on_progress`, which is called with the number of characters just done.
    """
    stops: Container[str] = getattr(restore, "stops", ())  # those of the pipeline
    speeches = [RestoredSpeech(speech, [], [], stops) for speech in transcript.speeches]
    for n, result in _restored(transcript.speeches, restore, **options):
        speeches[n].edits.extend(result["edits"])
        if keep_words or (transcript.document is not None and speeches[n].speech.spans):
            speeches[n].words.extend(result["words"])
    return RestoredTranscript(transcript, speeches)


def restored_parts(restore: Restorer, transcript: Transcript, **options: Any) -> Iterator[str]:
    """The parts of `restore_file(...).source()`, as they are restored.

    Memory does not grow with a plain text that has nothing in it but what is said; everything else is one part.
    """
    texts = [speech.text for speech in transcript.speeches]
    if transcript.format == "txt" and texts == [transcript.source]:
        for _, result in _restored(transcript.speeches, restore, **options):
            yield result["text"]
    else:
        yield restore_file(restore, transcript, keep_words=False, **options).source()


def restore_transcript(
    restore: Restorer, value: Any, *, keys: Keys | None = None, **options: Any
) -> Any:
    """What a recogniser gave, restored: the same shape, new, with marks in every copy of its text.

    A dictionary with times gets the key "sentences", as a file does.

    Args:
        value: a dictionary or an object, or a list, tuple or iterator of segments, of words or of transcripts
            (`docs/transcripts.md`).
        keys: names of the value's own keys that are not known: `{"text": "content", "speaker": "participant.name"}`,
            also "start" and "end".
        options: keywords of the pipeline.

    Raises:
        ValueError: what cannot be read, with its place; an object whose text cannot be written.
    """
    found = read_transcripts(value, keys)
    rows = each_of(found)
    for row in rows:
        for warning in row.warnings:
            logger.warning(warning)
    transcript = Transcript("", "json", [row.speech for row in rows])
    restored = restore_file(restore, transcript, **{**options, "return_words": True})
    return restored_value(found, restored.told())


def _restored(
    speeches: Sequence[Speech],
    restore: Restorer,
    on_progress: Callable[[int], None] | None = None,
    **options: Any,
) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """What the restorer gives for each speech, by its number: short ones fill batches, a long one comes in parts."""
    # What nobody says is out of these texts already.
    items = {
        n: Item(speech.text, turns=speech.turns, audible=with_signs_read(speech.text))
        for n, speech in enumerate(speeches)
        if speech.text.strip()
    }
    short = (item for item in items.values() if len(item.text) <= LONG)
    results = iter(restore(short, **options) if items else ())
    for n, item in items.items():
        parts = itertools.islice(results, 1)
        if len(item.text) > LONG:
            parts = restore.stream_results([item.text], turns=item.turns, **options)
        for part in parts:
            if on_progress:
                n_added = sum(len(one["inserted"]) - len(one["removed"]) for one in part["edits"])
                on_progress(len(part["text"]) - n_added)
            yield n, part
