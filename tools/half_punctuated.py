"""Text that has some of its marks: what does it give to show them to the model? And what stays as it is?

    python -m tools.half_punctuated --output results/half_punctuated.json --document docs/text.md

Reference marks are written into held-out texts, all but some: every second one at random, or those of every second
stretch of 50 words, as of a recogniser that stops punctuating. Gives F1 of the words that show no mark, for each way of
`existing=`, and the gain over `"keep"`, which reads blind, with a paired interval. Then counts how many of 1,000 short
documents change that have all their marks: the model's own, restored once, and those of the reference.
"""

import argparse
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from punctuation_restoration.cli.models import load_pipeline
from punctuation_restoration.data.summary import markdown_table
from punctuation_restoration.default_models import DEFAULT_MODEL
from punctuation_restoration.evaluation.benchmarks import default_root, load_examples
from punctuation_restoration.evaluation.counts import add_counts, count_labels
from punctuation_restoration.evaluation.examples import Example, cut
from punctuation_restoration.evaluation.intervals import BLOCK_WORDS, Block, Difference, paired_bootstrap
from punctuation_restoration.evaluation.labels import standard_labels
from punctuation_restoration.evaluation.scores import micro
from punctuation_restoration.evaluation.signature import signature
from punctuation_restoration.modeling.configuration_punctuation import NO_MARK
from punctuation_restoration.pipeline.edits import edited, marks_of, restoring_edits
from tools.writing import fill, tell

BENCHMARKS = ("iwslt2012-dev", "zh-spoken-valid", "ms-spoken-valid")
WAYS = ("keep", "condition")
STRETCH, SHORT = 50, 20  # words of a stretch, and of a short document
BEGIN, END = "<!-- half punctuated -->", "<!-- /half punctuated -->"
HIDES: dict[str, Callable[[int, random.Random], bool]] = {
    "half of the marks": lambda index, draw: draw.random() < 0.5,
    "every second stretch": lambda index, draw: index // STRETCH % 2 == 1,
}


class Document(NamedTuple):
    """A text without marks, its words, and the name of the label after each."""

    text: str
    words: Sequence[Any]
    labels: list[str]


def documents(restore: Any, examples: Sequence[Example], n_words: int = 2000) -> Iterator[Document]:
    """The examples in parts of so many words; labels inside a word are left out."""
    for example in examples:
        ends = {end: label for (_, end), label in zip(example.spans, example.labels, strict=True)}
        words = restore.find_words(example.text)
        for at in range(0, len(words), n_words):
            first, last = words[at], words[min(at + n_words, len(words)) - 1]
            text = example.text[first.start : last.end]
            own = restore.find_words(text)
            yield Document(text, own, [ends.get(word.end + first.start, NO_MARK) for word in own])


def written(restore: Any, document: Document, hidden: Sequence[bool]) -> str:
    """The text with the marks that are not hidden."""
    rows = {row["name"]: row for row in restore.model.config.labels}
    shown = [rows[NO_MARK if hide else label] for label, hide in zip(document.labels, hidden, strict=True)]
    why = [{"label": row["name"], "score": 1.0, "source": "input"} for row in shown]
    edits = restoring_edits(document.text, document.words, marks_of(document.words, shown), why)
    return edited(document.text, edits)


def blocks(
    restore: Any, found: Sequence[Document], hides: Callable[[int, random.Random], bool], way: str, names: Sequence[str]
) -> list[Block]:
    """Counts of the words that show no mark, by blocks."""
    draw, made = random.Random(1), []
    for number, document in enumerate(found):
        hidden = [hides(index, draw) for index in range(len(document.words))]
        words = restore(written(restore, document, hidden), existing=way)["words"]
        if len(words) != len(document.words):
            raise ValueError(f"Expected {len(document.words)} words in document {number}, got {len(words)}.")
        pairs = [
            (label, word["label"])
            for label, hide, word in zip(document.labels, hidden, words, strict=True)
            if hide or label == NO_MARK
        ]
        for at in range(0, len(pairs), BLOCK_WORDS):
            counts = count_labels(*zip(*pairs[at : at + BLOCK_WORDS], strict=True), names)
            made.append(Block(str(number), "held-out", at // BLOCK_WORDS, counts))
    return made


def changed(restore: Any, found: Sequence[Document], way: str) -> dict[str, int]:
    """How many fully punctuated documents change: restored ones, and those of the reference."""
    restored = [result["text"] for result in restore([document.text for document in found], existing=way)]
    human = [written(restore, document, [False] * len(document.words)) for document in found]
    sides = {"restored": restored, "reference": human}
    return {
        name: sum(text != result["text"] for text, result in zip(texts, restore(texts, existing=way), strict=True))
        for name, texts in sides.items()
    }


def measure(args: argparse.Namespace) -> dict[str, Any]:
    """All rows."""
    restore = load_pipeline(args.model, "cpu", dtype="float32")
    labels = standard_labels(restore.model.config)
    rows: dict[str, Any] = {}
    for benchmark in args.benchmarks:
        examples = cut(load_examples(benchmark, labels, args.bench_root, args.recipe), args.limit)
        long, short = list(documents(restore, examples)), list(documents(restore, examples, SHORT))[: args.documents]
        row: dict[str, Any] = {"f1": {}, "n_documents": len(short)}
        for name, hides in HIDES.items():
            own = {way: blocks(restore, long, hides, way, labels.names) for way in WAYS}
            row["f1"][name] = {
                way: {
                    "f1": round(100 * micro(add_counts(labels.names, [block.counts for block in one])).f1, 2),
                    **gain(paired_bootstrap(one, own["keep"])),
                }
                for way, one in own.items()
            }
        row["changed"] = {way: changed(restore, short, way) for way in WAYS}
        rows[benchmark] = row
    settings = {"limit": args.limit, "stretch": STRETCH, "words_of_a_document": SHORT}
    return {"rows": rows, "signature": signature(args.model or DEFAULT_MODEL, settings, "cpu")}


def gain(difference: Difference) -> dict[str, Any]:
    """A difference and its interval, in points of 100."""
    interval = [round(100 * edge, 2) for edge in difference.interval_95]
    return {"above_keep": round(100 * difference.micro, 2), "interval_95": interval}


def table(found: dict[str, Any]) -> str:
    """The rows in Markdown."""
    lines = []
    for benchmark, row in found["rows"].items():
        for way in WAYS:
            f1 = [f"{row['f1'][name][way]['f1']:.1f}" for name in HIDES]
            rates = [
                f"{100 * row['changed'][way][side] / row['n_documents']:.1f} %" for side in ("restored", "reference")
            ]
            lines.append([f"`{benchmark}`", f'`"{way}"`', *f1, *rates])
    head = [
        "",
        "`existing=`",
        *(f"F1, hidden: {name}" for name in HIDES),
        "restored texts changed",
        "reference texts changed",
    ]
    return markdown_table(head, lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, and write what was found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--model", help="checkpoint; the default model without it")
    parser.add_argument("--benchmarks", nargs="+", default=BENCHMARKS)
    parser.add_argument("--limit", type=int, default=20_000, help="words of each benchmark, in Mandarin characters")
    parser.add_argument(
        "--documents", type=int, default=1000, help="short ones, of which those that change are counted"
    )
    parser.add_argument("--bench-root", type=Path, default=default_root(), help="folder of the benchmarks")
    parser.add_argument("--recipe", type=Path, default=Path("recipes/en-zh-ms.yaml"))
    parser.add_argument("--output", type=Path, help="JSON file to write")
    parser.add_argument("--document", type=Path, help=f"gets the table between {BEGIN} and {END}")
    args = parser.parse_args(argv)
    found = measure(args)
    tell(found, args.output)
    if args.document:
        fill(args.document, BEGIN, END, table(found))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
