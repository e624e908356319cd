"""Text, data and a model of which the letters are known, for tests of capitals."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from punctuation_restoration.data.preparation import prepare
from punctuation_restoration.data.recipe import build_recipe
from punctuation_restoration.pipeline.casing import AS_IS, CAPITAL, MIXED, UPPER

MIXED_CASE = ["iPhone", "McDonald", "Ph.D", "iphOne"]
TALK = (
    "Hello, you are Mary. Mary is the best of NASA, is she? She is. The iPhone you say is the McDonald's. Hello, Mary. "
)


def prepared_talks(folder: Path, checkpoint: str, write: Callable[[str], str] = str) -> dict[str, Any]:
    texts = [write(f"{TALK}You are {letter} 我们.") for letter in "abcdefgh"]
    rows = [json.dumps({"id": f"d{n}", "text": text}) for n, text in enumerate(texts)]
    (folder / "talks.jsonl").write_text("\n".join(rows), encoding="utf-8")
    source = {"path": "talks.jsonl", "language": "en"}
    recipe = build_recipe({"name": "r", "root": str(folder), "sources": [source], "validation": 0.3})
    return prepare(recipe, folder / "data", checkpoint, n_processes=1)


SAYS = {"mark": CAPITAL, "ab": UPPER, "iphone": MIXED}


def with_casings(restore: Any, monkeypatch: pytest.MonkeyPatch, casings: dict[str, int]) -> Any:
    """The pipeline, whose model writes no mark and says what is given of words by the pieces that they end in."""
    last = {restore.slots.pieces([word])[0][-1]: casing for word, casing in casings.items()}

    def probabilities(input_ids: torch.Tensor, slot_positions: torch.Tensor, **_: Any) -> torch.Tensor:
        ends = input_ids.gather(1, slot_positions)
        found = torch.tensor([[last.get(piece, AS_IS) for piece in row] for row in ends.tolist()])
        return torch.cat([torch.eye(4)[torch.zeros_like(found)], torch.eye(4)[found]], dim=-1)

    monkeypatch.setattr(restore, "compute", probabilities)
    return restore
