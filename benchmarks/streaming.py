"""What a delay buys in live speech: F1, agreement with the offline text, and time a word, by words of look-ahead.

    python -m benchmarks.streaming

Takes files of punctuated documents (by default a talk source of each language), and of each the first words of those
documents that the recipe holds out of training, lower-cased as recognisers write. Writes `results/streaming.json`, a
picture, and the table in `docs/transcripts.md`.

Words come one by one, so every word is decided with exactly `look_ahead` words after it. A streamer shows the model
equally many words at every look-ahead, so one pass for each word decides for all of them, in batches; the times are
those of real streamers, one word at a time, in seconds of one processor, so that other programs do not show in them.
The offline text depends on where windows fall, too: `same_other_windows` is how much of it stays when windows are three
quarters as long, and is what agreement can be held against.
"""

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import pipeline

import punctuation_restoration
from benchmarks.writing import put_between, write_json
from punctuation_restoration.data.readers import read_documents
from punctuation_restoration.data.recipe import held_out_shares, load_recipe
from punctuation_restoration.data.shards import hash_id, split_of
from punctuation_restoration.data.summary import markdown_table
from punctuation_restoration.evaluation.counts import count_labels
from punctuation_restoration.evaluation.scores import micro
from punctuation_restoration.evaluation.signature import signature
from punctuation_restoration.pipeline.items import join_words
from punctuation_restoration.pipeline.marks import strip_marks
from punctuation_restoration.pipeline.streamer import PunctuationStreamer

ROOT = Path(__file__).resolve().parents[1]
DATA = Path("../shared/data")
FILES = tuple(DATA / name for name in ("en/ted.jsonl.gz", "zh/iwslt17_ted_tst2013-2015.jsonl.gz", "ms/talk.jsonl.gz"))
LANGUAGES = {"en": "English", "zh": "Mandarin", "ms": "Malay"}
LOOK_AHEADS = (0, 1, 2, 4, 8, 16)
N_TIMED = 220  # words of each file that are also streamed one by one
N_WARMING = 20  # of these are not counted
TIMED_LOOK_AHEAD = 8
BEGIN, END = "<!-- streaming -->", "<!-- /streaming -->"


def held_out_share(path: Path, recipe: Any) -> float:
    """The share of a file's documents that the recipe keeps from training.

    Raises:
        ValueError: it is none of the recipe's files, so nobody knows what was trained on.
    """
    for source in recipe.sources:
        if path.as_posix().endswith("/" + source.path):
            return held_out_shares(source, recipe)[0]
    raise ValueError(f"Expected a source of the recipe {recipe.name}, got {path}. Name another file or --recipe.")


def held_out_words(path: Path, restore: Any, n_words: int, share: float) -> tuple[list[str], list[str]]:
    """The first words and labels of a file's held-out documents."""
    config = restore.model.config
    words: list[str] = []
    labels: list[str] = []
    for document in read_documents(path):
        if len(words) >= n_words:
            break
        if split_of(hash_id(document.id), share) == "validation":
            found, names = strip_marks(
                document.text, restore.find_words(document.text), config.mark_labels, config.label_names
            )
            words += [word.lower() for word in found]
            labels += names
    if not words:
        raise ValueError(f"Expected held-out documents in {path}, found none. Name a larger file.")
    return words[:n_words], labels[:n_words]


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


def offline_labels(restore: Any, words: Sequence[str], **options: Any) -> list[str]:
    """The labels that the pipeline gives the whole text."""
    text, ends = joined_with_ends(words)
    return labels_at(restore(text, **options)["words"], ends)


def streamed_labels(restore: Any, words: Sequence[str], batch_size: int) -> dict[int, list[str]]:
    """For each look-ahead the labels that a streamer commits when it is fed word by word, and flushed at the end."""
    config = restore.model.config
    n_shown = config.left_context + config.right_context + 2  # at every look-ahead up to the right context and one more
    shown = [joined_with_ends(words[max(0, n + 1 - n_shown) : n + 1]) for n in range(len(words))]
    labels: dict[int, list[str]] = {look_ahead: [] for look_ahead in LOOK_AHEADS}
    found: list[str] = []
    for (_, ends), output in zip(shown, restore((text for text, _ in shown), batch_size=batch_size), strict=True):
        found = labels_at(output["words"], ends)
        for look_ahead in LOOK_AHEADS:
            if len(found) > look_ahead:
                labels[look_ahead].append(found[-1 - look_ahead])
    for look_ahead in LOOK_AHEADS:
        n_open = len(words) - len(labels[look_ahead])
        labels[look_ahead] += found[len(found) - n_open :]
    return labels


def seconds_a_word(restore: Any, words: Sequence[str], look_ahead: int) -> np.ndarray:
    """How long each step of a streamer took, the first ones left out: they warm up."""
    streamer = PunctuationStreamer(restore, look_ahead)
    seconds = []
    for word in words:
        began = time.process_time()
        streamer.feed_words([word])
        seconds.append(time.process_time() - began)
    return np.array(seconds[N_WARMING:])


def measure(restore: Any, path: Path, n_words: int, share: float, batch_size: int) -> dict[str, Any]:
    """All figures of one file."""
    config = restore.model.config
    words, reference = held_out_words(path, restore, n_words, share)
    offline = offline_labels(restore, words)
    shorter = max(config.window * 3 // 4, config.left_context + config.right_context + 1)
    others = offline_labels(restore, words, window=shorter)
    p50, p99 = np.percentile(seconds_a_word(restore, words[:N_TIMED], TIMED_LOOK_AHEAD), [50, 99])
    rows = [
        {"look_ahead": look_ahead, "micro_f1": _f1(reference, labels, config), "same": _same(labels, offline)}
        for look_ahead, labels in streamed_labels(restore, words, batch_size).items()
    ]
    found = {
        "file": path.name, "language": path.parent.name, "n_words": len(words), "look_aheads": rows,
        "offline_micro_f1": _f1(reference, offline, config), "same_other_windows": _same(others, offline),
        "p50_ms": round(1000 * float(p50), 1), "p99_ms": round(1000 * float(p99), 1),
    }  # fmt: skip
    print(json.dumps(found), flush=True)
    return found


def _f1(reference: Sequence[str], labels: Sequence[str], config: Any) -> float:
    return round(micro(count_labels(reference, labels, config.label_names)).f1, 4)


def _same(labels: Sequence[str], others: Sequence[str]) -> float:
    return round(sum(a == b for a, b in zip(labels, others, strict=True)) / len(others), 4)


def table(report: dict[str, Any]) -> str:
    """The figures in Markdown, with what they were measured on."""
    files = report["files"]
    names = [LANGUAGES.get(one["language"], one["language"]) for one in files]
    head = ["look-ahead", *(f"{name}: F1" for name in names), *(f"{name}: as offline" for name in names)]
    lines = []
    for n, look_ahead in enumerate(LOOK_AHEADS):
        rows = [one["look_aheads"][n] for one in files]
        f1 = [f"{100 * row['micro_f1']:.1f}" for row in rows]
        lines.append([str(look_ahead), *f1, *(f"{100 * row['same']:.1f} %" for row in rows)])
    offline = [f"{100 * one['offline_micro_f1']:.1f}" for one in files]
    lines.append(["offline", *offline, *(f"{100 * one['same_other_windows']:.1f} %" for one in files)])
    rows = markdown_table(head, lines, n_left=0)
    counted = ", ".join(f"{one['n_words']:,} words of `{one['file']}`" for one in files)
    machine = report["machine"]
    times = ", ".join(f"{one['p50_ms']:.0f} ms ({one['p99_ms']:.0f} ms)" for one in files)
    return (
        f"{rows}\n\nF1 in percent, on held-out documents: {counted}. The last row: the whole text at once, and how "
        "much of it stays as it is when windows are three quarters as long. A word takes, at every look-ahead, in the "
        f"order of the languages, {times} in the median (in the slowest of a hundred) of one core of an "
        f"{machine['processor']}."
    )


def fill(document: str, report: dict[str, Any]) -> str:
    """A Markdown text with the table between its two lines.

    Raises:
        ValueError: it lacks one of them.
    """
    return put_between(document, BEGIN, END, table(report))


def draw(report: dict[str, Any], path: Path) -> None:
    """F1 against look-ahead; dashed: the offline text."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3.5), layout="constrained")
    axes = figure.subplots()
    for one in report["files"]:
        rows = one["look_aheads"]
        label = LANGUAGES.get(one["language"], one["language"])
        (line,) = axes.plot(range(len(rows)), [100 * row["micro_f1"] for row in rows], marker="o", label=label)
        axes.axhline(100 * one["offline_micro_f1"], color=line.get_color(), linestyle="--", linewidth=1)
    axes.set_xticks(range(len(LOOK_AHEADS)), [str(n) for n in LOOK_AHEADS])
    axes.set_xlabel("look-ahead (words)")
    axes.set_ylabel("micro-F1 (%); dashed: offline")
    axes.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, and write what was found."""
    parser = argparse.ArgumentParser(description="Accuracy and time of the streamer by look-ahead.")
    parser.add_argument("files", nargs="*", type=Path, default=FILES, help="files of punctuated documents")
    parser.add_argument("--model", default=punctuation_restoration.DEFAULT_MODEL)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--recipe", type=Path, default=ROOT / "recipes" / "en-zh-ms.yaml", help="what was trained on")
    parser.add_argument("--words", type=int, default=800, help="words of each file")
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--output", type=Path, default=ROOT / "results" / "streaming.json")
    parser.add_argument("--picture", type=Path, default=ROOT / "docs" / "images" / "streaming.png")
    parser.add_argument("--document", type=Path, default=ROOT / "docs" / "transcripts.md", help="gets the table")
    args = parser.parse_args(argv)
    torch.set_num_threads(1)
    recipe = load_recipe(args.recipe)
    restore = pipeline("punctuation-restoration", model=args.model, device=args.device)
    shares = [held_out_share(path, recipe) for path in args.files]
    files = [
        measure(restore, path, args.words, share, args.batch_size)
        for path, share in zip(args.files, shares, strict=True)
    ]
    settings = {"words": args.words, "recipe": args.recipe.name}
    report = {**signature(args.model, settings, args.device), "files": files}
    write_json(report, args.output, indent=2)
    draw(report, args.picture)
    args.document.write_text(fill(args.document.read_text(encoding="utf-8"), report), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
