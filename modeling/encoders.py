"""Encoders of transformers, cut to their first layers, and how they are stored in 8 bits.

Letters in shapes are those of `modeling_punctuation`. A matrix `weight` (N, H) is stored as `weight` of int8 and
`weight_scale` (N, 1) of float32, the largest absolute value of each row divided by 127. Once loaded, it is a float
again, weight times scale, at most half a scale from what it was.
"""

import inspect
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

SCALE = "_scale"  # follows the name of a matrix


def without_pooler(encoder_config: Any) -> dict[str, bool]:
    """Arguments that leave out the weights for the pooled state of the first piece, which is never used."""
    # Not at the top: transformers' table imports our model, which imports this module.
    from transformers import MODEL_MAPPING

    # None where its code comes from the Hub.
    encoder_class: Any = MODEL_MAPPING.get(type(encoder_config), None)
    takes_it = encoder_class and "add_pooling_layer" in inspect.signature(encoder_class).parameters
    return {"add_pooling_layer": False} if takes_it else {}


def keep_first_layers(encoder: PreTrainedModel, n_layers: int) -> None:
    """Cut an encoder, in place, to its first layers."""
    n_there = encoder.config.num_hidden_layers
    if not 1 <= n_layers <= n_there:
        raise ValueError(
            f"Expected n_layers from 1 to {n_there}, got {n_layers}. This encoder has no more layers."
        )
    del layers_of(encoder)[n_layers:]
    encoder.config.num_hidden_layers = n_layers
    # ModernBERT and Gemma list the kind of attention of each layer.
    if getattr(encoder.config, "layer_types", None):
        encoder.config.layer_types = encoder.config.layer_types[:n_layers]


def layers_of(encoder: PreTrainedModel) -> nn.ModuleList:
    """The list of an encoder's layers."""
    n_there = encoder.config.num_hidden_layers
    stacks = [
        part
        for part in encoder.modules()
        if isinstance(part, nn.ModuleList) and len(part) == n_there
    ]
    if len(stacks) != 1:
        raise ValueError(
            f"Expected one list of {n_there} layers in {type(encoder).__name__}, found {len(stacks)}. Leave n_layers, "
            "frozen layers and compile out for this encoder."
        )
    return stacks[0]


def compile_layers(encoder: PreTrainedModel, backend: Any = "inductor") -> None:
    """Compile each layer, in place. Layers of one kind share what is compiled, for batches of any shape."""
    for layer in layers_of(encoder):
        layer.compile(backend=backend, dynamic=True)


def in_8_bits(weights: Mapping[str, Tensor], encoder: nn.Module) -> dict[str, Tensor]:
    """Weights of a model with that encoder, as they are stored."""
    stored = dict(weights)
    for own_name in _matrices(encoder):
        name = f"encoder.{own_name}"
        matrix = weights[name].detach().float()
        scale = matrix.abs().amax(dim=1, keepdim=True) / 127
        # A row of zeros has a scale of 0.
        steps = matrix / scale.clamp(min=torch.finfo(torch.float32).tiny)
        stored[name] = steps.round().to(torch.int8)
        stored[name + SCALE] = scale
    return stored


def expect_scales(encoder: nn.Module) -> None:
    """Before loading: give each matrix a place for its scale, so that transformers fills it, or reports it missing."""
    for name, weight in _matrices(encoder).items():
        module, _, own_name = name.rpartition(".")
        scale = torch.ones(len(weight), 1, dtype=torch.float32)
        encoder.get_submodule(module).register_buffer(own_name + SCALE, scale)


@torch.no_grad()
def apply_scales(encoder: nn.Module) -> None:
    """After loading: multiply each matrix by its scale, and forget the scales."""
    for name, weight in _matrices(encoder).items():
        module, _, own_name = name.rpartition(".")
        weight.mul_(encoder.get_buffer(name + SCALE))
        delattr(encoder.get_submodule(module), own_name + SCALE)


def _matrices(encoder: nn.Module) -> dict[str, nn.Parameter]:
    """The parameters with two dimensions, by name."""
    return {name: weight for name, weight in encoder.named_parameters() if weight.ndim == 2}
