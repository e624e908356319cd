"""What is trained, how fast, and the averages of it. Knows parameters by name, and nothing of text or windows."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

from punctuation_restoration.training.settings import TrainingSettings


def build_optimiser(model: nn.Module, settings: TrainingSettings) -> torch.optim.Optimizer:
    """AdamW. Biases and layer norms are not decayed, as in BERT."""
    rates = settings.encoder_rate, settings.head_rate, settings.casing_rate
    groups: dict[tuple[int, bool], list[nn.Parameter]] = {}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            # 0, 1 or 2 as in `rates`.
            part = name.startswith("classifier.") + name.startswith("classifier.casings.")
            groups.setdefault((part, parameter.ndim > 1), []).append(parameter)
    rows = [
        {"params": groups[key], "lr": rates[key[0]], "weight_decay": settings.weight_decay * key[1]}
        for key in sorted(groups)
    ]
    return torch.optim.AdamW(rows, eps=1e-6, fused=True)


def rate_factor(step: int, warmup_steps: int, max_steps: int) -> float:
    """What the full rates are multiplied with at a step: rises over `warmup_steps`, and falls to 0 at `max_steps`."""
    return min(1.0, (step + 1) / max(warmup_steps, 1)) * (1.0 - step / max_steps)


class AveragedWeights:
    """Exponential moving average of the trained parameters; a decay of 0 turns it off.

    The first step is taken over, and the decay grows with the number n of steps as min(decay, (1 + n) / (10 + n)).
    """

    def __init__(self, model: nn.Module, decay: float):
        self.decay = decay
        parameters = model.parameters() if decay else ()
        self.trained: list[torch.Tensor] = [each for each in parameters if each.requires_grad]
        self.averaged = [each.detach().clone() for each in self.trained]

    @torch.no_grad()
    def update(self, n_before: int) -> None:
        """Take in the parameters after a step, before which `n_before` were taken."""
        if self.trained:
            decay = min(self.decay, (1 + n_before) / (10 + n_before)) if n_before else 0.0
            torch._foreach_lerp_(self.averaged, self.trained, 1 - decay)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """The model with averaged weights; the trained ones come back afterwards."""

        def swap() -> None:
            for trained, average in zip(self.trained, self.averaged, strict=True):
                trained.data, average.data = average.data, trained.data

        swap()
        try:
            yield
        finally:
            swap()
