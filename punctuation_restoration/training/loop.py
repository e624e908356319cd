"""The training loop: batches in, a model folder out; can be killed at any moment and started again.

    out/checkpoints/step-000500/   to go on from        out/best/    best mean validation F1
    out/log.jsonl                  progress             out/final/   the end of the run

Takes settings, prepared data and a recipe. Every step is a function of seed and step number, so a resumed run does what
the unbroken one would have done.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import fields
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from transformers import AutoTokenizer

from punctuation_restoration.data.dataset import Batch, read_ahead
from punctuation_restoration.data.recipe import Recipe
from punctuation_restoration.modeling.modeling_punctuation import NOT_SCORED
from punctuation_restoration.pipeline.slots import SlotEncoder
from punctuation_restoration.training.adapters import (
    Adapters,
    add_adapters,
    freeze_layers,
    load_adapters,
    save_adapters,
    save_plain,
    weights_hash,
)
from punctuation_restoration.training.building import (
    SlotLogits,
    batch_source,
    build_model,
)
from punctuation_restoration.training.checkpoints import (
    load_state,
    newest_checkpoint,
    rotate,
    save_checkpoint,
    save_model_folder,
)
from punctuation_restoration.training.embeddings import train_rows_only
from punctuation_restoration.training.losses import LossSettings, total_loss
from punctuation_restoration.training.optimisation import (
    AveragedWeights,
    build_optimiser,
    parameter_groups,
    rate_factor,
    set_rates,
)
from punctuation_restoration.training.run_log import LogWindow, RunLog
from punctuation_restoration.training.settings import TrainingSettings
from punctuation_restoration.training.validation import Validation

# What is counted in each batch, by the value that does not count: scored slots, and words.
COUNTED = (("labels", NOT_SCORED), ("slot_positions", 0))
STYLES = {"mask": "slots are masks", "late-mask": "masks join in the last layers", "last-piece": "words are tagged"}
KEPT_STATE = ("step", "seconds", "best_f1", "best_of_language", "n_stale")


def reading(config: Any) -> str:
    """How a model reads, in a line."""
    first = config.bidirectional_from
    seen = "" if first is None else f", layers from {first} on read both ways"
    style = f"slot style {config.slot_style}: {STYLES[config.slot_style]}"
    return f"{style}{seen}; windows of {config.max_window_pieces} pieces"


class TrainingRun:
    """One run: builds or resumes everything, then `train` does the steps.

    Args:
        settings: how to train.
        recipe: sampling, augmentation, weights and model fields.
        index: of prepared data, from `data.shards.read_index`.
        out: folder of the run.
        accelerator: devices, processes and number format.
        start: checkpoint of ours to go on from, None starts from the encoder.
        soft_labels: folders in which teachers' labels are, see `training.labelling`.
        new_pieces: ids of pieces whose word embeddings are trained besides the mask and the fills.
    """

    def __init__(
        self,
        settings: TrainingSettings,
        recipe: Recipe,
        index: Mapping[str, Any],
        out: Path,
        accelerator: Accelerator,
        start: str | None = None,
        soft_labels: Sequence[str] = (),
        new_pieces: Sequence[int] = (),
    ):
        self.settings, self.out, self.accelerator = settings, out, accelerator
        self.process, self.n_processes = accelerator.process_index, accelerator.num_processes
        self.apart = self.n_processes > 1 and settings.local_steps > 1
        self.adapters: Adapters | None = None
        self.log = RunLog(out, accelerator.is_main_process, settings.tensorboard, settings.max_steps)
        self.checkpoints = out / "checkpoints"
        resumed = newest_checkpoint(self.checkpoints, self.log.tell)
        place = str(resumed or start or "")
        if settings.adapter_rank:  # checkpoints hold the adapters alone
            place = start or ""
        torch.manual_seed(settings.seed)  # a new classifier, and new adapters, are drawn
        self.model = build_model(settings, recipe, index, place)
        self.tokenizer = AutoTokenizer.from_pretrained(place or settings.encoder)
        self.slots = SlotEncoder(self.tokenizer, self.model.config)
        part = (self.process, self.n_processes)
        self.source = batch_source(settings, recipe, index, self.slots, self.model.config, part, soft_labels)
        self.validation = Validation(index, self.slots, self.model.config, settings.validation_words, *part)
        self.loss_settings = LossSettings(**{f.name: getattr(settings, f.name) for f in fields(LossSettings)})
        own_rows = [row for row in (self.slots.mask_id, *self.slots.fill_ids) if row is not None]
        self._set_trained([*own_rows, *new_pieces], place)
        groups = parameter_groups(self.model, settings.encoder_rate, settings.head_rate, settings.weight_decay)
        reader = SlotLogits(self.model, self.slots.pad_id, settings.attention_dropout)
        self.prepared, self.optimiser = accelerator.prepare(reader, build_optimiser(settings.optimiser, groups))
        self.averages = AveragedWeights(self.model, settings.average_decay)
        self.step, self.seconds, self.best_f1 = 0, 0.0, -1.0
        self._time_used: float | None = None
        self.best_of_language: dict[str, float] = {}
        self.n_stale = 0
        self.last_scores: dict[str, Any] = {}
        self._scored_step = -1
        if resumed:
            self._resume(resumed)
        self._joined_step = self.step
        self.log.tell(reading(self.model.config))

    def train(self) -> dict[str, Any]:
        """Do the steps that are left. Gives the last validation scores.

        Raises:
            FloatingPointError: if the loss is not a number.
        """
        with self.log.bar:
            self._take_steps()
        if self._scored_step != self.step:
            self.evaluate()
        self.save()
        if self.accelerator.is_main_process:
            with self.averages.applied():
                save_model_folder(self.out / "final", self._save_model)
        self.accelerator.wait_for_everyone()
        self.log.close()
        return self.last_scores

    def progress(self) -> float:
        """How much of the run is over, 0 to 1: by steps, or by time where that runs out first."""
        by_steps = self.step / self.settings.max_steps
        if not self.settings.time_limit:
            return by_steps
        # Processes that learn apart wait for each other at lines of progress only, not at each step.
        if not self.apart or self._time_used is None or self.step % self.settings.log_every == 0:
            by_time = self.seconds / (60 * self.settings.time_limit)
            self._time_used = self._number_of_all(by_time, "mean")  # all processes must stop at the same step
        return max(by_steps, self._time_used)

    def evaluate(self) -> dict[str, Any]:
        """Score the validation windows, keep the best model, and count evaluations without progress."""
        self._join()
        with self.averages.applied():
            counts = torch.from_numpy(self.validation.counts(self.model, self.accelerator.device))
            scores = self.validation.scores(self._reduced(counts.to(self.accelerator.device)).cpu().numpy())
            if scores["languages"] and scores["mean_f1"] > self.best_f1:
                self.best_f1 = scores["mean_f1"]
                if self.accelerator.is_main_process:
                    save_model_folder(self.out / "best", self._save_model)
        better = False
        for language, row in scores["languages"].items():
            better |= row["f1"] > self.best_of_language.get(language, -1.0)
            self.best_of_language[language] = max(row["f1"], self.best_of_language.get(language, -1.0))
        self.n_stale = 0 if better else self.n_stale + 1
        line = ", ".join(f"{language} {row['f1']:.1f}" for language, row in scores["languages"].items())
        self.log.tell(f"step {self.step}: validation F1 {line or 'not measured: no validation documents'}")
        self.log.write(self.step, {"validation": scores})
        self.last_scores, self._scored_step = scores, self.step
        return scores

    def save(self) -> None:
        """Write a checkpoint of this step and drop old ones."""
        self._join()
        if self.accelerator.is_main_process:
            state = {name: getattr(self, name) for name in KEPT_STATE}
            state["optimiser"] = self.optimiser.state_dict()
            state["averages"] = self.averages.averaged.state_dict()
            state["scaler"] = self.accelerator.scaler.state_dict() if self.accelerator.scaler else None
            save_checkpoint(self.checkpoints, self.step, self._save_trained, state)
            rotate(self.checkpoints, self.settings.keep_checkpoints)
        self.accelerator.wait_for_everyone()

    def _take_steps(self) -> None:
        settings, started = self.settings, time.perf_counter() - self.seconds
        self.prepared.train()  # transformers gives loaded models ready to serve, without dropout
        since, waiting = LogWindow(), time.perf_counter()
        for batches in read_ahead(self.source, self.step, settings.max_steps):
            since.waited += time.perf_counter() - waiting
            self.seconds = time.perf_counter() - started
            progress = self.progress()
            if progress >= 1 or (settings.patience and self.n_stale >= settings.patience):
                break
            factor = rate_factor(self.step, settings.warmup_steps, progress)
            loss, n_words = self._take_step(batches, factor)
            self.step += 1
            self.seconds = time.perf_counter() - started
            since.add(loss, n_words, batches)
            if self.step % settings.log_every == 0:
                done = max(self.progress(), 1e-9)
                row = {**since.row(self.n_processes), "rate": factor * settings.encoder_rate}
                if self.apart:  # each counted its own steps alone
                    row["loss"] = round(self._number_of_all(row["loss"], "mean"), 4)
                    row["words_per_second"] = round(self._number_of_all(row["words_per_second"], "sum"), 1)
                self.log.progress(self.step, row, self.seconds / 60, self.seconds / 60 * (1 - done) / done)
                since = LogWindow()
            if self.step % settings.local_steps == 0:
                self._join()
            if self.step % settings.evaluate_every == 0:
                self.evaluate()
            if self.step % settings.checkpoint_every == 0:
                self.save()
            waiting = time.perf_counter()

    def _take_step(self, batches: list[Batch], factor: float) -> tuple[float, int]:
        """One step of the optimiser. Gives the mean loss of its scored slots, and the number of words.

        Both are those of all processes, or of this one alone where each takes its own steps: none waits for another.
        """
        set_rates(self.optimiser, factor)
        counts = [sum(int((batch[key] != empty).sum()) for batch in batches) for key, empty in COUNTED]
        if not self.apart:
            counts = self._reduced(torch.tensor(counts, device=self.accelerator.device)).tolist()
        n_scored, n_words = counts
        total = torch.zeros((), device=self.accelerator.device)
        for number, batch in enumerate(batches):
            # Dropout, too, depends on step and place alone, so that a resumed run repeats it.
            part = self.process * self.settings.accumulate + number
            torch.manual_seed(hash((self.settings.seed, self.step, part)) & 0x7FFFFFFF)
            is_last = number == len(batches) - 1
            with nullcontext() if is_last and not self.apart else self.accelerator.no_sync(self.prepared):
                loss = self._loss(batch) / max(n_scored, 1)
                # Gradients that are shared are averaged over processes.
                self.accelerator.backward(loss if self.apart else loss * self.n_processes)
            total += loss.detach()
        mean_loss = float(total if self.apart else self._reduced(total))
        if not math.isfinite(mean_loss):
            raise FloatingPointError(
                f"Expected a finite loss at step {self.step}, got {mean_loss} over {n_words} words. Lower "
                "--encoder-rate, raise --warmup-steps, or use --precision fp32."
            )
        if self.settings.max_norm:
            self.accelerator.clip_grad_norm_(self.prepared.parameters(), self.settings.max_norm)
        self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=True)
        self.averages.update()
        return mean_loss, n_words

    @torch.no_grad()
    def _join(self) -> None:
        """Make processes that learn apart alike: all take the mean of their weights and of the optimiser's moments.

        Local SGD (Stich 2019, Algorithm 1). accelerate's `LocalSGD` leaves the moments apart; the mean of those, too,
        makes the first process's checkpoint that of all, so that a resumed run repeats the unbroken one.
        """
        if not self.apart or self._joined_step == self.step:
            return
        moments = [moment for state in self.optimiser.state.values() for moment in state.values()]
        weights = [weight for weight in self.model.parameters() if weight.requires_grad]
        for tensor in [*weights, *self.averages.averaged.parameters(), *moments]:
            if tensor.dim():  # the optimiser's count of steps is the same everywhere
                tensor.copy_(self._reduced(tensor, "mean"))
        self._joined_step = self.step

    def _loss(self, batch: Batch) -> torch.Tensor:
        """Summed loss over the scored slots of one batch."""
        inputs = {name: tensor.to(self.accelerator.device, non_blocking=True) for name, tensor in batch.items()}
        labels, is_pseudo = inputs.pop("labels"), inputs.pop("is_pseudo", None)
        soft = inputs.pop("soft_labels", None)
        if soft is not None:
            soft = (soft.float() / 255) ** 2  # as `soft_labels.as_bytes` stores them
        return total_loss(self.prepared(**inputs), labels, self.loss_settings, is_pseudo, soft)

    def _reduced(self, tensor: torch.Tensor, how: str = "sum") -> torch.Tensor:
        """The sum or mean of a tensor over all processes."""
        return self.accelerator.reduce(tensor, how) if self.n_processes > 1 else tensor

    def _number_of_all(self, number: float, how: str) -> float:
        """The sum or mean of a number over all processes."""
        return float(self._reduced(torch.tensor(number, device=self.accelerator.device), how))

    def _set_trained(self, rows: Sequence[int], base: str) -> None:
        """Freeze what is not trained: the word embeddings but for some rows, and what the settings say."""
        settings = self.settings
        if settings.adapter_rank:
            self.adapters = Adapters(
                base or str(settings.encoder),
                weights_hash(self.model.encoder),
                settings.layers,
                settings.adapter_rank,
                settings.frozen_layers,
                sorted({*rows}),
            )
        if not settings.train_word_embeddings:
            train_rows_only(self.model, rows)
        if settings.adapter_rank:
            add_adapters(self.model, settings.adapter_rank, settings.frozen_layers, settings.dropout)
        elif settings.frozen_layers:
            freeze_layers(self.model, settings.frozen_layers)

    def _resume(self, place: Path) -> None:
        if self.settings.adapter_rank:
            load_adapters(self.model, place)
        state = load_state(place)
        self.optimiser.load_state_dict(state["optimiser"])
        self.averages.averaged.load_state_dict(state["averages"])
        if self.accelerator.scaler and state["scaler"]:
            self.accelerator.scaler.load_state_dict(state["scaler"])
        for name in KEPT_STATE:
            setattr(self, name, state[name])
        self.log.tell(f"Going on from {place} (step {self.step}).")

    def _save_model(self, place: Path) -> None:
        if self.adapters:
            save_adapters(self.model, self.adapters, place / "adapters")
        save_plain(self.model, self.tokenizer, place)

    def _save_trained(self, place: Path) -> None:
        """What a run needs to go on: the adapters, where there are any; else the model."""
        if self.adapters:
            save_adapters(self.model, self.adapters, place)
        else:
            save_plain(self.model, self.tokenizer, place)
