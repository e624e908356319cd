"""Word embeddings of which only a few rows are trained.

Takes an `nn.Embedding`, gives a module to use in its place, whose gradient has these rows only. The caller says which
rows: ours are the mask and the fills.
"""

from collections.abc import Sequence
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
        self.embedding = embedding
        self.embedding.weight.requires_grad_(False)
        ids = torch.tensor(sorted(set(rows)), dtype=torch.long)
        place = torch.zeros(embedding.num_embeddings, dtype=torch.long)
        place[ids] = torch.arange(1, len(ids) + 1)
        self.register_buffer("ids", ids, persistent=False)
        self.register_buffer("place", place, persistent=False)
        self.rows = nn.Parameter(embedding.weight.detach()[ids].clone())  # (n_rows, H)

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        """`input_ids` (B, P) → (B, P, H)."""
        frozen = functional.embedding(input_ids, self.embedding.weight, self.embedding.padding_idx)
        place = self.place[input_ids]
        rows = functional.embedding((place - 1).clamp(min=0), self.rows)
        return torch.where((place > 0).unsqueeze(-1), rows, frozen)


def train_rows_only(model: Any, rows: Sequence[int]) -> None:
    """Freeze the word embeddings of a model except `rows`, which may be empty."""
    if not rows:
        model.get_input_embeddings().weight.requires_grad_(False)
        return
    model.set_input_embeddings(RowTrainedEmbedding(model.get_input_embeddings(), rows))
