"""The log of a run: lines or a bar on the terminal, and `log.jsonl`."""

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from punctuation_restoration.data.progress import ProgressBar
from punctuation_restoration.training.batches import Batch


class RunLog:
    """Writes the log of a run into its folder. Only the first process writes: that `is_main`."""

    def __init__(self, out: Path, is_main: bool, n_steps: int):
        self.file, self.is_main = out / "log.jsonl", is_main
        self.bar = ProgressBar("steps", n_steps, is_main)
        self.begin()

    def begin(self) -> None:
        """Count from here on."""
        self.started, self.waited = time.perf_counter(), 0.0
        self.losses: list[float] = []
        self.n_words, self.n_pieces, self.n_places = 0, 0, 0

    def add(self, loss: float, n_words: int, batches: list[Batch]) -> None:
        """Count a step: its mean loss, its words, and this process's batches."""
        self.losses.append(loss)
        self.n_words += n_words
        self.n_pieces += sum(int(batch["attention_mask"].sum()) for batch in batches)
        self.n_places += sum(batch["attention_mask"].numel() for batch in batches)

    def row(self, n_processes: int) -> dict[str, float]:
        """Mean loss, speeds, and the shares of padding and of time spent waiting for data, since `begin`."""
        seconds = time.perf_counter() - self.started
        return {
            "loss": round(sum(self.losses) / len(self.losses), 4),
            "words_per_second": round(self.n_words / seconds, 1),
            "pieces_per_second": round(self.n_pieces * n_processes / seconds, 1),
            "padding": round(1 - self.n_pieces / max(self.n_places, 1), 4),
            "waiting": round(self.waited / seconds, 4),
        }

    def tell(self, line: str) -> None:
        """Print a line."""
        if self.is_main:
            self.bar.tell(line)

    def write(self, step: int, row: Mapping[str, Any]) -> None:
        """Keep a row of numbers of a step."""
        if self.is_main:
            with open(self.file, "a", encoding="utf-8") as file:
                file.write(json.dumps({"step": step, **row}) + "\n")

    def progress(self, step: int, row: Mapping[str, float], minutes: float, minutes_left: float) -> None:
        """Say how the last steps went, and count anew."""
        line = (
            f"loss {row['loss']:.4f}, {row['words_per_second']:.0f} words/s, {row['pieces_per_second']:.0f} pieces/s, "
            f"padding {100 * row['padding']:.1f} %, data waiting {100 * row['waiting']:.1f} %, "
            f"{minutes:.1f} min, {minutes_left:.0f} min left"
        )
        self.write(step, {**row, "minutes": round(minutes, 2)})
        self.bar.count(step, "steps", line)
        self.tell(f"step {step}: {line}")
        self.begin()
