"""What a delay buys in live speech: F1, agreement with the offline text, and time a word, by words of look-ahead.

    python benchmarks/streaming.py ../shared/data/en/ted.jsonl.gz ../shared/data/ms/news.jsonl.gz \\
        --output results/streaming.json --picture docs/images/streaming.png

Takes files of punctuated documents; uses those that data preparation holds out of training, the first words of each
file. Words are fed one by one, so every word is decided with exactly `look_ahead` words after it. Decisions are made
in batches, from the same texts that the streamer shows the model; the times are the streamer's own, one word at a time.
"""

import argparse
import json
import platform
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from transformers import pipeline

import punctuation_restoration
from punctuation_restoration.data.conversion import hash_id, split_of
from punctuation_restoration.data.readers import read_documents
from punctuation_restoration.evaluation.scores import score_labels
from punctuation_restoration.pipeline.items import join_words
from punctuation_restoration.pipeline.marks import strip_marks
from punctuation_restoration.pipeline.streamer import PunctuationStreamer

LOOK_AHEADS = (0, 1, 2, 4, 8, 16)
N_TIMED = 300  # words of each file that are also streamed one by one


def held_out_words(path: Path, restore: Any, n_words: int, share: float) -> tuple[list[str], list[str]]:
    """The first words, lower-cased as recognisers write, and labels of a file's held-out documents."""
    config = restore.model.config
    words: list[str] = []
    labels: list[str] = []
    for document in read_documents(path):
        if len(words) >= n_words:
            break
        if split_of(hash_id(document.id), share) == "validation":
            found, names = strip_marks(document.text, restore.find_words, config.mark_labels, config.label_names)
            words += [word.lower() for word in found]
            labels += names
    return words[:n_words], labels[:n_words]


def labels_by_word(restore: Any, words: Sequence[str], batch_size: int) -> list[str]:
    """The offline labels. Words are found anew in the joined text; a word's label is that of the text up to its end."""
    text, ends = joined_with_ends(words)
    return labels_at(restore([text], batch_size=batch_size)[0]["words"], ends)


def joined_with_ends(words: Sequence[str]) -> tuple[str, list[int]]:
    """The words as one text, and where each ends in it."""
    text, ends = "", []
    for word in words:
        text = text + join_words([text[-1], word])[1:] if text else word
        ends.append(len(text))
    return text, ends


def labels_at(entries: Sequence[dict[str, Any]], ends: Sequence[int]) -> list[str]:
    """The label of the word that ends at each offset; none where jieba, in other surroundings, cuts elsewhere."""
    by_end = {entry["end"]: entry["label"] for entry in entries}
    return [by_end.get(end, "O") for end in ends]


def streamed_labels(restore: Any, words: Sequence[str], look_ahead: int, batch_size: int) -> list[str]:
    """The labels that a streamer commits when it is fed word by word; at the end it is flushed."""
    left = restore.model.config.left_context

    def shown(n: int) -> tuple[str, int]:
        first = max(0, n - left)
        text, ends = joined_with_ends(words[first : n + look_ahead + 1])
        return text, ends[n - first]

    ends = [shown(n)[1] for n in range(len(words))]
    outputs = restore((shown(n)[0] for n in range(len(words))), batch_size=batch_size)
    return [labels_at(output["words"], [end])[0] for output, end in zip(outputs, ends, strict=True)]


def seconds_a_word(restore: Any, words: Sequence[str], look_ahead: int) -> np.ndarray:
    """How long each step of a streamer took, the first ones left out: they warm up."""
    streamer = PunctuationStreamer(restore, look_ahead)
    seconds = []
    for word in words:
        began = time.perf_counter()
        streamer.feed_words([word])
        seconds.append(time.perf_counter() - began)
    return np.array(seconds[20:])


def measure(restore: Any, path: Path, n_words: int, share: float, batch_size: int) -> dict[str, Any]:
    """All figures of one file."""
    words, reference = held_out_words(path, restore, n_words, share)
    if not words:
        raise ValueError(f"Expected held-out documents in {path}, found none. Raise --share.")
    names = restore.model.config.label_names
    offline = labels_by_word(restore, words, batch_size)
    rows = []
    for look_ahead in LOOK_AHEADS:
        labels = streamed_labels(restore, words, look_ahead, batch_size)
        same = sum(a == b for a, b in zip(labels, offline, strict=True)) / len(words)
        p50, p99 = np.percentile(seconds_a_word(restore, words[:N_TIMED], look_ahead), [50, 99])
        micro = score_labels(reference, labels, names).micro.f1
        rows.append(
            {"look_ahead": look_ahead, "micro_f1": round(micro, 4), "same_as_offline": round(same, 4),
             "p50_ms": round(1000 * float(p50), 1), "p99_ms": round(1000 * float(p99), 1)}
        )  # fmt: skip
        print(path.name, rows[-1], flush=True)
    offline_f1 = round(score_labels(reference, offline, names).micro.f1, 4)
    return {"file": path.name, "n_words": len(words), "offline_micro_f1": offline_f1, "look_aheads": rows}


def draw(results: Sequence[dict[str, Any]], path: Path) -> None:
    """F1 against look-ahead; dashed: the offline text."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3.5), layout="constrained")
    axes = figure.subplots()
    for result in results:
        rows = result["look_aheads"]
        places = range(len(rows))
        (line,) = axes.plot(places, [100 * row["micro_f1"] for row in rows], marker="o", label=result["file"])
        axes.axhline(100 * result["offline_micro_f1"], color=line.get_color(), linestyle="--", linewidth=1)
    axes.set_xticks(range(len(LOOK_AHEADS)), [str(n) for n in LOOK_AHEADS])
    axes.set_xlabel("look-ahead (words)")
    axes.set_ylabel("micro-F1 (%); dashed: offline")
    axes.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Accuracy and time of the streamer by look-ahead.")
    parser.add_argument("files", nargs="+", type=Path, help="files of punctuated documents")
    parser.add_argument("--model", default=punctuation_restoration.DEFAULT_MODEL)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--words", type=int, default=2000, help="words of each file")
    parser.add_argument("--share", type=float, default=0.015, help="share of documents held out, the recipe's")
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--output", type=Path, help="JSON file to write")
    parser.add_argument("--picture", type=Path, help="PNG file to write")
    args = parser.parse_args(argv)
    restore = pipeline("punctuation-restoration", model=args.model, device=args.device)
    results = [measure(restore, path, args.words, args.share, args.batch_size) for path in args.files]
    report = {"model": Path(args.model).name, "device": args.device, "machine": platform.processor(), "files": results}
    if args.output:
        args.output.parent.mkdir(parents=True, exist_ok=True)
        args.output.write_text(json.dumps(report, indent=2) + "\n")
    if args.picture:
        draw(results, args.picture)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
