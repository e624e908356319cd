"""Chooses the number format to compute in, given the machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention
from torch.overrides import TorchFunctionMode

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


class Fp32Attention(TorchFunctionMode):
    """While entered, attention and its gradients are computed in fp32, on a CPU under bf16 autocast.

    Only the matrix products of the layers are faster in bf16 there. The backward pass of torch's bf16 attention took
    nearly half of a step (torch 2.13, AMX, heads of 32 values, windows of 160 pieces: `docs/log.md`, "bf16").
    """

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        kwargs = dict(kwargs or {})
        if func is not scaled_dot_product_attention or not torch.is_autocast_enabled("cpu"):
            return func(*args, **kwargs)
        with torch.autocast("cpu", enabled=False):
            mixed = func(*map(_in_fp32, args), **{name: _in_fp32(value) for name, value in kwargs.items()})
        return mixed.to(torch.get_autocast_dtype("cpu"))


def _in_fp32(value: Any) -> Any:
    """A bf16 tensor as fp32; anything else, such as a mask of bools, as it is."""
    return value.float() if isinstance(value, torch.Tensor) and value.is_floating_point() else value
