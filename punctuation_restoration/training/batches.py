"""The batches of a run: the windows of a step, collated, and made while the model computes.

Takes a sampler and a collator, gives tensors. Holds no state but the step that is asked for.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import torch

from punctuation_restoration.data.ahead import mapped_ahead
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


def read_ahead(source: BatchSource, first_step: int, end_step: int) -> Iterator[list[Batch]]:
    """Batches of steps `first_step` to `end_step` (exclusive), made by a thread while the model computes."""
    # Not a `DataLoader`: its worker is a process, which needs half as much processor time again to send the batches.
    with ThreadPoolExecutor(1, "read-ahead") as thread:
        yield from mapped_ahead(thread, source.step, range(first_step, end_step), n_ahead=4)
