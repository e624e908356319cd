"""The training loop: batches in, a model folder out; can be killed at any moment and started again.

    out/checkpoints/step-000500/   to go on from        out/best/    best mean validation F1
    out/log.jsonl                  progress             out/final/   the end of the run

Takes settings, prepared data and a recipe. Every step is a function of seed and step number, so a resumed run does what
the unbroken one would have done.
"""

import math
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from transformers import AutoTokenizer

from punctuation_restoration.data.dataset import Batch, read_ahead
from punctuation_restoration.data.recipe import Recipe
from punctuation_restoration.modeling.modeling_punctuation import NOT_SCORED
from punctuation_restoration.pipeline.slots import SlotEncoder
from punctuation_restoration.training import adapters, checkpoints, optimisation
from punctuation_restoration.training.building import batch_source, build_model
from punctuation_restoration.training.losses import total_loss
from punctuation_restoration.training.precision import use_fp32_attention
from punctuation_restoration.training.processes import Processes
from punctuation_restoration.training.run_log import RunLog
from punctuation_restoration.training.settings import TrainingSettings
from punctuation_restoration.training.thresholds import tuned_temperature, tuned_thresholds
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
    """One run: builds or resumes everything, then `train` does the steps."""

    settings: TrainingSettings
    recipe: Recipe  # its sampling, augmentation, weights and model fields
    index: Mapping[str, Any]  # of prepared data, from `data.shards.read_index`
    out: Path  # folder of the run
    accelerator: Accelerator  # devices, processes and number format
    start: str | None = None  # checkpoint of ours to go on from; None starts from the encoder
    soft_labels: Sequence[str] = ()  # folders in which teachers' labels are, see `training.labelling`
    new_pieces: Sequence[int] = ()  # ids whose word embeddings are trained besides those of the mask and the fills

    def __post_init__(self) -> None:
        settings, start, accelerator = self.settings, self.start, self.accelerator
        self.processes = Processes(accelerator, settings.local_steps)
        self.log = RunLog(self.out, accelerator.is_main_process, settings.max_steps)
        self.checkpoints = self.out / "checkpoints"
        resumed = checkpoints.newest_checkpoint(self.checkpoints, self.log.tell)
        learned = Path(start) if start and (Path(start) / adapters.DESCRIPTION_FILE).is_file() else None
        place = str(resumed or start or "")
        if settings.adapter_rank or learned:  # checkpoints hold the adapters alone
            place = "" if learned else start or ""
        torch.manual_seed(settings.seed)  # a new classifier, and new adapters, are drawn
        self.model = build_model(settings, self.recipe, self.index, place)
        self.tokenizer = AutoTokenizer.from_pretrained(place or settings.encoder)
        config = self.model.config
        slots = SlotEncoder(self.tokenizer, config)
        part = (self.processes.number, self.processes.n_processes)
        self.source = batch_source(settings, self.recipe, self.index, slots, config, part, self.soft_labels)
        self.validation = Validation(self.index, slots, config, settings.validation_words, self.processes)
        # Where slots are no pieces, marks are shown as in any text: the encoder knows these pieces.
        shown = () if config.slot_style == "last-piece" else (slots.mask_id, *slots.fill_ids)
        rows = [row for row in (*shown, *self.new_pieces) if row is not None]
        self.adapters = adapters.choose_trained(self.model, settings, rows, place or str(settings.encoder))
        if accelerator.device.type == "cpu" and accelerator.mixed_precision == "bf16":
            use_fp32_attention(self.model)
        rates = settings.encoder_rate, settings.head_rate, settings.casing_rate
        groups = optimisation.parameter_groups(self.model, rates, settings.weight_decay)
        optimiser = optimisation.build_optimiser(settings.optimiser, groups)
        self.prepared, self.optimiser = accelerator.prepare(self.model, optimiser)
        # Of accelerate, in the number format of training, which `_loss` asks for; validation computes as serving does.
        self.model.__dict__.pop("forward", None)
        if settings.compile:
            self.model.encoder.compile(dynamic=True)
        self.averages = optimisation.AveragedWeights(self.model, settings.average_decay)
        self.state = RunState()
        self.last_scores: dict[str, Any] = {}
        if resumed:
            self._resume(resumed)
        elif learned:
            adapters.go_on_from_adapters(self.model, self.adapters, learned)
        self._time_used: float | None = None
        self._scored_step, self._joined_step = -1, self.state.step
        self.log.tell(
            f"slot style {config.slot_style}, head {config.head}, windows of {config.max_window_pieces} pieces; layers "
            f"from {config.bidirectional_from or 0} on read both ways"
        )

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
        by_steps = self.state.step / self.settings.max_steps
        if not self.settings.time_limit:
            return by_steps
        # Processes that learn apart wait for each other at lines of progress only, not at each step.
        if not self.processes.apart or self._time_used is None or self.state.step % self.settings.log_every == 0:
            by_time = self.state.seconds / (60 * self.settings.time_limit)
            self._time_used = float(self.processes.reduced(by_time, "mean"))  # all must stop at the same step
        return max(by_steps, self._time_used)

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
            checkpoints.save_checkpoint(self.checkpoints, self.state.step, self._save_trained, state)
            checkpoints.rotate(self.checkpoints, self.settings.keep_checkpoints)
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
            progress = self.progress()
            if progress >= 1 or (settings.patience and state.n_stale >= settings.patience):
                break
            factor = optimisation.rate_factor(state.step, settings.warmup_steps, progress)
            loss, n_words = self._take_step(batches, factor)
            state.step += 1
            state.seconds = time.perf_counter() - started
            self.log.add(loss, n_words, batches)
            if state.step % settings.log_every == 0:
                self._log_progress(factor)
            if state.step % settings.local_steps == 0:
                self._join()
            if state.step % settings.evaluate_every == 0:
                self.evaluate()
            if state.step % settings.checkpoint_every == 0:
                self.save()
            waiting = time.perf_counter()

    def _log_progress(self, factor: float) -> None:
        row = {**self.log.row(self.processes.n_processes), "rate": factor * self.settings.encoder_rate}
        if self.processes.apart:  # each counted its own steps alone
            row["loss"] = round(float(self.processes.reduced(row["loss"], "mean")), 4)
            row["words_per_second"] = round(float(self.processes.reduced(row["words_per_second"])), 1)
        done, minutes = max(self.progress(), 1e-9), self.state.seconds / 60
        self.log.progress(self.state.step, row, minutes, minutes * (1 - done) / done)

    def _take_step(self, batches: list[Batch], factor: float) -> tuple[float, int]:
        """One step of the optimiser. Gives the mean loss of its scored slots, and the number of words.

        Both are those of all processes, or of this one alone where each takes its own steps: none waits for another.
        """
        optimisation.set_rates(self.optimiser, factor)
        apart, device = self.processes.apart, self.accelerator.device
        n_scored = sum(int((batch["labels"] != NOT_SCORED).sum()) for batch in batches)
        n_words = sum(int((batch["slot_positions"] != 0).sum()) for batch in batches)
        if not apart:
            n_scored, n_words = self.processes.reduced([n_scored, n_words]).tolist()
        total = torch.zeros((), device=device)
        for number, batch in enumerate(batches):
            # Dropout, too, depends on step and place alone, so that a resumed run repeats it.
            part = self.processes.number * self.settings.accumulate + number
            torch.manual_seed(hash((self.settings.seed, self.state.step, part)) & 0x7FFFFFFF)
            is_last = number == len(batches) - 1
            with nullcontext() if is_last and not apart else self.accelerator.no_sync(self.prepared):
                loss = self._loss(batch) / max(n_scored, 1)
                # Gradients that are shared are averaged over processes.
                self.accelerator.backward(loss if apart else loss * self.processes.n_processes)
            total += loss.detach()
        mean_loss = float(total if apart else self.processes.reduced(total))
        if not math.isfinite(mean_loss):
            raise FloatingPointError(
                f"Expected a finite loss at step {self.state.step}, got {mean_loss} over {n_words} words. Lower "
                "--encoder-rate, raise --warmup-steps, or use --precision fp32."
            )
        if self.settings.max_norm:
            self.accelerator.clip_grad_norm_(self.prepared.parameters(), self.settings.max_norm)
        self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=True)
        self.averages.update()
        return mean_loss, n_words

    def _loss(self, batch: Batch) -> torch.Tensor:
        """Summed loss over the scored slots of one batch."""
        inputs = {name: tensor.to(self.accelerator.device, non_blocking=True) for name, tensor in batch.items()}
        names = [name for name in ("is_pseudo", "soft_labels", "casings") if name in inputs]
        targets: dict[str, Any] = {name: inputs.pop(name) for name in names}
        with self.accelerator.autocast():
            outputs = self.prepared(**inputs)
        targets |= {"nll": outputs.nll, "casing_logits": outputs.casing_logits}
        return total_loss(outputs.logits, inputs["labels"], self.settings, **targets)

    def _join(self) -> None:
        """Make processes that learn apart alike."""
        if self.processes.apart and self._joined_step != self.state.step:
            self.processes.make_alike(self.model, self.averages.averaged, self.optimiser)
            self._joined_step = self.state.step

    def _resume(self, place: Path) -> None:
        if self.adapters:
            adapters.load_adapters(self.model, place)
        kept = checkpoints.load_state(place)
        self.optimiser.load_state_dict(kept["optimiser"])
        self.averages.averaged.load_state_dict(kept["averages"])
        if self.accelerator.scaler and kept["scaler"]:
            self.accelerator.scaler.load_state_dict(kept["scaler"])
        self.state = RunState(**{own.name: kept[own.name] for own in fields(RunState)})
        self.log.tell(f"Going on from {place} (step {self.state.step}).")

    def _save_model(self, place: Path) -> None:
        adapters.save_plain(self.model, self.tokenizer, place)
        if self.adapters:
            adapters.save_adapters(self.model, self.adapters, place / "adapters", torch.float16)

    def _save_trained(self, place: Path) -> None:
        """What a run needs to go on: the adapters, where there are any; else the model."""
        if self.adapters:
            adapters.save_adapters(self.model, self.adapters, place)
        else:
            adapters.save_plain(self.model, self.tokenizer, place)
