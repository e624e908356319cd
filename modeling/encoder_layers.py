"""The layers of encoders and decoders of transformers: found, cut, and made to read both ways. Knows no slots."""

import inspect
from typing import Any

from torch import nn
from transformers import MODEL_MAPPING, PreTrainedModel


def without_pooler(encoder_config: Any) -> dict[str, bool]:
    """Arguments that leave out the weights for the pooled state of the first piece, which is never used."""
    encoder_class: Any = MODEL_MAPPING.get(type(encoder_config), None)  # None where its code comes from the Hub
    takes_it = encoder_class and "add_pooling_layer" in inspect.signature(encoder_class).parameters
    return {"add_pooling_layer": False} if takes_it else {}


def is_causal(encoder: PreTrainedModel) -> bool:
    """Whether some layer of an encoder reads to the left alone."""
    return any(getattr(module, "is_causal", False) is True for module in encoder.modules())


def unmask_layers(encoder: PreTrainedModel, first: int) -> None:
    """Let the layers of a causal encoder read to the right as well, from layer `first` on; padding stays hidden.

    Raises:
        ValueError: if the encoder is not causal, or its layers cannot be told apart.
    """
    if not is_causal(encoder):
        kind = type(encoder).__name__
        raise ValueError(f"Expected a causal encoder for bidirectional_from, {kind} reads both ways already. Drop it.")
    for layer in layers_of(encoder)[first:]:
        layer.register_forward_pre_hook(_show_all_pieces, with_kwargs=True)
        for module in layer.modules():
            if hasattr(module, "is_causal"):
                setattr(module, "is_causal", False)  # noqa: B010  (to mypy, modules hold tensors only)


def _show_all_pieces(layer: nn.Module, args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Give a layer the mask of padding in place of the causal one.

    The last row of a causal mask (B, 1, P, P) hides nothing but padding. Without a mask there is no padding, and
    attention asks its module whether to look to the left alone.
    """
    if args and "attention_mask" not in kwargs:  # GPT-2 gives it by position
        kwargs, args = {**dict(zip(inspect.signature(layer.forward).parameters, args, strict=False)), **kwargs}, ()
    mask = kwargs.get("attention_mask")
    return args, kwargs if mask is None else {**kwargs, "attention_mask": mask[:, :, -1:, :]}


def keep_first_layers(encoder: PreTrainedModel, n_layers: int) -> None:
    """Cut an encoder, in place, to its first layers."""
    n_there = encoder.config.num_hidden_layers
    if not 1 <= n_layers <= n_there:
        raise ValueError(f"Expected n_layers from 1 to {n_there}, got {n_layers}. This encoder has no more layers.")
    del layers_of(encoder)[n_layers:]
    encoder.config.num_hidden_layers = n_layers
    if getattr(encoder.config, "layer_types", None):  # ModernBERT lists the kind of attention of each layer
        encoder.config.layer_types = encoder.config.layer_types[:n_layers]


def layers_of(encoder: PreTrainedModel) -> nn.ModuleList:
    """The list of an encoder's layers."""
    n_there = encoder.config.num_hidden_layers
    stacks = [part for part in encoder.modules() if isinstance(part, nn.ModuleList) and len(part) == n_there]
    if len(stacks) != 1:
        raise ValueError(
            f"Expected one list of {n_there} layers in {type(encoder).__name__}, found {len(stacks)}. Leave n_layers "
            "and bidirectional_from out for this encoder."
        )
    return stacks[0]
