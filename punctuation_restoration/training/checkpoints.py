"""Checkpoints of a run: which of them are whole, and the state of the newest one.

    out/checkpoints/step-000500/    model and tokenizer, trainer.pt (the run's state), digests.json (of all these files)

It knows files, and nothing of what a run does.
"""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch

STATE_FILE = "trainer.pt"
DIGESTS_FILE = "digests.json"


def write_digests(folder: Path) -> None:
    """Note the digests of all files of a checkpoint, so that a damaged one is known."""
    digests = {path.name: digest_of(path) for path in sorted(folder.iterdir())}
    (folder / DIGESTS_FILE).write_text(json.dumps(digests, indent=1), encoding="utf-8")


def digest_of(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def newest_checkpoint(out: Path, tell: Callable[[str], None]) -> tuple[Path | None, dict[str, Any]]:
    """The newest whole checkpoint of a run, None without any, and the run's state in it. Tells which ones are damaged.

    Raises:
        ValueError: there are checkpoints, and all of them are damaged.
    """
    folders = sorted(out.glob("checkpoints/step-*"), reverse=True)
    for folder in folders:
        try:
            check_whole(folder)
            return folder, torch.load(folder / STATE_FILE, map_location="cpu", weights_only=True)
        except (OSError, ValueError, RuntimeError, EOFError, UnpicklingError) as error:
            tell(f"Checkpoint {folder} is damaged ({error}): going back to the one before.")
    if folders:
        raise ValueError(
            f"Expected a whole checkpoint in {out / 'checkpoints'}, all are damaged. Remove that folder to begin "
            f"again, or train from {out / 'best'} as --model into another --output."
        )
    return None, {}


def check_whole(folder: Path) -> None:
    """A `ValueError` or `OSError` if a file of a checkpoint is missing, or is not what was written."""
    digests = json.loads((folder / DIGESTS_FILE).read_bytes())
    for name, digest in digests.items():
        if digest_of(folder / name) != digest:
            raise ValueError(f"{name} has changed since it was written")
