"""Micro-F1 per language on held-out documents, and the temperature and thresholds with which a model scores best there.

Takes prepared validation shards, a model and its slot encoder. Windows are as the pipeline cuts them: every word is
decided once, and documents are never joined.

Training leaves a model too sure of its marks: one temperature mends most of that. A model that is unsure writes too few
marks: thresholds are moved one after the other as long as F1 grows. Found on a test, they make its score worthless.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import torch
from accelerate import PartialState
from accelerate.utils import gather_object

from punctuation_restoration.data.collation import WindowCollator
from punctuation_restoration.data.sampling import CutWindow
from punctuation_restoration.data.shards import (
    Array,
    Index,
    WordStream,
    check_same_words,
    joined,
    read_index,
)
from punctuation_restoration.modeling.modeling_punctuation import NOT_SCORED
from punctuation_restoration.pipeline.conventions import stop_labels
from punctuation_restoration.pipeline.decisions import calibrated, decode, make_choice
from punctuation_restoration.pipeline.items import join_words
from punctuation_restoration.pipeline.restoration_pipeline import PunctuationRestorationPipeline
from punctuation_restoration.pipeline.slots import SlotEncoder
from punctuation_restoration.pipeline.windows import batches_by_length, windows_of

BATCH_PIECES = 4096
N_SAMPLES = 24  # sentences, of which a run shows three before and after
LEAST_WORDS, MOST_WORDS = 4, 25  # of each
# Temperatures that are tried. Validation text tells no finer ones apart.
TEMPERATURES = np.geomspace(1 / 4, 4, 65).round(3)
# Thresholds that are tried. A higher one than a half would refuse a mark that is likelier than all others together.
GRID = tuple(round(0.2 + 0.025 * step, 3) for step in range(13))  # 0.2 to 0.5
N_ROUNDS = 3
# Of F1, 0 to 1. A smaller gain is chance: a threshold of 0.2 for questions gained 0.005 points on four validation sets,
# and made "boleh? saya tahu nama encik?" of the README's example.
LEAST_GAIN = 0.0005


Thresholds = Mapping[str, float]  # by label
Scores = dict[str, Any]  # what `scores_of` gives


class Reading(NamedTuple):
    """What a model says of n words."""

    languages: Array  # (n,) of str
    labels: Array  # (n,) true labels
    probabilities: Array  # (n, M)
    casings: Array  # (n, 2) true and chosen, -100 where the data or the model have none


@dataclass(eq=False, repr=False)
class Validation:
    """The validation windows of a run."""

    index: Index  # of prepared data, from `data.shards.read_index`
    slots: Any  # the `SlotEncoder` of the model
    words_per_language: int  # how many words of each language are taken

    def __post_init__(self) -> None:
        check_same_words(self.index, self.slots.config)
        self.n_words = 0  # that are scored
        self.windows: list[CutWindow] = []
        for language in self.index["languages"]:
            rows = [row for row in self.index["sources"] if row["language"] == language]
            splits = sorted(
                (row["splits"]["validation"] for row in rows), key=itemgetter("n_words")
            )
            # In equal shares; what a small source lacks is taken from larger ones.
            left = self.words_per_language
            for n_done, split in enumerate(splits):
                n_words = min(split["n_words"], left // (len(splits) - n_done))
                left -= n_words
                self.n_words += n_words
                for shard in split["shards"]:
                    stream = WordStream(shard["file"])
                    self.windows += source_windows(stream, self.slots, n_words, language)
                    n_words = max(0, n_words - shard["n_words"])

    def restored_samples(self, model: Any) -> list[str]:
        """The sample sentences as users get them from a model, which is then ready to serve, without dropout."""
        tokenizer = self.slots.tokenizer
        restore = PunctuationRestorationPipeline(model.eval(), tokenizer, device=model.device)
        sentences = sample_sentences(self.windows, self.slots)
        return [result["text"] for result in restore(sentences)]

    def read(self, model: Any) -> Reading | None:
        """What a model says of the words, all processes together; None without any.

        The model is then ready to serve, without dropout.
        """
        run = PartialState()
        batches = slice(run.process_index, None, run.num_processes)
        read = read_windows(model.eval(), self.slots, self.windows, batches)
        parts = gather_object(list(read.values()))
        return Reading(*map(np.concatenate, zip(*parts, strict=True))) if parts else None


def f1_of(true: Array, predicted: Array) -> float:
    """Micro-F1 of labels (n,), of which those above 0 are marks, in points of 100; 0 without any."""
    n_right = int(((true == predicted) & (true > 0)).sum())
    n_marks = int((true > 0).sum() + (predicted > 0).sum())
    return 100 * (2 * n_right / max(n_marks, 1))


def mean_f1(reading: Reading, true: Array, predicted: Array) -> float:
    """The mean F1 of all languages, in points of 100, of labels (n,) of what was read."""
    masks = [reading.languages == language for language in np.unique(reading.languages)]
    return float(np.mean([f1_of(true[mask], predicted[mask]) for mask in masks]))


def scores_of(reading: Reading | None, names: Sequence[str]) -> Scores:
    """Micro-F1 and F1 of each mark by language, in points of 100, and their mean, `mean_f1`; 0 without any words.

    Of the likeliest labels, whose names these are. Where casings are known also `casings_f1`, the F1 of words that have
    capitals, most first words of sentences left out.
    """
    scores: Scores = {"languages": {}, "mean_f1": 0.0}
    if reading is None:
        return scores
    likeliest = reading.probabilities.argmax(-1)
    for language in np.unique(reading.languages).tolist():
        mask = reading.languages == language
        true, predicted = reading.labels[mask], likeliest[mask]
        row = {"f1": f1_of(true, predicted), "n_words": len(true)}
        for label, name in enumerate(names[1:], 1):
            row[name] = f1_of(true == label, predicted == label)
        scores["languages"][language] = row
    scores["mean_f1"] = mean_f1(reading, reading.labels, likeliest)
    true, chosen = reading.casings[(reading.casings != NOT_SCORED).all(1)].T
    if true.any() or chosen.any():
        scores["casings_f1"] = f1_of(true, chosen)
    return scores


def guessed(true: Array) -> tuple[int, float]:
    """The commonest mark of labels (n,), and the F1 of writing it after every word: for scale."""
    mark = 1 + int(np.bincount(true, minlength=2)[1:].argmax())
    return mark, f1_of(true, np.full_like(true, mark))


def sample_sentences(windows: Sequence[CutWindow], slots: Any) -> list[str]:
    """Sentences from everywhere in the documents, without their marks, as the encoder reads them."""
    # Those that are scored, one after the other, are those of whole documents.
    words = joined(*(window.words.taken(window.scored) for window in windows))
    ends = np.flatnonzero(np.take(stop_labels(slots.config.labels), words.labels)) + 1
    sentences = [range(*pair) for pair in pairwise([0, *ends]) if pair[1] - pair[0] >= LEAST_WORDS]
    pieces, decode = words.pieces(), slots.tokenizer.decode
    return [
        join_words([decode(pieces[number]).strip() for number in sentence[:MOST_WORDS]])
        for sentence in sentences[:: max(1, len(sentences) // N_SAMPLES)][:N_SAMPLES]
    ]


def source_windows(
    stream: WordStream,
    slots: Any,
    n_words: int = sys.maxsize,
    language: str = "",
    documents: Sequence[int] | None = None,
) -> list[CutWindow]:
    """Windows over the documents of a shard, as the pipeline cuts them, until `n_words` words are scored.

    `documents` are the indexes of those that are wanted, in their order; None wants all.
    """
    windows: list[CutWindow] = []
    for number in range(len(stream.borders)) if documents is None else documents:
        first_word, document_end = stream.borders[number]
        end_word = min(document_end, first_word + n_words)
        n_words -= end_word - first_word
        n_pieces = stream.all.piece_counts[first_word:end_word].tolist()
        for plan in windows_of(n_pieces, slots.config):
            words = stream.words(first_word + plan.first, plan.end - plan.first)
            is_over = first_word + plan.end == document_end
            windows.append(CutWindow(words, (), is_over, plan.kept, language))
    return windows


def windows_to_evaluate(folder: str, tokenizer: Any, config: Any) -> list[CutWindow]:
    """All validation windows of prepared data, for transformers' own `Trainer`: its `eval_dataset`.

    Each word is scored once: where it is context of another window's words, its label is -100.
    """
    return Validation(read_index(folder), SlotEncoder(tokenizer, config), sys.maxsize).windows


@torch.no_grad()
def read_windows(
    model: Any, slots: Any, windows: Sequence[CutWindow], batches: slice = slice(None)
) -> dict[int, Reading]:
    """What a model says of the words of each window that are scored, by the number of the window.

    Windows of like length are read together; `batches` says which of them this process reads.
    """
    collator, readings = WindowCollator(slots), {}
    n_pieces = [2 + len(window.words.piece_ids) for window in windows]
    for batch in list(batches_by_length(n_pieces, None, BATCH_PIECES))[batches]:
        inputs = collator([windows[number] for number in batch])
        labels = inputs.pop("labels")
        unknown = torch.full_like(labels, NOT_SCORED)
        true = inputs.pop("casings", unknown)
        outputs = model(**{name: tensor.to(model.device) for name, tensor in inputs.items()})
        logits = outputs.casing_logits
        chosen = unknown if logits is None else logits.argmax(-1).cpu()
        probabilities = outputs.logits.float().softmax(-1).cpu()
        rows = (labels, probabilities, torch.stack([true, chosen], dim=-1))
        for row, number in enumerate(batch):
            scored = labels[row] != NOT_SCORED
            languages = np.full(int(scored.sum()), windows[number].language)
            readings[number] = Reading(languages, *(tensor[row][scored].numpy() for tensor in rows))
    return readings


def best_temperature(*sets: tuple[Array, Array]) -> float:
    """The one of `TEMPERATURES` under which the labels (W,) of all sets are likeliest; each set counts alike.

    A set has the probabilities (W, M) of its words, and their labels.
    """

    def likelihood(temperature: float) -> float:
        chances = [
            np.take_along_axis(calibrated(probabilities, temperature), labels[:, None], axis=1)
            for probabilities, labels in sets
        ]
        return float(sum(np.log(np.maximum(each, np.finfo(float).tiny)).mean() for each in chances))

    return float(max(TEMPERATURES, key=likelihood))


def tune(
    names: Sequence[str],
    score: Callable[[Thresholds], float],
    given: Thresholds | None = None,
) -> dict[str, float]:
    """The best thresholds of some labels; `score` gives the F1, 0 to 1, with some thresholds.

    A mark gets a threshold only where that gains `LEAST_GAIN`; without one, the likeliest label is chosen. A threshold
    that is there already, at first those `given`, is moved for any gain.
    """
    best = dict(given or {})
    best_f1 = score(best)
    for label in [*names] * N_ROUNDS:
        tried = {limit: score({**best, label: limit}) for limit in GRID}
        limit = max(tried, key=tried.__getitem__)
        gain = tried[limit] - best_f1
        if gain > 0 and (label in best or gain >= LEAST_GAIN):
            best[label], best_f1 = limit, tried[limit]
    return best


def set_tuned(config: Any, reading: Reading | None) -> None:
    """Give a configuration the temperature and the thresholds that suit what `Validation.read` gave for its model.

    The thresholds are those with the highest mean F1 of all languages, None if none helps or nothing was read: first
    those of `, . ?` as `marks="basic"` decides, which is what users get, then those of further labels beside them.
    For these, F1 is the mean over all marks: that of all marks together hardly notices those that are rare.
    """
    config.calibration_temperature, config.thresholds = 1.0, None
    if reading is None:
        return
    names, true = config.label_names, reading.labels
    temperature = best_temperature((reading.probabilities, true))
    config.calibration_temperature = temperature
    probabilities = calibrated(reading.probabilities, temperature)

    def f1_of_basic(given: Thresholds) -> float:
        choice = make_choice(config, "basic", given)
        return mean_f1(reading, choice.goes_to[true], decode(probabilities, choice)[0]) / 100

    def f1_of_each(given: Thresholds) -> float:
        chosen, _ = decode(probabilities, make_choice(config, "all", given))
        f1 = [mean_f1(reading, true == label, chosen == label) for label in range(1, len(names))]
        return float(np.mean(f1)) / 100

    basic = [names[index] for index in sorted(set(config.basic_labels) - {0})]
    others = [name for name in names[1:] if name not in basic]
    config.thresholds = tune(others, f1_of_each, tune(basic, f1_of_basic)) or None
