"""Which windows a training step sees: a pure function of the seed and the step.

Nothing is remembered between steps: a run resumes from its step number, and processes divide the rows of a step.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from punctuation_restoration.data.recipe import Sampling
from punctuation_restoration.data.shards import Array, Index, Words, WordStream
from punctuation_restoration.data.teacher_labels import TeacherLabels
from punctuation_restoration.pipeline.conventions import stop_labels

# Where windows begin or end: the shares of a `Sampling`, by name. All others begin anywhere.
PLACES = ("document_starts", "document_ends", "sentence_ends", "sentence_starts")
SEARCH_WORDS = 120  # the next sentence start is looked for within this many words
UTTERANCE_DRAWS = 4096  # utterances drawn for a step; those of similar length are used
UTTERANCE_SPREAD = 0.85  # no utterance of a step is shorter than this share of the longest
Generator = np.random.Generator


class CutWindow(NamedTuple):
    """A window before its slots are made."""

    words: Words
    seed: tuple[int, ...] = ()  # of all later random draws for it; without a seed nothing is drawn
    is_over: bool = True  # whether the text ends here, with a whole sentence; else it goes on
    scored: slice = slice(None)  # the words that count; the others are context
    language: str = ""  # "" where nobody asks


@dataclass(frozen=True, slots=True)
class StepPlan:
    """Where the windows of one step come from: one row a window, all processes together."""

    step: int
    length: int  # pieces of every window at most, `<s>` and `</s>` included
    stream_ids: Array  # (n_windows,)
    utterances: Array | None = None  # (n_windows, 2) first and end word; None: any windows

    def __len__(self) -> int:
        return len(self.stream_ids)


@dataclass
class WindowSampler:
    """Draws the windows of each step."""

    index: Index  # of prepared data, from `data.shards.read_index`
    sampling: Sampling
    pieces_per_step: int  # all processes and accumulated batches together
    seed: int  # of the whole run
    n_steps: int = 1  # planned for the whole run, for `max_passes`
    teacher: TeacherLabels | None = None  # another model's probabilities of the labels

    def __post_init__(self) -> None:
        self.is_stop = np.array(stop_labels(self.index["labels"]))  # (M,)
        self.streams: list[WordStream] = []
        weighted_words = []
        of_stream = []  # its language
        # Sorted by language: systematic sampling then gives each language its share in every step.
        for row in sorted(self.index["sources"], key=itemgetter("language")):
            for shard in row["splits"]["train"]["shards"]:
                stream = WordStream(shard["file"])
                if self.teacher:
                    taught = self.teacher.of_shard(stream)
                    stream.all = stream.all._replace(teacher_labels=taught)
                self.streams.append(stream)
                weighted_words.append(row["weight"] * shard["n_words"])
                of_stream.append(row["language"])
        languages = np.array(of_stream)
        self.probabilities = stream_probabilities(
            np.array(weighted_words), languages, self.sampling
        )
        if self.sampling.max_passes:
            n_pieces = np.array([stream.offsets[-1] for stream in self.streams])
            limits = self.sampling.max_passes * n_pieces / (self.n_steps * self.pieces_per_step)
            self.probabilities = bounded(self.probabilities, limits, languages)
        self._edges = np.cumsum(self.probabilities)
        # The first word of each sentence, and the end of the last one that has a stop, (n_sentences + 1,).
        stops = [np.flatnonzero(self.is_stop[stream.all.labels]) for stream in self.streams]
        self._sentences = [np.append(0, indices + 1) for indices in stops]

    def plan(self, step: int) -> StepPlan:
        """The length and the sources of a step's windows."""
        generator = np.random.default_rng((self.seed, step))
        length = _draw(self.sampling.lengths, generator)
        if generator.random() < self.sampling.utterances:
            return self._utterance_plan(step, generator)
        n_windows = max(1, self.pieces_per_step // length)
        return StepPlan(step, length, self._draw_streams(n_windows, generator))

    def cut(self, plan: StepPlan, row: int) -> CutWindow:
        """Cut window `row` of a step out of its stream: as many words as fit its length, without a break."""
        stream = self.streams[plan.stream_ids[row]]
        seed = (self.seed, plan.step, row)
        room = plan.length - 2  # <s> and </s>
        if plan.utterances is None:
            first, end, is_over = self._drawn_span(stream, room, np.random.default_rng(seed))
        else:
            (first, end), is_over = plan.utterances[row].tolist(), True
        words = _fitted(stream, first, end, room, is_over)
        ends_sentence = self.is_stop[words.labels[-1]]
        return CutWindow(words, (*seed, 1), is_over and ends_sentence)

    def _utterance_plan(self, step: int, generator: Generator) -> StepPlan:
        """Utterances of similar length, so that little is padded: one that is drawn sets the length.

        Long ones are drawn for this more often, as fewer of them fit into a step: all are as likely over many steps.
        """
        longest = max(self.sampling.lengths)
        n_draws = max(UTTERANCE_DRAWS, 2 * self.pieces_per_step)  # enough alike to fill the step
        stream_ids = self._draw_streams(n_draws, generator)
        n_stops = _draw(self.sampling.stops, generator, n_draws)
        utterances = np.zeros((n_draws, 2), dtype=np.int64)
        lengths = np.zeros(n_draws, dtype=np.int64)  # in pieces; 0 where no sentence fits
        for stream_id in np.unique(stream_ids):
            rows, borders = np.flatnonzero(stream_ids == stream_id), self._sentences[stream_id]
            pieces = self.streams[stream_id].offsets[borders].astype(np.int64)
            starts = generator.integers(max(len(borders) - 1, 1), size=len(rows))
            fitting = pieces.searchsorted(pieces[starts] + longest - 2, side="right") - 1
            ends = np.minimum(starts + n_stops[rows], fitting)
            utterances[rows] = borders[np.stack([starts, ends], axis=1)]
            lengths[rows] = np.where(ends > starts, pieces[ends] - pieces[starts] + 2, 0)
        if not lengths.any():  # no sentence fits: windows as in any other step
            return StepPlan(step, longest, stream_ids[: max(1, self.pieces_per_step // longest)])
        high = generator.choice(lengths, p=lengths / lengths.sum())
        alike = np.flatnonzero((lengths >= UTTERANCE_SPREAD * high) & (lengths <= high))
        rows = alike[: max(1, self.pieces_per_step // high)]
        return StepPlan(step, longest, stream_ids[rows], utterances[rows])

    def _draw_streams(self, n_windows: int, generator: Generator) -> Array:
        """Systematic sampling: one draw in each of n equal strata of the streams' probabilities."""
        strata = (np.arange(n_windows) + generator.random(n_windows)) / n_windows
        return generator.permutation(self._edges.searchsorted(strata * self._edges[-1]))

    def _drawn_span(
        self, stream: WordStream, room: int, generator: Generator
    ) -> tuple[int, int, bool]:
        """First word and end of at least as many words as fit, and whether the last ones of them count."""
        shares = [getattr(self.sampling, place) for place in PLACES]
        drawn = np.cumsum(shares).searchsorted(generator.random(), side="right")
        place = (*PLACES, "anywhere")[drawn]
        if place in ("document_starts", "document_ends"):
            first, end = stream.borders[generator.integers(len(stream.borders))]
        else:
            first = generator.integers(stream.n_words)
            if place != "anywhere":  # the first word after the next stop, if there is one nearby
                nearby = stream.all.labels[first : first + SEARCH_WORDS]
                stops = np.flatnonzero(self.is_stop[nearby])
                first = (first + stops[0] + 1) % stream.n_words if len(stops) else first
            end = first or stream.n_words
        if place in ("document_ends", "sentence_ends"):
            return max(0, end - room), end, True
        return first, first + room, False


def stream_probabilities(weighted_words: Array, languages: Array, sampling: Sampling) -> Array:
    """How often each stream is drawn, (n_streams,), from its number of words times the weight of its source.

    Of a language they are added up and taken to the power 1 / temperature, times its weight (Conneau et al. 2020).
    """
    names, kinds = np.unique(languages, return_inverse=True)
    totals = np.bincount(kinds, weighted_words)
    weights = [sampling.language_weights.get(name, 1.0) for name in names.tolist()]
    shares = totals ** (1 / sampling.temperature) * weights
    probabilities = shares[kinds] * weighted_words / np.maximum(totals[kinds], np.finfo(float).tiny)
    if not probabilities.sum() > 0:
        raise ValueError(
            "Expected training words with a weight above 0, got none. Check the weights in the recipe."
        )
    return probabilities / probabilities.sum()


def bounded(probabilities: Array, limits: Array, languages: Array) -> Array:
    """The probabilities of streams, (n_streams,), none of them above its limit.

    What a stream loses goes to the others of its language, in proportion; where these are at their limits too, to those
    of all languages.

    Raises:
        ValueError: if the limits leave no room.
    """
    if (room := limits.sum()) < 1:
        raise ValueError(
            f"Expected text for all steps of the run, max_passes allows {room:.0%} of them. Lower max_steps, raise "
            "max_passes, or prepare more text."
        )
    probabilities = probabilities.copy()
    is_full = np.zeros(len(limits), dtype=bool)
    while (is_above := probabilities > limits + 1e-12).any():
        excess = np.where(is_above, probabilities - limits, 0.0)
        probabilities -= excess
        is_full |= is_above
        free = np.where(is_full, 0.0, probabilities)
        for language in np.unique(languages[is_above]):
            is_own = languages == language
            takers = free * is_own if (free * is_own).any() else free
            probabilities += excess[is_own].sum() * takers / takers.sum()
    return probabilities


def _draw(shares: Mapping[int, float], generator: Generator, size: int | None = None) -> Any:
    """Values drawn by their shares: one, or an array of `size`."""
    values = sorted(shares)
    weights = np.array([shares[value] for value in values])
    return generator.choice(values, size, p=weights / weights.sum())


def _fitted(stream: WordStream, first: int, end: int, room: int, keeps_end: bool) -> Words:
    """As many of the first or last words as fit into `room` pieces; one at least, which is cut."""
    n_words = min(end - first, stream.n_words)
    counts = stream.all.piece_counts.take(np.arange(first, first + n_words), mode="wrap")
    sizes = np.cumsum(counts[::-1] if keeps_end else counts, dtype=np.int64)
    n_fitting = max(1, int(sizes.searchsorted(room, side="right")))
    words = stream.words(end - n_fitting if keeps_end else first, n_fitting)
    counts = np.minimum(words.piece_counts, np.int64(room)).astype(np.uint8)
    return words._replace(piece_ids=words.piece_ids[:room], piece_counts=counts)
