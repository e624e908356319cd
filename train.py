"""Train a punctuation model on prepared data.

    python train.py --recipe recipes/en-zh-ms.yaml --data prepared/ --out runs/first
    torchrun --nproc-per-node 2 train.py ...          several processes, on GPUs or CPUs

The same command started again goes on from the last checkpoint. Takes arguments, gives an exit status; the work is done
in `punctuation_restoration.training`.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

# evaluate.py beside us must not shadow the library `evaluate` for whoever imports it.
if sys.path and os.path.abspath(sys.path[0] or ".") == os.path.dirname(os.path.abspath(__file__)):
    sys.path.append(sys.path.pop(0))

import torch  # noqa: E402
from accelerate import Accelerator  # noqa: E402

from punctuation_restoration.data.recipe import load_recipe  # noqa: E402
from punctuation_restoration.data.shards import read_index  # noqa: E402
from punctuation_restoration.training.loop import TrainingRun  # noqa: E402
from punctuation_restoration.training.precision import choose_precision  # noqa: E402
from punctuation_restoration.training.settings import parse_args, settings_of  # noqa: E402


def main(argv: Sequence[str] | None = None) -> int:
    """Train; gives 0, or 1 after a message that says what was wrong."""
    args = parse_args(argv)
    try:
        recipe = load_recipe(args.recipe)
        settings = settings_of(vars(args), recipe.model, recipe.training)
        index = read_index(args.data)
        if settings.threads:
            torch.set_num_threads(settings.threads)
        torch.set_flush_denormal(True)  # tiny numbers make CPU arithmetic crawl
        use_cpu = args.cpu or not torch.cuda.is_available()
        precision, message = choose_precision(settings.precision, "cpu" if use_cpu else "cuda")
        accelerator = Accelerator(cpu=use_cpu, mixed_precision=precision)
        out = Path(args.out)
        out.mkdir(parents=True, exist_ok=True)
        if accelerator.is_main_process:
            if message:
                print(message)
            (out / "settings.json").write_text(json.dumps(asdict(settings), indent=1), encoding="utf-8")
        run = TrainingRun(settings, recipe, Path(args.data), index, out, accelerator, args.start)
        run.tell(
            f"{accelerator.num_processes} process(es) on {accelerator.device}, {precision} mixed precision, "
            f"{sum(p.numel() for p in run.model.parameters() if p.requires_grad):,} trained parameters"
        )
        run.train()
    except (ValueError, OSError, FloatingPointError, MemoryError) as error:
        print(f"train: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
