"""How an encoder's matrices are stored in 8 bits: whole numbers, and one scale a row.

A matrix `weight` (N, H) is stored as `weight` of int8 and `weight_scale` (N, 1) of float32, the largest absolute value
of each row divided by 127. Once loaded, it is a float again, weight times scale, at most half a scale from what it was.
"""

from collections.abc import Iterator, Mapping

import torch
from torch import nn

SCALE = "_scale"  # follows the name of a matrix
LARGEST = 127


def in_8_bits(weights: Mapping[str, torch.Tensor], encoder: nn.Module, prefix: str) -> dict[str, torch.Tensor]:
    """Weights of a model whose encoder has that prefix, as they are stored."""
    stored = dict(weights)
    for _, path, own in _matrices(encoder):
        name = f"{prefix}{path}{own}"
        matrix = weights[name].detach().float()
        scale = matrix.abs().amax(dim=1, keepdim=True) / LARGEST
        steps = matrix / scale.clamp(min=torch.finfo(torch.float32).tiny)  # a row of zeros has a scale of 0
        stored[name], stored[name + SCALE] = steps.round().to(torch.int8), scale
    return stored


def expect_scales(encoder: nn.Module) -> None:
    """Before loading: give each matrix a place for its scale, so that transformers fills it, or reports it missing."""
    for module, _, own in _matrices(encoder):
        n_rows = len(module.get_parameter(own))
        module.register_buffer(own + SCALE, torch.ones(n_rows, 1, dtype=torch.float32))


@torch.no_grad()
def apply_scales(encoder: nn.Module) -> None:
    """After loading: multiply each matrix by its scale, and forget the scales."""
    for module, _, own in _matrices(encoder):
        module.get_parameter(own).mul_(module.get_buffer(own + SCALE))
        delattr(module, own + SCALE)


def _matrices(encoder: nn.Module) -> Iterator[tuple[nn.Module, str, str]]:
    """Each parameter with two dimensions: its module, the path of that, and its own name."""
    for path, module in encoder.named_modules():
        for own, weight in module.named_parameters(recurse=False):
            if weight.ndim == 2:
                yield module, f"{path}." if path else "", own
