"""Filling the most certain slots, so that a second pass can take them into account. Tensors in, tensors out.

Slots are trained with a share of them filled, so the model knows how to read a filled one; choosing the easiest first
is the "mask-predict" decoding of Ghazvininejad et al. (2019), section 3.
"""

from collections.abc import Sequence

import torch

CERTAIN = 0.9  # probability from which a slot is filled before the next pass


def fill_certain(
    input_ids: torch.Tensor,
    slot_positions: torch.Tensor,
    probabilities: torch.Tensor,
    fill_ids: Sequence[int],
    mask_id: int,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Fill the slots whose label is certain.

    Args:
        input_ids: (B, P).
        slot_positions: (B, W), 0 where there is no slot.
        probabilities: (B, W, M) of the last pass.
        fill_ids: the piece that stands for each label.
        mask_id: the piece of an open slot; other slots are filled already and stay.

    Returns:
        (B, P) pieces with more slots filled, and (B, W) whether each slot was filled here.
    """
    scores, labels = probabilities.max(dim=-1)  # (B, W)
    is_open = (slot_positions > 0) & (input_ids.gather(1, slot_positions) == mask_id)
    is_filled = is_open & (scores >= CERTAIN)
    fills = torch.tensor(fill_ids, device=input_ids.device)[labels]
    rows = torch.arange(len(input_ids), device=input_ids.device).unsqueeze(1).expand_as(slot_positions)
    filled = input_ids.clone()
    filled[rows[is_filled], slot_positions[is_filled]] = fills[is_filled]
    return filled, is_filled
