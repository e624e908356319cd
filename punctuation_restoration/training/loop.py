"""The training loop: batches in, a model folder out. It can be killed at any time and resumes exactly.

    out/checkpoints/step-000500/   to resume from       out/best/    best mean validation F1; without, last
    out/log.jsonl, curve.png       progress             out/final/   the end of the run

Every step is a function of seed and step number, and a folder is written whole or not at all.
"""

import json
import math
import shutil
import time
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from torch import Tensor

from punctuation_restoration.data.recipe import Fields
from punctuation_restoration.generated_card import ORIGIN_FILE
from punctuation_restoration.modeling.encoders import compile_layers
from punctuation_restoration.modeling.modeling_punctuation import NOT_SCORED
from punctuation_restoration.training.batches import (
    Batch,
    BatchSource,
    n_workers_beside,
    read_ahead,
)
from punctuation_restoration.training.checkpoints import STATE_FILE, write_digests
from punctuation_restoration.training.losses import total_loss
from punctuation_restoration.training.optimisation import (
    AveragedWeights,
    build_optimiser,
    rate_factor,
)
from punctuation_restoration.training.reporting import Row, RunReport, last_words, said_of
from punctuation_restoration.training.settings import TrainingSettings
from punctuation_restoration.training.validation import (
    Scores,
    Validation,
    guessed,
    scores_of,
    set_tuned,
)
from punctuation_restoration.whole_files import remove_unfinished, written_whole

MAX_NORM = 1.0  # gradients are clipped to it
N_CHECKPOINTS = 2  # that are kept
INPUTS = ("input_ids", "attention_mask", "slot_positions")  # of a batch; the others are targets


@dataclass
class RunState:
    """How far a run is, and how good it was; kept in checkpoints."""

    step: int = 0
    seconds: float = 0.0  # that the run has taken
    n_words: int = 0  # that it has read, all processes together
    n_pieces: int = 0
    best_f1: float = -1.0  # mean of all languages, in points of 100
    n_stale: int = 0  # evaluations since then
    # Scores and restored sentences of the model before the run, and of the best one; None where nothing was scored.
    before: Row | None = None
    best: Row | None = None


@dataclass(frozen=True)
class TrainingResult:
    """What came of a run. F1 is the mean of all languages, in points of 100; None without validation words."""

    best: Path  # folder of the model with the best F1, without validation words of the last one
    f1: float | None
    f1_before: float | None  # of the model that the run started from
    scores: Row  # of the best model, see `Validation.scores`
    steps: int  # that were taken


@dataclass(eq=False, repr=False)
class TrainingRun:
    """One run: `train` does the steps that are left. `training.starting` builds it."""

    settings: TrainingSettings  # complete
    out: Path  # folder of the run
    accelerator: Accelerator  # devices, processes and number format
    model: Any  # as it is saved, and as validation reads it
    tokenizer: Any
    source: BatchSource  # the batches of this process
    validation: Validation
    report: RunReport
    origin: Row  # what the model is made from, kept beside its weights
    kept: Row  # state of the checkpoint to resume from, or empty

    def __post_init__(self) -> None:
        settings, accelerator, kept = self.settings, self.accelerator, self.kept
        self.state = RunState(
            **{name: kept[name] for name in RunState.__annotations__ if name in kept}
        )
        self.scores: Scores = {}
        self._scored_step = -1
        self._n_read = [0, 0]  # words and pieces of this process, not yet counted in the state
        # Here, so that averages and moments are made where the weights are.
        self.model.to(accelerator.device)
        self.averages = AveragedWeights(self.model, settings.average_decay)
        optimiser = build_optimiser(self.model, settings)
        self.prepared, self.optimiser = accelerator.prepare(self.model, optimiser)
        self.rates = [group["lr"] for group in self.optimiser.param_groups]
        # accelerate has wrapped `forward` to compute in the number format of training. `_loss` asks for that itself;
        # validation computes as serving does.
        accelerator.unwrap_model(self.prepared, keep_fp32_wrapper=False)
        if settings.compile:
            compile_layers(self.model.encoder)
        if kept:
            self.optimiser.load_state_dict(kept["optimiser"])
            for average, saved in zip(self.averages.averaged, kept["averages"], strict=True):
                average.copy_(saved)
        if accelerator.scaler and kept.get("scaler"):
            accelerator.scaler.load_state_dict(kept["scaler"])

    def train(self) -> TrainingResult:
        """Do the steps that are left, and save what they made with its thresholds."""
        if self.validation.windows and not self.state.step:
            self.report.tell(f"Scoring the starting model on {self.validation.n_words:,} words.")
            self.evaluate()
        self._take_steps()
        if self._scored_step != self.state.step:
            self.evaluate()
        self.save()
        with self.averages.applied():
            self._save_tuned("final")
        self.accelerator.wait_for_everyone()
        self.report.finish()
        return self._result()

    def evaluate(self) -> None:
        """Score the validation words, keep the best model, and count evaluations without progress.

        The starting model, scored beside a guess, is not counted as the best of the run.
        """
        state = self.state
        # Validation computes as serving does: not compiled.
        with self.averages.applied(), torch.compiler.set_stance("force_eager"):
            self._reading = self.validation.read(self.model)
            self.scores = scores_of(self._reading, self.model.config.label_names)
            said = f"step {state.step}: {said_of(self.scores)}"
            row: Fields = {"validation": self.scores}
            # Without validation words the last model is the best that is known, so that `best` is always there.
            is_best = not self.scores["languages"] or self.scores["mean_f1"] > state.best_f1
            if self._reading and not state.step:
                state.before = row
                label, f1 = guessed(self._reading.labels)
                mark = self.model.config.labels[label]
                said += f"; a guess of {mark['before'] + mark['after']!r} after every word {f1:.1f}"
            elif is_best:
                state.best_f1, state.n_stale = self.scores["mean_f1"], 0
                state.best = row if self.scores["languages"] else None
                self._save_tuned("best")
            else:
                state.n_stale += 1
            if row in (state.before, state.best):
                row["restored"] = self.validation.restored_samples(self.model)
        self.report.tell(said)
        self._keep_row(row)
        self._scored_step = state.step

    def save(self) -> None:
        """Write a checkpoint of this step and drop old ones."""
        folder = self.out / "checkpoints"
        if self.accelerator.is_main_process:
            scaler = self.accelerator.scaler
            state = {
                **asdict(self.state),
                "optimiser": self.optimiser.state_dict(),
                "averages": self.averages.averaged,
                "scaler": scaler.state_dict() if scaler else None,
            }
            remove_unfinished(folder)  # of a run that was killed
            with written_whole(folder / f"step-{self.state.step:06d}") as beside:
                self._write(beside)
                torch.save(state, beside / STATE_FILE)
                write_digests(beside)
            for old in sorted(folder.glob("step-*"))[:-N_CHECKPOINTS]:
                shutil.rmtree(old, ignore_errors=True)
        self.accelerator.wait_for_everyone()

    def _keep_row(self, row: Row) -> None:
        """Keep a row of numbers in the log, beside how far the run is."""
        state = self.state
        progress = {"step": state.step, "words": state.n_words, "pieces": state.n_pieces}
        self.report.keep({**progress, "minutes": state.seconds / 60, **row})

    def _save_tuned(self, name: str) -> None:
        """Write the model as it was read last, with the temperature and the thresholds that suit it."""
        set_tuned(self.model.config, self._reading)
        if self.accelerator.is_main_process:
            remove_unfinished(self.out, name)
            with written_whole(self.out / name) as beside:
                self._write(beside, self.scores)

    def _write(self, folder: Path, scores: Scores | None = None) -> None:
        """Write the model with what is noted of it; `scores` are its own, if it was scored."""
        self.model.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)
        origin = {**self.origin, "steps": self.state.step, "validation": scores or {}}
        if scores and self.state.before:
            origin["validation_before"] = self.state.before["validation"]
        (folder / ORIGIN_FILE).write_text(json.dumps(origin, indent=1), encoding="utf-8")

    def _take_steps(self) -> None:
        """The steps that are left. Numbers on the device are read where something is told: to read waits for it."""
        state, settings = self.state, self.settings
        started, first_step = time.perf_counter() - state.seconds, state.step
        losses: list[Tensor] = []  # of this process, since the last line of progress
        n_workers = n_workers_beside(self.accelerator.device, self.accelerator.num_processes)
        intervals = settings.log_every, settings.evaluate_every, settings.checkpoint_every
        self.prepared.train()  # transformers gives loaded models ready to serve, without dropout
        with self.report.bar(first_step, settings.max_steps) as bar:
            for batches in read_ahead(self.source, first_step, settings.max_steps, n_workers):
                if settings.patience and state.n_stale >= settings.patience:
                    self.report.tell(
                        f"No better F1 in {state.n_stale} evaluations: the run ends here."
                    )
                    break
                factor = rate_factor(state.step, settings.warmup_steps, settings.max_steps)
                for group, rate in zip(self.optimiser.param_groups, self.rates, strict=True):
                    group["lr"] = rate * factor
                losses.append(self._take_step(batches))
                state.step += 1
                bar.update()
                is_first = state.step == first_step + 1  # which tells how long all will take
                logs, evaluates, saves = (state.step % every == 0 for every in intervals)
                if not (is_first or logs or evaluates or saves or state.step == settings.max_steps):
                    continue
                loss = self._settle(losses)
                state.seconds = time.perf_counter() - started
                if logs or is_first:
                    self.report.progress(bar, state.step, loss, self._pace())
                if logs:
                    rate = self.optimiser.param_groups[0]["lr"]
                    self._keep_row({"loss": round(loss, 4), "rate": rate})
                    losses = []
                if evaluates:
                    self.evaluate()
                    self.prepared.train()
                if saves:
                    self.save()

    def _settle(self, losses: list[Tensor]) -> float:
        """Count what all processes have read. Gives the mean of the losses; one that is not finite is an error."""
        n_words, n_pieces = self._summed(self._n_read).tolist()
        self.state.n_words += n_words
        self.state.n_pieces += n_pieces
        self._n_read = [0, 0]
        mean = float(self._summed(torch.stack(losses)).double().mean())
        if not math.isfinite(mean):
            raise FloatingPointError(
                f"Expected a finite loss up to step {self.state.step}, got {mean}. Lower --encoder-rate, raise "
                "--warmup-steps, or use --dtype float32."
            )
        return mean

    def _pace(self) -> str:
        """How fast the run is, and how long it will take."""
        state, minutes = self.state, self.state.seconds / 60
        left = minutes * (self.settings.max_steps / state.step - 1)
        pace = state.n_pieces / state.seconds
        return f"{pace:.0f} pieces/s, {minutes:.1f} min, {left:.0f} min left"

    def _result(self) -> TrainingResult:
        """Say what came of the run, and give it."""
        before, best = self.state.before, self.state.best
        folder = self.out / "best"
        self.report.tell("\n".join(last_words(folder, before, best)))
        return TrainingResult(
            folder,
            f1=best["validation"]["mean_f1"] if best else None,
            f1_before=before["validation"]["mean_f1"] if before else None,
            scores=best["validation"] if best else self.scores,
            steps=self.state.step,
        )

    def _take_step(self, batches: list[Batch]) -> Tensor:
        """One step of the optimiser. Gives this process's part of the mean loss over the scored slots of all."""
        n_scored: Any = 0
        for batch in batches:
            n_scored += int((batch["labels"] != NOT_SCORED).sum())
            self._n_read[0] += int((batch["slot_positions"] != 0).sum())
            self._n_read[1] += int(batch["attention_mask"].sum())
        n_scored = max(n_scored, 1)
        if self.accelerator.num_processes > 1:
            n_scored = self._summed(n_scored)
        total = torch.zeros((), device=self.accelerator.device)
        for number, batch in enumerate(batches):
            # Dropout, too, depends on step and place alone, so that a resumed run repeats it.
            part = self.accelerator.process_index * self.settings.accumulate + number
            torch.manual_seed(hash((self.settings.seed, self.state.step, part)) & 0x7FFFFFFF)
            is_last = number == len(batches) - 1
            with nullcontext() if is_last else self.accelerator.no_sync(self.prepared):
                loss = self._loss(batch) / n_scored
                # Gradients are averaged over the processes.
                self.accelerator.backward(loss * self.accelerator.num_processes)
            total += loss.detach()
        self.accelerator.clip_grad_norm_(self.prepared.parameters(), MAX_NORM)
        self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=True)
        self.averages.update(self.state.step)
        return total

    def _loss(self, batch: Batch) -> Tensor:
        """Summed loss over the scored slots of one batch."""
        device = self.accelerator.device
        tensors = {name: tensor.to(device, non_blocking=True) for name, tensor in batch.items()}
        inputs = {name: tensors.pop(name) for name in INPUTS}
        with self.accelerator.autocast():
            outputs = self.prepared(**inputs)
        return total_loss(outputs.logits, outputs.casing_logits, self.settings, **tensors)

    def _summed(self, values: Any) -> Tensor:
        """The sum over all processes of a tensor, or of numbers."""
        return self.accelerator.reduce(torch.as_tensor(values, device=self.accelerator.device))
