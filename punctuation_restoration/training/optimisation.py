"""Optimiser, learning rates and averaged weights. Knows parameters by name, and nothing of text or windows."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from accelerate import Accelerator
from torch import nn
from torch.optim.swa_utils import AveragedModel

OPTIMISERS = ("adamw", "radam")


def parameter_groups(model: nn.Module, rates: tuple[float, float, float], weight_decay: float) -> list[dict]:
    """Trained parameters in groups: encoder, classifier and what tells casings, each with and without weight decay.

    `rates` are those of the three. Biases and layer norms are not decayed, as in BERT (Devlin et al. 2019, appendix
    A.2).
    """
    groups: dict[tuple[int, bool], list[nn.Parameter]] = {}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            is_head = "classifier." in name and "encoder." not in name
            part = is_head + (is_head and "classifier.casings." in name)  # 0, 1, 2 as in `rates`
            groups.setdefault((part, parameter.ndim > 1), []).append(parameter)
    return [
        {"params": groups[key], "lr": rates[key[0]], "weight_decay": weight_decay * key[1]} for key in sorted(groups)
    ]


def build_optimiser(kind: str, groups: list[dict]) -> torch.optim.Optimizer:
    """AdamW, or RAdam (Liu et al. 2020) as the MLM-Punct paper uses, with decoupled weight decay.

    Raises:
        ValueError: for another kind.
    """
    if kind == "adamw":
        return torch.optim.AdamW(groups, eps=1e-6, fused=True)
    if kind == "radam":
        return torch.optim.RAdam(groups, eps=1e-6, decoupled_weight_decay=True, foreach=True)
    raise ValueError(f"Expected an optimiser out of {OPTIMISERS}, got {kind!r}. Choose one.")


def rate_factor(step: int, warmup_steps: int, progress: float) -> float:
    """What the full learning rates are multiplied with at a step.

    Rises linearly over `warmup_steps`, and falls linearly with `progress` (0 to 1 over the run) to 0.
    """
    warm = min(1.0, (step + 1) / warmup_steps) if warmup_steps else 1.0
    return warm * (1.0 - min(max(progress, 0.0), 1.0))


@torch.no_grad()
def make_alike(accelerator: Accelerator, model: nn.Module, averages: nn.Module, optimiser: Any) -> None:
    """Give all processes the mean of their weights, and of the moments of their optimisers.

    Local SGD (Stich 2019, Algorithm 1). accelerate's `LocalSGD` takes the mean of the weights alone. With that of
    the moments, too, one checkpoint serves all processes, and a resumed run repeats the unbroken one.
    """
    moments = [moment for state in optimiser.state.values() for moment in state.values()]
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    for tensor in (*weights, *averages.parameters(), *moments):
        if tensor.dim():  # the optimiser's count of steps is the same everywhere
            tensor.copy_(accelerator.reduce(tensor, "mean"))


class AveragedWeights:
    """Exponential moving average of the trained parameters (Polyak averaging), kept by torch.

    Args:
        model: the model, where it is trained. What is not trained, such as word embeddings, is not copied.
        decay: 0 turns averaging off. The first step is taken over, and the decay grows to this with the number n of
            steps after it, as min(decay, (1 + n) / (10 + n)).
    """

    def __init__(self, model: nn.Module, decay: float):
        self.trained = nn.ParameterList(p for p in model.parameters() if p.requires_grad and decay)

        def average(averages: Any, trained: Any, n: Any) -> None:
            torch._foreach_lerp_(averages, trained, 1 - min(decay, (1 + int(n)) / (10 + int(n))))

        self.averaged = AveragedModel(self.trained, multi_avg_fn=average)

    def update(self) -> None:
        """Take in the parameters after a step."""
        if len(self.trained):  # torch takes no empty list
            self.averaged.update_parameters(self.trained)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """The model with averaged weights; the trained ones come back afterwards."""
        self._swap()
        try:
            yield
        finally:
            self._swap()

    def _swap(self) -> None:
        for trained, average in zip(self.trained, self.averaged.parameters(), strict=True):
            trained.data, average.data = average.data, trained.data
