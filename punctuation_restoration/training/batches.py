"""The batches of a run: the windows of a step, collated, and made while the model computes."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from punctuation_restoration.data.collation import Augmenter, WindowCollator
from punctuation_restoration.data.conversion import mapped_ahead, stop_label_ids
from punctuation_restoration.data.recipe import Recipe
from punctuation_restoration.data.sampling import CutWindow, WindowSampler
from punctuation_restoration.data.soft_labels import SoftLabels
from punctuation_restoration.training.settings import TrainingSettings

Batch = dict[str, torch.Tensor]


@dataclass(frozen=True, slots=True)
class BatchSource:
    """The batches of one process; the same windows make a step however many processes and batches share it."""

    sampler: WindowSampler
    collator: Callable[[list[CutWindow]], Batch]
    process: int = 0
    n_processes: int = 1
    n_accumulated: int = 1

    def step(self, step: int) -> list[Batch]:
        """The accumulated batches of this process for a step; fewer where the step has fewer windows."""
        plan = self.sampler.plan(step)
        n_parts = self.n_processes * self.n_accumulated
        batches = []
        for part in range(
            self.process * self.n_accumulated, (self.process + 1) * self.n_accumulated
        ):
            # A step of fewer windows than parts gives the first ones twice rather than leave a process without.
            rows = range(part, len(plan), n_parts) or [part % len(plan)]
            batches.append(self.collator([self.sampler.cut(plan, row) for row in rows]))
        return batches


def batch_source(
    settings: TrainingSettings,
    recipe: Recipe,
    index: Mapping[str, Any],
    slots: Any,
    process: int = 0,
    n_processes: int = 1,
    soft_labels: str | None = None,
) -> BatchSource:
    """The batches of a run, for the model of the `SlotEncoder` `slots`; `soft_labels` is a folder of the command label.

    Text without labels of its own gets those that the other model finds likeliest.
    """
    config = slots.config
    soft = SoftLabels(Path(soft_labels), config.label_names) if soft_labels else None
    bare = [row["name"] for row in index["sources"] if not row.get("is_labelled", True)]
    if bare and not soft:
        what_to_do = "Label them with the command label, and give its folder as --soft-labels."
        raise ValueError(
            f"Expected labelled text, the sources {bare} were prepared without labels. {what_to_do}"
        )
    lengths = defaultdict[int, float](
        float
    )  # none longer than the model serves; without padding behind `</s>`
    for length, share in recipe.sampling.lengths.items():
        lengths[min(length, config.max_window_pieces - config.shift)] += share
    sampler = WindowSampler(
        index,
        replace(recipe.sampling, lengths=lengths),
        settings.pieces_per_batch * settings.accumulate * n_processes,
        int(slots.has_masks),
        stop_label_ids(config.labels),
        settings.seed,
        weights={source.name: source.weight for source in recipe.sources},
        soft_labels=soft.of_shard if soft else None,
    )
    if soft and not any(stream.soft.any() for stream in sampler.streams):
        raise ValueError(
            f"Expected labels of these data in {soft_labels}, got those of other texts. Label these."
        )
    ordinary = np.setdiff1d(np.arange(index["n_vocabulary"]), slots.tokenizer.all_special_ids)
    augmenter = Augmenter(recipe.augmentation, slots.unk_id, ordinary)
    filled = recipe.sampling.filled_windows, recipe.sampling.max_filled
    collator = WindowCollator(slots, *filled, augmenter, config.casings)
    return BatchSource(sampler, collator, process, n_processes, settings.accumulate)


def read_ahead(source: BatchSource, first_step: int, end_step: int) -> Iterator[list[Batch]]:
    """Batches of steps `first_step` to `end_step` (exclusive), made by a thread while the model computes."""
    # Not a `DataLoader`: its worker is a process, which needs half as much processor time again to send the batches.
    with ThreadPoolExecutor(1, "read-ahead") as thread:
        yield from mapped_ahead(thread, source.step, range(first_step, end_step), n_ahead=4)
