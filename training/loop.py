"""The training loop: batches in, a model folder out; can be killed at any moment and started again.

    out/checkpoints/step-000500/   to go on from        out/best/    best mean validation F1
    out/log.jsonl                  progress             out/final/   the end of the run

Takes settings, prepared data and a recipe's sampling. Every step is a function of seed and step number, so a resumed
run does what the unbroken one would have done.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from transformers import AutoTokenizer

from punctuation_restoration.data.collation import NOT_SCORED, WindowCollator
from punctuation_restoration.data.conversion import stop_label_ids
from punctuation_restoration.data.dataset import Batch, BatchSource, read_ahead
from punctuation_restoration.data.recipe import Recipe
from punctuation_restoration.data.sampling import WindowSampler
from punctuation_restoration.modeling.modeling_punctuation import PunctuationRestorationModel
from punctuation_restoration.pipeline.slots import SlotEncoder
from punctuation_restoration.training.checkpoints import (
    load_state,
    newest_checkpoint,
    rotate,
    save_checkpoint,
    save_model_folder,
)
from punctuation_restoration.training.embeddings import plain_embeddings, train_rows_only
from punctuation_restoration.training.optimisation import (
    AveragedWeights,
    build_optimiser,
    parameter_groups,
    rate_factor,
    set_rates,
)
from punctuation_restoration.training.settings import TrainingSettings
from punctuation_restoration.training.validation import Validation


class TrainingRun:
    """One run: builds or resumes everything, then `train` does the steps.

    Args:
        settings: how to train.
        recipe: sampling, weights and model fields.
        folder, index: prepared data.
        out: folder of the run.
        accelerator: devices, processes and number format.
        start: checkpoint of ours to go on from, None starts from the encoder.
    """

    def __init__(
        self,
        settings: TrainingSettings,
        recipe: Recipe,
        folder: Path,
        index: Mapping[str, Any],
        out: Path,
        accelerator: Accelerator,
        start: str | None = None,
    ):
        self.settings, self.out, self.accelerator = settings, out, accelerator
        self.checkpoints = out / "checkpoints"
        resumed = newest_checkpoint(self.checkpoints, self.tell)
        place = str(resumed or start or "")
        self.model = build_model(settings, recipe, index, place)
        self.tokenizer = AutoTokenizer.from_pretrained(place or settings.encoder)
        self.slots = SlotEncoder(self.tokenizer, self.model.config)
        self.source = self._batch_source(recipe, folder, index)
        self.validation = Validation(
            folder, index, self.slots, self.model.config, settings.validation_words, self.process, self.n_processes
        )
        if not settings.train_word_embeddings:
            train_rows_only(self.model, [self.slots.mask_id, *self.slots.fill_ids] if self.slots.has_slots else [])
        groups = parameter_groups(self.model, settings.encoder_rate, settings.head_rate, settings.weight_decay)
        self.averages = AveragedWeights(self.model, settings.average_decay)
        self.prepared, self.optimiser = accelerator.prepare(
            self.model, build_optimiser(settings.optimiser, groups)
        )
        self.averages.to(accelerator.device)
        self.step, self.seconds, self.best_f1, self.n_words = 0, 0.0, -1.0, 0
        self.best_of_language: dict[str, float] = {}
        self.n_stale = 0
        self._last_scores: dict[str, Any] = {}
        self._scored_step = -1
        if resumed:
            self._resume(resumed)

    @property
    def process(self) -> int:
        return self.accelerator.process_index

    @property
    def n_processes(self) -> int:
        return self.accelerator.num_processes

    def train(self) -> dict[str, Any]:
        """Do the steps that are left. Gives the last validation scores.

        Raises:
            FloatingPointError: if the loss is not a number.
        """
        settings, started = self.settings, time.perf_counter() - self.seconds
        window = _LogWindow()
        waiting = time.perf_counter()
        for batches in read_ahead(self.source, self.step, settings.max_steps):
            window.waited += time.perf_counter() - waiting
            if self.progress(time.perf_counter() - started) >= 1 or self._is_stale():
                break
            factor = rate_factor(self.step, settings.warmup_steps, self.progress(time.perf_counter() - started))
            loss, n_words = self._take_step(batches, factor)
            self.step += 1
            self.seconds = time.perf_counter() - started
            window.add(loss, n_words, batches)
            if self.step % settings.log_every == 0:
                self._log_progress(window, factor)
                window = _LogWindow()
            if self.step % settings.evaluate_every == 0:
                self.evaluate()
            if self.step % settings.checkpoint_every == 0:
                self.save()
            waiting = time.perf_counter()
        scores = self._last_scores if self._scored_step == self.step else self.evaluate()
        self.save()
        if self.accelerator.is_main_process:
            with self.averages.applied():
                save_model_folder(self.out / "final", self._save_model)
        self.accelerator.wait_for_everyone()
        return scores

    def progress(self, seconds: float) -> float:
        """How much of the run is over, 0 to 1: by steps, or by time where that runs out first."""
        by_steps = self.step / self.settings.max_steps
        by_time = seconds / (60 * self.settings.time_limit) if self.settings.time_limit else 0.0
        if self.settings.time_limit and self.n_processes > 1:  # all processes must stop at the same step
            by_time = float(self.accelerator.reduce(torch.tensor(by_time, device=self.accelerator.device), "mean"))
        return max(by_steps, by_time)

    def evaluate(self) -> dict[str, Any]:
        """Score the validation windows, keep the best model, and count evaluations without progress."""
        with self.averages.applied():
            counts = torch.from_numpy(self.validation.counts(self.model, self.accelerator.device))
            counts = self.accelerator.reduce(counts.to(self.accelerator.device), "sum").cpu()
            scores = self.validation.scores(counts.numpy())
            if scores["languages"] and scores["mean_f1"] > self.best_f1:
                self.best_f1 = scores["mean_f1"]
                if self.accelerator.is_main_process:
                    save_model_folder(self.out / "best", self._save_model)
        better = False
        for language, row in scores["languages"].items():
            better |= row["f1"] > self.best_of_language.get(language, -1.0)
            self.best_of_language[language] = max(row["f1"], self.best_of_language.get(language, -1.0))
        self.n_stale = 0 if better else self.n_stale + 1
        self._last_scores, self._scored_step = scores, self.step
        line = ", ".join(f"{language} {row['f1']:.1f}" for language, row in scores["languages"].items())
        self.tell(f"step {self.step}: validation F1 {line or 'not measured (no validation documents)'}")
        self._write_log({"step": self.step, "validation": scores})
        return scores

    def save(self) -> None:
        """Write a checkpoint of this step and drop old ones."""
        if self.accelerator.is_main_process:
            state = {
                "step": self.step,
                "seconds": self.seconds,
                "n_words": self.n_words,
                "best_f1": self.best_f1,
                "best_of_language": self.best_of_language,
                "n_stale": self.n_stale,
                "optimiser": self.optimiser.state_dict(),
                "averages": self.averages.state_dict(),
                "scaler": self.accelerator.scaler.state_dict() if self.accelerator.scaler else None,
            }
            save_checkpoint(self.checkpoints, self.step, self._save_model, state)
            rotate(self.checkpoints, self.settings.keep_checkpoints)
        self.accelerator.wait_for_everyone()

    def tell(self, line: str) -> None:
        """Print a line once, whatever the number of processes."""
        if self.accelerator.is_main_process:
            print(line, flush=True)

    def _take_step(self, batches: list[Batch], factor: float) -> tuple[float, int]:
        """One step of the optimiser. Gives the mean loss of its scored slots, and the number of words."""
        set_rates(self.optimiser, factor)
        counts = torch.tensor(
            [sum(int((batch[key] != empty).sum()) for batch in batches) for key, empty in _COUNTED],
            device=self.accelerator.device,
        )
        n_scored, n_words = self.accelerator.reduce(counts, "sum").tolist()
        total = torch.zeros((), device=self.accelerator.device)
        for number, batch in enumerate(batches):
            # Dropout, too, depends on step and place alone, so that a resumed run repeats it.
            part = self.process * self.settings.accumulate + number
            torch.manual_seed(hash((self.settings.seed, self.step, part)) & 0x7FFFFFFF)
            is_last = number == len(batches) - 1
            with self.accelerator.no_sync(self.prepared) if not is_last else nullcontext():
                loss = self._loss(batch) / max(n_scored, 1)
                self.accelerator.backward(loss * self.n_processes)  # gradients are averaged over processes
            total += loss.detach()
        mean_loss = float(self.accelerator.reduce(total, "sum"))
        if not math.isfinite(mean_loss):
            raise FloatingPointError(
                f"Expected a finite loss at step {self.step}, got {mean_loss} in batches of {n_words} words. Lower "
                "--encoder-rate, raise --warmup-steps, or use --precision fp32."
            )
        if self.settings.max_norm:
            self.accelerator.clip_grad_norm_(self.prepared.parameters(), self.settings.max_norm)
        self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=True)
        self.averages.update()
        self.n_words += n_words
        return mean_loss, n_words

    def _loss(self, batch: Batch) -> torch.Tensor:
        """Summed cross-entropy over the scored slots of one batch."""
        inputs = {name: tensor.to(self.accelerator.device, non_blocking=True) for name, tensor in batch.items()}
        labels = inputs.pop("labels")
        logits = self.prepared(**inputs).logits
        return torch.nn.functional.cross_entropy(
            logits.flatten(0, 1).float(), labels.flatten(), ignore_index=NOT_SCORED, reduction="sum"
        )

    def _batch_source(self, recipe: Recipe, folder: Path, index: Mapping[str, Any]) -> BatchSource:
        settings = self.settings
        sampler = WindowSampler(
            folder,
            index,
            recipe.sampling,
            settings.pieces_per_batch * settings.accumulate * self.n_processes,
            int(self.slots.has_slots),
            stop_label_ids(self.model.config.labels),
            settings.seed,
            weights={source.name: source.weight for source in recipe.sources},
        )
        collator = WindowCollator(self.slots, recipe.sampling.filled_windows, recipe.sampling.max_filled)
        return BatchSource(sampler, collator, self.process, self.n_processes, settings.accumulate)

    def _resume(self, place: Path) -> None:
        state = load_state(place)
        self.optimiser.load_state_dict(state["optimiser"])
        if self.settings.average_decay:
            self.averages.load_state_dict(state["averages"])
        if self.accelerator.scaler and state["scaler"]:
            self.accelerator.scaler.load_state_dict(state["scaler"])
        for name in ("step", "seconds", "n_words", "best_f1", "best_of_language", "n_stale"):
            setattr(self, name, state[name])
        self.tell(f"Going on from {place} (step {self.step}).")

    def _save_model(self, place: Path) -> None:
        with plain_embeddings(self.model) as model:
            model.save_pretrained(place)
        self.tokenizer.save_pretrained(place)

    def _is_stale(self) -> bool:
        return bool(self.settings.patience) and self.n_stale >= (self.settings.patience or 0)

    def _log_progress(self, window: _LogWindow, factor: float) -> None:
        seconds = window.seconds
        progress = max(self.progress(self.seconds), 1e-9)
        left = self.seconds * (1 - progress) / progress
        row = {
            "step": self.step,
            "loss": round(window.mean_loss, 4),
            "words_per_second": round(window.n_words / seconds, 1),
            "pieces_per_second": round(window.n_pieces * self.n_processes / seconds, 1),
            "padding": round(window.padding, 4),
            "waiting": round(window.waited / seconds, 4),
            "rate": factor * self.settings.encoder_rate,
            "minutes": round(self.seconds / 60, 2),
        }
        self._write_log(row)
        self.tell(
            f"step {self.step}: loss {row['loss']:.4f}, {row['words_per_second']:.0f} words/s, "
            f"{row['pieces_per_second']:.0f} pieces/s, data waiting {100 * row['waiting']:.1f} %, "
            f"{self.seconds / 60:.1f} min, {left / 60:.0f} min left"
        )

    def _write_log(self, row: Mapping[str, Any]) -> None:
        if self.accelerator.is_main_process:
            with open(self.out / "log.jsonl", "a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")


# What is counted in each batch, by the value that does not count: scored slots, and words.
_COUNTED = (("labels", NOT_SCORED), ("slot_positions", 0))


class _LogWindow:
    """What happened since the last line of progress."""

    def __init__(self) -> None:
        self.started, self.waited = time.perf_counter(), 0.0
        self.losses: list[float] = []
        self.n_words, self.n_pieces, self.n_places = 0, 0, 0

    def add(self, loss: float, n_words: int, batches: list[Batch]) -> None:
        self.losses.append(loss)
        self.n_words += n_words
        self.n_pieces += sum(int(batch["attention_mask"].sum()) for batch in batches)
        self.n_places += sum(batch["attention_mask"].numel() for batch in batches)

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.started

    @property
    def mean_loss(self) -> float:
        return sum(self.losses) / len(self.losses)

    @property
    def padding(self) -> float:
        return 1 - self.n_pieces / max(self.n_places, 1)


def build_model(settings: TrainingSettings, recipe: Recipe, index: Mapping[str, Any], start: str) -> Any:
    """The model to train, in fp32: a checkpoint's weights, or a pretrained encoder with a new classifier.

    Raises:
        ValueError: if the data were prepared with other pieces or labels, or nothing to start from is named.
    """
    style = {"slot_style": settings.slot_style} if settings.slot_style else {}
    if start:
        model = PunctuationRestorationModel.from_pretrained(start, dtype=torch.float32, **style)
    elif settings.encoder:
        fields = {key: value for key, value in recipe.model.items() if key not in ("encoder", "layers", "slot_style")}
        fields.setdefault("max_window_pieces", max(recipe.sampling.lengths))
        model = PunctuationRestorationModel.from_encoder(settings.encoder, settings.layers, **style, **fields)
    else:
        raise ValueError("Expected something to start from, got neither --from nor --encoder. Give one.")
    names = [label["name"] for label in index["labels"]]
    if model.config.label_names != names:
        raise ValueError(
            f"Expected data with the labels {model.config.label_names}, got {names}. Prepare it with --tokenizer {start}."
        )
    n_rows = model.get_input_embeddings().num_embeddings
    if index["n_vocabulary"] > n_rows:
        raise ValueError(
            f"Expected piece ids below {n_rows}, the data were prepared with {index['n_vocabulary']} pieces. Prepare "
            f"them with --tokenizer {start or settings.encoder}."
        )
    set_dropout(model, settings.dropout, settings.attention_dropout)
    return model


def set_dropout(model: Any, hidden: float, attention: float) -> None:
    """Set the encoder's dropout, in the modules and where attention reads it from."""
    for name, module in model.encoder.named_modules():
        if isinstance(module, torch.nn.Dropout):
            is_attention = name.endswith("attention.self.dropout") or name.endswith("attn.out_drop")
            module.p = attention if is_attention else hidden

