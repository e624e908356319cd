"""What a run says: a bar on a terminal or lines in a log, rows in `log.jsonl`, trackers, and the curves at its end.

It takes lines and numbers, and knows nothing of models.
"""

import importlib.util
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from accelerate import Accelerator
from tqdm import tqdm

from punctuation_restoration.whole_files import write_whole, written_whole

LOG_FILE = "log.jsonl"
CURVE_FILE = "curve.png"
TRACKERS = ("tensorboard", "wandb", "trackio")
PROJECT = "punctuation-restoration"  # its name in trackers
# Validation words of one language; on fewer a threshold that gains by chance is as likely as one that helps.
FEW_WORDS = 5_000


def check_trackers(names: Sequence[Any]) -> None:
    """An `ImportError` for a tracker whose package is missing: accelerate would leave it out silently."""
    for name in names:
        if name in TRACKERS and importlib.util.find_spec(name) is None:
            raise ImportError(
                f"Expected the package {name} for --log-with, which is not installed. Run `pip install {name}`."
            )


class RunReport:
    """Says what happens in the folder `out` of a run, once for all processes."""

    def __init__(self, out: Path, accelerator: Accelerator, about: Mapping[str, Any]):
        self.path, self.accelerator = out / LOG_FILE, accelerator
        self.bar: Any = None
        if accelerator.log_with:
            plain = {name: value for name, value in about.items() if value is not None}
            accelerator.init_trackers(PROJECT, {name: str(value) for name, value in plain.items()})

    def tell(self, line: str) -> None:
        """Print a line; above the bar, where there is one."""
        if not self.accelerator.is_main_process:
            return
        if self.bar is None or self.bar.disable:
            print(line, flush=True)
        else:
            self.bar.write(line)

    def start_bar(self, step: int, max_steps: int) -> None:
        """Show a bar on a terminal, from a step on."""
        is_hidden = None if self.accelerator.is_main_process else True
        self.bar = tqdm(total=max_steps, initial=step, unit="step", disable=is_hidden)

    def advance(self) -> None:
        """One step is done."""
        self.bar.update()

    def progress(self, step: int, loss: float, line: str) -> None:
        """Say how the training goes: in the bar, or in a line where there is none."""
        self.bar.set_postfix_str(f"loss {loss:.4f}")
        if self.bar.disable:
            self.tell(f"step {step}: loss {loss:.4f}, {line}")

    def close_bar(self) -> None:
        """The steps are done, or the run has failed."""
        if self.bar is not None:
            self.bar.close()
            self.bar = None

    def keep(self, row: Mapping[str, Any]) -> None:
        """Add a row of numbers to the log, with its step, and give them to the trackers."""
        if self.accelerator.is_main_process:
            with open(self.path, "a", encoding="utf-8") as file:
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
        self.accelerator.log(flat_numbers(row), step=row["step"])

    def forget_after(self, step: int) -> None:
        """Remove what a run that was killed had logged after the step from which it goes on: it comes again."""
        if not self.accelerator.is_main_process or not self.path.is_file():
            return
        kept = [row for row in rows_of(self.path) if row["step"] <= step]
        lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in kept]
        write_whole(self.path, "".join(lines).encode(), force=True)

    def finish(self) -> None:
        """Draw the curves, unless a tracker has them."""
        if self.accelerator.log_with:
            self.accelerator.end_training()
        elif self.accelerator.is_main_process:
            try:
                draw_curves(rows_of(self.path), self.path.with_name(CURVE_FILE))
            except ImportError:
                self.tell(
                    f"{CURVE_FILE} needs `pip install matplotlib`; {self.path} has its numbers."
                )


def rows_of(path: Path) -> list[dict[str, Any]]:
    """The rows of a log; not one that was cut off when the run was killed."""
    rows = []
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict) and "step" in row:
            rows.append(row)
    return rows


def flat_numbers(row: Mapping[str, Any], above: str = "") -> dict[str, float]:
    """The numbers of a row and of the dictionaries in it, as trackers take them: `validation/languages/en/f1`."""
    numbers: dict[str, float] = {}
    for name, value in row.items():
        if isinstance(value, Mapping):
            numbers |= flat_numbers(value, f"{above}{name}/")
        elif isinstance(value, int | float):
            numbers[above + name] = value
    return numbers


def draw_curves(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Draw the loss and the validation F1 of each language by step; an `ImportError` without matplotlib."""
    from matplotlib.figure import Figure  # without pyplot, which may look for a display

    figure = Figure(figsize=(8, 3.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    losses = [row for row in rows if "loss" in row]
    left.plot([row["step"] for row in losses], [row["loss"] for row in losses])
    left.set(title="loss", xlabel="step")
    scored = [row for row in rows if "validation" in row]
    steps = [row["step"] for row in scored]
    languages = scored[-1]["validation"]["languages"] if scored else {}
    for language in languages:
        f1 = [row["validation"]["languages"].get(language, {}).get("f1") for row in scored]
        right.plot(steps, f1, marker=".", label=language)
    right.set(title="validation F1", xlabel="step")
    if languages:
        right.legend()
    with written_whole(path) as beside:
        figure.savefig(beside, dpi=110)


def said_of(scores: Mapping[str, Any]) -> str:
    """Validation scores in words."""
    languages = scores["languages"].items()
    if not languages:
        return "validation F1 not measured: no validation documents; best is the last"
    line = "validation F1 " + ", ".join(f"{name} {row['f1']:.1f}" for name, row in languages)
    if "casings_f1" in scores:
        line += f"; of words with capitals {scores['casings_f1']:.1f}"
    return line


def last_words(
    best_folder: Path, before: Mapping[str, Any] | None, best: Mapping[str, Any] | None
) -> list[str]:
    """What a run says at its end: what it gained, three sentences, and what comes next.

    Args:
        best_folder: of the best model.
        before, best: rows of the log about the starting model and about the best one; None where nothing was scored.
    """
    lines = []
    if best:
        f1 = f"F1 {best['validation']['mean_f1']:.1f}"
        if before:
            f1 = f"F1 {before['validation']['mean_f1']:.1f} → {f1.removeprefix('F1 ')}"
        lines.append(f"{f1}, saved in {best_folder}")
        if before and before["validation"]["mean_f1"] >= best["validation"]["mean_f1"]:
            lines.append("No gain: try more text, a lower --encoder-rate, or more steps.")
        n_words = min(row["n_words"] for row in best["validation"]["languages"].values())
        if n_words < FEW_WORDS:
            lines.append(
                f"Measured on {n_words:,} words only: F1 and thresholds are rough. More text, or "
                "`punctuation-restoration prepare --validation 0.2`, makes them surer."
            )
        for old, new in zip((before or best)["restored"], best["restored"], strict=True):
            lines += [f"  before  {old}", f"  after   {new}"] if before else [f"  {new}"]
    else:
        lines.append(f"Saved in {best_folder}. F1 was not measured: no validation documents.")
    return [
        *lines,
        "Next:",
        f"  punctuate --model {best_folder} FILE",
        f"  punctuation-restoration export --model {best_folder} --output FOLDER",
    ]
