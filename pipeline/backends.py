"""What computes the labels, behind one call: torch or ONNX Runtime. Knows tensors and files, not text.

    torch           the model itself; the default. float32, or what `dtype=` says
    torch-int8      the model with 8-bit linear layers: see `int8_layers.py`
    onnx            ONNX Runtime, float32
    onnx-int8       ONNX Runtime, int8: see `onnx_export.py`

ONNX Runtime reads the file `onnx/model.onnx` or `onnx/model_int8.onnx` of the model's folder or repository. Where there
is no such file of these weights, the model is written as ONNX into memory, which takes ten seconds or more.
"""

import functools
import logging
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import Tensor
from transformers.utils import cached_file

from .int8_layers import in_int8

logger = logging.getLogger(__name__)

BACKENDS = ("torch", "torch-int8", "onnx", "onnx-int8")
FILES = {"onnx": "onnx/model.onnx", "onnx-int8": "onnx/model_int8.onnx"}

if hasattr(os, "register_at_fork"):
    # A forked process has none of torch's threads, and would wait for them without end.
    os.register_at_fork(after_in_child=functools.partial(torch.set_num_threads, 1))


def make_backend(name: str, model: Any, pad_id: int) -> Callable[..., Tensor]:
    """The backend of that name for a `PunctuationRestorationModel`, on the CPU unless for torch, and its padding piece.

    It takes input_ids (B, P), attention_mask (B, P), and slot_positions (B, W), and gives calibrated
    probabilities (B, W, M) of labels; for a model with casings (B, W, M + C), followed by those of the casings.

    Raises:
        ValueError: for an unknown name, or a model that ONNX cannot hold, such as one in bf16.
        ImportError: if a package is missing; with what to install.
    """
    if name not in BACKENDS:
        raise ValueError(
            f"Expected backend to be one of {BACKENDS}, got {name!r}. Pass one of these."
        )
    if name != "torch":
        if model.dtype != torch.float32:
            got = str(model.dtype).removeprefix("torch.")
            raise ValueError(
                f"Expected dtype float32 for backend {name!r}, got {got}. Leave dtype out."
            )
        if name == "torch-int8":
            return functools.partial(_compute_with_torch, _in_int8(model))
        source = _file_beside(FILES[name], model) or _written(name, model, pad_id)
        return functools.partial(_compute_with_onnx, source, model.config)
    if model.dtype == torch.bfloat16 and model.device.type == "cpu" and not cpu_has_bf16():
        warnings.warn(
            "Expected a processor with bf16 instructions (avx512_bf16, amx_bf16) for dtype=bfloat16, this one has "
            "none and would take many times as long; computing in float32. Leave dtype out.",
            stacklevel=2,
        )
        model.float()
    return functools.partial(_compute_with_torch, model)


def check_device(name: str | None) -> None:
    """Check that torch has a device of this name here; None is always there."""
    try:
        torch.empty(0, device=name)
    except (RuntimeError, AssertionError) as error:
        said = str(error).splitlines()[0].rstrip(".")
        raise ValueError(
            f"Expected a device that is here, such as cpu, got {name}: {said}. Name another."
        ) from error


def cpu_has_bf16() -> bool:
    """Whether the processor computes in bf16."""
    return _cpu_has("avx512_bf16", "amx_bf16", "bf16")


def cpu_has_int8() -> bool:
    """Whether the processor multiplies whole numbers of 8 bits."""
    return _cpu_has("avx512_vnni", "avx_vnni", "amx_int8")


def _cpu_has(*instructions: str) -> bool:
    """Whether the processor has one of them, by the names that Linux gives them."""
    if hasattr(torch.cpu, "get_capabilities"):
        return any(map(torch.cpu.get_capabilities().get, instructions))
    # torch 2.8 does not tell.
    listed = Path("/proc/cpuinfo")
    return listed.exists() and not set(instructions).isdisjoint(listed.read_text().split())


def _in_int8(model: Any) -> Any:
    """The model with 8-bit layers, or itself where the processor would be slow, and round products of 8 bits."""
    if cpu_has_int8():
        return in_int8(model)
    warnings.warn(
        "Expected a processor with 8-bit instructions (avx512_vnni, avx_vnni) for backend 'torch-int8', found none; "
        "computing in float32. Use backend 'onnx-int8'.",
        stacklevel=3,
    )
    return model


def _compute_with_torch(model: Any, **inputs: Tensor) -> Tensor:
    outputs = model(**inputs)
    return _probabilities(model.config, outputs.logits, outputs.casing_logits)


def _compute_with_onnx(source: str | bytes, config: Any, **inputs: Any) -> Tensor:
    session = _session(source, torch.get_num_threads(), os.getpid())
    arrays = {name: tensor.numpy() for name, tensor in inputs.items()}
    return _probabilities(config, *map(torch.from_numpy, session.run(None, arrays)))


def _probabilities(config: Any, logits: Tensor, casing_logits: Tensor | None = None) -> Tensor:
    """(B, W, M + C): of the labels, calibrated, and of the casings if there are any."""
    labels = (logits.float() / config.calibration_temperature).softmax(dim=-1)
    if casing_logits is None:
        return labels
    return torch.cat([labels, casing_logits.float().softmax(dim=-1)], dim=-1)


@functools.lru_cache(maxsize=4)
def _session(source: str | bytes, n_threads: int, process: int) -> Any:
    """A session over a file or its bytes, for this process: a forked process has none of its threads."""
    from .onnx_export import import_package

    onnxruntime = import_package("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = n_threads
    options.log_severity_level = 3
    # Threads that wait actively keep the other batches of a call, and other programs, from the processor.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def _file_beside(name: str, model: Any) -> str | None:
    """A file in the model's folder, or in its repository on the Hub, if there is one that was made from its weights."""
    from .onnx_export import FORMAT

    source, revision = model.config._name_or_path, getattr(model.config, "_commit_hash", None)
    quiet = {"revision": revision, "_raise_exceptions_for_connection_errors": False}
    try:
        file = cached_file(source, name, **quiet) if source else None
        if file is None:
            return None
        session = _session(file, torch.get_num_threads(), os.getpid())
    except ImportError:
        raise
    except Exception:  # no such file, or no whole one, for which ONNX Runtime has errors of its own
        return None
    made = session.get_modelmeta().custom_metadata_map
    wanted = {"weights": model.fingerprint(), "format": str(FORMAT)}
    return file if wanted.items() <= made.items() else None


def _written(name: str, model: Any, pad_id: int) -> bytes:
    """The model as ONNX, for this process."""
    from .onnx_export import export_onnx

    logger.warning(
        f"Expected {FILES[name]} of these weights beside the model, found none. Writing it for this process; "
        "`punctuation-restoration export --backend` writes it once for all."
    )
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        export_onnx(model, path, pad_id, in_int8=name == "onnx-int8")
        return path.read_bytes()
