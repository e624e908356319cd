r"""Speed, memory, start-up and size of each backend, beside a peer of the shape of XLM-R base, as ratios.

    python -m tools.speed --threads 2 --output two.json
    python -m tools.speed --join two.json one.json --output results/speed.json --picture docs/images/speed.png \
        --fill docs/speed.md README.md

Systems are the backends of the pipeline (`torch`, `onnx`, `onnx-int8`) and `xlmr-base`: tagging by an encoder of that
shape with random weights, which compute as long as trained ones, in windows of 256 pieces that overlap by 16, as the
package `punctuators` runs it. Each runs in a process of its own; all are asked for the same text in turn, in several
rounds, and the median counts. The text is the address in `examples/texts`, without its marks, in lower case, repeated.
A system for which a text would take longer than `--seconds` gets its first words only; words a second do not depend on
the length from one window on. `--clock cpu` counts processor time: for one thread, where others use the machine too.
"""

import argparse
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from punctuation_restoration.data.summary import markdown_table
from punctuation_restoration.default_models import DEFAULT_MODEL
from punctuation_restoration.evaluation.signature import signature
from tools.writing import write_json

ROOT = Path(__file__).resolve().parents[1]
TEXT = ROOT / "examples" / "texts" / "en_inaugural_address_1985.txt"
SYSTEMS = ("torch", "onnx", "onnx-int8", "xlmr-base")
SIZES = {"sentence": 20, "page": 500, "talk": 5_000, "sentences": 20_000, "transcript": 1_000_000}  # words
ABOUT = {
    "sentence": "one sentence of 20 words", "page": "a page of 500 words", "talk": "a talk of 5,000 words",
    "sentences": "a list of 1,000 sentences of 10 to 30 words", "transcript": "a transcript of 1,000,000 words",
}  # fmt: skip
XLMR_BASE = {"num_hidden_layers": 12, "hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072}
PEER_BATCH = 4  # windows; on a CPU more is no faster
BACKENDS = {
    "torch": ("nothing", "exact; the reference"),
    "onnx": ("`.[fast]`", "the same text"),
    "onnx-int8": ("`.[fast]`", "nearly the same text"),
}
System = Callable[[Sequence[str]], object]


class Worker:
    """A system in its own process."""

    def __init__(self, name: str, threads: int, model: str | None) -> None:
        self.name = name
        started = time.perf_counter()
        command = [sys.executable, "-m", "tools.speed", "--serve", name, "--threads", str(threads)]
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


def ours(backend: str, model: str | None) -> tuple[System, int]:
    """Our pipeline, and the size of what its backend reads on disk, in bytes."""
    from transformers import pipeline

    import punctuation_restoration

    build: Any = pipeline
    place = model or punctuation_restoration.DEFAULT_MODEL
    restore = build("punctuation-restoration", model=place, backend=backend, device="cpu")
    file = Path(getattr(restore._probabilities, "file", Path(place) / "model.safetensors"))
    return lambda texts: restore(list(texts), return_words=False), file.stat().st_size


def xlmr_base(model: str | None) -> tuple[System, int]:
    """The peer, and the size of its weights in bytes. It cuts words into the pieces of our tokenizer."""
    import torch
    from transformers import AutoTokenizer, XLMRobertaConfig, XLMRobertaForTokenClassification

    import punctuation_restoration

    torch.manual_seed(0)
    config = XLMRobertaConfig(
        vocab_size=250_002, max_position_embeddings=514, type_vocab_size=1, num_labels=6, **XLMR_BASE
    )
    network = XLMRobertaForTokenClassification(config).eval()
    tokenizer = AutoTokenizer.from_pretrained(model or punctuation_restoration.DEFAULT_MODEL)
    n_bytes = sum(parameter.numel() * parameter.element_size() for parameter in network.parameters())

    @torch.inference_mode()
    def restore(texts: Sequence[str]) -> None:
        for text in texts:
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
    windows, first = [], 0
    while first < len(pieces):
        end, n_pieces = first, 0
        while end < len(pieces) and n_pieces + len(pieces[end]) <= size:
            n_pieces += len(pieces[end])
            end += 1
        end = max(end, first + 1)
        windows.append((first, end))
        if end == len(pieces):
            break
        first, n_back = end, 0
        while first > windows[-1][0] + 1 and n_back + len(pieces[first - 1]) <= overlap:
            first -= 1
            n_back += len(pieces[first])
    return windows


def serve(name: str, model: str | None, threads: int) -> int:
    """Answer requests as JSON lines: `{"texts": [...]}` gives seconds, `{}` the peak memory."""
    import torch
    from transformers import logging

    answers, sys.stdout = sys.stdout, sys.stderr
    torch.set_num_threads(threads)
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    system, n_bytes = xlmr_base(model) if name == "xlmr-base" else ours(name, model)
    system(["hello how are you"])
    print(json.dumps({"bytes": n_bytes, "threads": torch.get_num_threads()}), file=answers, flush=True)
    for line in sys.stdin:
        texts = json.loads(line).get("texts")
        wall, cpu = time.perf_counter(), time.process_time()
        answer = {"peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}
        if texts:
            system(texts)
            answer = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
        print(json.dumps(answer), file=answers, flush=True)
    return 0


def processor_of(run: dict[str, Any]) -> str:
    """The name of the processor that a run was measured on, empty where it is not known."""
    return run.get("signature", {}).get("machine", {}).get("processor", "")


def table(runs: Sequence[dict[str, Any]]) -> str:
    """One table in Markdown: a row a system, words a second on the talk in each run, the rest from the first run.

    Words a second are followed by the ratio to XLM-R-base in the same run, where that ran.
    """
    head = ["system", *map(_named, runs), "one sentence", "start-up", "peak memory", "size"]
    rows = []
    for name, row in runs[0]["systems"].items():
        cells = [_talk(run, name) for run in runs]
        delay = row["texts"].get("sentence", {}).get("p50_ms")
        cells += ["–" if delay is None else f"{delay:.0f} ms", f"{row['start_up_s']:.0f} s"]
        cells += [f"{row['peak_memory_mb']:,} MB", f"{row['size_mb']:,.0f} MB"]
        rows.append([f"`{name}`", *cells])
    return markdown_table(head, rows)


def _named(run: dict[str, Any]) -> str:
    threads = f"{run['threads']} thread{'s' if run['threads'] > 1 else ''}"
    return ", ".join(filter(None, (processor_of(run), threads)))


def _talk(run: dict[str, Any], name: str) -> str:
    """Words a second of a system on the talk, and how many times that is of XLM-R-base."""
    speed, peer = (
        run["systems"].get(one, {}).get("texts", {}).get("talk", {}).get("words_per_second")
        for one in (name, "xlmr-base")
    )
    if speed is None:
        return "–"
    return f"{speed:,.0f} ({speed / peer:.1f} ×)" if peer else f"{speed:,.0f}"


def backends_table(runs: Sequence[dict[str, Any]], accuracy: dict[str, Any]) -> str:
    """What each backend gives and costs."""
    systems = runs[0]["systems"]
    rows = {row["backend"]: row for row in accuracy["rows"]}
    first = next(iter(rows.values()))
    lines = [
        "| backend | install | words a second | one sentence | file | decisions changed | F1 |",
        "| --- | --- | ---: | ---: | ---: | ---: | --- |",
    ]
    for name, (install, text) in BACKENDS.items():
        if name not in systems:
            continue
        texts, row = systems[name]["texts"], rows.get(name)
        times = texts["talk"]["words_per_second"] / systems["torch"]["texts"]["talk"]["words_per_second"]
        changed, f1 = "not measured", text
        if row is not None:
            share = sum(row["changed_percent"].values()) / len(row["changed_percent"])
            worst = max(first["f1"][one] - row["f1"][one] for one in row["f1"])
            changed = f"{share:.2f} %"
            f1 = text if row is first else f"{text}; {row['mean_f1'] - first['mean_f1']:+.2f}, at worst {-worst:+.2f}"
        lines.append(
            f"| `{name}` | {install} | {texts['talk']['words_per_second']:,.0f} ({times:.1f} ×) | "
            f"{texts['sentence']['p50_ms']:.0f} ms | {systems[name]['size_mb']:.0f} MB | {changed} | {f1} |"
        )
    return "\n".join(lines)


def draw(result: dict[str, Any], path: Path) -> None:
    """Words a second on the talk, one bar a system."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    run = result["runs"][0]
    rows = {
        name: row["texts"]["talk"]["words_per_second"] for name, row in run["systems"].items() if "talk" in row["texts"]
    }
    names = sorted(rows, key=rows.__getitem__)
    figure, axes = pyplot.subplots(figsize=(8, 0.45 * len(names) + 1), layout="constrained")
    ours = ["#2a7f62" if name in BACKENDS else "#9aa5a0" for name in names]
    bars = axes.barh(names, [rows[name] for name in names], color=ours)
    axes.bar_label(bars, fmt="{:,.0f}", padding=3)
    axes.set_xlabel(f"words a second, a talk of 5,000 words, {run['threads']} threads ({run['clock']} time)")
    axes.spines[["top", "right"]].set_visible(False)
    axes.margins(x=0.12)
    figure.savefig(path, dpi=120)


def fill(document: str, result: dict[str, Any], results: Path) -> str:
    """The document with what results say between `<!-- speed -->` and its end, and `<!-- backends -->` and its end."""
    made = {"speed": table(result["runs"])}
    if (results / "backends.json").is_file():
        accuracy = json.loads((results / "backends.json").read_text(encoding="utf-8"))
        made["backends"] = backends_table(result["runs"], accuracy)
    for name, text in made.items():
        pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        document = pattern.sub(lambda found, text=text: f"{found.group(1)}{text}\n{found.group(2)}", document)
    return document


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
    parser.add_argument("--serve", help=argparse.SUPPRESS)  # what a process of this program does for another
    parser.add_argument("--output", type=Path)
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--fill", nargs="+", type=Path, default=[], help="documents whose tables are written anew")
    args = parser.parse_args(argv)
    if args.serve:
        return serve(args.serve, args.model, args.threads)
    result = join(args.join) if args.join else {"about": ABOUT, **measure(args)}
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
