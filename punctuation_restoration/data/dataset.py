"""Batches for training: the windows of a step, collated; and the same for transformers' own `Trainer`.

Takes a sampler and a collator, gives tensors. Holds no state but the step that is asked for.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import torch

from punctuation_restoration.data.collation import WindowCollator
from punctuation_restoration.data.conversion import mapped_ahead, stop_label_ids
from punctuation_restoration.data.recipe import Sampling
from punctuation_restoration.data.sampling import CutWindow, WindowSampler
from punctuation_restoration.data.shards import read_index
from punctuation_restoration.pipeline.slots import SlotEncoder

Batch = dict[str, torch.Tensor]


@dataclass(frozen=True, slots=True)
class BatchSource:
    """The batches of one process.

    Window `row` of a step belongs to part `row % (n_processes * n_accumulated)`, so the same windows make a step
    however many processes and accumulated batches share it.
    """

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
        for part in range(self.process * self.n_accumulated, (self.process + 1) * self.n_accumulated):
            # A step of fewer windows than parts gives the first ones twice rather than leave a process without.
            rows = range(part, len(plan), n_parts) or [part % len(plan)]
            batches.append(self.collator([self.sampler.cut(plan, row) for row in rows]))
        return batches


def read_ahead(source: BatchSource, first_step: int, end_step: int) -> Iterator[list[Batch]]:
    """Batches of steps `first_step` to `end_step` (exclusive), made by a thread while the model computes."""
    # Not a `DataLoader`: its worker is a process, which needs half as much processor time again to send the batches.
    with ThreadPoolExecutor(1, "read-ahead") as thread:
        yield from mapped_ahead(thread, source.step, range(first_step, end_step), n_ahead=4)


def windows_for_trainer(
    folder: str, tokenizer: Any, config: Any, n_windows: int
) -> tuple[list[CutWindow], WindowCollator]:
    """Windows as long as the model serves, for `train_dataset`, and the `data_collator` that makes batches of them.

    `n_windows` are drawn from all sources of prepared data by their weights, for a model of that tokenizer and config.

    Raises:
        ValueError: if the folder was not prepared.
    """
    slots = SlotEncoder(tokenizer, config)
    sampling = Sampling(lengths={config.max_window_pieces: 1.0})
    stops = stop_label_ids(config.labels)
    sampler = WindowSampler(read_index(folder), sampling, 1, int(slots.has_masks), stops, seed=1)
    windows = [sampler.cut(sampler.plan(number), 0) for number in range(n_windows)]
    return windows, WindowCollator(slots, sampling.filled_windows, sampling.max_filled, casings=config.casings)
