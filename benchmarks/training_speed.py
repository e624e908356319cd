r"""How close a training step comes to the bare forward and backward pass of its encoder, and what data cost it.

    python -m benchmarks.training_speed --data prepared/ --encoder ../shared/encoder --layers 6 \
        --output results/training_speed.json

Takes prepared data and an encoder; prints one JSON object and adds it to the runs of the output file: pieces a second
of both, their ratio, the shares of padding and of waiting for data. Both are measured in turns in the same process, on
the same batches, in the same number format. The best round of each counts, since other programs on the machine can
only slow a round down.
"""

import argparse
import copy
import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator

from benchmarks.writing import write_json
from punctuation_restoration.data.dataset import Batch, read_ahead
from punctuation_restoration.data.recipe import Recipe, load_recipe
from punctuation_restoration.data.shards import read_index
from punctuation_restoration.evaluation.signature import signature
from punctuation_restoration.training.loop import TrainingRun
from punctuation_restoration.training.precision import choose_precision
from punctuation_restoration.training.settings import settings_of


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print."""
    args = parse_args(argv)
    if args.threads:
        torch.set_num_threads(args.threads)
    recipe = load_recipe(args.recipe) if args.recipe else Recipe(name="default", sources=())
    given = {"encoder": args.encoder, "layers": args.layers, "pieces_per_batch": args.pieces_per_batch, "dropout": 0.0}
    settings = settings_of(given, {}, {})
    use_cpu = not torch.cuda.is_available()
    precision, _ = choose_precision(args.precision, "cpu" if use_cpu else "cuda")
    accelerator = Accelerator(cpu=use_cpu, mixed_precision=precision)
    with tempfile.TemporaryDirectory() as folder:
        run = TrainingRun(settings, recipe, read_index(*args.data), Path(folder), accelerator)
        rows = [measure(run, args.steps, number * args.steps) for number in range(args.rounds)]
    found = summary(rows, precision, args)
    print(json.dumps(found, indent=1))
    if args.output:
        signed = {"signature": signature(args.encoder, {"recipe": recipe.name}, "cpu" if use_cpu else "cuda"), **found}
        runs = json.loads(args.output.read_text(encoding="utf-8"))["runs"] if args.output.is_file() else []
        write_json({"runs": [*runs, signed]}, args.output)
    return 0


def parse_args(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="Speed of a training step against its bare encoder.")
    parser.add_argument("--data", required=True, nargs="+", help="prepared folders")
    parser.add_argument("--encoder", required=True, help="pretrained encoder")
    parser.add_argument("--recipe", help="recipe whose window lengths are used")
    parser.add_argument("--layers", type=int, help="first layers of the encoder")
    parser.add_argument("--pieces-per-batch", type=int, default=2048)
    parser.add_argument("--precision", default="auto")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=6, help="steps of each round")
    parser.add_argument("--output", type=Path, help="JSON file that gets one more run")
    return parser.parse_args(argv)


def measure(run: TrainingRun, n_steps: int, first_step: int) -> dict[str, float]:
    """One round: the steps of a run with its data thread, then the bare encoder on the same batches."""
    encoder = copy.deepcopy(run.model.encoder).train()
    run.prepared.train()
    waited, kept = 0.0, []
    began = waiting = time.perf_counter()
    for batches in read_ahead(run.source, first_step, first_step + n_steps):
        waited += time.perf_counter() - waiting
        run._take_step(batches, 1.0)
        kept += batches
        waiting = time.perf_counter()
    trained = time.perf_counter() - began
    began = time.perf_counter()
    for batch in kept:
        pass_bare(run.accelerator, encoder, batch)
    bare = time.perf_counter() - began
    n_pieces = sum(int(batch["attention_mask"].sum()) for batch in kept)
    n_places = sum(batch["attention_mask"].numel() for batch in kept)
    return {"trained": trained, "bare": bare, "waited": waited, "n_pieces": n_pieces, "n_places": n_places}


def pass_bare(accelerator: Any, encoder: Any, batch: Batch) -> None:
    """Forward and backward of the encoder alone."""
    inputs = {name: batch[name].to(accelerator.device) for name in ("input_ids", "attention_mask")}
    with accelerator.autocast():
        states = encoder(**inputs).last_hidden_state
    states.float().sum().backward()
    encoder.zero_grad(set_to_none=True)
    if accelerator.device.type == "cuda":
        torch.cuda.synchronize()


def summary(rows: Sequence[dict[str, float]], precision: str, args: argparse.Namespace) -> dict[str, Any]:
    """The best rounds of both, and the means of what does not depend on who else is busy."""
    trained = max(row["n_pieces"] / row["trained"] for row in rows)
    bare = max(row["n_pieces"] / row["bare"] for row in rows)
    return {
        "precision": "fp32" if precision == "no" else precision,
        "threads": torch.get_num_threads(),
        "layers": args.layers,
        "pieces_per_batch": args.pieces_per_batch,
        "pieces_per_second": round(trained, 1),
        "bare_pieces_per_second": round(bare, 1),
        "ratio": round(trained / bare, 3),
        "padding": round(1 - sum(row["n_pieces"] for row in rows) / sum(row["n_places"] for row in rows), 4),
        "waiting": round(sum(row["waited"] for row in rows) / sum(row["trained"] for row in rows), 4),
    }


if __name__ == "__main__":
    raise SystemExit(main())
