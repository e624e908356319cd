"""Where the time goes: the share of each stage of the pipeline, by language, in processor time of one thread.

    python -m benchmarks.stages --backend onnx-int8 --output results/stages.json

Takes the texts in `examples/texts`, gives for each the words a second and the percentage of time in finding words
(segmentation), pieces (tokenisation), the encoder, and writing (labels, marks, text). Every word is new to the cache of
pieces, as at first sight; jieba's dictionary is loaded before.
"""

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import logging, pipeline

import punctuation_restoration
from benchmarks.writing import write_json
from punctuation_restoration.evaluation.signature import signature

TEXTS = Path(__file__).resolve().parents[1] / "examples" / "texts"
FILES = {
    "en": "en_inaugural_address_1985.txt",
    "zh": "zh_zhu_ziqing.txt",
    "ms": "ms_hak_asasi_dan_kehidupan.txt",
    "mixed": "mixed_meeting.txt",
}
STAGES = ("words", "pieces", "encoder", "writing", "rest")


def timed(function: Callable[..., Any], name: str, seconds: dict[str, float]) -> Callable[..., Any]:
    """The function, which notes how long it took."""

    def call(*args: Any, **kwargs: Any) -> Any:
        started = time.process_time()
        try:
            return function(*args, **kwargs)
        finally:
            seconds[name] += time.process_time() - started

    return call


def measure(restore: Any, text: str) -> dict[str, float]:
    """Words a second, and the percentage of time in each stage."""
    seconds: dict[str, float] = defaultdict(float)
    find, slots, read, write = restore.find_words, restore.slots, restore._probabilities, restore.postprocess
    tokenise = slots.pieces
    restore.find_words = timed(find, "words", seconds)
    slots.pieces = timed(tokenise, "pieces", seconds)
    restore._probabilities = timed(read, "encoder", seconds)
    restore.postprocess = timed(write, "writing", seconds)
    slots._cache.clear()
    started = time.process_time()
    n_words = len(restore(text, existing="replace")["words"])
    whole = time.process_time() - started
    restore.find_words, slots.pieces, restore._probabilities, restore.postprocess = find, tokenise, read, write
    seconds["rest"] = whole - sum(seconds.values())
    shares = {f"{name}_percent": round(100 * seconds[name] / whole, 2) for name in STAGES}
    return {"n_words": n_words, "words_per_second": round(n_words / whole), **shares}


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--model", help="checkpoint; the default model without it")
    parser.add_argument("--backend", nargs="+", default=["torch", "onnx-int8"])
    parser.add_argument("--output", type=Path)
    args = parser.parse_args(argv)
    torch.set_num_threads(1)
    logging.disable_progress_bar()
    build: Any = pipeline
    place = args.model or punctuation_restoration.DEFAULT_MODEL
    found = {}
    for backend in args.backend:
        restore = build("punctuation-restoration", model=place, backend=backend, device="cpu")
        restore("hello 大家好 selamat")
        texts = {language: (TEXTS / name).read_text(encoding="utf-8") for language, name in FILES.items()}
        found[backend] = {language: measure(restore, text) for language, text in texts.items()}
    result = {"backends": found, "signature": signature(place, {"threads": 1, "clock": "cpu"}, "cpu")}
    print(json.dumps(found, indent=1))
    if args.output:
        write_json(result, args.output)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
