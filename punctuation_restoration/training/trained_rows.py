"""Trains only some rows of the word embeddings: those of the mask, of fill pieces and of new pieces.

Takes a model, changes it in place; what is saved are plain embeddings again.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional


class RowTrainedEmbedding(nn.Module):
    """An embedding of which only some rows are trained.

    Autograd would build a gradient of the whole matrix, 78 MB for 50,625 pieces, at every step.

    Args:
        embedding: the embedding to stand in for; its weight is shared, not copied.
        rows: ids whose rows are trained.
    """

    ids: torch.Tensor  # (n_rows,) the trained rows
    place: torch.Tensor  # (n_vocabulary,) 1 + the place among the trained rows, 0 where a row is frozen

    def __init__(self, embedding: nn.Embedding, rows: Sequence[int]):
        super().__init__()
        self.embedding = embedding.requires_grad_(False)
        ids = torch.tensor(sorted(set(rows)), dtype=torch.long)
        place = torch.zeros(embedding.num_embeddings, dtype=torch.long)
        place[ids] = torch.arange(1, len(ids) + 1)
        self.register_buffer("ids", ids, persistent=False)
        self.register_buffer("place", place, persistent=False)
        self.rows = nn.Parameter(embedding.weight.detach()[ids].clone())  # (n_rows, H)

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        """`input_ids` (B, P) → (B, P, H)."""
        frozen = self.embedding(input_ids)
        place = self.place[input_ids]
        rows = functional.embedding((place - 1).clamp(min=0), self.rows)
        scale = getattr(self.embedding, "embed_scale", 1.0)  # of Gemma's, which multiplies what it looks up
        return torch.where((place > 0).unsqueeze(-1), rows * scale, frozen)


def train_rows_only(model: Any, rows: Sequence[int]) -> None:
    """Freeze the word embeddings of a model except `rows`, which may be empty."""
    embedding = model.get_input_embeddings()
    embedding.weight.requires_grad_(False)
    if rows:
        model.set_input_embeddings(RowTrainedEmbedding(embedding, rows))


@torch.no_grad()
def plain_weights(model: Any) -> dict[str, torch.Tensor]:
    """The weights of the model with the trained rows in their places."""
    weights = dict(model.state_dict())
    for name, module in model.named_modules():
        if isinstance(module, RowTrainedEmbedding):
            rows = weights.pop(f"{name}.rows")
            weights[f"{name}.weight"] = weights.pop(f"{name}.embedding.weight").index_copy(0, module.ids, rows)
    return weights


def save_plain(model: Any, tokenizer: Any, place: Path) -> None:
    """Save a model as any other, with its tokenizer."""
    model.save_pretrained(place, state_dict=plain_weights(model))
    tokenizer.save_pretrained(place)
