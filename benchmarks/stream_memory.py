"""A transcript of a million words through `restore.stream`: memory and time as it goes.

    python -m benchmarks.stream_memory --words 1000000 --layers 1 --output results/stream.json

Takes the example address, repeated, a line at a time, and gives peak memory after every tenth of the words.
`--layers` keeps only the first layers of the encoder, for a machine on which the whole model would take too long: what
is kept of a text does not depend on them.
"""

import argparse
import json
import resource
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from transformers import AutoModelForTokenClassification, AutoTokenizer, logging, pipeline

import punctuation_restoration
from benchmarks.speed import words_of_text
from benchmarks.writing import write_json
from punctuation_restoration.evaluation.signature import signature

LINE = 10  # words


def lines(n_words: int) -> Iterator[str]:
    """A text of so many words, a line at a time."""
    words = words_of_text()
    for first in range(0, n_words, LINE):
        yield " ".join(words[index % len(words)] for index in range(first, min(n_words, first + LINE))) + "\n"


def peak_mb() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--model", help="checkpoint; the default model without it")
    parser.add_argument("--words", type=int, default=1_000_000)
    parser.add_argument("--layers", type=int, help="layers of the encoder to keep; all without it")
    parser.add_argument("--backend", default="torch")
    parser.add_argument("--output", type=Path)
    args = parser.parse_args(argv)
    logging.disable_progress_bar()
    build: Any = pipeline
    place = args.model or punctuation_restoration.DEFAULT_MODEL
    model: Any = AutoModelForTokenClassification.from_pretrained(place)
    if args.layers:
        model.encoder.encoder.layer = model.encoder.encoder.layer[: args.layers]
        model.encoder.config.num_hidden_layers = args.layers
    tokenizer = AutoTokenizer.from_pretrained(place)
    restore = build(
        "punctuation-restoration", model=model, tokenizer=tokenizer, backend=args.backend, device="cpu"
    )  # fmt: skip
    peaks, n_out, started = [{"words": 0, "peak_mb": peak_mb()}], 0, time.process_time()
    for text in restore.stream(lines(args.words)):
        n_out += len(text.split())
        if n_out >= peaks[-1]["words"] + args.words // 10:
            peaks.append({"words": n_out, "peak_mb": peak_mb()})
            print(json.dumps(peaks[-1]), flush=True)
    cpu = time.process_time() - started
    found = {
        "n_words": n_out,
        "n_layers": model.encoder.config.num_hidden_layers,
        "peak_mb": peak_mb(),
        "words_per_cpu_second": round(n_out / cpu),
        "peaks": peaks,
        "signature": signature(place, {"backend": args.backend, "layers": args.layers}, "cpu"),
    }
    if args.output:
        write_json(found, args.output)
    return 0 if n_out == args.words else 1


if __name__ == "__main__":
    raise SystemExit(main())
