"""The loss: human labels, pseudo labels with their own weight and smoothing, and soft labels of another model."""

import torch
from torch.nn import functional

from punctuation_restoration.modeling.modeling_punctuation import NOT_SCORED, cross_entropies
from punctuation_restoration.training.settings import TrainingSettings


def total_loss(
    logits: torch.Tensor,
    labels: torch.Tensor,
    settings: TrainingSettings,
    is_pseudo: torch.Tensor | None = None,
    soft_labels: torch.Tensor | None = None,
    casing_logits: torch.Tensor | None = None,
    casings: torch.Tensor | None = None,
) -> torch.Tensor:
    """Summed loss of the scored slots, after the self-training of Chen et al. (2021).

    A label y of M becomes (1 - beta) y + beta / M, with a beta for human and one for pseudo labels, and the loss of
    pseudo labels counts alpha times. With a focal gamma the loss of a slot counts (1 - p)^gamma times, where p is the
    probability of its label (Lin et al. 2017). Where there are soft labels, they count for a share of `distil_weight`.

    Args:
        logits: (B, W, M).
        labels: (B, W), -100 where a slot is not scored.
        is_pseudo: (B,) of bool, windows that a model labelled; None for none.
        soft_labels: (B, W, M) probabilities of another model; zeros where there are none.
        casing_logits: (B, W, C).
        casings: (B, W), -100 where they are not scored; they count `casing_weight` times.
    """
    log_probabilities = logits.float().log_softmax(-1)  # (B, W, M)
    scores = log_probabilities.transpose(1, 2)
    cross_entropy = functional.nll_loss(scores, labels, ignore_index=NOT_SCORED, reduction="none")
    smoothing: torch.Tensor | float = settings.label_smoothing
    weight: torch.Tensor | float = 1.0
    if is_pseudo is not None:
        pseudo = is_pseudo.float().unsqueeze(-1)  # (B, 1); arithmetic, as `where` waits for a GPU
        smoothing = (1 - pseudo) * smoothing + pseudo * settings.pseudo_smoothing
        weight = (1 - pseudo) + pseudo * settings.pseudo_weight
    uniform = -log_probabilities.mean(-1)
    losses = weight * ((1 - smoothing) * cross_entropy + smoothing * uniform)
    if settings.focal_gamma:  # p is kept from 1, where a power below 1 has no gradient
        losses = losses * (1 - (-cross_entropy).exp()).clamp(min=1e-6) ** settings.focal_gamma
    if soft_labels is not None:
        share = settings.distil_weight * (soft_labels.sum(-1) > 0).float()
        losses = torch.lerp(losses, divergences(logits, soft_labels, settings.temperature), share)
    loss = losses.masked_fill(labels == NOT_SCORED, 0.0).sum()
    if casing_logits is not None and casings is not None:
        loss = loss + settings.casing_weight * cross_entropies(casing_logits, casings).sum()
    return loss


def divergences(
    logits: torch.Tensor, soft_labels: torch.Tensor, temperature: float
) -> torch.Tensor:
    """Divergence (B, W) of a model from soft labels (B, W, M), times the temperature squared (Hinton et al. 2015)."""
    softened = soft_labels.pow(1 / temperature)
    softened = softened / softened.sum(-1, keepdim=True).clamp(min=1e-9)
    log_probabilities = (logits.float() / temperature).log_softmax(-1)
    return temperature**2 * functional.kl_div(log_probabilities, softened, reduction="none").sum(-1)
