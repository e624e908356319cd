"""Which windows a training step sees: a pure function of the seed and the step.

Nothing is remembered between steps: a run resumes from its step number, and processes divide the rows of a step.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from punctuation_restoration.data.recipe import Sampling
from punctuation_restoration.data.shards import Words, WordStream, joined
from punctuation_restoration.pipeline.conventions import SENTENCE_ENDS

SEARCH_WORDS = 120  # the next sentence start is looked for within this many words
UTTERANCE_DRAWS = 4096  # utterances drawn for a step; those of similar length are used
UTTERANCE_SPREAD = 0.85  # no utterance of a step is shorter than this share of the longest
QUESTION_WORDS = (
    40  # longer sentences that end with a question mark are mostly two sentences run together
)


@dataclass(frozen=True, slots=True)
class CutWindow:
    """A window before its slots are made."""

    words: Words
    seed: tuple[
        int, ...
    ] = ()  # seeds all later random draws for this window; without it nothing is drawn
    is_over: bool = True  # whether the text ends here, with a whole sentence; else it goes on


@dataclass(frozen=True, slots=True)
class StepPlan:
    """Where the windows of one step come from: one row a window, all processes together."""

    step: int
    length: int  # pieces of every window at most, `<s>` and `</s>` included
    stream_ids: np.ndarray  # (n_windows,)
    utterances: np.ndarray | None = (
        None  # (n_windows, 2) first and end word, where windows are utterances
    )

    def __len__(self) -> int:
        return len(self.stream_ids)


@dataclass
class WindowSampler:
    """Draws the windows of each step."""

    index: Mapping[str, Any]  # of prepared data, from `data.shards.read_index`
    sampling: Sampling
    pieces_per_step: int  # all processes and accumulated batches together
    stop_ids: Sequence[int]  # label ids that end a sentence
    seed: int  # of the whole run
    # Weight of each source by name, times its number of words; sources left out keep the index's.
    weights: Mapping[str, float] | None = None
    n_steps: int = 1  # planned for the whole run, for `max_passes`
    # A model's probabilities of the labels of a shard's words, (n_words, M) uint8.
    teacher_labels: Callable[[Path], np.ndarray] | None = None

    def __post_init__(self) -> None:
        self.streams: list[WordStream] = []
        shares: list[float] = []
        # Sorted by language: systematic sampling then gives each language its share in every step.
        for row in sorted(self.index["sources"], key=lambda row: row["language"]):
            weight = (self.weights or {}).get(row["name"], row["weight"])
            for shard in row["splits"]["train"]["shards"]:
                teacher_labels = (
                    self.teacher_labels(Path(shard["file"])) if self.teacher_labels else None
                )
                self.streams.append(WordStream(shard["file"], row["language"], teacher_labels))
                shares.append(weight * shard["n_words"])
        languages = [stream.language for stream in self.streams]
        self.probabilities = stream_probabilities(np.array(shares), languages, self.sampling)
        if self.sampling.max_passes:
            planned = self.n_steps * self.pieces_per_step
            n_pieces = np.array([len(stream.piece_ids) for stream in self.streams])
            limits = self.sampling.max_passes * n_pieces / planned
            self.probabilities = bounded(self.probabilities, limits, languages)
        self._edges = np.cumsum(self.probabilities)
        self._sentences = cache(
            lambda stream_id: sentence_borders(self.streams[stream_id], self.stop_ids)
        )
        are_asked = any(self.sampling.questions.values())
        self._questions = (
            find_questions(self.streams, self.stop_ids, self.index["labels"]) if are_asked else {}
        )

    def plan(self, step: int) -> StepPlan:
        """The length and the sources of a step's windows."""
        generator = np.random.default_rng((self.seed, step))
        length = int(_draw(self.sampling.lengths, generator))
        if generator.random() < self.sampling.utterances:
            return self._utterance_plan(step, generator)
        return StepPlan(
            step, length, self._draw_streams(max(1, self.pieces_per_step // length), generator)
        )

    def cut(self, plan: StepPlan, row: int) -> CutWindow:
        """Cut window `row` of a step out of its stream: as many words as fit its length, without a break."""
        stream = self.streams[plan.stream_ids[row]]
        seed = (self.seed, plan.step, row)
        generator = np.random.default_rng(seed)
        room = plan.length - 2  # <s> and </s>
        if plan.utterances is not None:
            first, end = plan.utterances[row].tolist()
            words, is_over = stream.words(first, end - first), True
        else:
            words, is_over = self._place(stream, room, generator)
            if self._questions and generator.random() < self.sampling.questions.get(
                stream.language, 0.0
            ):
                words = self._with_question(words, room, stream.language, generator)
        words = self._fit(words, room, is_over)
        is_over = is_over and bool(np.isin(words.labels[-1], self.stop_ids))
        return CutWindow(words, (*seed, 1), is_over)

    def _utterance_plan(self, step: int, generator: np.random.Generator) -> StepPlan:
        """Utterances of similar length, so that little is padded: one that is drawn sets the length.

        Long ones are drawn for this more often, as fewer of them fit into a step: all are as likely over many steps.
        """
        longest = max(self.sampling.lengths)
        n_draws = max(UTTERANCE_DRAWS, 2 * self.pieces_per_step)  # enough alike to fill the step
        stream_ids = self._draw_streams(n_draws, generator)
        n_stops = _draw(self.sampling.stops, generator, n_draws)
        firsts, ends, lengths = np.zeros((3, n_draws), dtype=np.int64)
        for stream_id in np.unique(stream_ids):
            own, words = stream_ids == stream_id, self._sentences(stream_id)
            pieces = self.streams[stream_id].offsets[words].astype(np.int64)  # before each sentence
            places = generator.integers(max(len(pieces) - 1, 1), size=int(own.sum()))
            fitting = pieces.searchsorted(pieces[places] + longest - 2, side="right") - 1
            stops = np.minimum(np.minimum(places + n_stops[own], fitting), len(pieces) - 1)
            firsts[own], ends[own] = words[places], words[stops]
            lengths[own] = np.where(stops > places, pieces[stops] - pieces[places] + 2, 0)
        if not lengths.any():  # no sentence fits: windows as in any other step
            return StepPlan(step, longest, stream_ids[: max(1, self.pieces_per_step // longest)])
        high = generator.choice(lengths, p=lengths / lengths.sum())
        alike = np.flatnonzero((lengths >= UTTERANCE_SPREAD * high) & (lengths <= high))
        rows = alike[: max(1, self.pieces_per_step // int(high))]
        return StepPlan(
            step, longest, stream_ids[rows], np.stack([firsts[rows], ends[rows]], axis=1)
        )

    def _draw_streams(self, n_windows: int, generator: np.random.Generator) -> np.ndarray:
        """Systematic sampling: one draw in each of n equal strata of the streams' probabilities."""
        places = (np.arange(n_windows) + generator.random(n_windows)) / n_windows
        stream_ids = np.minimum(
            self._edges.searchsorted(places * self._edges[-1]), len(self.streams) - 1
        )
        return generator.permutation(stream_ids)

    def _place(
        self, stream: WordStream, room: int, generator: np.random.Generator
    ) -> tuple[Words, bool]:
        """Words from a drawn place on, at least as many as fit, or up to one, and then True: a text ends there."""
        share = self.sampling
        shares = (
            share.document_starts,
            share.document_ends,
            share.sentence_ends,
            share.sentence_starts,
        )
        kind = np.cumsum(shares).searchsorted(generator.random(), side="right")
        if kind < 2:
            first, end = stream.borders[generator.integers(len(stream.borders))]
        else:
            first = end = int(generator.integers(stream.n_words))
        if kind in (2, 3):
            first = end = self._sentence_start(stream, first)
        if kind not in (1, 2):
            return stream.words(first, min(room, stream.n_words)), False
        end = end or stream.n_words
        n_words = max(self._n_fitting(stream.piece_counts[max(0, end - room) : end][::-1], room), 1)
        return stream.words(end - n_words, n_words), True

    def _sentence_start(self, stream: WordStream, first: int) -> int:
        """The first word after the next stop, if there is one nearby."""
        stops = np.flatnonzero(np.isin(stream.labels[first : first + SEARCH_WORDS], self.stop_ids))
        return (first + int(stops[0]) + 1) % stream.n_words if len(stops) else first

    def _n_fitting(self, piece_counts: np.ndarray, room: int) -> int:
        """How many words, from the first on, fit into `room` pieces."""
        return int(np.cumsum(piece_counts, dtype=np.int64).searchsorted(room, side="right"))

    def _with_question(
        self, words: Words, room: int, language: str, generator: np.random.Generator
    ) -> Words:
        """The words with a question of a language put in after one of their sentences, if there is one and it fits."""
        questions = self._questions.get(language, ())
        if not len(questions):
            return words
        stream_id, first, end = questions[int(generator.integers(len(questions)))].tolist()
        question = self.streams[stream_id].words(first, end - first)
        room -= len(question.piece_ids)  # it must fit as a whole
        stops = np.isin(
            words.labels[: self._n_fitting(words.piece_counts, room)], self.stop_ids
        ).nonzero()[0]
        if not len(stops):
            return words
        before, after = words.parted(int(stops[generator.integers(len(stops))]) + 1)
        return joined(before, question, after)

    def _fit(self, words: Words, room: int, keeps_end: bool) -> Words:
        """As many of the first or last words as fit. If not even the first fits, it is cut."""
        if keeps_end and (n_words := self._n_fitting(words.piece_counts[::-1], room)):
            return words.parted(len(words.labels) - n_words)[1]
        if n_words := self._n_fitting(words.piece_counts, room):
            return words.parted(n_words)[0]
        first = words.parted(1)[0]
        return first._replace(
            piece_ids=first.piece_ids[:room], piece_counts=np.array([room], dtype=np.uint8)
        )


def stream_probabilities(
    weighted_words: np.ndarray, languages: Sequence[str], sampling: Sampling
) -> np.ndarray:
    """How often each stream is drawn, (n_streams,), from its number of words times the weight of its source.

    Of a language they are added up and taken to the power 1 / temperature, times its weight (Conneau et al. 2020).
    """
    probabilities = np.zeros(len(weighted_words))
    names = np.array(languages)
    for language in sorted(set(languages)):
        own = names == language
        total = weighted_words[own].sum()
        if total > 0:
            share = total ** (1 / sampling.temperature) * sampling.language_weights.get(
                language, 1.0
            )
            probabilities[own] = share * weighted_words[own] / total
    if not probabilities.sum() > 0:
        raise ValueError(
            "Expected training words with a weight above 0, got none. Check the weights in the recipe."
        )
    return probabilities / probabilities.sum()


def bounded(probabilities: np.ndarray, limits: np.ndarray, languages: Sequence[str]) -> np.ndarray:
    """The probabilities of streams, (n_streams,), none of them above its limit.

    What one loses goes to the other streams of its language in proportion, or, where these are at their limits too, to
    those of all languages. A `ValueError` if the limits leave no room.
    """
    names, found = np.array(languages), probabilities.copy()
    if (room := limits[found > 0].sum()) < 1:
        raise ValueError(
            f"Expected text for all steps of the run, max_passes allows {room:.0%} of them. Lower max_steps, raise "
            "max_passes, or prepare more text."
        )
    while (
        is_above := found > limits * (1 + 1e-9)
    ).any():  # each round leaves one more at its limit
        in_language = names == names[is_above][0]
        is_above &= in_language
        excess = (found - limits)[is_above].sum()
        found[is_above] = limits[is_above]
        free = np.where(found < limits, found, 0.0)
        if free[in_language].any():
            free = np.where(in_language, free, 0.0)
        found += excess * free / free.sum()
    return found


def _draw(
    shares: Mapping[int, float], generator: np.random.Generator, size: int | None = None
) -> Any:
    """Values drawn by their shares: one, or an array of `size`."""
    values = sorted(shares)
    weights = np.array([shares[value] for value in values])
    return generator.choice(values, size, p=weights / weights.sum())


def sentence_borders(stream: WordStream, stop_ids: Sequence[int]) -> np.ndarray:
    """The first word of each sentence, and the end of the last one that has a stop, (n_sentences + 1,)."""
    return np.concatenate([[0], np.isin(stream.labels, stop_ids).nonzero()[0] + 1])


def find_questions(
    streams: Sequence[WordStream], stop_ids: Sequence[int], labels: Sequence[Mapping[str, str]]
) -> dict[str, np.ndarray]:
    """Language -> its questions, (n_questions, 3): stream, first word, end word.

    They are added where a source has few, as the MLM-Punct paper does for Malay; without a label of theirs, none.
    """
    question_ids = [n for n in stop_ids if "?" in map(SENTENCE_ENDS.get, labels[n]["after"])]
    found: dict[str, list[np.ndarray]] = {}
    for stream_id, stream in enumerate(streams):
        borders = sentence_borders(stream, stop_ids)
        starts, ends = borders[:-1], borders[1:]
        is_question = (ends - starts <= QUESTION_WORDS) & np.isin(
            stream.labels[ends - 1], question_ids
        )
        rows = np.stack([np.full(len(ends), stream_id), starts, ends], axis=1)[is_question]
        found.setdefault(stream.language, []).append(rows)
    return {language: np.concatenate(parts) for language, parts in found.items()}
