"""How long do visitors of the page wait when fifty come at once, and does anybody get another's text?

    python -m benchmarks.space

Serves the page of `space/` with the default model, and calls its endpoint `/restore` from fifty threads at the same
moment, again and again, each with forty words of its own out of `examples/texts/`. Writes `results/space.json` and the
sentence in `space/README.md`. It knows nothing about quality; every answer is held against what the pipeline gives.
"""

import argparse
import concurrent.futures
import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import textwrap
import time
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformers import pipeline

import punctuation_restoration
from benchmarks.writing import fill
from punctuation_restoration.evaluation.signature import signature
from punctuation_restoration.pipeline.items import join_words
from punctuation_restoration.pipeline.marks import strip_marks

ROOT = Path(__file__).resolve().parents[1]
SPACE = ROOT / "space"
OPTIONS = ("all", "complete", False, 0.0)  # marks, existing, truecase, threshold
N_WORDS = 40  # of one visitor: what somebody says in a quarter of a minute
BEGIN, END = "<!-- load -->", "<!-- /load -->"


@dataclass(frozen=True, slots=True)
class Server:
    """The page as it is served: its address, and where its process writes."""

    url: str
    log: Path


@contextlib.contextmanager
def serve(folder: Path, model: str, n_seconds: float = 300) -> Iterator[Server]:
    """Serve a copy of the page, made in `folder`, by a process of its own."""
    shutil.copytree(SPACE, folder / "space", ignore=shutil.ignore_patterns("__pycache__"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = Server(f"http://127.0.0.1:{port}", folder / "log.txt")
    environment = {
        **os.environ, "PUNCTUATION_MODEL": model, "GRADIO_SERVER_PORT": str(port), "PYTHONPATH": str(ROOT),
        "TMPDIR": str(folder), "PYTHONUNBUFFERED": "1",
    }  # fmt: skip
    with open(server.log, "w", encoding="utf-8") as log:
        process = subprocess.Popen(
            [sys.executable, "app.py"], cwd=folder / "space", env=environment, stdout=log, stderr=subprocess.STDOUT
        )
    try:
        end = time.monotonic() + n_seconds
        while "Running on local URL" not in server.log.read_text(encoding="utf-8"):
            if process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"Expected the page, got:\n{server.log.read_text(encoding='utf-8')}")
            time.sleep(0.1)
        urllib.request.urlopen(server.url, timeout=120).close()  # it answers, too
        yield server
    finally:
        process.terminate()
        process.wait(timeout=30)


def ask(url: str, *arguments: object) -> tuple[str, Any]:
    """Call /restore as any HTTP client may: the name of the last event, and what came with it."""
    body = json.dumps({"data": arguments}).encode()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{url}/gradio_api/call/restore", body, headers)
    with urllib.request.urlopen(request, timeout=120) as answer:
        event = json.load(answer)["event_id"]
    with urllib.request.urlopen(f"{url}/gradio_api/call/restore/{event}", timeout=120) as stream:
        events = re.findall(r"event: (\w+)\ndata: (.*)\n", stream.read().decode())
    name, value = events[-1]
    return name, json.loads(value)


def visit_at_once(url: str, texts: Sequence[str]) -> list[tuple[str | None, float]]:
    """For each text what its visitor got, None for an error, and after how many seconds; all ask at the same moment."""

    def visit(text: str) -> tuple[str | None, float]:
        started = time.perf_counter()
        name, value = ask(url, text, *OPTIONS)
        return value[0]["text"] if name == "complete" else None, time.perf_counter() - started

    with concurrent.futures.ThreadPoolExecutor(len(texts)) as visitors:
        return list(visitors.map(visit, texts))


def spoken_texts(restore: Any, n_texts: int) -> list[str]:
    """Texts of equally many words, without marks and in lower case, the languages by turns."""
    config, cut = restore.model.config, []
    for path in sorted((ROOT / "examples" / "texts").glob("*.txt")):
        text = path.read_text(encoding="utf-8")
        words, _ = strip_marks(text, restore.find_words(text), config.mark_labels, config.label_names)
        starts = range(0, len(words) - N_WORDS, N_WORDS)
        cut.append([join_words([word.lower() for word in words[start : start + N_WORDS]]) for start in starts])
    turns = [texts[turn] for turn in range(max(map(len, cut))) for texts in cut if turn < len(texts)]
    if len(turns) < n_texts:
        raise ValueError(f"Expected {n_texts} texts of {N_WORDS} words in examples/texts, found {len(turns)}.")
    return turns[:n_texts]


def measure(model: str, n_visitors: int, n_rounds: int) -> dict[str, Any]:
    """Seconds of all visits, and how many failed or got what is not their own."""
    restore = pipeline("punctuation-restoration", model=model, device="cpu")
    texts = spoken_texts(restore, n_visitors)
    expected = [done["text"] for done in restore(texts)]
    with tempfile.TemporaryDirectory() as folder, serve(Path(folder), model) as server:
        alone = sorted(visit_at_once(server.url, [text])[0][1] for text in texts[:10])
        answers = [visit_at_once(server.url, texts) for _ in range(n_rounds)]
    seconds = sorted(taken for visits in answers for _, taken in visits)
    got = [text for visits in answers for text, _ in visits]
    n_wrong = sum(text not in (None, own) for text, own in zip(got, expected * n_rounds, strict=True))
    return {
        "visitors": n_visitors, "rounds": n_rounds, "words_each": N_WORDS, "errors": got.count(None),
        "not_their_own": n_wrong, "alone_median_seconds": round(alone[len(alone) // 2], 3),
        "median_seconds": round(seconds[len(seconds) // 2], 3),
        "p99_seconds": round(seconds[min(len(seconds) - 1, int(0.99 * len(seconds)))], 3),
        "slowest_seconds": round(seconds[-1], 3),
    }  # fmt: skip


def sentence(result: dict[str, Any]) -> str:
    """What the page's README says of a measurement."""
    signed = result["signature"]
    faults = f"{result['errors'] or 'none'} failed, {result['not_their_own'] or 'none'} got another's text"
    told = (
        f"Measured with {result['visitors']} visitors at the same moment, each with {result['words_each']} words of "
        f"their own, {result['rounds']} times over: of {result['visitors'] * result['rounds']} calls {faults}; half "
        f"were answered within {result['median_seconds']:.1f} s, 99 % within {result['p99_seconds']:.1f} s; a visitor "
        f"alone waits {result['alone_median_seconds']:.2f} s. ({signed['machine']['processor']}, "
        f"{signed['machine']['torch_threads']} threads, which the visitors' own programs shared.)"
    )
    return textwrap.fill(told, 120)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="How long visitors of the page wait when many come at once.")
    parser.add_argument("--model", default=punctuation_restoration.DEFAULT_MODEL, help="folder or Hub id of the model")
    parser.add_argument("--visitors", type=int, default=50, help="visitors at once (50)")
    parser.add_argument("--rounds", type=int, default=10, help="how often all of them come (10)")
    parser.add_argument("--output", type=Path, default=ROOT / "results" / "space.json", help="JSON file to write")
    parser.add_argument("--readme", type=Path, default=SPACE / "README.md", help="where the sentence stands")
    args = parser.parse_args(argv)
    result = measure(args.model, args.visitors, args.rounds)
    settings = {"words_each": N_WORDS, "options": OPTIONS}
    result["signature"] = signature(args.model, settings, "cpu")
    text = json.dumps(result, indent=2, ensure_ascii=False) + "\n"
    args.output.write_text(text, encoding="utf-8")
    fill(args.readme, BEGIN, END, sentence(result))
    print(text)
    return int(bool(result["errors"] or result["not_their_own"]))


if __name__ == "__main__":
    sys.exit(main())
