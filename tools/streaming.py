"""What a delay buys in live speech, by words of look-ahead: F1, full stops that are right, marks that are taken back.

    python -m tools.streaming

Takes files of punctuated documents (by default a talk source of each language), and of each the first words of those
documents that the recipe holds out of training, lower-cased as recognisers write. Writes `results/streaming.json`, a
picture, and the table in `docs/transcripts.md`.

Words come one by one, so every word is decided with exactly `look_ahead` words after it. A streamer shows the model
equally many words at every look-ahead, so one pass for each word decides for all of them, in batches; the times are
those of real streamers, one word at a time, in seconds of one processor, so that other programs do not show in them.
The offline text depends on where windows fall, too: `same_other_windows` is how much of it stays when windows are three
quarters as long, and is what agreement can be held against.

A mark is taken back where one more word changes or removes it, of those that a display shows which waits for so many
words. A text that is over should end with a mark: `bare_ends` is the share of sentences that have none, restored one by
one and four by four.
"""

import argparse
import itertools
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import pipeline

import punctuation_restoration
from punctuation_restoration.data.readers import read_documents
from punctuation_restoration.data.recipe import held_out_shares, load_recipe
from punctuation_restoration.data.shards import hash_id, split_of
from punctuation_restoration.data.summary import markdown_table
from punctuation_restoration.evaluation.counts import count_labels
from punctuation_restoration.evaluation.scores import micro
from punctuation_restoration.evaluation.signature import signature
from punctuation_restoration.pipeline.items import Item, join_words
from punctuation_restoration.pipeline.marks import strip_marks
from punctuation_restoration.pipeline.streamer import PunctuationStreamer
from tools.writing import put_between, write_json

ROOT = Path(__file__).resolve().parents[1]
DATA = Path("../shared/data")
FILES = tuple(DATA / name for name in ("en/ted.jsonl.gz", "zh/iwslt17_ted_tst2013-2015.jsonl.gz", "ms/talk.jsonl.gz"))
LANGUAGES = {"en": "English", "zh": "Mandarin", "ms": "Malay"}
LOOK_AHEADS = (0, 1, 2, 4, 8, 16)
STOP = "PERIOD"
STOPS = (STOP, "QUESTION")
FINISHED_WORDS = 5000  # of each file, whose sentences are restored as whole texts
FINISHED_SENTENCES = (1, 4)  # in a text
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
    """For every look-ahead up to the longest the labels of a streamer that gets word by word, and is flushed."""
    config = restore.model.config
    n_shown = config.left_context + config.right_context + 2  # at every look-ahead up to the right context and one more
    shown = [joined_with_ends(words[max(0, n + 1 - n_shown) : n + 1]) for n in range(len(words))]
    labels: dict[int, list[str]] = {look_ahead: [] for look_ahead in range(LOOK_AHEADS[-1] + 1)}
    steps = (Item(text, unfinished=True, decides_last=True) for text, _ in shown)
    for (_, ends), output in zip(shown, restore(steps, batch_size=batch_size), strict=True):
        found = labels_at(output["words"], ends)
        for look_ahead, own in labels.items():
            if len(found) > look_ahead:
                own.append(found[-1 - look_ahead])
    text, ends = shown[-1]
    found = labels_at(restore(Item(text))["words"], ends)
    for own in labels.values():
        own += found[len(found) - (len(words) - len(own)) :]
    return labels


def taken_back(labels: Mapping[int, Sequence[str]], look_ahead: int) -> float:
    """Marks that one more word changes or removes, from so many words on, of 100 words."""
    shown = [labels[n] for n in sorted(labels) if n >= look_ahead]
    pairs = itertools.chain.from_iterable(zip(a, b, strict=True) for a, b in itertools.pairwise(shown))
    return round(100 * sum(one not in ("O", other) for one, other in pairs) / len(labels[look_ahead]), 2)


def finished_texts(words: Sequence[str], labels: Sequence[str], n_sentences: int) -> list[str]:
    """So many sentences at a time, each as one text."""
    ends = [0, *(n + 1 for n, label in enumerate(labels) if label in STOPS)][::n_sentences]
    return [joined_with_ends(words[first:end])[0] for first, end in itertools.pairwise(ends)]


def bare_ends(restore: Any, texts: Sequence[str]) -> float:
    """The share of texts that get no mark behind their last word."""
    return round(sum(not result["words"][-1]["mark"] for result in restore(list(texts))) / len(texts), 4)


def stop_precision(reference: Sequence[str], labels: Sequence[str]) -> float:
    """The share of full stops that are right; 1 where there is none."""
    found = [own for own, label in zip(reference, labels, strict=True) if label == STOP]
    return round(found.count(STOP) / len(found), 4) if found else 1.0


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
    streamed = streamed_labels(restore, words, batch_size)
    rows = [
        {
            "look_ahead": look_ahead, "micro_f1": _f1(reference, streamed[look_ahead], config),
            "stop_precision": stop_precision(reference, streamed[look_ahead]),
            "taken_back": taken_back(streamed, look_ahead), "same": _same(streamed[look_ahead], offline),
        }
        for look_ahead in LOOK_AHEADS
    ]  # fmt: skip
    more = held_out_words(path, restore, FINISHED_WORDS, share)
    finished = [text for n_sentences in FINISHED_SENTENCES for text in finished_texts(*more, n_sentences)]
    found = {
        "file": path.name, "language": path.parent.name, "n_words": len(words), "look_aheads": rows,
        "offline_micro_f1": _f1(reference, offline, config), "same_other_windows": _same(others, offline),
        "bare_ends": bare_ends(restore, finished), "n_finished": len(finished),
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
    columns = {
        "F1": lambda row: f"{100 * row['micro_f1']:.1f}",
        "stops right": lambda row: f"{100 * row['stop_precision']:.0f} %",
        "taken back": lambda row: f"{row['taken_back']:.1f}",
        "as offline": lambda row: f"{100 * row['same']:.1f} %",
    }
    head = ["look-ahead", *(f"{name}: {column}" for column in columns for name in names)]
    lines = []
    for n, look_ahead in enumerate(LOOK_AHEADS):
        rows = [one["look_aheads"][n] for one in files]
        lines.append([str(look_ahead), *(write(row) for write in columns.values() for row in rows)])
    offline = [f"{100 * one['offline_micro_f1']:.1f}" for one in files]
    unknown = [""] * 2 * len(files)
    lines.append(["offline", *offline, *unknown, *(f"{100 * one['same_other_windows']:.1f} %" for one in files)])
    rows = markdown_table(head, lines, n_left=0)
    counted = ", ".join(f"{one['n_words']:,} words of `{one['file']}`" for one in files)
    machine = report["machine"]
    times = ", ".join(f"{one['p50_ms']:.0f} ms ({one['p99_ms']:.0f} ms)" for one in files)
    bare = ", ".join(f"{100 * one['bare_ends']:.1f} % of {one['n_finished']:,}" for one in files)
    return (
        f"{rows}\n\nF1 in percent, full stops that are right, and marks of 100 words that more words change or remove "
        f"again, on held-out documents: {counted}. Of whole sentences, alone and four together, no mark ends {bare}. "
        "The last row: the whole text at once, and how much of it stays as it is when windows are three quarters as "
        f"long. A word takes, at every look-ahead, in the order of the languages, {times} in the median (in the "
        f"slowest of a hundred) of one core of an {machine['processor']}."
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
    parser.add_argument("--words", type=int, default=4000, help="words of each file")
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
