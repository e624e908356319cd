"""Micro-F1 per language on held-out documents, in windows as the pipeline cuts them; every word is decided once.

Takes prepared validation shards, a model and its slot encoder; gives counts and scores. Documents are never joined.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from transformers import AutoTokenizer

from punctuation_restoration.data.collation import WindowCollator
from punctuation_restoration.data.sampling import CutWindow
from punctuation_restoration.data.shards import document_borders, read_index
from punctuation_restoration.data.streams import WordStream
from punctuation_restoration.evaluation.scores import score
from punctuation_restoration.modeling.configuration_punctuation import NO_MARK
from punctuation_restoration.modeling.modeling_punctuation import NOT_SCORED
from punctuation_restoration.pipeline.decisions import Choice, decode
from punctuation_restoration.pipeline.slots import SlotEncoder
from punctuation_restoration.pipeline.windows import batches_by_length, windows_of
from punctuation_restoration.training.building import load_own_model

BATCH_PIECES = 4096


@dataclass(frozen=True, slots=True)
class ScoredWindow:
    """A window, and which of its words are scored."""

    window: CutWindow
    kept: slice
    source_id: int


@dataclass(eq=False, repr=False)
class Validation:
    """The validation windows of a run."""

    index: Mapping[str, Any]  # of prepared data, from `data.shards.read_index`
    slots: Any  # the `SlotEncoder` of the model
    config: Any  # the model's: window and contexts
    words_per_language: int  # how many words of each language are taken, alike from each of its sources
    accelerator: Accelerator | None = None  # of a run, whose processes share the windows; None reads all

    def __post_init__(self) -> None:
        self.collator, sources = WindowCollator(self.slots, casings=self.config.casings), self.index["sources"]
        self.languages: list[str] = self.index["languages"]
        self.source_names = [row["name"] for row in sources]
        self.source_languages = [self.languages.index(row["language"]) for row in sources]
        self.label_names = self.config.label_names
        self.windows: list[ScoredWindow] = []
        for source_id, n_words in enumerate(words_to_take(self.index, self.words_per_language)):
            for shard in sources[source_id]["splits"]["validation"]["shards"]:
                taken = source_windows(Path(shard["file"]), self.slots, n_words, source_id)
                n_words -= sum(scored.kept.stop - scored.kept.start for scored in taken)
                self.windows += taken

    def read(self, model: Any, device: Any = "cpu") -> np.ndarray:
        """A model's predictions for this process's words, (n_words, 2 + M + 2).

        Source, true label, probability of each label, true and chosen casing (`NOT_SCORED` where there is none).
        """
        rows = [np.zeros((0, 2 + len(self.label_names) + 2))]  # a process may have no words
        was_training = model.training
        model.eval()
        run = self.accelerator
        own = slice(run.process_index, None, run.num_processes) if run else slice(None)
        for number, labels, logits, casings in decided_words(model, self.collator, self.windows, device, own):
            sources = np.full(len(labels), self.windows[number].source_id)
            rows.append(np.column_stack([sources, labels, logits.softmax(-1), casings]))
        model.train(was_training)
        return np.concatenate(rows)

    def counts(self, reading: np.ndarray, choice: Choice | None = None) -> np.ndarray:
        """Confusion counts of what was read, (n_sources, M, M): true label, label by the choice, else the likeliest."""
        n_labels = len(self.label_names)
        (sources, labels), probabilities = reading[:, :2].T.astype(np.int64), reading[:, 2 : 2 + n_labels]
        predicted = decode(probabilities, choice)[0] if choice else probabilities.argmax(-1)
        counts = np.zeros((len(self.source_names), n_labels, n_labels), dtype=np.int64)
        np.add.at(counts, (sources, choice.goes_to[labels] if choice else labels, predicted), 1)
        return self.summed(counts)

    def summed(self, values: Any) -> np.ndarray:
        """The sum over all processes of numbers that each has."""
        run = self.accelerator
        return run.reduce(torch.as_tensor(values, device=run.device)).cpu().numpy() if run else np.asarray(values)

    def casing_f1(self, reading: np.ndarray) -> dict[str, float]:
        """F1 of words whose casing differs from lower case, per language, in points of 100; empty without casings.

        Words of unknown casing (`data.casings`), such as most first words of sentences, do not count.
        """
        sources, true, chosen = reading[reading[:, -2] != NOT_SCORED][:, [0, -2, -1]].T.astype(np.int64)
        languages = np.array(self.source_languages)[sources]
        rows = (true == chosen) & (true > 0), (true > 0) * 1 + (chosen > 0)  # right, and true and chosen together
        counts = self.summed(np.stack([np.bincount(languages, row, len(self.languages)) for row in rows]))
        found = zip(self.languages, *counts.tolist(), strict=True)
        return {name: 200 * n_right / n_both for name, n_right, n_both in found if n_both}

    def scores(self, counts: np.ndarray) -> dict[str, Any]:
        """Scores from counts: per language and per source, in points of 100."""
        languages = np.zeros((len(self.languages), *counts.shape[1:]), dtype=np.int64)
        np.add.at(languages, self.source_languages, counts)
        per_language = {name: self._row(own) for name, own in zip(self.languages, languages, strict=True) if own.sum()}
        per_source = {name: self._row(own) for name, own in zip(self.source_names, counts, strict=True) if own.sum()}
        return {
            "languages": per_language,
            "sources": {name: round(row["f1"], 1) for name, row in per_source.items()},
            "mean_f1": float(np.mean([row["f1"] for row in per_language.values()])) if per_language else 0.0,
        }

    def _row(self, confusion: np.ndarray) -> dict[str, float]:
        """Micro-F1 and the F1 of each mark, in points of 100, of counts (M, M)."""
        names = (NO_MARK, *self.label_names[1:])
        scores = score(np.stack([confusion, 0 * confusion, 0 * confusion]), names)  # all words are mid-text
        marks = {name: 100 * mark.f1 for name, mark in scores.marks.items()}
        return {"f1": 100 * scores.micro.f1, **marks, "n_words": scores.n_words}


def score_model(
    name: str | Path, folders: Sequence[str | Path], words_per_language: int, device: Any = "cpu"
) -> dict[str, Any]:
    """Scores of a model of ours on the validation words of prepared folders, as `Validation.scores` gives them."""
    model = load_own_model(str(name)).eval().to(device)
    slots = SlotEncoder(AutoTokenizer.from_pretrained(name), model.config)
    validation = Validation(read_index(*folders), slots, model.config, words_per_language)
    return validation.scores(validation.counts(validation.read(model, device)))


def words_to_take(index: Mapping[str, Any], words_per_language: int) -> list[int]:
    """How many validation words of each source: equal shares. What a small source lacks is taken from larger ones."""
    taken = [0] * len(index["sources"])
    for language in index["languages"]:
        own = [i for i, row in enumerate(index["sources"]) if row["language"] == language]
        own.sort(key=lambda i: index["sources"][i]["splits"]["validation"]["n_words"])
        left = words_per_language
        for position, i in enumerate(own):
            there = index["sources"][i]["splits"]["validation"]["n_words"]
            taken[i] = min(there, left // (len(own) - position))
            left -= taken[i]
    return taken


def source_windows(
    path: Path, slots: Any, n_words: int | None = None, source_id: int = 0, documents: Sequence[int] | None = None
) -> list[ScoredWindow]:
    """Windows over the documents of a shard, as the pipeline cuts them, until `n_words` words are scored.

    None scores all words. `documents` are the places of those that are wanted, in their order; None wants all.
    """
    stream = WordStream(path)
    borders = document_borders(stream.arrays)
    windows: list[ScoredWindow] = []
    left = stream.n_words if n_words is None else n_words
    for number in range(len(borders)) if documents is None else documents:
        first_word, end_word = borders[number]
        if left <= 0:
            break
        document_end, end_word = end_word, min(end_word, first_word + left)
        left -= end_word - first_word
        n_pieces = stream.piece_counts[first_word:end_word].astype(np.int64) + int(slots.has_masks)
        for plan in windows_of(n_pieces.tolist(), slots.config):
            words = stream.words(first_word + plan.first, plan.end - plan.first)
            window = CutWindow(words, is_over=first_word + plan.end == document_end)
            windows.append(ScoredWindow(window, plan.kept, source_id))
    return windows


@torch.no_grad()
def decided_words(
    model: Any, collator: WindowCollator, windows: Sequence[ScoredWindow], device: Any, own: slice = slice(None)
) -> Iterator[tuple[int, np.ndarray, torch.Tensor, np.ndarray]]:
    """For each window its number, and of the words that it decides the labels (n,) and the model's logits (n, M).

    Then their true and chosen casings (n, 2), `NOT_SCORED` where the collator or the model has none.

    Windows of like length are read together; `own` says which batches this process reads.
    """
    n_pieces = [2 + len(scored.window.words.piece_ids) + len(scored.window.words.labels) for scored in windows]
    for batch in list(batches_by_length(n_pieces, None, BATCH_PIECES))[own]:
        inputs = collator([windows[number].window for number in batch])
        labels = inputs.pop("labels").numpy()
        casings = np.full((*labels.shape, 2), NOT_SCORED)
        if "casings" in inputs:
            casings[..., 0] = inputs.pop("casings").numpy()
        outputs = model(**{name: tensor.to(device) for name, tensor in inputs.items()})
        if outputs.casing_logits is not None:
            casings[..., 1] = outputs.casing_logits.argmax(-1).cpu().numpy()
        logits = outputs.logits.float().cpu()
        for row, number in enumerate(batch):
            kept = windows[number].kept
            yield number, labels[row, kept], logits[row, kept], casings[row, kept]
