"""The loss: the labels of the text, and the probabilities of another model."""

import torch
from torch import Tensor
from torch.nn import functional

from punctuation_restoration.modeling.modeling_punctuation import NOT_SCORED, cross_entropies
from punctuation_restoration.training.settings import TrainingSettings


def total_loss(
    logits: Tensor,
    casing_logits: Tensor | None,
    settings: TrainingSettings,
    labels: Tensor,
    teacher_labels: Tensor | None = None,
    casings: Tensor | None = None,
) -> Tensor:
    """Summed loss of the scored slots: cross-entropy with the labels, smoothed by `label_smoothing`.

    Where another model gave probabilities, the divergence from these counts for a share of `distil_weight`.

    Args:
        logits: (B, W, M).
        casing_logits: (B, W, C), of a model that has them.
        settings: the weights of the parts.
        labels: (B, W), -100 where a slot is not scored.
        teacher_labels: (B, W, M) probabilities of another model; zeros where there are none.
        casings: (B, W), -100 where they are not scored; they count `casing_weight` times.
    """
    losses = cross_entropies(logits, labels, settings.label_smoothing)
    if teacher_labels is not None:
        share = settings.distil_weight * (teacher_labels.sum(-1) > 0).float()
        log_probabilities = logits.float().log_softmax(-1)
        # Hinton et al. 2015, at the temperature 1.
        divergences = functional.kl_div(log_probabilities, teacher_labels, reduction="none").sum(-1)
        losses = torch.lerp(losses, divergences, share)
    loss = losses.masked_fill(labels == NOT_SCORED, 0.0).sum()
    if casing_logits is not None and casings is not None:
        loss = loss + settings.casing_weight * cross_entropies(casing_logits, casings).sum()
    return loss
