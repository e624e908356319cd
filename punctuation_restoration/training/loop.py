"""The training loop: batches in, a model folder out. It can be killed at any time and resumes exactly.

    out/checkpoints/step-000500/   to go on from        out/best/    best mean validation F1
    out/log.jsonl                  progress             out/final/   the end of the run

Takes settings, prepared data and a recipe. Every step is a function of seed and step number, so a resumed run does what
the unbroken one would have done.
"""

import math
import time
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from torch.optim.lr_scheduler import LambdaLR

from punctuation_restoration.modeling.modeling_punctuation import NOT_SCORED
from punctuation_restoration.training import checkpoints, optimisation
from punctuation_restoration.training.batches import Batch, BatchSource, read_ahead
from punctuation_restoration.training.losses import total_loss
from punctuation_restoration.training.run_log import RunLog
from punctuation_restoration.training.settings import TrainingSettings
from punctuation_restoration.training.thresholds import tuned_temperature, tuned_thresholds
from punctuation_restoration.training.trained_rows import save_plain
from punctuation_restoration.training.validation import Validation


@dataclass
class RunState:
    """How far a run is, and how good it was; kept in checkpoints."""

    step: int = 0
    seconds: float = 0.0  # that the run has taken
    best_f1: float = -1.0  # mean of all languages, in points of 100
    best_of_language: dict[str, float] = field(default_factory=dict)
    n_stale: int = 0  # evaluations since any language got better

    def take(self, scores: Mapping[str, Any]) -> bool:
        """Take in the scores of an evaluation; gives whether they are the best on the whole."""
        before, f1s = self.best_of_language, {language: row["f1"] for language, row in scores["languages"].items()}
        self.best_of_language = {language: max(f1, before.get(language, -1.0)) for language, f1 in f1s.items()}
        self.n_stale = self.n_stale + 1 if self.best_of_language == before else 0
        is_best = bool(f1s) and scores["mean_f1"] > self.best_f1
        self.best_f1 = scores["mean_f1"] if is_best else self.best_f1
        return is_best


@dataclass(eq=False, repr=False)
class TrainingRun:
    """One run: `train` does the steps that are left. `training.starting` builds it, or goes on with one."""

    settings: TrainingSettings
    out: Path  # folder of the run
    accelerator: Accelerator  # devices, processes and number format
    model: Any  # as it is saved, and as validation reads it
    tokenizer: Any
    source: BatchSource  # the batches of this process
    validation: Validation
    log: RunLog
    state: RunState
    optimiser: Any
    averages: optimisation.AveragedWeights

    def __post_init__(self) -> None:
        settings, accelerator, optimiser = self.settings, self.accelerator, self.optimiser
        self.prepared, self.optimiser = accelerator.prepare(self.model, optimiser)
        # accelerate has wrapped `forward` to compute in the number format of training. `_loss` asks for that itself;
        # validation computes as serving does.
        accelerator.unwrap_model(self.prepared, keep_fp32_wrapper=False)
        if settings.compile:
            self.model.encoder.compile(dynamic=True)
        self.apart = accelerator.num_processes > 1 and settings.local_steps > 1  # each process takes steps alone
        self.last_scores: dict[str, Any] = {}
        self._time_used = self._time_share()
        self._scored_step, self._joined_step = -1, self.state.step
        self.schedule = LambdaLR(optimiser, self._rate, last_epoch=self.state.step - 1)

    def train(self) -> dict[str, Any]:
        """Do the steps that are left, and save what they made with its thresholds. Gives the last validation scores.

        Raises:
            FloatingPointError: if the loss is not a number.
        """
        with self.log.bar:
            self._take_steps()
        if self._scored_step != self.state.step:
            self.evaluate()
        self.save()
        self._save_tuned("final")
        self.log.tell(f"thresholds of final: {self.model.config.thresholds or 'none, the likeliest label counts'}")
        self.accelerator.wait_for_everyone()
        return self.last_scores

    def progress(self) -> float:
        """How much of the run is over, 0 to 1: by steps, or by time where that runs out first."""
        # Processes that take steps alone must not wait for each other at every step: they agree when they log.
        if not self.apart or self.state.step % self.settings.log_every == 0:
            self._time_used = self._time_share()
        return max(self.state.step / self.settings.max_steps, self._time_used)

    def _time_share(self) -> float:
        """How much of the time limit is used, 0 without one: the mean of all processes, which stop at the same step."""
        limit = self.settings.time_limit
        return float(self._reduced(self.state.seconds / (60 * limit), "mean")) if limit else 0.0

    def _rate(self, step: int) -> float:
        """What the full learning rates are multiplied with at a step."""
        progress = max(step / self.settings.max_steps, self._time_used)
        return optimisation.rate_factor(step, self.settings.warmup_steps, progress)

    def _reduced(self, values: Any, how: str = "sum") -> torch.Tensor:
        """The "sum" or "mean" over all processes of a tensor, or of numbers."""
        return self.accelerator.reduce(torch.as_tensor(values, device=self.accelerator.device), how)

    def evaluate(self) -> None:
        """Score the validation windows, keep the best model, and count evaluations without progress."""
        self._join()
        # Validation computes as serving does: not compiled.
        with self.averages.applied(), torch.compiler.set_stance("force_eager"):
            reading = self._reading = self.validation.read(self.model, self.accelerator.device)
        scores = self.validation.scores(self.validation.counts(reading))
        casing = self.validation.casing_f1(reading)
        if self.state.take(scores):
            self._save_tuned("best")
        line = ", ".join(f"{language} {row['f1']:.1f}" for language, row in scores["languages"].items())
        line += "; of casings " + ", ".join(f"{name} {f1:.1f}" for name, f1 in casing.items()) if casing else ""
        self.log.tell(f"step {self.state.step}: validation F1 {line or 'not measured: no validation documents'}")
        scores |= {"casings": casing} if casing else {}
        self.log.write(self.state.step, {"validation": scores})
        self.last_scores, self._scored_step = scores, self.state.step

    def save(self) -> None:
        """Write a checkpoint of this step and drop old ones."""
        self._join()
        if self.accelerator.is_main_process:
            state = asdict(self.state)
            state["optimiser"] = self.optimiser.state_dict()
            state["averages"] = self.averages.averaged.state_dict()
            state["scaler"] = self.accelerator.scaler.state_dict() if self.accelerator.scaler else None
            place = self.out / "checkpoints"
            checkpoints.save_checkpoint(place, self.state.step, self._save_model, state)
            checkpoints.rotate(place, self.settings.keep_checkpoints)
        self.accelerator.wait_for_everyone()

    def _save_tuned(self, name: str) -> None:
        """Write the model as it was read last, with the temperature and the thresholds that suit it."""
        config = self.model.config
        config.calibration_temperature = tuned_temperature(self.validation, self._reading)
        config.thresholds = tuned_thresholds(config, self.validation, self._reading)
        if self.accelerator.is_main_process:
            with self.averages.applied():
                checkpoints.save_model_folder(self.out / name, self._save_model)

    def _take_steps(self) -> None:
        settings, state, started = self.settings, self.state, time.perf_counter() - self.state.seconds
        self.prepared.train()  # transformers gives loaded models ready to serve, without dropout
        self.log.begin()
        waiting = time.perf_counter()
        for batches in read_ahead(self.source, state.step, settings.max_steps):
            self.log.waited += time.perf_counter() - waiting
            state.seconds = time.perf_counter() - started
            if self.progress() >= 1 or (settings.patience and state.n_stale >= settings.patience):
                break
            rate = float(self.schedule.get_last_lr()[0])
            loss, n_words = self._take_step(batches)
            state.step += 1
            state.seconds = time.perf_counter() - started
            self.log.add(loss, n_words, batches)
            if state.step % settings.log_every == 0:
                self._log_progress(rate)
            if state.step % settings.local_steps == 0:
                self._join()
            if state.step % settings.evaluate_every == 0:
                self.evaluate()
            if state.step % settings.checkpoint_every == 0:
                self.save()
            waiting = time.perf_counter()

    def _log_progress(self, rate: float) -> None:
        row = {**self.log.row(self.accelerator.num_processes), "rate": rate}
        if self.apart:  # each counted its own steps alone
            row["loss"] = round(float(self._reduced(row["loss"], "mean")), 4)
            row["words_per_second"] = round(float(self._reduced(row["words_per_second"])), 1)
        done, minutes = max(self.progress(), 1e-9), self.state.seconds / 60
        self.log.progress(self.state.step, row, minutes, minutes * (1 - done) / done)

    def _take_step(self, batches: list[Batch]) -> tuple[float, int]:
        """One step of the optimiser. Gives the mean loss of its scored slots, and the number of words.

        Both are those of all processes, or of this one alone where each takes its own steps: none waits for another.
        """
        apart, n_processes = self.apart, self.accelerator.num_processes
        n_scored = sum(int((batch["labels"] != NOT_SCORED).sum()) for batch in batches)
        n_words = sum(int((batch["slot_positions"] != 0).sum()) for batch in batches)
        if not apart:
            n_scored, n_words = self._reduced([n_scored, n_words]).tolist()
        total = torch.zeros((), device=self.accelerator.device)
        for number, batch in enumerate(batches):
            # Dropout, too, depends on step and place alone, so that a resumed run repeats it.
            part = self.accelerator.process_index * self.settings.accumulate + number
            torch.manual_seed(hash((self.settings.seed, self.state.step, part)) & 0x7FFFFFFF)
            is_last = number == len(batches) - 1
            with nullcontext() if is_last and not apart else self.accelerator.no_sync(self.prepared):
                loss = self._loss(batch) / max(n_scored, 1)
                # Gradients that are shared are averaged over processes.
                self.accelerator.backward(loss if apart else loss * n_processes)
            total += loss.detach()
        mean_loss = float(total if apart else self._reduced(total))
        if not math.isfinite(mean_loss):
            raise FloatingPointError(
                f"Expected a finite loss at step {self.state.step}, got {mean_loss} over {n_words} words. Lower "
                "--encoder-rate, raise --warmup-steps, or use --precision fp32."
            )
        if self.settings.max_norm:
            self.accelerator.clip_grad_norm_(self.prepared.parameters(), self.settings.max_norm)
        self.optimiser.step()
        self.schedule.step()
        self.optimiser.zero_grad(set_to_none=True)
        self.averages.update()
        return mean_loss, n_words

    def _loss(self, batch: Batch) -> torch.Tensor:
        """Summed loss over the scored slots of one batch."""
        inputs = {name: tensor.to(self.accelerator.device, non_blocking=True) for name, tensor in batch.items()}
        names = [name for name in ("is_pseudo", "soft_labels", "casings") if name in inputs]
        targets: dict[str, Any] = {name: inputs.pop(name) for name in names}
        labels, is_slot, crf = inputs.pop("labels"), inputs["slot_positions"] != 0, self.model.classifier.crf
        with self.accelerator.autocast():
            outputs = self.prepared(**inputs)
        targets["nll"] = None if crf is None else crf.losses(outputs.scores, is_slot, labels)
        targets["casing_logits"] = outputs.casing_logits
        return total_loss(outputs.logits, labels, self.settings, **targets)

    def _join(self) -> None:
        """Make processes that learn apart alike."""
        if self.apart and self._joined_step != self.state.step:
            optimisation.make_alike(self.accelerator, self.model, self.averages.averaged, self.optimiser)
            self._joined_step = self.state.step

    def _save_model(self, place: Path) -> None:
        save_plain(self.model, self.tokenizer, place)
