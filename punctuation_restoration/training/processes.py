"""What the processes of a run tell each other: sums and means of tensors. Knows nothing of models or text."""

from typing import Any

import torch
from accelerate import Accelerator


class Processes:
    """All processes of a run, seen from one; each takes `local_steps` alone, 1 where gradients are shared."""

    def __init__(self, accelerator: Accelerator, local_steps: int):
        self.accelerator = accelerator
        self.number, self.n_processes = accelerator.process_index, accelerator.num_processes
        self.apart = self.n_processes > 1 and local_steps > 1  # whether processes take steps alone

    def reduced(self, values: Any, how: str = "sum") -> torch.Tensor:
        """The "sum" or "mean" over all processes of a tensor, or of numbers."""
        return self.accelerator.reduce(torch.as_tensor(values, device=self.accelerator.device), how)

    @torch.no_grad()
    def make_alike(self, model: Any, averages: Any, optimiser: Any) -> None:
        """Give all processes the mean of their weights, and of the moments of their optimisers.

        Local SGD (Stich 2019, Algorithm 1). accelerate's `LocalSGD` takes the mean of the weights alone. With that of
        the moments, too, one checkpoint serves all processes, and a resumed run repeats the unbroken one.
        """
        moments = [moment for state in optimiser.state.values() for moment in state.values()]
        weights = [weight for weight in model.parameters() if weight.requires_grad]
        for tensor in (*weights, *averages.parameters(), *moments):
            if tensor.dim():  # the optimiser's count of steps is the same everywhere
                tensor.copy_(self.reduced(tensor, "mean"))
