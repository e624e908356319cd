"""Which number format to compute in, given the machine."""

from __future__ import annotations

import torch

from punctuation_restoration.pipeline.backends import cpu_has_bf16

PRECISIONS = ("auto", "fp32", "bf16", "fp16")


def choose_precision(wanted: str, device_type: str) -> tuple[str, str | None]:
    """Accelerate's name of the number format to use, and a message where it is not what was wanted.

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
