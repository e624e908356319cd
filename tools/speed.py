r"""Speed, memory, start-up and size beside the peers', as ratios: every system on the same text, in turn.

    python -m tools.speed --threads 2 --output results/speed.json
    python -m tools.speed --threads 1 --systems torch xlmr-base --rounds 1
    python -m tools.speed --join one.json two.json --output results/speed.json --picture docs/images/speed.png \
        --fill docs/speed.md README.md

Takes names of systems (`speed_systems.py` tells what they are). Each runs in a process of its own; all are asked for
the same text one after the other, in the same order, in several rounds, and the median counts. The text is the address
in `examples/texts`, without its marks, in lower case, repeated. Of a text that would take a system longer than
`--seconds` it gets the first words only; words a second do not depend on the length from one window on.

`--clock cpu` counts processor time in place of wall time: for one thread, on a machine that others use as well.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from punctuation_restoration.default_models import DEFAULT_MODEL
from punctuation_restoration.evaluation.signature import signature
from tools.speed_tables import draw, fill, processor_of, ratios, table
from tools.writing import write_json

ROOT = Path(__file__).resolve().parents[1]
TEXT = ROOT / "examples" / "texts" / "en_inaugural_address_1985.txt"
SYSTEMS = (
    "torch", "onnx", "onnx-int8", "tagging-torch", "tagging-onnx-int8", "xlmr-base", "xlmr-large", "floor",
)  # fmt: skip
SIZES = {"sentence": 20, "page": 500, "talk": 5_000, "sentences": 20_000, "transcript": 1_000_000}  # words
ABOUT = {
    "sentence": "one sentence of 20 words", "page": "a page of 500 words", "talk": "a talk of 5,000 words",
    "sentences": "a list of 1,000 sentences of 10 to 30 words", "transcript": "a transcript of 1,000,000 words",
}  # fmt: skip


class Worker:
    """A system in its own process."""

    def __init__(self, name: str, threads: int, model: str | None) -> None:
        self.name = name
        started = time.perf_counter()
        command = [sys.executable, "-m", "tools.speed_systems", name, "--threads", str(threads)]
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "OMP_WAIT_POLICY": "passive"}
        self._process = subprocess.Popen(
            command + (["--model", model] if model else []),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, cwd=ROOT,
        )  # fmt: skip
        ready = self._answer()
        self.start_up = time.perf_counter() - started
        self.n_bytes, self.threads = ready["bytes"], ready["threads"]

    def run(self, texts: Sequence[str]) -> dict[str, float]:
        return self._ask({"texts": list(texts)})

    def peak_mb(self) -> float:
        return self._ask({})["peak_mb"]

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(30)

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        print(json.dumps(request), file=self._process.stdin, flush=True)
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"Expected an answer of system {self.name}, its process ended. Its message is above.")
        return json.loads(line)


def words_of_text() -> list[str]:
    """The words of the example, as a recogniser writes them."""
    text = TEXT.read_text(encoding="utf-8").lower()
    words = ("".join(sign for sign in word if sign.isalnum() or sign == "'") for word in text.split())
    return [word for word in words if word.strip("'")]


def texts_of(name: str, n_words: int) -> list[str]:
    """The first `n_words` words of a text; a list of sentences is as many as those words make."""
    words = words_of_text()
    running = [words[index % len(words)] for index in range(n_words)]
    if name != "sentences":
        return [" ".join(running)]
    texts, first = [], 0
    while first < len(running):
        length = 10 + (8 * len(texts)) % 21  # 10 to 30 words, 20 on average
        texts.append(" ".join(running[first : first + length]))
        first += length
    return texts


def measure(args: argparse.Namespace) -> dict[str, Any]:
    """Everything about every system."""
    workers = [Worker(name, args.threads, args.model) for name in args.systems]
    times: dict[str, dict[str, list[float]]] = {name: {text: [] for text in args.texts} for name in args.systems}
    n_run: dict[str, dict[str, int]] = {name: {} for name in args.systems}
    for worker in workers:  # warm up, and find out how much of a long text it can do
        n_words = 120
        worker.run(texts_of("page", n_words))
        speed = n_words / worker.run(texts_of("page", n_words))[args.clock]
        for text in args.texts:
            n_run[worker.name][text] = int(max(20, min(SIZES[text], speed * args.seconds)))
    for _ in range(args.rounds):
        for text in args.texts:
            for worker in workers:
                texts = texts_of(text, n_run[worker.name][text])
                stop = time.perf_counter() + args.seconds
                while True:
                    times[worker.name][text].append(worker.run(texts)[args.clock])
                    n_done = len(times[worker.name][text])
                    if text != "sentence" or time.perf_counter() > stop or n_done % args.repeats == 0:
                        break
    rows = {}
    for worker in workers:
        row: dict[str, Any] = {
            "start_up_s": round(worker.start_up, 2),
            "peak_memory_mb": round(worker.peak_mb()),
            "size_mb": round(worker.n_bytes / 1e6, 1),
            "texts": {},
        }
        for text in args.texts:
            n_words = n_run[worker.name][text]
            row["texts"][text] = summary(times[worker.name][text], n_words, SIZES[text])
        rows[worker.name] = row
        worker.close()
    used = {"threads": args.threads, "clock": args.clock, "rounds": args.rounds, "seconds": args.seconds}
    signed = signature(args.model or DEFAULT_MODEL, used, "cpu")
    return {"runs": [{"threads": args.threads, "clock": args.clock, "systems": rows, "signature": signed}]}


def summary(seconds: Sequence[float], n_words: int, n_whole: int) -> dict[str, Any]:
    """What the times of one text tell; extrapolated where only a part was run."""
    middle = statistics.median(seconds)
    ordered = sorted(seconds)
    found: dict[str, Any] = {
        "words_run": n_words,
        "words_per_second": round(n_words / middle, 1),
        "seconds": round(middle * n_whole / n_words, 4),
        "is_extrapolated": n_words < n_whole,
        "times": len(seconds),
    }
    if n_whole == SIZES["sentence"]:
        found |= {"p50_ms": round(1000 * middle, 1), "p99_ms": round(1000 * ordered[int(0.99 * (len(ordered) - 1))], 1)}
    return found


def join(paths: Sequence[Path]) -> dict[str, Any]:
    """The runs of several files; those on one processor with the same threads and clock become one.

    Processors keep the order in which they come, since the first is the one that the short tables show.
    """
    runs: dict[tuple[str, int, str], dict[str, Any]] = {}
    for path in paths:
        for run in json.loads(path.read_text(encoding="utf-8"))["runs"]:
            key = (processor_of(run), run["threads"], run["clock"])
            if key in runs:
                for name, row in run["systems"].items():
                    kept = runs[key]["systems"].setdefault(name, row)
                    kept["texts"] = {**kept["texts"], **row["texts"]}
            else:
                runs[key] = run
    processors = list(dict.fromkeys(processor for processor, _, _ in runs))
    order = sorted(runs, key=lambda key: (-processors.index(key[0]), *key[1:]), reverse=True)
    return {"about": ABOUT, "runs": [runs[key] for key in order]}


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--systems", nargs="+", default=SYSTEMS)
    parser.add_argument("--texts", nargs="+", default=list(SIZES), choices=list(SIZES))
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--model", help="folder of the model (default: the one that the pipeline loads)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=34, help="times that a sentence is run in each round, at most")
    parser.add_argument("--seconds", type=float, default=3.0, help="time for one text of one system in one round")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall")
    parser.add_argument("--join", nargs="+", type=Path, help="join results in place of measuring")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--fill", nargs="+", type=Path, default=[], help="documents whose tables are written anew")
    args = parser.parse_args(argv)
    result = join(args.join) if args.join else {"about": ABOUT, **measure(args)}
    for run in result["runs"]:
        run["ratios"] = ratios(run)
    print(table(result["runs"]))
    if args.output:
        write_json(result, args.output)
    if args.picture:
        draw(result, args.picture)
    for document in args.fill:
        filled = fill(document.read_text(encoding="utf-8"), result, ROOT / "results")
        document.write_text(filled, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
