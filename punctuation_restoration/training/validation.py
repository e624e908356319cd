"""Micro-F1 per language on held-out documents, in windows as the pipeline cuts them; every word is decided once.

Takes prepared validation shards, a model and its slot encoder; gives scores. Documents are never joined.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.utils import gather_object
from transformers import AutoTokenizer

from punctuation_restoration.data.collation import WindowCollator
from punctuation_restoration.data.sampling import CutWindow
from punctuation_restoration.data.shards import WordStream, read_index
from punctuation_restoration.evaluation.scores import count_labels, score
from punctuation_restoration.modeling.modeling_punctuation import NOT_SCORED
from punctuation_restoration.pipeline.decisions import Choice, decode
from punctuation_restoration.pipeline.slots import SlotEncoder
from punctuation_restoration.pipeline.windows import batches_by_length, windows_of
from punctuation_restoration.training.building import load_own_model

BATCH_PIECES = 4096


class ScoredWindow(NamedTuple):
    """A window, which of its words are scored, and the number of their source."""

    window: CutWindow
    kept: slice
    source_id: int


class Reading(NamedTuple):
    """What a model says of n words."""

    sources: np.ndarray  # (n,) number of the source
    labels: np.ndarray  # (n,) true labels
    probabilities: np.ndarray  # (n, M)
    casings: np.ndarray  # (n, 2) true and chosen, `NOT_SCORED` where the data or the model have none


@dataclass(eq=False, repr=False)
class Validation:
    """The validation windows of a run."""

    index: Mapping[str, Any]  # of prepared data, from `data.shards.read_index`
    slots: Any  # the `SlotEncoder` of the model
    words_per_language: int  # how many words of each language are taken, alike from each of its sources
    accelerator: Accelerator | None = None  # of a run, whose processes share the windows; None reads all

    def __post_init__(self) -> None:
        self.collator = WindowCollator(self.slots, casings=self.slots.config.casings)
        self.windows: list[ScoredWindow] = []
        for source_id, n_words in enumerate(words_to_take(self.index, self.words_per_language)):
            for shard in self.index["sources"][source_id]["splits"]["validation"]["shards"]:
                taken = source_windows(Path(shard["file"]), self.slots, n_words, source_id)
                n_words -= sum(scored.kept.stop - scored.kept.start for scored in taken)
                self.windows += taken

    def read(self, model: Any, device: Any = "cpu") -> Reading | None:
        """What a model says of the words; None without any."""
        run, was_training = self.accelerator, model.training
        own = slice(run.process_index, None, run.num_processes) if run else slice(None)
        model.eval()
        rows = [
            Reading(np.full(len(labels), self.windows[number].source_id), labels, logits.softmax(-1).numpy(), casings)
            for number, labels, logits, casings in decided_words(model, self.collator, self.windows, device, own)
        ]
        model.train(was_training)
        rows = gather_object(rows) if run else rows
        return Reading(*map(np.concatenate, zip(*rows, strict=True))) if rows else None

    def scores(self, reading: Reading | None, choice: Choice | None = None) -> dict[str, Any]:
        """Micro-F1 and F1 of each mark by language, in points of 100; by a choice, or of the likeliest labels.

        Then their mean, and the F1 of words that have capitals, where casings are known: not most first words of
        sentences.
        """
        if reading is None:
            return {"languages": {}, "mean_f1": 0.0}
        labels, predicted = reading.labels, reading.probabilities.argmax(-1)
        if choice:
            labels, predicted = choice.goes_to[labels], decode(reading.probabilities, choice)[0]
        names, of_source = self.slots.config.label_names, [row["language"] for row in self.index["sources"]]
        languages: dict[str, dict[str, float]] = {}
        for language in self.index["languages"]:
            own = np.isin(reading.sources, [number for number, name in enumerate(of_source) if name == language])
            if own.any():
                found = score(count_labels(labels[own].tolist(), predicted[own].tolist(), names), names)
                marks = {name: 100 * mark.f1 for name, mark in found.marks.items()}
                languages[language] = {"f1": 100 * found.micro.f1, **marks, "n_words": found.n_words}
        true, chosen = reading.casings[(reading.casings != NOT_SCORED).all(1)].T
        n_both = int((true > 0).sum() + (chosen > 0).sum())
        casings = {"casings_f1": 200 * int(((true == chosen) & (true > 0)).sum()) / n_both} if n_both else {}
        mean_f1 = float(np.mean([row["f1"] for row in languages.values()]))
        return {"languages": languages, "mean_f1": mean_f1, **casings}


def score_model(
    name: str | Path, folders: Sequence[str | Path], words_per_language: int, device: Any = "cpu"
) -> dict[str, Any]:
    """Scores of a model of ours on the validation words of prepared folders, as `Validation.scores` gives them."""
    model = load_own_model(str(name)).eval().to(device)
    slots = SlotEncoder(AutoTokenizer.from_pretrained(name), model.config)
    validation = Validation(read_index(*folders), slots, words_per_language)
    return validation.scores(validation.read(model, device))


def words_to_take(index: Mapping[str, Any], words_per_language: int) -> list[int]:
    """How many validation words of each source: equal shares. What a small source lacks is taken from larger ones."""
    there = [row["splits"]["validation"]["n_words"] for row in index["sources"]]
    taken = [0] * len(there)
    for language in index["languages"]:
        own = [number for number, row in enumerate(index["sources"]) if row["language"] == language]
        left = words_per_language
        for n_done, number in enumerate(sorted(own, key=there.__getitem__)):
            taken[number] = min(there[number], left // (len(own) - n_done))
            left -= taken[number]
    return taken


def source_windows(
    path: Path, slots: Any, n_words: int | None = None, source_id: int = 0, documents: Sequence[int] | None = None
) -> list[ScoredWindow]:
    """Windows over the documents of a shard, as the pipeline cuts them, until `n_words` words are scored.

    None scores all words. `documents` are the places of those that are wanted, in their order; None wants all.
    """
    stream = WordStream(path)
    borders = stream.borders
    windows: list[ScoredWindow] = []
    left = stream.n_words if n_words is None else n_words
    for first_word, document_end in borders if documents is None else map(borders.__getitem__, documents):
        end_word = min(document_end, first_word + left)
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
