"""What is trained, how fast, and the averages of it. Knows parameters by name, and nothing of text or windows."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch.nn import functional
from torch.optim.swa_utils import AveragedModel

from punctuation_restoration.training.settings import TrainingSettings


def build_optimiser(model: nn.Module, settings: TrainingSettings) -> torch.optim.Optimizer:
    """AdamW, or RAdam (Liu et al. 2020) as the MLM-Punct paper uses; biases and layer norms are not decayed (BERT)."""
    rates = settings.encoder_rate, settings.head_rate, settings.casing_rate
    groups: dict[tuple[int, bool], list[nn.Parameter]] = {}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            is_head = "classifier." in name and "encoder." not in name
            part = is_head + (is_head and "classifier.casings." in name)  # 0, 1, 2 as in `rates`
            groups.setdefault((part, parameter.ndim > 1), []).append(parameter)
    rows = [
        {"params": groups[key], "lr": rates[key[0]], "weight_decay": settings.weight_decay * key[1]}
        for key in sorted(groups)
    ]
    if settings.optimiser == "radam":
        return torch.optim.RAdam(rows, eps=1e-6, decoupled_weight_decay=True, foreach=True)
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
        self.trained = nn.ParameterList(p for p in model.parameters() if p.requires_grad and decay)
        self.averaged = AveragedModel(self.trained)

    @torch.no_grad()
    def update(self) -> None:
        """Take in the parameters after a step."""
        if not len(self.trained):
            return
        # Not by `update_parameters`, which waits for the device: it sends the number of steps there and back.
        n = int(self.averaged.n_averaged)
        decay = min(self.decay, (1 + n) / (10 + n)) if n else 0.0
        averages: list[torch.Tensor] = [*self.averaged.parameters()]
        torch._foreach_lerp_(averages, [*self.trained], 1 - decay)
        self.averaged.n_averaged += 1

    @contextmanager
    def applied(self) -> Iterator[None]:
        """The model with averaged weights; the trained ones come back afterwards."""
        pairs = list(zip(self.trained, self.averaged.parameters(), strict=True))
        for trained, average in pairs:
            trained.data, average.data = average.data, trained.data
        try:
            yield
        finally:
            for trained, average in pairs:
                trained.data, average.data = average.data, trained.data


def train_rows_only(model: Any, rows: Sequence[int]) -> None:
    """Freeze the word embeddings of a model, but for some rows, which may be none.

    These become a parameter of their own: autograd would build a gradient of the whole matrix, 78 MB, at every step.
    """
    embedding = model.get_input_embeddings()
    embedding.weight.requires_grad_(False)
    if not rows:
        return
    ids = torch.tensor(sorted(set(rows)))
    places = torch.zeros(
        embedding.num_embeddings, dtype=torch.long
    )  # 1 + the place among the rows; 0: frozen
    places[ids] = torch.arange(1, len(ids) + 1)
    embedding.register_buffer("trained_ids", ids, persistent=False)
    embedding.register_buffer("places", places, persistent=False)
    embedding.rows = nn.Parameter(embedding.weight.detach()[ids].clone())  # (n_rows, H)
    embedding.register_forward_hook(_put_rows_in)
    embedding.register_state_dict_post_hook(_merge_rows)


def _put_rows_in(embedding: Any, inputs: tuple[torch.Tensor], frozen: torch.Tensor) -> torch.Tensor:
    """The trained rows in place of the frozen ones, in what an embedding has looked up, (B, P, H)."""
    place = embedding.places[inputs[0]]  # (B, P)
    rows = functional.embedding((place - 1).clamp(min=0), embedding.rows)
    scale = getattr(embedding, "embed_scale", 1.0)  # of Gemma's, which multiplies what it looks up
    return torch.where((place > 0).unsqueeze(-1), rows * scale, frozen)


def _merge_rows(embedding: Any, state: dict[str, torch.Tensor], prefix: str, _: Any) -> None:
    """What is saved of an embedding: all of its rows, the trained ones in their places."""
    whole, rows = f"{prefix}weight", state.pop(f"{prefix}rows")
    state[whole] = state[whole].index_copy(0, embedding.trained_ids, rows)
