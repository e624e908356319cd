"""Batches for training: the windows of a step, collated; and the same for transformers' own `Trainer`.

Takes a sampler and a collator, gives tensors. Holds no state but the step that is asked for.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils.data import Dataset

from punctuation_restoration.data.sampling import CutWindow, WindowSampler

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


def read_ahead(source: BatchSource, first_step: int, end_step: int, n_ahead: int = 4) -> Iterator[list[Batch]]:
    """Batches of steps `first_step` to `end_step` (exclusive), made by a thread while the model computes."""
    ready: queue.Queue[list[Batch] | BaseException] = queue.Queue(maxsize=n_ahead)
    closed = threading.Event()

    def work() -> None:
        try:
            for step in range(first_step, end_step):
                batches = source.step(step)
                while not closed.is_set():
                    try:
                        ready.put(batches, timeout=0.2)
                        break
                    except queue.Full:
                        continue
                if closed.is_set():
                    return
        except BaseException as error:  # handed over: the loop that waits must see it
            ready.put(error)

    thread = threading.Thread(target=work, daemon=True, name="read-ahead")
    thread.start()
    try:
        for _ in range(first_step, end_step):
            batches = ready.get()
            if isinstance(batches, BaseException):
                raise batches
            yield batches
    finally:
        closed.set()


class WindowDataset(Dataset):
    """Single windows for `transformers.Trainer`, with `WindowCollator` as its `data_collator`.

    Args:
        sampler: draws the windows.
        n_windows: length of the data set: item i is always the same window.
    """

    def __init__(self, sampler: WindowSampler, n_windows: int):
        self.sampler, self.n_windows = sampler, n_windows

    def __len__(self) -> int:
        return self.n_windows

    def __getitem__(self, item: int) -> Any:
        if not 0 <= item < self.n_windows:
            raise IndexError(f"Expected an item from 0 to {self.n_windows - 1}, got {item}.")
        return self.sampler.cut(self.sampler.plan(item), 0)
