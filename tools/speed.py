r"""Speed, memory, start-up and size of each backend, beside a peer of the shape of XLM-R base, as ratios.

    python -m tools.speed --threads 2 --output two.json
    python -m tools.speed --join two.json one.json --output results/speed.json --picture docs/images/speed.png \
        --fill docs/speed.md

Systems are the default model (`default`, `default-onnx-int8`), the fast one (`torch`, `onnx`, `onnx-int8`) and
`xlmr-base`: tagging by an encoder of that shape with random weights, which compute as long as trained ones, in windows
of 256 pieces that overlap by 16, as the package `punctuators` runs it. In each round every system runs in a process of
its own, one after the other, and the median of all rounds counts. The text is the address
in `examples/texts`, without its marks, in lower case, repeated.
`--clock cpu` counts processor time: for one thread, where others use the machine too.
"""

import argparse
import itertools
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from punctuation_restoration.default_models import DEFAULT_MODEL, FAST
from punctuation_restoration.evaluation.result_files import signature
from tools.documents import markdown_table, put_between, write_json

ROOT = Path(__file__).resolve().parents[1]
TEXT = ROOT / "examples" / "texts" / "en_inaugural_address_1985.txt"
N_WORDS = {"sentence": 20, "talk": 5_000}
N_TIMES = {"sentence": 34, "talk": 1}  # in one round
PEER = "xlmr-base"
XLMR_BASE = {"num_hidden_layers": 12, "hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072}
PEER_BATCH = 4  # windows; on a CPU more is no faster
BACKENDS = {
    "torch": ("nothing", "exact; the reference"),
    "torch-int8": ("nothing", "nearly the same text"),
    "onnx": ("`.[fast]`", "the same text"),
    "onnx-int8": ("`.[fast]`", "nearly the same text"),
}
LARGE = {
    "default": "torch",
    "default-torch-int8": "torch-int8",
    "default-onnx-int8": "onnx-int8",
}  # the default model's systems, and their backends
SYSTEMS = (*LARGE, *BACKENDS, PEER)
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}


def spoken_text(n_words: int) -> str:
    """The first words of the example, as a recogniser writes them, from the start again where it ends."""
    text = TEXT.read_text(encoding="utf-8").lower()
    words = ("".join(sign for sign in word if sign.isalnum() or sign == "'") for word in text.split())
    own = [word for word in words if word.strip("'")]
    return " ".join(own[index % len(own)] for index in range(n_words))


def measure(args: argparse.Namespace) -> dict[str, Any]:
    """Everything about every system."""
    rounds: dict[str, list[dict[str, Any]]] = {name: [] for name in args.systems}
    environment = {**os.environ, "OMP_NUM_THREADS": str(args.threads)}
    with TemporaryDirectory() as folder:
        models = {name: DEFAULT_MODEL if name in LARGE else args.model for name in rounds}
        for name, model in models.items():
            backend = LARGE.get(name, name)
            if backend.startswith("onnx"):  # a folder that has the file beside the weights
                models[name] = str(Path(folder) / name)
                call = [sys.executable, "-m", "punctuation_restoration.cli.commands", "export", "--model", model]
                call += ["--output", models[name], "--backend", backend]
                # Not in this process: what is measured would inherit its peak of memory.
                subprocess.run(call, stdout=sys.stderr, cwd=ROOT, check=True)
        for _ in range(args.rounds):
            for name, found in rounds.items():
                call = [sys.executable, "-m", "tools.speed", "--threads", str(args.threads), "--clock", args.clock]
                call += ["--model", models[name], "--one", name, str(time.time())]
                done = subprocess.run(call, stdout=subprocess.PIPE, text=True, env=environment, cwd=ROOT, check=True)
                found.append(json.loads(done.stdout))
    systems = {}
    for name, found in rounds.items():
        row = {key: round(statistics.median(one[key] for one in found), 2) for key in found[0] if key != "texts"}
        times = {text: sorted(second for one in found for second in one["texts"][text]) for text in N_WORDS}
        systems[name] = {**row, "texts": {text: summary(own, N_WORDS[text]) for text, own in times.items()}}
    used = {"threads": args.threads, "clock": args.clock, "rounds": args.rounds}
    run = {"threads": args.threads, "clock": args.clock, "systems": systems}
    return {"runs": [{**run, "signature": signature(args.model, used, "cpu")}]}


def summary(seconds: Sequence[float], n_words: int) -> dict[str, float]:
    """What the times of one text tell; they are sorted."""
    median, slow = statistics.median(seconds), seconds[int(0.99 * (len(seconds) - 1))]
    times = {"p50_ms": round(1000 * median, 1), "p99_ms": round(1000 * slow, 1), "times": len(seconds)}
    return {"words_per_second": round(n_words / median, 1), **times}


def measure_one(name: str, model: str, threads: int, clock: str, started: float) -> dict[str, Any]:
    """One system in this process, which began at `started`, in seconds of `time.time`."""
    import torch
    from transformers import logging

    torch.set_num_threads(threads)
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    restore, n_bytes = xlmr_base(model) if name == PEER else ours(LARGE.get(name, name), model)
    restore("hello how are you")
    found: dict[str, Any] = {"start_up_s": time.time() - started, "size_mb": n_bytes / 1e6, "texts": {}}
    for text, n_words in N_WORDS.items():
        spoken = spoken_text(n_words)
        restore(spoken)  # warms up
        seconds = found["texts"].setdefault(text, [])
        for _ in range(N_TIMES[text]):
            began = CLOCKS[clock]()
            restore(spoken)
            seconds.append(CLOCKS[clock]() - began)
    return {**found, "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def ours(backend: str, model: str) -> tuple[Callable[[str], object], int]:
    """Our pipeline, and the size of what its backend reads on disk, in bytes."""
    from transformers import pipeline

    from punctuation_restoration.pipeline.backends import FILES

    build: Any = pipeline
    restore = build("punctuation-restoration", model=model, backend=backend, device="cpu")
    n_bytes = (Path(model) / FILES.get(backend, "model.safetensors")).stat().st_size
    return lambda text: restore(text, return_words=False), n_bytes


def xlmr_base(model: str) -> tuple[Callable[[str], object], int]:
    """The peer, and the size of its weights in bytes. It cuts words into the pieces of our tokenizer."""
    import torch
    from transformers import AutoTokenizer, XLMRobertaConfig, XLMRobertaForTokenClassification

    torch.manual_seed(0)
    config = XLMRobertaConfig(
        vocab_size=250_002, max_position_embeddings=514, type_vocab_size=1, num_labels=6, **XLMR_BASE
    )
    network = XLMRobertaForTokenClassification(config).eval()
    tokenizer = AutoTokenizer.from_pretrained(model)
    n_bytes = sum(parameter.numel() * parameter.element_size() for parameter in network.parameters())

    @torch.inference_mode()
    def restore(text: str) -> None:
        pieces = tokenizer(text.split(), add_special_tokens=False).input_ids
        windows = windows_by_pieces(pieces, 254, 16)
        for at in range(0, len(windows), PEER_BATCH):
            batch = [[one for word in pieces[a:b] for one in word] for a, b in windows[at : at + PEER_BATCH]]
            longest = max(map(len, batch))
            ids = torch.tensor([[0, *row, 2, *[1] * (longest - len(row))] for row in batch])
            network(input_ids=ids, attention_mask=(ids != 1).long()).logits.argmax(dim=-1).tolist()

    return restore, n_bytes


def windows_by_pieces(pieces: Sequence[Sequence[int]], size: int, overlap: int) -> list[tuple[int, int]]:
    """Ranges of whole words with at most `size` pieces, which overlap by up to `overlap` pieces."""
    n_before = [0, *itertools.accumulate(map(len, pieces))]  # pieces before each word, and all of them
    windows, first, end = list[tuple[int, int]](), 0, 0
    while end < len(pieces):
        end = max(bisect_right(n_before, n_before[first] + size) - 1, first + 1)
        windows.append((first, end))
        first = max(bisect_left(n_before, n_before[end] - overlap), first + 1)
    return windows


def table(runs: Sequence[dict[str, Any]]) -> str:
    """One table in Markdown: a row a system, words a second on the talk in each run, the rest from the first run.

    Words a second are followed by the ratio to XLM-R-base in the same run, where that ran.
    """
    names = []
    for run in runs:
        threads = f"{run['threads']} thread{'s' if run['threads'] > 1 else ''}"
        names.append(", ".join([run["signature"]["machine"]["processor"], threads]))
    rows = []
    for name, row in runs[0]["systems"].items():
        cells = [f"{row['texts']['sentence']['p50_ms']:.0f} ms", f"{row['start_up_s']:.0f} s"]
        cells += [f"{row['peak_memory_mb']:,.0f} MB", f"{row['size_mb']:,.0f} MB"]
        rows.append([f"`{name}`", *(shown_speed(run, name, PEER) for run in runs), *cells])
    return markdown_table(["system", *names, "one sentence", "start-up", "peak memory", "size"], rows)


def shown_speed(run: dict[str, Any], name: str, peer: str) -> str:
    """Words a second of a system on the talk, and how many times that is of another's."""
    systems = run["systems"]
    speeds = [systems[one]["texts"]["talk"]["words_per_second"] for one in (name, peer) if one in systems]
    if name not in systems:
        return "–"
    return f"{speeds[0]:,.0f} ({speeds[0] / speeds[1]:.1f} ×)" if len(speeds) > 1 else f"{speeds[0]:,.0f}"


def backends_table(run: dict[str, Any], accuracy: dict[str, Any]) -> str:
    """What each backend gives and costs."""
    measured = {row["backend"]: row for row in accuracy["rows"]}
    exact, rows = measured["torch"], []
    for name, (install, about) in BACKENDS.items():
        if name not in run["systems"]:
            continue
        row, own = run["systems"][name], measured.get(name)
        changed = "not measured"
        if own:
            changed = f"{statistics.mean(own['changed_percent'].values()):.2f} %"
            worst = min(own["f1"][one] - exact["f1"][one] for one in exact["f1"])
            gain = own["mean_f1"] - exact["mean_f1"]
            about += "" if own is exact else f"; {gain:+.2f}, at worst {worst:+.2f}"
        delay = f"{row['texts']['sentence']['p50_ms']:.0f} ms"
        cells = [shown_speed(run, name, "torch"), delay, f"{row['size_mb']:.0f} MB", changed, about]
        rows.append([f"`{name}`", install, *cells])
    head = ["backend", "install", "words a second", "one sentence", "file", "decisions changed", "F1"]
    lines = markdown_table(head, rows, n_left=2).splitlines()
    return "\n".join([lines[0], "| --- | --- | ---: | ---: | ---: | ---: | --- |", *lines[2:]])


def draw(run: dict[str, Any], path: Path) -> None:
    """Words a second on the talk, one bar a system."""
    from matplotlib.figure import Figure

    rows = {name: row["texts"]["talk"]["words_per_second"] for name, row in run["systems"].items()}
    names = sorted(rows, key=rows.__getitem__)
    figure = Figure(figsize=(8, 0.45 * len(names) + 1), layout="constrained")
    axes = figure.add_subplot(xlabel=f"words a second, a talk of 5,000 words, {run['threads']} threads")
    colours = ["#2a7f62" if name != PEER else "#9aa5a0" for name in names]
    bars = axes.barh(names, [rows[name] for name in names], color=colours)
    axes.bar_label(bars, fmt="{:,.0f}", padding=3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.margins(x=0.12)
    figure.savefig(path, dpi=120)


def fill(document: str, result: dict[str, Any], accuracy: dict[str, Any]) -> str:
    """The document with its two tables between `<!-- speed -->` and `<!-- backends -->` and their ends."""
    document = put_between(document, "speed", table(result["runs"]))
    return put_between(document, "backends", backends_table(result["runs"][0], accuracy))


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--systems", nargs="+", default=SYSTEMS, choices=SYSTEMS)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--model", default=FAST, help="folder of the model of the other systems")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    parser.add_argument("--join", nargs="+", type=Path, help="put results into one file in place of measuring")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)  # what a process of this program does for another
    parser.add_argument("--output", type=Path)
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--fill", type=Path, help="document whose tables are written anew")
    args = parser.parse_args(argv)
    if args.one:
        print(json.dumps(measure_one(args.one[0], args.model, args.threads, args.clock, float(args.one[1]))))
        return 0
    if args.join:
        files = [json.loads(path.read_text(encoding="utf-8")) for path in args.join]
        result = {"runs": [run for found in files for run in found["runs"]]}
    else:
        result = measure(args)
    print(table(result["runs"]))
    if args.output:
        write_json(result, args.output)
    if args.picture:
        draw(result["runs"][0], args.picture)
    if args.fill:
        accuracy = json.loads((ROOT / "results" / "backends.json").read_text(encoding="utf-8"))
        args.fill.write_text(fill(args.fill.read_text(encoding="utf-8"), result, accuracy), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
