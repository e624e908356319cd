"""Checkpoints: whole or not there, checked when read, the newest whole one found, old ones removed."""

from pathlib import Path
from typing import Any

import pytest

from punctuation_restoration.training.checkpoints import (
    list_checkpoints,
    load_state,
    newest_checkpoint,
    rotate,
    save_checkpoint,
    save_model_folder,
)


def save_model(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(b"weights" * 100)


def three(folder: Path) -> list[Path]:
    return [save_checkpoint(folder, step, save_model, {"step": step}) for step in (5, 10, 15)]


def test_the_newest_checkpoint_comes_back(tmp_path: Path) -> None:
    places = three(tmp_path)
    assert newest_checkpoint(tmp_path) == places[-1]
    assert load_state(places[-1]) == {"step": 15}
    assert newest_checkpoint(tmp_path / "nowhere") is None


@pytest.mark.parametrize("damage", ["cut", "flip", "missing", "no list", "broken list"])
def test_a_damaged_checkpoint_is_passed_over_and_named(tmp_path: Path, damage: str) -> None:
    places = three(tmp_path)
    weights, listing = places[-1] / "model.safetensors", places[-1] / "files.json"
    if damage == "cut":
        weights.write_bytes(weights.read_bytes()[:-1])
    elif damage == "flip":
        weights.write_bytes(b"W" + weights.read_bytes()[1:])
    elif damage == "missing":
        weights.unlink()
    elif damage == "no list":
        listing.unlink()
    else:
        listing.write_text("{")
    said: list[str] = []
    assert newest_checkpoint(tmp_path, said.append) == places[-2]
    assert len(said) == 1
    assert "step-000015 is damaged" in said[0]
    assert "going back to the one before" in said[0]


def test_a_kill_while_writing_leaves_the_old_ones(tmp_path: Path) -> None:
    places = three(tmp_path)

    def die(folder: Path) -> None:
        save_model(folder)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        save_checkpoint(tmp_path, 20, die, {})
    assert list_checkpoints(tmp_path) == places
    assert newest_checkpoint(tmp_path) == places[-1]
    assert sorted(tmp_path.iterdir()) == places


def test_rotation_keeps_the_newest_and_clears_leftovers(tmp_path: Path) -> None:
    places = three(tmp_path)
    (tmp_path / ".step-000099.x.part" / "step-000099").mkdir(parents=True)
    rotate(tmp_path, 2)
    assert sorted(tmp_path.iterdir()) == places[1:]
    rotate(tmp_path, 0)
    assert sorted(tmp_path.iterdir()) == places[2:]


def test_a_model_folder_is_replaced_whole(tmp_path: Path) -> None:
    place = tmp_path / "best"
    save_model_folder(place, lambda folder: (folder / "old").write_text("1") and None)  # type: ignore[func-returns-value]
    (tmp_path / ".best.x.part" / "best").mkdir(parents=True)  # left by a kill
    (tmp_path / ".other.x.part" / "other").mkdir(parents=True)  # somebody else's
    save_model_folder(place, save_model)
    assert [path.name for path in place.iterdir()] == ["model.safetensors"]
    assert {path.name for path in tmp_path.iterdir()} == {"best", ".other.x.part"}

    def fail(folder: Path) -> Any:
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        save_model_folder(place, fail)
    assert [path.name for path in place.iterdir()] == ["model.safetensors"]
