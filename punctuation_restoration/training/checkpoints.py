"""Checkpoints that survive a kill at any moment: written whole or not at all, checked when read, rotated.

    out/checkpoints/step-000500/   model, tokenizer, trainer.pt (optimiser, step, ...), files.json (sizes and hashes)

Takes what the loop hands over; knows nothing of what is in it.
"""

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from punctuation_restoration.whole_files import remove_unfinished, written_whole

STATE_FILE, FILES_FILE = "trainer.pt", "files.json"


def save_checkpoint(folder: Path, step: int, save_model: Callable[[Path], None], state: dict[str, Any]) -> Path:
    """Write a step's checkpoint, whole or not at all: what `save_model` writes into a folder, and the loop's state."""
    place = folder / f"step-{step:06d}"

    def save(beside: Path) -> None:
        save_model(beside)
        torch.save(state, beside / STATE_FILE)
        files = {path.name: _fingerprint(path) for path in sorted(beside.iterdir())}
        (beside / FILES_FILE).write_text(json.dumps(files, indent=1), encoding="utf-8")

    save_model_folder(place, save)
    return place


def save_model_folder(place: Path, save_model: Callable[[Path], None]) -> None:
    """Write a model folder, whole or not at all, and remove what a kill left of an earlier try."""
    remove_unfinished(place.parent, place.name)
    with written_whole(place) as beside:
        beside.mkdir()
        save_model(beside)


def list_checkpoints(folder: Path) -> list[Path]:
    """Checkpoints of a run, oldest first."""
    return sorted(folder.glob("step-*"))


def newest_checkpoint(folder: Path, tell: Callable[[str], None] = print) -> Path | None:
    """The newest checkpoint that is whole, or None; says which damaged ones were passed over."""
    for place in reversed(list_checkpoints(folder)):
        damage = find_damage(place)
        if damage is None:
            return place
        tell(f"Checkpoint {place} is damaged ({damage}): going back to the one before.")
    return None


def find_damage(place: Path) -> str | None:
    """What is wrong with a checkpoint, or None."""
    try:
        files = json.loads((place / FILES_FILE).read_text(encoding="utf-8"))
        for name, fingerprint in files.items():
            if not (place / name).is_file():
                return f"{name} is missing"
            if _fingerprint(place / name) != fingerprint:
                return f"{name} is not what was written"
        return None if STATE_FILE in files else f"{STATE_FILE} is missing"
    except (OSError, ValueError, AttributeError) as error:
        return f"{FILES_FILE} cannot be read: {error}"


def load_state(place: Path) -> dict[str, Any]:
    """The loop's state in a checkpoint."""
    return torch.load(place / STATE_FILE, map_location="cpu", weights_only=True)


def rotate(folder: Path, n_kept: int) -> None:
    """Remove all checkpoints but the newest `n_kept`, and half-written ones."""
    for place in list_checkpoints(folder)[: -max(n_kept, 1)]:
        shutil.rmtree(place, ignore_errors=True)
    remove_unfinished(folder)


def _fingerprint(path: Path) -> dict[str, Any]:
    with open(path, "rb") as file:
        return {"n_bytes": path.stat().st_size, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}
