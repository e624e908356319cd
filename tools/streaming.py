"""What a delay buys in live speech, by words of look-ahead: F1, full stops that are right, marks that are taken back.

    python -m tools.streaming

Takes the first words of the documents of some sources that the recipe holds out of training, lower-cased as recognisers
write. Writes `results/streaming.json`, a picture, and the table in `docs/transcripts.md`.

Words come one by one, so every word is decided with exactly `look_ahead` words after it. A streamer shows the model
equally many words at every look-ahead, so one pass for each word decides for all of them, in batches. The times are
those of a real streamer, one word at a time, in seconds of one processor, so that other programs do not show in them.
"""

import argparse
import itertools
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from punctuation_restoration.default_models import DEFAULT_MODEL
from punctuation_restoration.evaluation.examples import Example, cut, standard_labels
from punctuation_restoration.evaluation.result_files import signature
from punctuation_restoration.evaluation.scored_texts import held_out_of_recipe
from punctuation_restoration.evaluation.scores import count_labels, score
from punctuation_restoration.loading import load_pipeline
from punctuation_restoration.modeling.configuration_punctuation import NO_MARK
from punctuation_restoration.pipeline.items import Item
from punctuation_restoration.pipeline.streamer import PunctuationStreamer
from tools.documents import markdown_table, put_between, write_json

ROOT = Path(__file__).resolve().parents[1]
SOURCES = {"English": "ted", "Mandarin": "iwslt17_ted_tst2013-2015", "Malay": "talk"}
LOOK_AHEADS = (0, 1, 2, 4, 8, 16)
STOP = "PERIOD"
N_WARMING, N_TIMED = 20, 200  # words that are streamed one by one; the first are not counted
TIMED_LOOK_AHEAD = 8
BATCH_SIZE = 8


class Document(NamedTuple):
    """A text without marks, its words, and the name of the label after each."""

    text: str
    words: Sequence[Any]
    labels: list[str]


def documents(restore: Any, examples: Sequence[Example], n_words: int) -> Iterator[Document]:
    """The examples in parts of at most so many words; labels inside a word are left out."""
    for example in examples:
        ends = {end: label for (_, end), label in zip(example.spans, example.labels, strict=True)}
        words = restore.find_words(example.text)
        for part in (words[at : at + n_words] for at in range(0, len(words), n_words)):
            text = example.text[part[0].start : part[-1].end]
            own = restore.find_words(text)
            yield Document(text, own, [ends.get(word.end + part[0].start, NO_MARK) for word in own])


def labels_at(entries: Sequence[dict[str, Any]], ends: Sequence[int]) -> list[str]:
    """The label of the word that ends at each offset; none where jieba, in other surroundings, cuts elsewhere."""
    by_end = {entry["end"]: entry["label"] for entry in entries}
    return [by_end.get(end, "O") for end in ends]


def streamed_labels(restore: Any, document: Document) -> dict[int, list[str]]:
    """For every look-ahead up to the longest the labels of a streamer that gets word by word, and is flushed."""
    config, words = restore.model.config, document.words
    n_shown = config.left_context + config.right_context + 2  # at every look-ahead up to the right context and one more
    shown = [words[max(0, n + 1 - n_shown) : n + 1] for n in range(len(words))]
    texts = [document.text[own[0].start : own[-1].end] for own in shown]
    labels: dict[int, list[str]] = {look_ahead: [] for look_ahead in range(LOOK_AHEADS[-1] + 1)}
    steps = (Item(text, final=False) for text in texts)
    for own, output in zip(shown, restore(steps, batch_size=BATCH_SIZE), strict=True):
        found = labels_at(output["words"], [word.end - own[0].start for word in own])
        for look_ahead, decided in labels.items():
            if len(found) > look_ahead:
                decided.append(found[-1 - look_ahead])
    found = labels_at(restore(Item(texts[-1]))["words"], [word.end - shown[-1][0].start for word in shown[-1]])
    for decided in labels.values():
        decided += found[len(found) - (len(words) - len(decided)) :]
    return labels


def taken_back(labels: Mapping[int, Sequence[str]], look_ahead: int) -> float:
    """Marks that one more word changes or removes, from so many words on, of 100 words."""
    shown = [labels[n] for n in sorted(labels) if n >= look_ahead]
    pairs = itertools.chain.from_iterable(zip(a, b, strict=True) for a, b in itertools.pairwise(shown))
    return round(100 * sum(one not in ("O", other) for one, other in pairs) / len(labels[look_ahead]), 2)


def stop_precision(reference: Sequence[str], labels: Sequence[str]) -> float:
    """The share of full stops that are right; 1 where there is none."""
    found = [own for own, label in zip(reference, labels, strict=True) if label == STOP]
    return round(found.count(STOP) / len(found), 4) if found else 1.0


def seconds_a_word(restore: Any, words: Sequence[str]) -> np.ndarray:
    """How long each step of a streamer took, the first ones left out: they warm up."""
    streamer = PunctuationStreamer(restore, TIMED_LOOK_AHEAD)
    seconds = []
    for word in words:
        began = time.process_time()
        streamer.feed_words([word])
        seconds.append(time.process_time() - began)
    return np.array(seconds[N_WARMING:])


def measure(restore: Any, source: str, recipe: Path, n_words: int) -> dict[str, Any]:
    """All figures of one source; a `ValueError` if the recipe holds none of its documents out."""
    labels = standard_labels(restore.model.config)
    examples = cut(held_out_of_recipe(recipe, [source], labels), n_words)
    if not examples:
        raise ValueError(f"Expected held-out documents of {source} in {recipe}, found none. Name another --recipe.")
    reference, offline, streamed = list[str](), list[str](), dict[int, list[str]]()
    for document in documents(restore, examples, n_words):
        reference += document.labels
        offline += labels_at(restore(document.text)["words"], [word.end for word in document.words])
        for look_ahead, own in streamed_labels(restore, document).items():
            streamed.setdefault(look_ahead, []).extend(own)
    spoken = [word.text for document in documents(restore, examples, n_words) for word in document.words]
    p50, p99 = np.percentile(seconds_a_word(restore, spoken[: N_WARMING + N_TIMED]), [50, 99])
    rows = [
        {
            "look_ahead": look_ahead,
            "micro_f1": _f1(reference, streamed[look_ahead], labels.names),
            "stop_precision": stop_precision(reference, streamed[look_ahead]),
            "taken_back": taken_back(streamed, look_ahead),
        }
        for look_ahead in LOOK_AHEADS
    ]
    found = {
        "source": source, "n_words": len(reference), "look_aheads": rows,
        "offline_micro_f1": _f1(reference, offline, labels.names),
        "p50_ms": round(1000 * float(p50), 1), "p99_ms": round(1000 * float(p99), 1),
    }  # fmt: skip
    print(json.dumps(found), flush=True)
    return found


def _f1(reference: Sequence[str], labels: Sequence[str], names: Sequence[str]) -> float:
    return round(score(count_labels(reference, labels, names), names)["micro"]["f1"], 4)


def table(report: dict[str, Any]) -> str:
    """The figures in Markdown, with what they were measured on."""
    sources = report["sources"]
    columns = {
        "F1": lambda row: f"{100 * row['micro_f1']:.1f}",
        "stops right": lambda row: f"{100 * row['stop_precision']:.0f} %",
        "taken back": lambda row: f"{row['taken_back']:.1f}",
    }
    head = ["look-ahead", *(f"{name}: {column}" for column in columns for name in sources)]
    lines = []
    for rows in zip(*(one["look_aheads"] for one in sources.values()), strict=True):
        lines.append([str(rows[0]["look_ahead"]), *(write(row) for write in columns.values() for row in rows)])
    offline = [f"{100 * one['offline_micro_f1']:.1f}" for one in sources.values()]
    lines.append(["offline", *offline, *[""] * 2 * len(sources)])
    counted = ", ".join(f"{one['n_words']:,} words of `{one['source']}`" for one in sources.values())
    times = ", ".join(f"{one['p50_ms']:.0f} ms ({one['p99_ms']:.0f} ms, {name})" for name, one in sources.items())
    return (
        f"{markdown_table(head, lines, n_left=0)}\n\nF1 in percent, share of full stops that are right, and marks of "
        f"100 words that later words change or remove, on held-out documents: {counted}. The last row: the whole text "
        f"at once. Median time of a word (slowest of a hundred), at every look-ahead, on one core of an "
        f"{report['machine']['processor']}: {times}."
    )


def draw(report: dict[str, Any], path: Path) -> None:
    """F1 against look-ahead; dashed: the offline text."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3.5), layout="constrained")
    axes = figure.add_subplot(xlabel="look-ahead (words)", ylabel="micro-F1 (%); dashed: offline")
    for name, one in report["sources"].items():
        f1 = [100 * row["micro_f1"] for row in one["look_aheads"]]
        (line,) = axes.plot(range(len(f1)), f1, marker="o", label=name)
        axes.axhline(100 * one["offline_micro_f1"], color=line.get_color(), linestyle="--", linewidth=1)
    axes.set_xticks(range(len(LOOK_AHEADS)), map(str, LOOK_AHEADS))
    axes.legend()
    figure.savefig(path, dpi=150)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, and write what was found."""
    parser = argparse.ArgumentParser(description="Accuracy and time of the streamer by look-ahead.")
    parser.add_argument("--model", default=DEFAULT_MODEL)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--recipe", type=Path, default=ROOT / "recipes" / "en-zh-ms.yaml", help="what was trained on")
    parser.add_argument("--words", type=int, default=4000, help="words of each source, in Mandarin characters")
    parser.add_argument("--output", type=Path, default=ROOT / "results" / "streaming.json")
    parser.add_argument("--picture", type=Path, default=ROOT / "docs" / "images" / "streaming.png")
    parser.add_argument("--document", type=Path, default=ROOT / "docs" / "transcripts.md", help="gets the table")
    args = parser.parse_args(argv)
    torch.set_num_threads(1)
    restore = load_pipeline(args.model, args.device)
    sources = {language: measure(restore, source, args.recipe, args.words) for language, source in SOURCES.items()}
    settings = {"words": args.words, "recipe": args.recipe.name}
    report = {**signature(args.model, settings, args.device), "sources": sources}
    write_json(report, args.output)
    draw(report, args.picture)
    filled = put_between(args.document.read_text(encoding="utf-8"), "streaming", table(report))
    args.document.write_text(filled, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
