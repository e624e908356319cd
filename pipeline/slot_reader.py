"""Piece ids and slot positions -> label logits, computing only what the slots need. Knows tensors, not text.

Equal to the model's own forward pass, but the last layer of the encoder is computed at the slots alone: of the other
pieces only keys and values are needed there. That spares nearly half of one layer (the feed-forward part, which is two
thirds of it, for every piece that is not a slot). Late masks go through the last layers beside the pieces.

Letters in shapes: B windows in a batch, P pieces, W slots, M labels, H hidden width.
"""

import functools
from collections.abc import Callable
from typing import Any

import torch

Read = Callable[..., torch.Tensor]  # (input_ids, attention_mask or None, slot_positions) -> logits (B, W, M)

TOLERANCE, HALF_TOLERANCE = 1e-4, 5e-2  # between logits, relative to the largest: sums are in another order


def reader_of(model: Any, pad_id: int) -> Read:
    """How to read slots with this model: the short way if its encoder allows, else its own forward pass.

    Args:
        model: a `PunctuationRestorationModel` with its weights loaded.
        pad_id: id of the padding piece.
    """
    return functools.partial(read_slots if reads_short(model, pad_id) else read_all, model)


def reads_short(model: Any, pad_id: int) -> bool:
    """Whether `read_slots` can be used.

    It calls parts of transformers that may be rebuilt there, so it is compared with the model's own forward pass.
    """
    attention = getattr(model.config.get_text_config(), "_attn_implementation", None)
    return getattr(model, "is_layered", False) and attention in ("sdpa", "eager") and _agree(model, pad_id)


def read_all(
    model: Any, input_ids: torch.Tensor, attention_mask: torch.Tensor | None, slot_positions: torch.Tensor
) -> torch.Tensor:
    """Logits (B, W, M) of the slots, by the model's own forward pass."""
    return model(input_ids=input_ids, attention_mask=attention_mask, slot_positions=slot_positions).logits


def read_slots(
    model: Any, input_ids: torch.Tensor, attention_mask: torch.Tensor | None, slot_positions: torch.Tensor
) -> torch.Tensor:
    """Logits (B, W, M) of the slots.

    Args:
        model: a `PunctuationRestorationModel` whose encoder can be computed layer by layer.
        input_ids: (B, P) piece ids.
        attention_mask: (B, P), 1 for pieces, 0 for padding; None where nothing is padded.
        slot_positions: (B, W) indices of the slots among the pieces.
    """
    encoder = model.encoder
    states = encoder.embeddings(input_ids=input_ids)  # (B, P, H)
    is_piece = None if attention_mask is None else attention_mask.bool()[:, None, None, :]  # (B, 1, 1, P)
    layers = list(encoder.encoder.layer)
    first = len(layers) - max(model.n_slot_layers, 1)
    for layer in layers[:first]:
        states = model.attend(layer, states, states, is_piece)
    slot_states = model.slot_states(states, slot_positions)  # (B, W, H)
    for layer in layers[first:-1]:  # in one go, so that keys and values are computed once
        both = model.attend(layer, torch.cat([states, slot_states], dim=1), states, is_piece)
        states, slot_states = both.split([states.shape[1], slot_states.shape[1]], dim=1)
    return model.classifier(model.attend(layers[-1], slot_states, states, is_piece))


@torch.inference_mode()
def _agree(model: Any, pad_id: int) -> bool:
    """Whether both ways give the same for a batch with padding, as nearly as the precision allows."""
    n_known = model.config.get_text_config().vocab_size
    ids = ([index for index in range(min(n_known, 32)) if index != pad_id] * 12)[:12]
    input_ids = torch.tensor([ids, [*reversed(ids[4:]), *[pad_id] * 4]], device=model.device)
    mask = torch.tensor([[1] * 12, [1] * 8 + [0] * 4], device=model.device)
    slot_positions = torch.tensor([[2, 5, 10], [1, 4, 6]], device=model.device)
    was_training = model.training
    model.eval()
    try:
        expected, got = (read(model, input_ids, mask, slot_positions).float() for read in (read_all, read_slots))
    except (AttributeError, TypeError):
        return False
    finally:
        model.train(was_training)
    tolerance = TOLERANCE if model.dtype == torch.float32 else HALF_TOLERANCE
    return bool((expected - got).abs().max() <= tolerance * (1 + expected.abs().max()))
