"""Measures `examples.bulk_ray`: words a second of one, two ... workers, their start, their memory.

    python -m tools.scale --model MODEL --backend onnx-int8 --workers 1 2

The rows are example texts without their marks, twenty words each. Words a second are from the first row that a worker
reads to the end, words a CPU second are of the workers alone: those hold on a busy machine too.
"""

import argparse
import itertools
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import psutil

import punctuation_restoration

ROOT = Path(__file__).resolve().parents[1]
N_FILES, ROW_WORDS = 8, 20


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default=punctuation_restoration.DEFAULT_MODEL)
    parser.add_argument("--backend", default="onnx-int8")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--words", type=int, default=160_000)
    parser.add_argument("--text", type=Path, default=ROOT / "examples/texts/en_inaugural_address_1985.txt")
    args = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        write_archive(Path(folder) / "archive", args.text, args.words)
        for n in args.workers:
            options = ["--workers", str(n), "--model", args.model, "--backend", args.backend]
            row = measure(Path(folder) / "archive", Path(folder) / f"done-{n}", options)
            rate = args.words / row["seconds"]
            cpu_rate = args.words / row["cpu_seconds"]
            print(
                f"{n} workers: {rate:.0f} words/s, {cpu_rate:.0f} words a CPU second; start {row['start']:.0f} s, "
                f"{row['start_cpu_seconds']:.0f} CPU s; {row['megabytes']:.0f} MB a worker",
                flush=True,
            )


def write_archive(folder: Path, text: Path, n_words: int) -> None:
    """Files of equal size with rows of `ROW_WORDS` words each, `n_words` in all."""
    folder.mkdir()
    words = itertools.cycle(text.read_text(encoding="utf-8").lower().replace(",", "").replace(".", "").split())
    for n in range(N_FILES):
        rows = (" ".join(itertools.islice(words, ROW_WORDS)) for _ in range(n_words // N_FILES // ROW_WORDS))
        lines = [json.dumps({"text": row}) for row in rows]
        (folder / f"{n}.jsonl").write_text("\n".join(lines), encoding="utf-8")


def measure(archive: Path, output: Path, options: Sequence[str]) -> dict[str, float]:
    """Seconds until the first file begins, and from there to the end; CPU seconds and memory of the workers."""
    command = [sys.executable, "-m", "examples.bulk_ray", str(archive), str(output), *options]
    began, start, memory = time.monotonic(), 0.0, 0.0
    cpu: dict[int, float] = {}  # by worker
    start_cpu: dict[int, float] = {}
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
        while run.poll() is None:
            for process in psutil.Process(run.pid).children(recursive=True):
                try:
                    if "Restorer" not in " ".join(process.cmdline()):
                        continue
                    times = process.cpu_times()
                    cpu[process.pid] = times.user + times.system
                    memory = max(memory, process.memory_info().rss / 1e6)
                except psutil.Error:
                    continue
            if not start and any(output.glob(".*.part")):
                start = time.monotonic() - began
            if len(list(output.glob(".*.part"))) > len(start_cpu):
                start_cpu = dict(cpu)
            time.sleep(0.05)
    if run.returncode:
        raise SystemExit(f"Expected {' '.join(command)} to succeed, got {run.returncode}. Run it.")
    busy = sum(cpu.values()) - sum(start_cpu.values())
    return {
        "start": start,
        "seconds": time.monotonic() - began - start,
        "cpu_seconds": busy,
        "start_cpu_seconds": sum(start_cpu.values()) / max(1, len(start_cpu)),
        "megabytes": memory,
    }


if __name__ == "__main__":
    main()
