"""The batches of a run: the windows of a step, collated, and made while the model computes."""

import multiprocessing
import os
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from accelerate import PartialState
from torch.utils.data import DataLoader, Dataset

from punctuation_restoration.data.collation import Augmenter, WindowCollator
from punctuation_restoration.data.conversion import mapped_ahead
from punctuation_restoration.data.recipe import Recipe
from punctuation_restoration.data.sampling import CutWindow, WindowSampler
from punctuation_restoration.data.shards import Index
from punctuation_restoration.data.teacher_labels import TeacherLabels
from punctuation_restoration.training.settings import TrainingSettings

Batch = dict[str, torch.Tensor]
N_AHEAD = 4  # steps that a thread, or each worker, is ahead of the model
MOST_WORKERS = 6  # a thread was measured to make 275,000 pieces a second of processor time


@dataclass(frozen=True, slots=True)
class BatchSource(Dataset[list[Batch]]):
    """The batches of one process; the same windows make a step however many processes and batches share it."""

    sampler: WindowSampler
    collator: Callable[[list[CutWindow]], Batch]
    process: int = 0
    n_processes: int = 1
    n_accumulated: int = 1

    def __getitem__(self, step: int) -> list[Batch]:
        """The accumulated batches of this process for a step; fewer where the step has fewer windows."""
        plan = self.sampler.plan(step)
        n_parts = self.n_processes * self.n_accumulated
        batches = []
        for number in range(self.n_accumulated):
            part = self.process * self.n_accumulated + number
            # A step of fewer windows than parts gives the first ones twice rather than leave a process without.
            rows = range(part, len(plan), n_parts) or [part % len(plan)]
            batches.append(self.collator([self.sampler.cut(plan, row) for row in rows]))
        return batches


def batch_source(
    settings: TrainingSettings,
    recipe: Recipe,
    index: Index,
    slots: Any,
    teacher: TeacherLabels | None = None,
) -> BatchSource:
    """The batches of a run in this process, for the model of `slots`, perhaps with the labels of a teacher."""
    config, sampling, state = slots.config, recipe.sampling, PartialState()
    lengths = defaultdict[int, float](float)  # none longer than the model serves
    for length, share in sampling.lengths.items():
        lengths[min(length, config.max_window_pieces)] += share
    weights = {source.name: source.weight for source in recipe.sources}
    sources = [
        {**row, "weight": weights.get(row["name"], row["weight"])} for row in index["sources"]
    ]
    sampler = WindowSampler(
        {**index, "sources": sources},
        replace(sampling, lengths=lengths),
        settings.pieces_per_batch * settings.accumulate * state.num_processes,
        settings.seed,
        settings.max_steps or 1,
        teacher,
    )
    if teacher and not any(stream.all.teacher_labels.any() for stream in sampler.streams):
        raise ValueError(
            f"Expected labels of these data in {teacher.folder}, got those of other texts. Label these."
        )
    ordinary = np.setdiff1d(np.arange(index["n_vocabulary"]), slots.tokenizer.all_special_ids)
    augmenter = Augmenter(recipe.augmentation, slots.unk_id, ordinary)
    collator = WindowCollator(slots, augmenter)
    return BatchSource(
        sampler, collator, state.process_index, state.num_processes, settings.accumulate
    )


def n_workers_beside(device: torch.device, n_processes: int) -> int:
    """How many processes make the batches of one process; 0 is a thread.

    A thread costs a CPU the least: a worker needs half as much time again to send its batches. Beside a GPU a thread is
    too slow, and keeps Python from launching kernels.
    """
    if device.type != "cuda" or "fork" not in multiprocessing.get_all_start_methods():
        return 0
    return max(1, min(MOST_WORKERS, (os.cpu_count() or 1) // n_processes - 1))


def read_ahead(
    source: BatchSource, first_step: int, end_step: int, n_workers: int = 0
) -> Iterator[list[Batch]]:
    """Batches of steps `first_step` to `end_step` (exclusive), made while the model computes."""
    steps = range(first_step, end_step)
    if not n_workers:
        with ThreadPoolExecutor(1, "read-ahead") as thread:
            yield from mapped_ahead(thread, source.__getitem__, steps, N_AHEAD)
        return
    yield from DataLoader(
        source,
        batch_size=None,
        sampler=steps,
        num_workers=n_workers,
        prefetch_factor=N_AHEAD,
        pin_memory=torch.cuda.is_available(),
        multiprocessing_context="fork",  # a source is not pickled
    )
