"""Trains a small model on the texts in `examples/`, in two processes, killed once without warning and resumed.

    python tests/train_smoke.py [CHECKPOINT]

The model is the encoder of a checkpoint, by default that of `checkpoints/en-zh-ms`, with a new classifier that knows
nothing: from random weights, two minutes and a few pages of text are not enough. Ends with 0 if the resumed run beats
the best constant label on held-out documents by a wide margin; takes under two minutes on two free cores and downloads
nothing.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SENTENCES_PER_DOCUMENT = 4
N_STEPS = 30
MARGIN = 2.0  # times the F1 of the best constant label


def main() -> int:
    """Run the smoke test. Gives 0, or 1 with the reason."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        texts = write_documents(place / "texts")
        make_encoder(sys.argv[1] if len(sys.argv) > 1 else str(ROOT / "checkpoints" / "en-zh-ms"), place / "encoder")
        prepare = ["-m", "punctuation_restoration.cli.prepare", "--texts", str(texts), "--language", "mix"]
        prepared = place / "prepared"
        subprocess.run(
            [sys.executable, *prepare, "--tokenizer", str(place / "encoder"), "--output", str(prepared)],
            check=True, cwd=ROOT, env=environment(), stdout=subprocess.DEVNULL,
        )  # fmt: skip
        out = place / "run"
        command = train_command(place / "encoder", prepared, out)
        kill_after_checkpoint(command, out)
        print("Killed after its first checkpoint; the same command again:", flush=True)
        subprocess.run(command, check=True, cwd=ROOT, env=environment())
        rows = [json.loads(line) for line in (out / "log.jsonl").read_text(encoding="utf-8").splitlines()]
        reached = rows[-1]["validation"]["mean_f1"]
        constant = constant_f1(prepared)
    print(
        f"Micro-F1 on held-out documents: {reached:.1f}; best constant label: {constant:.1f}; "
        f"{time.monotonic() - began:.0f} seconds"
    )
    if reached < MARGIN * constant:
        print(f"Expected at least {MARGIN:g} times the best constant label.", file=sys.stderr)
        return 1
    return 0


def write_documents(folder: Path) -> Path:
    """The example texts in documents of a few sentences, so that some can be held out."""
    folder.mkdir()
    for path in sorted((ROOT / "examples" / "texts").glob("*.txt")):
        sentences = re.findall(r"[^.?!。？！]+[.?!。？！]+[\"'”’」]*\s*", path.read_text(encoding="utf-8"))
        documents = [
            "".join(sentences[first : first + SENTENCES_PER_DOCUMENT]).strip()
            for first in range(0, len(sentences), SENTENCES_PER_DOCUMENT)
        ]
        (folder / path.name).write_text("\n\n".join(documents), encoding="utf-8")
    return folder


def make_encoder(checkpoint: str, place: Path) -> None:
    """The encoder of a checkpoint of ours, without its classifier."""
    import torch
    from transformers import AutoModelForTokenClassification, AutoTokenizer
    from transformers.utils.logging import disable_progress_bar

    import punctuation_restoration  # noqa: F401  (registers the model)

    disable_progress_bar()
    AutoModelForTokenClassification.from_pretrained(checkpoint, dtype=torch.float32).encoder.save_pretrained(place)
    AutoTokenizer.from_pretrained(checkpoint).save_pretrained(place)


def environment() -> dict[str, str]:
    """Offline, one thread a process, our package importable without being installed."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    fixed = {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "PYTHONPATH": path}
    return {**os.environ, **fixed}


def train_command(encoder: Path, prepared: Path, out: Path) -> list[str]:
    """The run: two processes on the CPU."""
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    settings = {
        "encoder": encoder, "data": prepared, "output": out, "max-steps": N_STEPS, "pieces-per-batch": 512,
        "encoder-rate": 1e-4, "head-rate": 1e-3, "warmup-steps": 3, "evaluate-every": 10_000, "checkpoint-every": 10,
        "log-every": 5, "validation-words": 5000,
    }  # fmt: skip
    arguments = [part for name, value in settings.items() for part in (f"--{name}", str(value))]
    return [*launch, str(ROOT / "train.py"), *arguments, "--device", "cpu"]


def kill_after_checkpoint(command: list[str], out: Path) -> None:
    """Start a run and kill all of its processes, without warning, once its first checkpoint is there."""
    import psutil

    run = subprocess.Popen(command, cwd=ROOT, env=environment())
    try:
        while not list((out / "checkpoints").glob("step-*")):
            if run.poll() is not None:
                raise SystemExit(f"Expected a run to kill, it ended with {run.returncode}.")
            time.sleep(0.05)
    finally:
        # The launcher's processes live on without it, so each of them has to be killed.
        for process in [*psutil.Process(run.pid).children(recursive=True), run]:
            process.kill()
        run.wait()


def constant_f1(prepared: Path) -> float:
    """F1 of the best constant label on the validation words; never a mark has 0, always the same mark has more."""
    index = json.loads((prepared / "index.json").read_text(encoding="utf-8"))
    counts = [row["splits"]["validation"]["n_labels"] for row in index["sources"]]
    width = max(map(len, counts))
    totals = [sum(row[label] for row in counts if label < len(row)) for label in range(width)]
    return max(200.0 * n / (sum(totals) + sum(totals[1:])) for n in totals[1:])


if __name__ == "__main__":
    raise SystemExit(main())
