"""What it takes to repeat a measurement: data, code, model, settings, machine, date.

Takes the model's folder and settings, gives a dictionary for JSON. Knows nothing about scores.
"""

import hashlib
import os
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
        "processor": _processor(),
        "cores": os.cpu_count(),
        "torch_threads": torch.get_num_threads(),
        "system": f"{platform.system()} {platform.machine()}",
        "device": device,
    }
    if device.startswith("cuda"):
        machine["gpu"] = torch.cuda.get_device_name(torch.device(device))
    return {
        "commit": commit(),
        **shown_model(model),
        "settings": settings,
        "machine": machine,
        "versions": {
            "python": platform.python_version(),
            "torch": torch.__version__,
            "transformers": transformers.__version__,
        },
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
        head = _git("rev-parse", "HEAD")
        changes = _git("status", "--porcelain", "--untracked-files=no", "--", "*.py")
    except (OSError, subprocess.CalledProcessError):
        return None
    return head + ("+changes" if changes else "")


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown"


def _git(*arguments: str) -> str:
    command = ["git", *arguments]
    return subprocess.check_output(command, cwd=PROJECT, stderr=subprocess.DEVNULL, text=True, timeout=20).strip()
