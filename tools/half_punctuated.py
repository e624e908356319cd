"""Text that has some of its marks: does it pay to show them to the model?

    python -m tools.half_punctuated --output results/half_punctuated.json --document docs/text.md

Reference marks are written into held-out texts, all but some: every second one at random, or those of every second
stretch of 50 words, as of a recogniser that stops punctuating. Gives F1 of the words that show no mark, for each way of
`existing=`, and the gain over `"keep"`, which reads blind, with a paired interval; and how many restored texts change
when they are restored again.
"""

import argparse
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from punctuation_restoration.cli.models import load_pipeline
from punctuation_restoration.default_models import DEFAULT_MODEL
from punctuation_restoration.evaluation.benchmarks import default_root, load_examples
from punctuation_restoration.evaluation.examples import Example, cut, standard_labels
from punctuation_restoration.evaluation.result_files import signature
from punctuation_restoration.evaluation.scores import count_labels, mark_numbers, mark_score, paired_bootstrap
from punctuation_restoration.modeling.configuration_punctuation import NO_MARK
from punctuation_restoration.pipeline.edits import edited, marks_of, restoring_edits
from tools.documents import fill, markdown_table, tell

BENCHMARKS = ("iwslt2012-dev", "zh-spoken-valid", "ms-spoken-valid")
WAYS = ("keep", "condition")
STRETCH, N_WORDS = 50, 1000  # words of a stretch, and of a document
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


def documents(restore: Any, examples: Sequence[Example], n_words: int = N_WORDS) -> Iterator[Document]:
    """The examples in parts of so many words; labels inside a word are left out."""
    for example in examples:
        ends = {end: label for (_, end), label in zip(example.spans, example.labels, strict=True)}
        words = restore.find_words(example.text)
        for part in (words[at : at + n_words] for at in range(0, len(words), n_words)):
            text = example.text[part[0].start : part[-1].end]
            own = restore.find_words(text)
            yield Document(text, own, [ends.get(word.end + part[0].start, NO_MARK) for word in own])


def written(restore: Any, document: Document, hidden: Sequence[bool]) -> str:
    """The text with the marks that are not hidden."""
    rows = {row["name"]: row for row in restore.model.config.labels}
    shown = [rows[NO_MARK if hide else label] for label, hide in zip(document.labels, hidden, strict=True)]
    why = [{"label": row["name"], "score": 1.0, "source": "input"} for row in shown]
    edits = restoring_edits(document.text, document.words, marks_of(document.words, shown), why)
    return edited(document.text, edits)


def bare_words(restore: Any, document: Document, hidden: Sequence[bool], way: str) -> tuple[list[str], list[str]]:
    """True and restored labels of the words that show no mark."""
    words = restore(written(restore, document, hidden), existing=way)["words"]
    rows = zip(document.labels, hidden, words, strict=True)
    pairs = [(label, word["label"]) for label, hide, word in rows if hide or label == NO_MARK]
    return [own for own, _ in pairs], [found for _, found in pairs]


def measure(restore: Any, found: Sequence[Document], names: Sequence[str]) -> dict[str, Any]:
    """The row of one benchmark."""
    texts: dict[str, list[str]] = {
        way: [one["text"] for one in restore([document.text for document in found], existing=way)] for way in WAYS
    }
    again = {way: [one["text"] for one in restore(texts[way], existing=way)] for way in WAYS}
    row: dict[str, Any] = {
        "f1": {},
        "n_documents": len(found),
        "changed": {way: sum(a != b for a, b in zip(texts[way], again[way], strict=True)) for way in WAYS},
    }
    for name, hides in HIDES.items():
        draw = random.Random(1)
        hidden = [[hides(index, draw) for index in range(len(document.words))] for document in found]
        units = {
            way: [
                mark_numbers(count_labels(*bare_words(restore, *pair, way), names)[0])[0]
                for pair in zip(found, hidden, strict=True)
            ]
            for way in WAYS
        }
        row["f1"][name] = {
            way: {"f1": mark_score(np.sum(own, axis=0))["f1"], "above_keep": paired_bootstrap(own, units["keep"])}
            for way, own in units.items()
        }
    return row


def table(rows: dict[str, Any]) -> str:
    """The rows in Markdown."""
    lines = []
    for benchmark, row in rows.items():
        for way in WAYS:
            f1 = [f"{100 * row['f1'][name][way]['f1']:.1f}" for name in HIDES]
            lines.append([f"`{benchmark}`", f'`"{way}"`', *f1, f"{row['changed'][way] / row['n_documents']:.1%}"])
    return markdown_table(["", "`existing=`", *(f"F1, hidden: {name}" for name in HIDES), "texts changed"], lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, and write what was found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--model", help="checkpoint; the default model without it")
    parser.add_argument("--benchmarks", nargs="+", default=BENCHMARKS)
    parser.add_argument("--limit", type=int, default=20_000, help="words of each benchmark, in Mandarin characters")
    parser.add_argument("--bench-root", type=Path, default=default_root(), help="folder of the benchmarks")
    parser.add_argument("--recipe", type=Path, default=Path("recipes/en-zh-ms.yaml"))
    parser.add_argument("--output", type=Path, help="JSON file to write")
    parser.add_argument("--document", type=Path, help=f"gets the table between {BEGIN} and {END}")
    args = parser.parse_args(argv)
    restore = load_pipeline(args.model, "cpu", dtype="float32")
    labels = standard_labels(restore.model.config)
    rows = {}
    for benchmark in args.benchmarks:
        examples = cut(load_examples(benchmark, labels, args.bench_root, args.recipe), args.limit)
        rows[benchmark] = measure(restore, list(documents(restore, examples)), labels.names)
    settings = {"limit": args.limit, "stretch": STRETCH, "words_of_a_document": N_WORDS}
    tell({"rows": rows, "signature": signature(args.model or DEFAULT_MODEL, settings, "cpu")}, args.output)
    if args.document:
        fill(args.document, BEGIN, END, table(rows))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
