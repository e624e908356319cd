"""Evaluations -> JSON: what goes into `results/`, signed with what it takes to repeat the measurement.

Takes evaluations, the model's folder and settings, gives dictionaries and files. A result keeps the numbers of marks of
every unit that the bootstrap draws, so that another can be compared with it. The texts are not kept: they are not ours.
"""

import functools
import hashlib
import json
import os
import platform
import re
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
import transformers

from punctuation_restoration.default_models import ROOT
from punctuation_restoration.evaluation.examples import Example
from punctuation_restoration.evaluation.scores import paired_bootstrap
from punctuation_restoration.whole_files import write_whole

FORMAT = 4
Result = dict[str, Any]  # and the parts of one


def read_result(path: Path) -> Result:
    """An earlier result; a `ValueError` if the file holds none of this format."""
    try:
        result: Result = json.loads(path.read_bytes())
        if result["format"] != FORMAT:
            raise ValueError(f"format {result['format']}")
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ValueError(
            f"Expected a result of this evaluate.py in {path}, could not read it: {error}. Evaluate again."
        ) from error
    return result


def check_same_test(data_sha256: str, label_names: list[str], earlier: Result) -> None:
    """Raises a ValueError unless an earlier result is of the same texts and labels."""
    if label_names != earlier["label_names"]:
        raise ValueError(
            f"Expected --against to name a result in the labels {', '.join(label_names)}, got one in "
            f"{', '.join(earlier['label_names'])}. Evaluate the model with fewer labels first, and compare the other "
            "with it."
        )
    if data_sha256 != earlier["signature"]["data_sha256"]:
        raise ValueError(
            f"Expected --against to name a result on the same texts, got one on others ({earlier['benchmark']}). "
            "Evaluate the earlier model with the same --benchmark and --limit."
        )


def compare(result: Result, earlier: Result) -> Result:
    """How much better a result is than an earlier one on the same test, and which one that was."""
    signed = {key: earlier["signature"][key] for key in ("model", "model_sha256", "commit")}
    return {**signed, **paired_bootstrap(result["units"], earlier["units"])}


def write_result(result: Result, path: Path) -> None:
    """Write a result, each of its parts on a line; whole or not at all."""
    parts = [json.dumps({key: value}, ensure_ascii=False)[1:-1] for key, value in result.items()]
    write_whole(path, "{{\n{}\n}}\n".format(",\n".join(parts)).encode(), force=True)


def signature(model: str, settings: Result, device: str) -> Result:
    """All of the signature but the data, which differs by benchmark; `model` is a folder or a name."""
    return {
        "commit": commit(),
        **shown_model(model),
        "settings": settings,
        "machine": {
            "processor": processor(),
            "torch_threads": torch.get_num_threads(),
            "device": torch.cuda.get_device_name(device) if device.startswith("cuda") else device,
        },
        "versions": {
            "python": platform.python_version(),
            "torch": torch.__version__,
            "transformers": transformers.__version__,
        },
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def digest_of(examples: Sequence[Example], casing: bool = False) -> str:
    """SHA-256 over texts, units and labels: two results with the same digest were scored on the same words.

    With `casing` also over how the reference writes them.
    """
    digest = hashlib.sha256()
    for example in examples:
        row = [example.id, example.text, example.spans, example.labels, example.ends_text]
        row += [[unit.cased for unit in example.units]] if casing else []
        digest.update(json.dumps(row, ensure_ascii=False).encode("utf-8"))
    return digest.hexdigest()


def shown_model(model: str) -> dict[str, str | None]:
    """Name and digest of a model, but not where this machine keeps it."""
    folder = Path(os.path.abspath(model))  # a link in the project keeps its name
    if not folder.is_dir():
        return {"model": model, "model_sha256": None}
    shown = str(folder.relative_to(ROOT)) if folder.is_relative_to(ROOT) else folder.name
    digest = hashlib.sha256()  # over configuration, weights and tokenizer
    for path in sorted(folder.iterdir()):
        if path.suffix == ".safetensors" or path.name in ("config.json", "tokenizer.json"):
            digest.update(path.name.encode("utf-8"))
            digest.update(path.read_bytes())
    return {"model": shown, "model_sha256": digest.hexdigest()}


def commit() -> str | None:
    """The commit of the project, with `+changes` if code differs from it; None outside a checkout."""
    git = functools.partial(subprocess.check_output, cwd=ROOT, stderr=subprocess.DEVNULL, text=True)
    try:
        head = git(["git", "rev-parse", "HEAD"]).strip()
        return (
            f"{head}+changes" if git(["git", "diff", "HEAD", "--name-only", "--", "*.py"]) else head
        )
    except (OSError, subprocess.CalledProcessError):
        return None


def processor() -> str:
    """What the processor is called, where that can be found out."""
    cpuinfo = Path("/proc/cpuinfo")
    named = re.search(r"model name\s*: (.+)", cpuinfo.read_text() if cpuinfo.is_file() else "")
    return named[1].strip() if named else platform.processor() or "unknown"
