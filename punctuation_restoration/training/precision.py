"""The device and the number format that a run computes with, given the machine."""

import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from torch import Tensor
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from punctuation_restoration.pipeline.backends import check_device, cpu_has_bf16

ACCELERATE_NAMES = {"float32": "no", "bfloat16": "bf16", "float16": "fp16"}
SPLITTERS = ("FSDP", "DEEPSPEED", "MEGATRON_LM")  # as accelerate's environment names them
FP32_ATTENTION = "fp32-sdpa"  # its name in transformers


def default_device() -> str:
    """A GPU if there is one."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def build_accelerator(
    device: str | None, dtype: str, trackers: Sequence[Any] = (), folder: str | Path = "."
) -> Accelerator:
    """The accelerator of a run; "auto" is the format of `accelerate launch` or `accelerate config`, or the fastest.

    `trackers` are those of `Accelerator(log_with=...)`, which write into `folder`.
    """
    for name in SPLITTERS:
        if os.environ.get(f"ACCELERATE_USE_{name}", "").lower() in ("1", "true"):
            raise ValueError(
                f"Expected each process to hold the whole model, got accelerate's {name}. Launch without it; a smaller "
                "--pieces-per-batch with --accumulate saves memory."
            )
    check_device(device)
    place = torch.device(device or default_device())
    kind = place.type
    if kind == "cuda" and place.index is not None:
        torch.cuda.set_device(place)  # accelerate takes the current one
    launched = os.environ.get("ACCELERATE_MIXED_PRECISION") if dtype == "auto" else None
    accelerator = Accelerator(
        cpu=kind == "cpu",
        mixed_precision=choose_format(launched or dtype, kind),
        log_with=list(trackers) or None,
        project_dir=folder,
    )
    if accelerator.device.type != kind:
        raise ValueError(
            f"Expected the device {device}, got {accelerator.device}. Give another --device, or none."
        )
    return accelerator


def choose_format(dtype: str, device_type: str) -> str:
    """accelerate's name of a number format: "no" (float32), "bf16" or "fp16".

    bf16 on a processor without bf16 instructions was measured 27 times slower than float32, which takes its place.
    """
    wanted = ACCELERATE_NAMES.get(dtype, dtype)
    if device_type == "cpu":
        if wanted == "fp16":
            raise ValueError(
                "Expected float32 or bfloat16 on a CPU, got float16. Choose --dtype float32."
            )
        if wanted == "bf16" and not cpu_has_bf16():
            warnings.warn(
                "No bf16 instructions (avx512_bf16, amx_bf16) here: training in float32.",
                stacklevel=2,
            )
        return "bf16" if cpu_has_bf16() and wanted != "no" else "no"
    if wanted == "auto":
        supported = device_type != "cuda" or torch.cuda.is_bf16_supported(including_emulation=False)
        return "bf16" if supported else "fp16"
    return wanted


def attend_in_fp32(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    **options: Any,
) -> tuple[Tensor, None]:
    """transformers' attention "sdpa", in fp32 where a CPU computes the rest in bf16.

    The backward pass of torch's bf16 attention took nearly half of a step (torch 2.13, AMX: `docs/log.md`, "bf16").
    """
    if not torch.is_autocast_enabled("cpu"):
        return sdpa_attention_forward(module, query, key, value, mask, **options)
    if mask is not None and mask.is_floating_point():
        mask = mask.float()
    with torch.autocast("cpu", enabled=False):
        return sdpa_attention_forward(
            module, query.float(), key.float(), value.float(), mask, **options
        )


AttentionInterface.register(FP32_ATTENTION, attend_in_fp32)
AttentionMaskInterface.register(FP32_ATTENTION, sdpa_mask)


def use_fp32_attention(model: Any) -> None:
    """Let the encoder of a model attend in fp32 under bf16 autocast on a CPU, as the model itself does at the slots."""
    if model.encoder.config._attn_implementation == "sdpa":
        model.encoder.set_attn_implementation(FP32_ATTENTION)
