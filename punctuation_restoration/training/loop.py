"""The training loop: batches in, a model folder out. It can be killed at any time and resumes exactly.

    out/checkpoints/step-000500/   to resume from       out/best/    best mean validation F1; without, last
    out/log.jsonl                  progress             out/final/   the end of the run

Every step is a function of seed and step number, and a folder is written whole or not at all.
"""

import json
import math
import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from accelerate import Accelerator

from punctuation_restoration.modeling.encoders import compile_layers
from punctuation_restoration.modeling.modeling_punctuation import NOT_SCORED
from punctuation_restoration.training.batches import (
    Batch,
    BatchSource,
    n_workers_beside,
    read_ahead,
)
from punctuation_restoration.training.losses import total_loss
from punctuation_restoration.training.optimisation import (
    AveragedWeights,
    build_optimiser,
    rate_factor,
)
from punctuation_restoration.training.settings import TrainingSettings
from punctuation_restoration.training.validation import Validation, set_tuned
from punctuation_restoration.whole_files import remove_unfinished, written_whole

STATE_FILE = "trainer.pt"
MAX_NORM = 1.0  # gradients are clipped to it
N_CHECKPOINTS = 2  # that are kept
FEW_WORDS = 5_000  # of one language; on fewer a threshold that gains by chance is as likely as one that helps


@dataclass
class RunState:
    """How far a run is, and how good it was; kept in checkpoints."""

    step: int = 0
    seconds: float = 0.0  # that the run has taken
    n_words: int = 0  # that it has read, all processes together
    n_pieces: int = 0
    best_f1: float = -1.0  # mean of all languages, in points of 100
    n_stale: int = 0  # evaluations since then


@dataclass(eq=False, repr=False)
class TrainingRun:
    """One run: `train` does the steps that are left. `training.starting` builds it."""

    settings: TrainingSettings
    out: Path  # folder of the run
    accelerator: Accelerator  # devices, processes and number format
    model: Any  # as it is saved, and as validation reads it
    tokenizer: Any
    source: BatchSource  # the batches of this process
    validation: Validation
    kept: (
        Mapping[str, Any] | None
    )  # state of the checkpoint to resume from, see `newest_checkpoint`

    def __post_init__(self) -> None:
        settings, accelerator, kept = self.settings, self.accelerator, self.kept or {}
        self.state = RunState(
            **{own.name: kept[own.name] for own in fields(RunState) if own.name in kept}
        )
        self.scores: dict[str, Any] = {}
        self._scored_step = -1
        self._n_read = [0, 0]  # words and pieces of this process, not yet counted in the state
        self.model.to(
            accelerator.device
        )  # here, so that averages and moments are made where the weights are
        self.averages = AveragedWeights(self.model, settings.average_decay)
        self.prepared, self.optimiser = accelerator.prepare(
            self.model, build_optimiser(self.model, settings)
        )
        self.rates = [group["lr"] for group in self.optimiser.param_groups]
        # accelerate has wrapped `forward` to compute in the number format of training. `_loss` asks for that itself;
        # validation computes as serving does.
        accelerator.unwrap_model(self.prepared, keep_fp32_wrapper=False)
        if settings.compile:
            compile_layers(self.model.encoder)
        if kept:
            self.optimiser.load_state_dict(kept["optimiser"])
            self.averages.averaged.load_state_dict(kept["averages"])
        if accelerator.scaler and kept.get("scaler"):
            accelerator.scaler.load_state_dict(kept["scaler"])

    def train(self) -> dict[str, Any]:
        """Do the steps that are left, and save what they made with its thresholds. Gives the last validation scores."""
        self._take_steps()
        if self._scored_step != self.state.step:
            self.evaluate()
        self.save()
        self._save_tuned("final")
        self.tell(
            f"thresholds of final: {self.model.config.thresholds or 'none, the likeliest label counts'}"
        )
        n_words = min(
            (row["n_words"] for row in self.scores["languages"].values()), default=FEW_WORDS
        )
        if n_words < FEW_WORDS:
            self.tell(
                f"only {n_words:,} validation words: F1 and thresholds are rough; "
                "`punctuation-restoration prepare --validation 0.2` holds out more documents"
            )
        self.accelerator.wait_for_everyone()
        return self.scores

    def evaluate(self) -> None:
        """Score the validation words, keep the best model, and count evaluations without progress."""
        # Validation computes as serving does: not compiled.
        with self.averages.applied(), torch.compiler.set_stance("force_eager"):
            self._reading = self.validation.read(self.model)
        self.scores = self.validation.scores(self._reading)
        # Without validation words the last model is the best that is known, so that `best` is always there.
        is_best = not self.scores["languages"] or self.scores["mean_f1"] > self.state.best_f1
        self.state.n_stale = 0 if is_best else self.state.n_stale + 1
        if is_best:
            self.state.best_f1 = self.scores["mean_f1"]
            self._save_tuned("best")
        line = ", ".join(
            f"{language} {row['f1']:.1f}" for language, row in self.scores["languages"].items()
        )
        line += (
            f"; of casings {self.scores['casings_f1']:.1f}" if "casings_f1" in self.scores else ""
        )
        line = line or "not measured: no validation documents; best is the last"
        self._report(f"validation F1 {line}", validation=self.scores)
        self._scored_step = self.state.step

    def save(self) -> None:
        """Write a checkpoint of this step and drop old ones."""
        folder = self.out / "checkpoints"
        if self.accelerator.is_main_process:
            state = asdict(self.state)
            state["optimiser"] = self.optimiser.state_dict()
            state["averages"] = self.averages.averaged.state_dict()
            state["scaler"] = (
                self.accelerator.scaler.state_dict() if self.accelerator.scaler else None
            )
            remove_unfinished(folder)  # of a run that was killed
            with written_whole(folder / f"step-{self.state.step:06d}") as beside:
                self._write(beside)
                torch.save(state, beside / STATE_FILE)
            for old in sorted(folder.glob("step-*"))[:-N_CHECKPOINTS]:
                shutil.rmtree(old, ignore_errors=True)
        self.accelerator.wait_for_everyone()

    def tell(self, line: str) -> None:
        """Print a line, once for all processes."""
        self.accelerator.print(line, flush=True)

    def _report(self, line: str, **row: Any) -> None:
        """Print a line about this step, and keep a row of numbers in the log, beside how far the run is."""
        state = self.state
        self.tell(f"step {state.step}: {line}")
        far = {
            "step": state.step,
            "words": state.n_words,
            "pieces": state.n_pieces,
            "minutes": state.seconds / 60,
        }
        if self.accelerator.is_main_process:
            with open(self.out / "log.jsonl", "a", encoding="utf-8") as file:
                file.write(json.dumps({**far, **row}) + "\n")

    def _save_tuned(self, name: str) -> None:
        """Write the model as it was read last, with the temperature and the thresholds that suit it."""
        set_tuned(self.model.config, self.validation, self._reading)
        if self.accelerator.is_main_process:
            remove_unfinished(self.out, name)
            with self.averages.applied(), written_whole(self.out / name) as beside:
                self._write(beside)

    def _write(self, place: Path) -> None:
        self.model.save_pretrained(place)
        self.tokenizer.save_pretrained(place)

    def _take_steps(self) -> None:
        """The steps that are left. Numbers on the device are read where something is told: to read waits for it."""
        settings, state = self.settings, self.state
        started = time.perf_counter() - state.seconds
        before = replace(state)
        losses: list[torch.Tensor] = []  # of this process, since the last line of progress
        n_workers = n_workers_beside(self.accelerator.device, self.accelerator.num_processes)
        told = settings.log_every, settings.evaluate_every, settings.checkpoint_every
        self.prepared.train()  # transformers gives loaded models ready to serve, without dropout
        for batches in read_ahead(self.source, state.step, settings.max_steps, n_workers):
            if settings.patience and state.n_stale >= settings.patience:
                break
            factor = rate_factor(state.step, settings.warmup_steps, settings.max_steps)
            for group, rate in zip(self.optimiser.param_groups, self.rates, strict=True):
                group["lr"] = rate * factor
            losses.append(self._take_step(batches))
            state.step += 1
            if state.step < settings.max_steps and all(state.step % every for every in told):
                continue
            loss = self._settle(losses)
            state.seconds = time.perf_counter() - started
            if state.step % settings.log_every == 0:
                self._report_progress(loss, before)
                before, losses = replace(state), []
            if state.step % settings.evaluate_every == 0:
                self.evaluate()
            if state.step % settings.checkpoint_every == 0:
                self.save()

    def _settle(self, losses: list[torch.Tensor]) -> float:
        """Count what all processes have read. Gives the mean of the losses; one that is not finite is an error."""
        n_words, n_pieces = self._summed(self._n_read).tolist()
        self.state.n_words += n_words
        self.state.n_pieces += n_pieces
        self._n_read = [0, 0]
        mean = float(self._summed(torch.stack(losses)).double().mean())
        if not math.isfinite(mean):
            what_to_do = "Lower --encoder-rate, raise --warmup-steps, or use --dtype float32."
            raise FloatingPointError(
                f"Expected a finite loss up to step {self.state.step}, got {mean}. {what_to_do}"
            )
        return mean

    def _report_progress(self, loss: float, before: RunState) -> None:
        """Say how it went since the state `before`."""
        state, minutes = self.state, self.state.seconds / 60
        pieces, seconds = state.n_pieces - before.n_pieces, state.seconds - before.seconds
        left = minutes * (self.settings.max_steps / state.step - 1)
        line = f"loss {loss:.4f}, {pieces / seconds:.0f} pieces/s, {minutes:.1f} min, {left:.0f} min left"
        self._report(line, loss=round(loss, 4), rate=self.optimiser.param_groups[0]["lr"])

    def _take_step(self, batches: list[Batch]) -> torch.Tensor:
        """One step of the optimiser. Gives this process's part of the mean loss over the scored slots of all."""
        n_scored: Any = sum(int((batch["labels"] != NOT_SCORED).sum()) for batch in batches)
        self._n_read[0] += sum(int((batch["slot_positions"] != 0).sum()) for batch in batches)
        self._n_read[1] += sum(int(batch["attention_mask"].sum()) for batch in batches)
        device = self.accelerator.device
        n_scored = max(n_scored, 1)
        if self.accelerator.num_processes > 1:
            n_scored = self._summed(torch.full((), n_scored, device=device))
        total = torch.zeros((), device=device)
        for number, batch in enumerate(batches):
            # Dropout, too, depends on step and place alone, so that a resumed run repeats it.
            part = self.accelerator.process_index * self.settings.accumulate + number
            torch.manual_seed(hash((self.settings.seed, self.state.step, part)) & 0x7FFFFFFF)
            is_last = number == len(batches) - 1
            with nullcontext() if is_last else self.accelerator.no_sync(self.prepared):
                loss = self._loss(batch) / n_scored
                self.accelerator.backward(
                    loss * self.accelerator.num_processes
                )  # gradients are averaged over these
            total += loss.detach()
        self.accelerator.clip_grad_norm_(self.prepared.parameters(), MAX_NORM)
        self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=True)
        self.averages.update()
        return total

    def _loss(self, batch: Batch) -> torch.Tensor:
        """Summed loss over the scored slots of one batch."""
        inputs = {
            name: tensor.to(self.accelerator.device, non_blocking=True)
            for name, tensor in batch.items()
        }
        names = [name for name in ("is_pseudo", "soft_labels", "casings") if name in inputs]
        targets: dict[str, Any] = {name: inputs.pop(name) for name in names}
        labels, is_slot, crf = (
            inputs.pop("labels"),
            inputs["slot_positions"] != 0,
            self.model.classifier.crf,
        )
        with self.accelerator.autocast():
            outputs = self.prepared(**inputs)
        targets["nll"] = None if crf is None else crf.losses(outputs.scores, is_slot, labels)
        return total_loss(
            outputs.logits, labels, self.settings, casing_logits=outputs.casing_logits, **targets
        )

    def _summed(self, values: Any) -> torch.Tensor:
        """The sum over all processes of a tensor, or of numbers."""
        return self.accelerator.reduce(torch.as_tensor(values, device=self.accelerator.device))


def newest_checkpoint(
    out: Path, tell: Callable[[str], None]
) -> tuple[Path | None, dict[str, Any] | None]:
    """The newest checkpoint of a run that can be read, and the run's state in it. Tells which ones are damaged."""
    for place in sorted(out.glob("checkpoints/step-*"), reverse=True):
        try:
            return place, torch.load(place / STATE_FILE, map_location="cpu", weights_only=True)
        except (OSError, RuntimeError, EOFError, UnpicklingError) as error:
            tell(f"Checkpoint {place} is damaged ({error}): going back to the one before.")
    return None, None
