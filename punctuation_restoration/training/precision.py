"""Chooses the number format to compute in, given the machine."""

from typing import Any

import torch
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from punctuation_restoration.pipeline.backends import cpu_has_bf16

PRECISIONS = ("auto", "fp32", "bf16", "fp16")
FP32_ATTENTION = "fp32-sdpa"  # its name in transformers


def choose_precision(wanted: str, device_type: str) -> tuple[str, str | None]:
    """accelerate's name of the number format to use, and a message if it differs from the one asked for.

    bf16 on a processor without bf16 instructions was measured 27 times slower than fp32, so it falls back to fp32.

    Raises:
        ValueError: for an unknown format, or fp16 on a CPU, where gradients cannot be scaled.
    """
    if wanted not in PRECISIONS:
        raise ValueError(f"Expected a precision out of {PRECISIONS}, got {wanted!r}. Choose one.")
    if device_type == "cpu":
        if wanted == "fp16":
            raise ValueError("Expected fp32 or bf16 on a CPU, got fp16, which needs a GPU. Choose --precision fp32.")
        if wanted == "bf16" and not cpu_has_bf16():
            return "no", "This processor has no bf16 instructions (avx512_bf16, amx_bf16): training in fp32 instead."
        return ("bf16" if cpu_has_bf16() and wanted != "fp32" else "no"), None
    if wanted == "auto":
        supported = device_type != "cuda" or torch.cuda.is_bf16_supported(including_emulation=False)
        return ("bf16" if supported else "fp16"), None
    return {"fp32": "no"}.get(wanted, wanted), None


def attend_in_fp32(
    module: Any, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor | None, **options: Any
) -> tuple[torch.Tensor, None]:
    """transformers' attention "sdpa", in fp32 where a CPU computes the rest in bf16.

    Only the matrix products of the layers are faster in bf16 there. The backward pass of torch's bf16 attention took
    nearly half of a step (torch 2.13, AMX, heads of 32 values, windows of 160 pieces: `docs/log.md`, "bf16").
    """
    if not torch.is_autocast_enabled("cpu"):
        return sdpa_attention_forward(module, query, key, value, mask, **options)
    if mask is not None and mask.is_floating_point():
        mask = mask.float()
    with torch.autocast("cpu", enabled=False):
        return sdpa_attention_forward(module, query.float(), key.float(), value.float(), mask, **options)


AttentionInterface.register(FP32_ATTENTION, attend_in_fp32)
AttentionMaskInterface.register(FP32_ATTENTION, sdpa_mask)


def use_fp32_attention(model: Any) -> None:
    """Let the encoder of a model attend in fp32 under bf16 autocast on a CPU, as the model itself does at the slots."""
    if model.encoder.config._attn_implementation == "sdpa":
        model.encoder.set_attn_implementation(FP32_ATTENTION)
