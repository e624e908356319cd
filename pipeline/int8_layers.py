"""Linear layers of an encoder in 8 bits, computed by torch alone. Knows tensors, not text.

A matrix (N, H) has one scale for each of its N rows, as in weights stored in 8 bits, which are thus taken over exactly.
What a layer reads, (..., H), is rounded as it comes, with one scale for each piece: a few pieces have values so large
that one scale for all would leave the others a few steps.
"""

import copy
from typing import Any

import torch
from torch import Tensor, nn

LARGEST = 127
TINY = 1e-12  # the scale of a row of zeros


def in_steps(rows: Tensor) -> tuple[Tensor, Tensor]:
    """Rows (..., H) as whole numbers from -127 to 127, and what one of them means in each row (..., 1)."""
    scales = (rows.abs().amax(dim=-1, keepdim=True) / LARGEST).clamp(min=TINY)
    return (rows / scales).round().to(torch.int8), scales


class _Int8Linear(nn.Module):
    """A linear layer in 8 bits."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        steps, scales = in_steps(linear.weight.detach())
        self.steps = nn.Buffer(steps.T)  # (H, N)
        self.scales = nn.Buffer(scales.T.contiguous())  # (1, N)
        self.bias = linear.bias

    def forward(self, states: Tensor) -> Tensor:
        steps, scales = in_steps(states.reshape(-1, states.shape[-1]))  # (n, H), (n, 1)
        products = torch._int_mm(steps, self.steps).float() * scales * self.scales
        if self.bias is not None:
            products = products + self.bias
        return products.view(*states.shape[:-1], -1)


def in_int8(model: Any) -> Any:
    """A copy of a model whose encoder has its linear layers in 8 bits, and that shares all other weights with it."""
    shared: dict[int, Any] = {id(weight): weight for weight in model.parameters()}
    model = copy.deepcopy(model, shared)
    for name, layer in list(model.encoder.named_modules()):
        if isinstance(layer, nn.Linear):
            model.encoder.set_submodule(name, _Int8Linear(layer))
    return model
