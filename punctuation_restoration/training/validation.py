"""Micro-F1 per language on held-out documents, in windows as the pipeline cuts them; every word is decided once.

Takes prepared validation shards, a model and its slot encoder; gives scores. Documents are never joined.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.utils import gather_object

from punctuation_restoration.data.collation import WindowCollator
from punctuation_restoration.data.sampling import CutWindow
from punctuation_restoration.data.shards import WordStream, read_index
from punctuation_restoration.evaluation.scores import count_labels, score
from punctuation_restoration.modeling.modeling_punctuation import NOT_SCORED
from punctuation_restoration.pipeline.decisions import Choice, decode
from punctuation_restoration.pipeline.windows import batches_by_length, windows_of
from punctuation_restoration.training.building import load_with_slots

BATCH_PIECES = 4096


class ScoredWindow(NamedTuple):
    """A window, which of its words are scored, and their language."""

    window: CutWindow
    kept: slice
    language: str


class Reading(NamedTuple):
    """What a model says of n words."""

    languages: np.ndarray  # (n,) of str
    labels: np.ndarray  # (n,) true labels
    probabilities: np.ndarray  # (n, M)
    casings: np.ndarray  # (n, 2) true and chosen, `NOT_SCORED` where the data or the model have none


@dataclass(eq=False, repr=False)
class Validation:
    """The validation windows of a run."""

    index: Mapping[str, Any]  # of prepared data, from `data.shards.read_index`
    slots: Any  # the `SlotEncoder` of the model
    words_per_language: int  # how many words of each language are taken
    accelerator: Accelerator | None = None  # of a run, whose processes share the windows; None reads all

    def __post_init__(self) -> None:
        self.windows: list[ScoredWindow] = []
        for language in self.index["languages"]:
            rows = [row for row in self.index["sources"] if row["language"] == language]
            splits = sorted((row["splits"]["validation"] for row in rows), key=lambda split: split["n_words"])
            left = self.words_per_language  # in equal shares; what a small source lacks is taken from larger ones
            for n_done, split in enumerate(splits):
                n_words = min(split["n_words"], left // (len(splits) - n_done))
                left -= n_words
                for shard in split["shards"]:
                    taken = source_windows(Path(shard["file"]), self.slots, n_words, language)
                    n_words -= sum(scored.kept.stop - scored.kept.start for scored in taken)
                    self.windows += taken

    def read(self, model: Any) -> Reading | None:
        """What a model says of the words; None without any."""
        run, was_training = self.accelerator, model.training
        own = slice(run.process_index, None, run.num_processes) if run else slice(None)
        found = list(read_windows(model.eval(), self.slots, self.windows, own).values())
        model.train(was_training)
        found = gather_object(found) if run else found
        return Reading(*map(np.concatenate, zip(*found, strict=True))) if found else None

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
        names, languages = self.slots.config.label_names, {}
        for language in np.unique(reading.languages).tolist():
            own = reading.languages == language
            found = score(count_labels(labels[own].tolist(), predicted[own].tolist(), names), names)
            marks = {name: 100 * mark["f1"] for name, mark in found["marks"].items()}
            languages[language] = {"f1": 100 * found["micro"]["f1"], **marks, "n_words": found["n_words"]}
        true, chosen = reading.casings[(reading.casings != NOT_SCORED).all(1)].T
        n_both = int((true > 0).sum() + (chosen > 0).sum())
        casings = {"casings_f1": 200 * int(((true == chosen) & (true > 0)).sum()) / n_both} if n_both else {}
        mean_f1 = float(np.mean([row["f1"] for row in languages.values()]))
        return {"languages": languages, "mean_f1": mean_f1, **casings}


def score_model(name: str, folders: Sequence[str], words_per_language: int, device: str = "cpu") -> dict[str, Any]:
    """Scores of a model of ours on the validation words of prepared folders, as `Validation.scores` gives them."""
    model, slots = load_with_slots(name, device)
    validation = Validation(read_index(*folders), slots, words_per_language)
    return validation.scores(validation.read(model))


def source_windows(
    path: Path, slots: Any, n_words: int | None = None, language: str = "", documents: Sequence[int] | None = None
) -> list[ScoredWindow]:
    """Windows over the documents of a shard, as the pipeline cuts them, until `n_words` words are scored.

    None scores all words. `documents` are the places of those that are wanted, in their order; None wants all.
    """
    stream = WordStream(path)
    windows: list[ScoredWindow] = []
    left = stream.n_words if n_words is None else n_words
    for first_word, document_end in stream.borders if documents is None else [stream.borders[n] for n in documents]:
        end_word = min(document_end, first_word + left)
        left -= end_word - first_word
        n_pieces = stream.piece_counts[first_word:end_word].astype(np.int64) + int(slots.has_masks)
        for plan in windows_of(n_pieces.tolist(), slots.config):
            words = stream.words(first_word + plan.first, plan.end - plan.first)
            window = CutWindow(words, is_over=first_word + plan.end == document_end)
            windows.append(ScoredWindow(window, plan.kept, language))
    return windows


@torch.no_grad()
def read_windows(
    model: Any, slots: Any, windows: Sequence[ScoredWindow], own: slice = slice(None)
) -> dict[int, Reading]:
    """What a model says of the words that each window decides, by the number of the window.

    Windows of like length are read together; `own` says which batches this process reads.
    """
    collator, found = WindowCollator(slots, casings=slots.config.casings), {}
    n_pieces = [2 + len(scored.window.words.piece_ids) + len(scored.window.words.labels) for scored in windows]
    for batch in list(batches_by_length(n_pieces, None, BATCH_PIECES))[own]:
        inputs = collator([windows[number].window for number in batch])
        labels = inputs.pop("labels")
        unknown = torch.full_like(labels, NOT_SCORED)
        true = inputs.pop("casings", unknown)
        outputs = model(**{name: tensor.to(model.device) for name, tensor in inputs.items()})
        chosen = unknown if outputs.casing_logits is None else outputs.casing_logits.argmax(-1).cpu()
        rows = labels, outputs.logits.float().softmax(-1).cpu(), torch.stack([true, chosen], dim=-1)
        for row, number in enumerate(batch):
            kept = windows[number].kept
            languages = np.full(kept.stop - kept.start, windows[number].language)
            found[number] = Reading(languages, *(tensor[row, kept].numpy() for tensor in rows))
    return found
