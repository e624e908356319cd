"""Train a punctuation model on prepared data, or on plain text of one language.

    python train.py --recipe recipes/en-zh-ms.yaml --data prepared/ --out runs/first
    python train.py --from checkpoints/en-zh-ms --data my_language/ --language xx --out runs/xx
    torchrun --nproc-per-node 2 train.py ...          several processes, on GPUs or CPUs

The same command started again goes on from the last checkpoint. Takes arguments, gives an exit status; the work is done
in `punctuation_restoration.data` and `punctuation_restoration.training`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

# evaluate.py beside us must not shadow the library `evaluate` for whoever imports it.
if sys.path and os.path.abspath(sys.path[0] or ".") == os.path.dirname(os.path.abspath(__file__)):
    sys.path.append(sys.path.pop(0))

from punctuation_restoration.training.command import run_training


def main(argv: Sequence[str] | None = None) -> int:
    """Train; gives 0, or 1 after a message that says what was wrong."""
    return run_training(argv)


if __name__ == "__main__":
    raise SystemExit(main())
