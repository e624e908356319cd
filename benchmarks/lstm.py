"""What a small streaming model gives at shifts from 1 to 8: F1, speed and size (Li & Lin 2020, Tables 1, 3 and 4).

    python -m examples.from_nothing --recipe recipes/lstm.yaml --out models/lstm
    python -m punctuation_restoration.data.prepare --recipe recipes/lstm.yaml --tokenizer models/lstm \\
        --out prepared_lstm/
    python -m benchmarks.lstm --start models/lstm --data prepared_lstm/ --out results/lstm.json

Every shift is a run of `train.py` from the same random weights; started again, the program goes on where it stopped.
Writes validation F1 by language, the benchmarks with marks in mid-text and at the end of a text apart, the size of the
weights, and for each backend what a live stream gives: F1 of words that come one by one, with the memory kept and with
the words before read again, and seconds of one processor a word. `--document` gets the tables between its lines
`<!-- lstm -->`.
"""

import argparse
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoTokenizer, pipeline

from benchmarks.arms import flags, run
from benchmarks.streaming import FILES, N_TIMED, N_WARMING, held_out_share, held_out_words
from benchmarks.writing import fill, write_json
from punctuation_restoration.cli.evaluate import main as evaluate
from punctuation_restoration.data.recipe import load_recipe
from punctuation_restoration.data.summary import markdown_table
from punctuation_restoration.evaluation.counts import count_labels
from punctuation_restoration.evaluation.scores import micro
from punctuation_restoration.evaluation.signature import signature
from punctuation_restoration.export import export
from punctuation_restoration.pipeline.backends import FILES as BACKEND_FILES
from punctuation_restoration.pipeline.streamer import PunctuationStreamer
from punctuation_restoration.training.building import load_own_model

ROOT = Path(__file__).resolve().parents[1]
BEGIN, END = "<!-- lstm -->", "<!-- /lstm -->"
BENCHMARKS = ("iwslt2011-test", "iwslt2011-test-asr", "zh-tst2011+2012-punctuated", "ms-news-test", "ms-spoken-valid")
BACKENDS = ("torch", "onnx-int8")


def main(argv: Sequence[str] | None = None) -> int:
    """Train and measure at every shift."""
    args = parse_args(argv)
    torch.set_num_threads(args.threads)
    rows = []
    for shift in args.shifts:
        place = args.work / f"shift-{shift}"
        start = shifted(args.start, shift, args.work / f"start-{shift}")
        given = {"--from": start, "--recipe": args.recipe, "--threads": args.threads}
        given |= {"--max-steps": args.steps} if args.steps else {}
        given |= {"--validation-words": args.validation_words}
        trained = run(place, [args.data], [args.data], *flags(given))
        rows.append({"shift": shift, **trained, **measured(place, args)})
        print(json.dumps(rows[-1]), flush=True)
        settings = {"steps": args.steps, "recipe": args.recipe.name, "threads": args.threads, "words": args.words}
        write_json({"signature": signature(str(place / "final"), settings, "cpu"), "shifts": rows}, args.out)
    if args.document:
        fill(args.document, BEGIN, END, tables(json.loads(args.out.read_text(encoding="utf-8"))))
    return 0


def shifted(start: Path, shift: int, out: Path) -> Path:
    """The model to start from, with another shift."""
    if not (out / "tokenizer.json").is_file():
        model = load_own_model(str(start))
        model.config.shift = shift
        model.save_pretrained(out)
        AutoTokenizer.from_pretrained(start).save_pretrained(out)
    return out


def measured(place: Path, args: argparse.Namespace) -> dict[str, Any]:
    """Size, benchmarks and streams of a trained model; kept in the folder of its run."""
    done = place / "measured.json"
    if done.is_file():
        return dict(json.loads(done.read_text(encoding="utf-8")))
    folder = place / "hub"
    export(folder, place / "final", replace=True, backends=["onnx-int8"])
    sizes = {name: (folder / name).stat().st_size for name in ("model.safetensors", BACKEND_FILES["onnx-int8"])}
    streams = [row for backend in BACKENDS for row in streamed(folder, backend, args)]
    found = {"bytes": sizes, "benchmarks": benchmarks(folder, args), "streams": streams}
    write_json(found, done)
    return found


def benchmarks(model: Path, args: argparse.Namespace) -> dict[str, Any]:
    """Scores of benchmarks: all marks, and each in mid-text and at the end of a text."""
    if not args.benchmarks:
        return {}
    out, limit = model.parent / "benchmarks", ["--limit", str(args.limit)] if args.limit else []
    out.mkdir(exist_ok=True)
    call = ["--model", str(model), "--output", str(out), *limit, "--benchmark", *args.benchmarks]
    if evaluate(call):
        raise ValueError(f"Expected scores on {args.benchmarks}, got an error. It is told above.")
    scores = {file.stem: json.loads(file.read_text(encoding="utf-8"))["scores"] for file in sorted(out.glob("*.json"))}
    kept = ("micro", "mid_text", "end_text")
    return {
        name: {
            **{key: row[key]["f1"] for key in kept},
            **{f"{key}_marks": {mark: one["f1"] for mark, one in row[f"{key}_marks"].items()} for key in kept[1:]},
        }
        for name, row in scores.items()
    }


def streamed(model: Path, backend: str, args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """A live stream of each language, word by word: with the memory kept, and with the words before read again."""
    build: Any = pipeline
    restore = build("punctuation-restoration", model=str(model), backend=backend, device="cpu")
    recipe, names = load_recipe(args.recipe), restore.model.config.label_names
    for path in args.files:
        words, reference = held_out_words(path, restore, args.words, held_out_share(path, recipe))
        for way in ("memory", "read again"):
            streamer = PunctuationStreamer(restore, restore.model.config.shift)
            streamer._reader = streamer._reader if way == "memory" else None
            labels, seconds = fed(streamer, words)
            counts = count_labels(reference[: len(labels)], labels, names)
            yield {
                "language": path.parent.name, "backend": backend, "way": way, "n_words": len(labels),
                "f1": micro(counts).f1, "p50_ms": round(1000 * float(np.median(seconds)), 2),
            }  # fmt: skip


def fed(streamer: PunctuationStreamer, words: Sequence[str]) -> tuple[list[str], list[float]]:
    """Labels of the words as they are committed, and seconds of the steps behind the first ones, which warm up."""
    labels: list[str] = []
    seconds = []
    for word in words:
        began = time.process_time()
        step = streamer.feed_words([word])
        seconds.append(time.process_time() - began)
        streamer.forget()
        labels += [one["label"] for one in step.words]
    labels += [one["label"] for one in streamer.flush().words]
    # Where jieba cuts otherwise in other surroundings, words would not be those of the reference.
    return labels[: len(words)], seconds[N_WARMING:N_TIMED] or seconds


def tables(result: Mapping[str, Any]) -> str:
    """F1, size and live streams by shift, and F1 of the benchmarks, in Markdown; the rest is in the JSON."""
    rows = result["shifts"]
    languages = list(rows[0]["f1"])
    streams = [(row["backend"], row["way"]) for row in rows[0]["streams"]]
    head = ["shift", *languages, "fp32", "int8", *(f"{how}, {backend}" for backend, how in dict.fromkeys(streams))]
    lines = []
    for row in rows:
        sizes = [f"{size / 1e6:.1f} MB" for size in row["bytes"].values()]
        live = []
        for how in dict.fromkeys(streams):
            own = [one for one in row["streams"] if (one["backend"], one["way"]) == how]
            f1 = " ".join(f"{one['language']} {100 * one['f1']:.1f}" for one in own)
            live.append(f"{f1}; {np.mean([one['p50_ms'] for one in own]):.1f} ms")
        lines.append([str(row["shift"]), *(f"{row['f1'][one]:.1f}" for one in languages), *sizes, *live])
    others = [
        [f"`{name}`", *(f"{100 * row['benchmarks'][name]['micro']:.1f}" for row in rows)]
        for name in rows[0]["benchmarks"]
    ]
    shifts = [f"shift {row['shift']}" for row in rows]
    return "\n\n".join([markdown_table(head, lines, n_left=0), markdown_table(["F1", *shifts], others)])


def parse_args(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--start", type=Path, required=True, help="folder that examples.from_nothing wrote")
    parser.add_argument("--data", required=True, help="prepared with its tokenizer")
    parser.add_argument("--shifts", type=int, nargs="+", default=[1, 2, 4, 6, 8])
    parser.add_argument("--steps", type=int, help="of each run; the recipe's by default")
    parser.add_argument("--recipe", type=Path, default=ROOT / "recipes" / "lstm.yaml")
    parser.add_argument("--files", type=Path, nargs="+", default=FILES, help="documents to stream the held-out part of")
    parser.add_argument("--words", type=int, default=800, help="of each file")
    parser.add_argument("--benchmarks", nargs="*", default=list(BENCHMARKS), help="as evaluate.py names them")
    parser.add_argument("--limit", type=int, help="words of each benchmark")
    parser.add_argument("--validation-words", type=int, default=10_000, help="of each language")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--work", type=Path, default=Path("runs/lstm"), help="folder of the runs")
    parser.add_argument("--out", type=Path, default=ROOT / "results" / "lstm.json")
    parser.add_argument("--document", type=Path, help="Markdown file that shows the tables")
    return parser.parse_args(argv)


if __name__ == "__main__":
    raise SystemExit(main())
