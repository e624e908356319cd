"""Heads: from the states (B, W, H) of a window's slots to the scores (B, W, M) of their labels.

Letters are those of `modeling_punctuation`. Padding follows the slots of a text, and does not change them.
"""

import math
from typing import Any

import torch
from torch import nn

from .configuration_punctuation import CASINGS, PunctuationRestorationConfig

NOT_SCORED = -100  # label of a slot that takes no part in the loss
BARRED = -1e4  # log-odds of what cannot be; infinite ones have no gradients


def build_head(config: PunctuationRestorationConfig, hidden_size: int) -> nn.Module:
    """The head of a configuration, with its `crf` and `casings` (a linear layer), None where the model has none."""
    n_labels = len(config.label_names)
    head: Any
    if config.head.startswith("bilstm"):
        head = BiLSTMClassifier(hidden_size, n_labels, config.head_dropout)
    else:
        head = SlotClassifier(hidden_size, config.head_width, n_labels, config.head_dropout)
    head.crf = LinearChain(n_labels) if config.head.endswith("crf") else None
    head.casings = nn.Linear(hidden_size, len(CASINGS)) if config.casings else None
    return head


def cross_entropies(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Cross-entropy (B, W) of labels (B, W) under their logits (B, W, M), 0 where they are not scored."""
    scores = logits.float().transpose(1, 2)
    return nn.functional.cross_entropy(scores, labels, ignore_index=NOT_SCORED, reduction="none")


def mean_loss(losses: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """The mean over the scored slots of losses (B, W) of labels (B, W); 0 where none is scored."""
    return losses.sum() / (labels != NOT_SCORED).sum().clamp(min=1)


class SlotClassifier(nn.Module):
    """Two linear layers, shared by all slots (MLM-Punct, section III-B)."""

    def __init__(self, hidden_size: int, width: int, n_labels: int, dropout: float) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.dense = nn.Linear(hidden_size, width)
        self.out_proj = nn.Linear(width, n_labels)

    def forward(
        self, slot_states: torch.Tensor, is_slot: torch.Tensor | None = None
    ) -> torch.Tensor:
        """`slot_states`: (..., H); returns logits (..., M)."""
        hidden = torch.relu(self.dense(self.dropout(slot_states)))
        return self.out_proj(self.dropout(hidden))


class BiLSTMClassifier(nn.Module):
    """An LSTM of the encoder's width each way over a window's slots, and a linear layer (Alam et al. 2020)."""

    def __init__(self, hidden_size: int, n_labels: int, dropout: float) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.lstm = nn.LSTM(hidden_size, hidden_size, batch_first=True)
        self.lstm_reverse = nn.LSTM(hidden_size, hidden_size, batch_first=True)
        self.projection = nn.Linear(2 * hidden_size, n_labels)

    def forward(self, slot_states: torch.Tensor, is_slot: torch.Tensor) -> torch.Tensor:
        """`slot_states` (B, W, H), `is_slot` (B, W) of bool; returns logits (B, W, M)."""
        # Each text is turned round within its own slots.
        places, n_slots = (
            torch.arange(is_slot.shape[1], device=is_slot.device),
            is_slot.sum(1, keepdim=True),
        )
        turned = torch.where(
            places < n_slots, n_slots - 1 - places, places
        )  # (B, W), its own inverse
        turned = turned.unsqueeze(-1).expand_as(slot_states)
        with torch.autocast(
            slot_states.device.type, enabled=False
        ):  # which not every device has for an LSTM
            states = self.dropout(slot_states).to(self.projection.weight.dtype)
            ahead, _ = self.lstm(states)
            back, _ = self.lstm_reverse(states.gather(1, turned))
            return self.projection(self.dropout(torch.cat([ahead, back.gather(1, turned)], dim=-1)))


class LinearChain(nn.Module):
    """A conditional random field over a window's slots, as after BERT in Makhija et al. (2019).

    The weight of a sequence of labels is exp(the sum of their scores and of a transition between each two). Windows
    begin and end anywhere in a text, so there is none at their borders.
    """

    def __init__(self, n_labels: int) -> None:
        super().__init__()
        self.transitions = nn.Parameter(torch.zeros(n_labels, n_labels))  # from row to column

    def forward(self, scores: torch.Tensor, is_slot: torch.Tensor) -> torch.Tensor:
        """Log-probabilities (B, W, M) of each slot's labels, by forward-backward, from `scores` (B, W, M)."""
        steps = self._steps(scores.float().log_softmax(-1), is_slot)
        forward = self._products(steps)[:, :, 0]  # (B, W, M): all ways to a label
        backward = self._products(steps.flip(1).transpose(2, 3)).flip(1)[:, 1:].logsumexp(2)
        backward = torch.cat(
            [backward, torch.zeros_like(forward[:, :1])], dim=1
        )  # all ways on from a label
        return (forward + backward).log_softmax(-1)

    def losses(
        self, scores: torch.Tensor, is_slot: torch.Tensor, labels: torch.Tensor
    ) -> torch.Tensor:
        """Negative log-likelihood (B, W) of the scored labels, each window's spread evenly over its scored slots.

        A slot that is not scored may have any label.
        """
        scores, is_scored = scores.float().log_softmax(-1), labels != NOT_SCORED
        is_other = labels.unsqueeze(-1) != torch.arange(scores.shape[-1], device=labels.device)
        right = scores.masked_fill(is_other & is_scored.unsqueeze(-1), BARRED)
        whole, own = (
            self._products(self._steps(one, is_slot))[:, -1, 0].logsumexp(-1)
            for one in (scores, right)
        )
        losses = whole - own  # (B,), of the summed weights of all sequences
        return is_scored * (losses / is_scored.sum(1).clamp(min=1)).unsqueeze(1)

    def _steps(self, scores: torch.Tensor, is_slot: torch.Tensor) -> torch.Tensor:
        """(B, W, M, M): the log-weight of going from one label to the next; at padding nothing changes."""
        is_first = torch.arange(scores.shape[1], device=scores.device)[:, None, None] == 0
        steps = scores.unsqueeze(2) + self.transitions.float().masked_fill(is_first, 0.0)
        return torch.where(is_slot[:, :, None, None], steps, self._unchanged())

    def _unchanged(self) -> torch.Tensor:
        return BARRED * (1 - torch.eye(len(self.transitions), device=self.transitions.device))

    def _products(self, steps: torch.Tensor) -> torch.Tensor:
        """Log-products (B, W, M, M) of the steps up to each slot, by doubling (Hillis & Steele 1986): log W steps."""
        for doubling in range(math.ceil(math.log2(steps.shape[1]))):
            start = self._unchanged().expand(steps.shape[0], 2**doubling, -1, -1)
            before = torch.cat([start, steps], dim=1)[:, : steps.shape[1]]
            steps = (before.unsqueeze(-1) + steps.unsqueeze(-3)).logsumexp(-2)
        return steps
