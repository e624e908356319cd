"""What it takes to repeat a measurement: data, code, model, settings, machine, date.

Takes the model's folder and settings, gives a dictionary for JSON. Knows nothing about scores.
"""

import hashlib
import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
import transformers

PROJECT = Path(__file__).resolve().parents[2]


def signature(model: str, settings: dict[str, Any], device: str) -> dict[str, Any]:
    """All of the signature but the data, which differs by benchmark; `model` is a folder or a name."""
    machine = {
        "processor": processor(),
        "torch_threads": torch.get_num_threads(),
        "device": torch.cuda.get_device_name(device) if device.startswith("cuda") else device,
    }
    versions = {module.__name__: module.__version__ for module in (torch, transformers)}
    return {
        "commit": commit(),
        **shown_model(model),
        "settings": settings,
        "machine": machine,
        "versions": {"python": platform.python_version(), **versions},
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def shown_model(model: str) -> dict[str, str | None]:
    """Name and digest of a model, but not where this machine keeps it."""
    folder = Path(model).resolve()
    if not folder.is_dir():
        return {"model": model, "model_sha256": None}
    shown = str(folder.relative_to(PROJECT)) if folder.is_relative_to(PROJECT) else folder.name
    digest = hashlib.sha256()  # over configuration, weights and tokenizer
    for path in sorted([folder / "config.json", *folder.glob("*.safetensors"), *folder.glob("tokenizer.json")]):
        digest.update(path.name.encode("utf-8"))
        with open(path, "rb") as file:
            hashlib.file_digest(file, lambda: digest)
    return {"model": shown, "model_sha256": digest.hexdigest()}


def commit() -> str | None:
    """The commit of the project, with `+changes` if code differs from it; None outside a checkout."""
    try:
        head, changes = (
            subprocess.check_output(["git", *call], cwd=PROJECT, stderr=subprocess.DEVNULL, text=True).strip()
            for call in (("rev-parse", "HEAD"), ("status", "--porcelain", "--untracked-files=no", "--", "*.py"))
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return head + ("+changes" if changes else "")


def processor() -> str:
    """What the processor is called, where that can be found out."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or "unknown")
