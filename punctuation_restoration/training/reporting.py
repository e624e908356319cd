"""What a run says: a bar on a terminal or lines in a log, rows in `log.jsonl`, trackers, or curves at its end.

It takes lines and numbers, and knows nothing of models.
"""

import importlib.util
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from accelerate import Accelerator
from tqdm import tqdm
from transformers.utils import flatten_dict

from punctuation_restoration.whole_files import write_whole, written_whole

LOG_FILE = "log.jsonl"
CURVE_FILE = "curve.png"
TRACKERS = ("tensorboard", "wandb", "trackio")
PROJECT = "punctuation-restoration"  # its name in trackers
# Validation words of one language; on fewer a threshold that gains by chance is as likely as one that helps.
FEW_WORDS = 5_000
N_SHOWN = 3  # sentences before and after
Row = Mapping[str, Any]  # of the log


def check_trackers(names: Sequence[Any]) -> None:
    """An `ImportError` for a tracker whose package is missing: accelerate would leave it out silently."""
    for name in names:
        if name in TRACKERS and importlib.util.find_spec(name) is None:
            raise ImportError(
                f"Expected the package {name} for --log-with, which is not installed. Run `pip install {name}`."
            )


class RunReport:
    """Says what happens in the folder `out` of a run, once for all processes.

    What a run that was killed had logged after `step`, from which it goes on, is removed: it comes again.
    """

    def __init__(self, out: Path, accelerator: Accelerator, about: Row, step: int):
        self.path, self.accelerator = out / LOG_FILE, accelerator
        plain = {name: str(value) for name, value in about.items() if value is not None}
        accelerator.init_trackers(PROJECT, plain)
        if accelerator.is_main_process and self.path.is_file():
            lines = [_as_line(row) for row in self.rows() if row["step"] <= step]
            write_whole(self.path, "".join(lines).encode(), force=True)

    def tell(self, line: str) -> None:
        """Print a line; above the bar, where there is one."""
        if self.accelerator.is_main_process:
            tqdm.write(line)
            sys.stdout.flush()

    def bar(self, step: int, max_steps: int) -> Any:
        """A bar on a terminal, from a step on."""
        is_hidden = None if self.accelerator.is_main_process else True
        return tqdm(total=max_steps, initial=step, unit="step", disable=is_hidden)

    def progress(self, bar: Any, step: int, loss: float, pace: str) -> None:
        """Say how the training goes: in the bar, or in a line where there is none."""
        bar.set_postfix_str(f"loss {loss:.4f}")
        if bar.disable:
            self.tell(f"step {step}: loss {loss:.4f}, {pace}")

    def keep(self, row: Row) -> None:
        """Add a row of numbers to the log, with its step, and give them to the trackers."""
        if self.accelerator.is_main_process:
            with open(self.path, "a", encoding="utf-8") as file:
                file.write(_as_line(row))
        numbers = {
            name: value
            for name, value in flatten_dict(dict(row), delimiter="/").items()
            if isinstance(value, int | float)
        }
        self.accelerator.log(numbers, step=row["step"])

    def rows(self) -> list[Row]:
        """The rows of the log; a last line that was cut off is left out."""
        with open(self.path, encoding="utf-8", errors="replace") as lines:
            return [json.loads(line) for line in lines if line.endswith("\n")]

    def finish(self) -> None:
        """Draw the curves, unless a tracker has them."""
        if self.accelerator.log_with:
            self.accelerator.end_training()
        elif self.accelerator.is_main_process:
            draw_curves(self.rows(), self.path.with_name(CURVE_FILE))


def _as_line(row: Row) -> str:
    return json.dumps(row, ensure_ascii=False) + "\n"


def draw_curves(rows: Sequence[Row], path: Path) -> None:
    """Draw the loss and the validation F1 of each language by step."""
    from matplotlib.figure import Figure  # without pyplot, which may look for a display

    figure = Figure(figsize=(8, 3.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.set(title="loss", xlabel="step")
    losses = [row for row in rows if "loss" in row]
    left.plot([row["step"] for row in losses], [row["loss"] for row in losses])
    right.set(title="validation F1", xlabel="step")
    scored = [row for row in rows if "validation" in row]
    for language in scored[-1]["validation"]["languages"]:
        f1s = [row["validation"]["languages"][language]["f1"] for row in scored]
        right.plot([row["step"] for row in scored], f1s, marker=".", label=language)
        right.legend()
    with written_whole(path) as beside:
        figure.savefig(beside, dpi=110)


def said_of(scores: Row) -> str:
    """Validation scores in words."""
    languages = scores["languages"].items()
    if not languages:
        return "validation F1 not measured: no validation documents; best is the last"
    line = "validation F1 " + ", ".join(f"{name} {row['f1']:.1f}" for name, row in languages)
    if "casings_f1" in scores:
        line += f"; F1 of capitals {scores['casings_f1']:.1f}"
    return line


def last_words(best_folder: Path, before: Row | None, best: Row | None) -> list[str]:
    """What a run says at its end: what it gained, three sentences, and what comes next.

    Args:
        best_folder: of the best model.
        before, best: rows of the log about the starting model and about the best one; None where nothing was scored.
    """
    if not before or not best:
        lines = [f"Saved in {best_folder}. F1 was not measured: no validation documents."]
    else:
        f1_before, f1 = before["validation"]["mean_f1"], best["validation"]["mean_f1"]
        lines = [f"F1 {f1_before:.1f} → {f1:.1f}, saved in {best_folder}"]
        if f1_before >= f1:
            lines.append("No gain: try more text, a lower --encoder-rate, or more steps.")
        n_words = min(row["n_words"] for row in best["validation"]["languages"].values())
        if n_words < FEW_WORDS:
            lines.append(
                f"Measured on {n_words:,} words only: F1 and thresholds are rough. More text makes them surer."
            )
        pairs = list(zip(before["restored"], best["restored"], strict=True))
        # Those that have changed say more than those that have not.
        pairs.sort(key=lambda pair: pair[0] == pair[1])
        for old, new in pairs[:N_SHOWN]:
            lines += [f"  before  {old}", f"  after   {new}"]
    return [
        *lines,
        "Next:",
        f"  punctuate --model {best_folder} FILE",
        f"  punctuation-restoration export --model {best_folder} --output FOLDER",
    ]
