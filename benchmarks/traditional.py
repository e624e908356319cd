"""One benchmark in Simplified, Traditional, Hong Kong and Taiwanese characters: what do they cost in F1?

    pip install opencc==1.4.2
    python -m benchmarks.traditional --output results/traditional.json --document docs/text.md

Takes a model and Mandarin benchmarks in Simplified characters. OpenCC writes their texts in the other forms, character
for character, after their marks are taken out; the references stay. Gives F1 of each form, and how much that is above
or below Simplified, with a paired interval; prints it, and writes it to a JSON file and into a document.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.simplified_table import VERSION, opencc_converter
from benchmarks.writing import fill, tell
from punctuation_restoration.cli.models import ModelError, load_pipeline
from punctuation_restoration.data.summary import markdown_table
from punctuation_restoration.evaluation.benchmarks import default_root, load_examples
from punctuation_restoration.evaluation.examples import Example, cut
from punctuation_restoration.evaluation.intervals import bootstrap, paired_bootstrap
from punctuation_restoration.evaluation.labels import standard_labels
from punctuation_restoration.evaluation.reference_files import digest_of
from punctuation_restoration.evaluation.runner import Evaluation, evaluate_examples
from punctuation_restoration.evaluation.scores import score
from punctuation_restoration.evaluation.signature import signature
from punctuation_restoration.registration import DEFAULT_MODEL

BENCHMARK = "zh-tst2012-punctuated"
SIMPLIFIED = "simplified"
BEGIN, END = "<!-- traditional -->", "<!-- /traditional -->"
FORMS = {"traditional": "s2t", "hong kong": "s2hk", "taiwan": "s2tw"}  # the names of OpenCC's conversions


def written_in(examples: Sequence[Example], convert: Callable[[str], str]) -> list[Example]:
    """The examples in other characters.

    Raises:
        ValueError: if a text is longer or shorter then, so that its units would stand elsewhere.
    """
    found = [replace(example, text=convert(example.text)) for example in examples]
    for before, after in zip(examples, found, strict=True):
        if len(before.text) != len(after.text):
            raise ValueError(
                f"Expected as many characters in {before.id!r} after converting, {len(before.text)}, got "
                f"{len(after.text)}. Use a conversion that exchanges no words."
            )
    return found


def row(evaluation: Evaluation, first: Evaluation) -> dict[str, Any]:
    """Scores of one form in percent, and its distance from the first one."""
    scores, difference = score(evaluation.counts), paired_bootstrap(evaluation.blocks, first.blocks)
    return {
        "f1": percent(scores.micro.f1),
        "interval_95": list(map(percent, bootstrap(evaluation.blocks).micro)),
        "marks": {name: percent(mark.f1) for name, mark in scores.marks.items()},
        "words": evaluation.n_words,
        "difference": percent(difference.micro),
        "difference_95": list(map(percent, difference.interval_95)),
    }


def percent(share: float) -> float:
    return round(100 * share, 2)


def measure(args: argparse.Namespace) -> dict[str, Any]:
    """All rows.

    Raises:
        ImportError, ModelError, ValueError: if OpenCC, the model or the benchmark is not there, or a text cannot be
            converted.
    """
    converters = {form: opencc_converter(name) for form, name in FORMS.items()}
    restore = load_pipeline(args.model, "cpu", dtype="float32")
    labels = standard_labels(restore.model.config)
    simplified = load_examples(args.benchmark, labels, args.bench_root, args.recipe)
    simplified = cut(simplified, args.limit) if args.limit else simplified
    texts = {SIMPLIFIED: simplified} | {form: written_in(simplified, converters[form]) for form in FORMS}
    found = {form: evaluate_examples(restore, one, labels, n_mistakes=0) for form, one in texts.items()}
    used = {"benchmark": args.benchmark, "limit": args.limit, "opencc": {"version": VERSION, **FORMS}}
    return {
        "rows": {form: row(evaluation, found[SIMPLIFIED]) for form, evaluation in found.items()},
        "data_sha256": {form: digest_of(one) for form, one in texts.items()},
        "signature": signature(args.model or DEFAULT_MODEL, used, "cpu"),
    }


def table(found: dict[str, Any]) -> str:
    """The rows in Markdown, with what they were measured on."""
    rows, used = found["rows"], found["signature"]["settings"]
    marks = list(rows[SIMPLIFIED]["marks"])
    lines = [
        [
            form.title(),
            f"{one['f1']:.1f}",
            *(f"{one['marks'][mark]:.1f}" for mark in marks),
            f"{one['difference']:+.1f}",
        ]
        for form, one in rows.items()
    ]
    head = [f"`{used['benchmark']}`, F1 in percent", "all marks", *map(str.lower, marks), "against simplified"]
    return markdown_table(head, lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, and write what was found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--model", help="checkpoint; the default model without it")
    parser.add_argument("--benchmark", default=BENCHMARK, help="benchmark, or file, in Simplified characters")
    parser.add_argument("--limit", type=int, help="characters, for a quick look")
    parser.add_argument("--bench-root", type=Path, default=default_root(), help="folder of the benchmarks")
    parser.add_argument("--recipe", type=Path, default=Path("recipes/en-zh-ms.yaml"))
    parser.add_argument("--output", type=Path, help="JSON file to write")
    parser.add_argument("--document", type=Path, help=f"gets the table between {BEGIN} and {END}")
    args = parser.parse_args(argv)
    try:
        found = measure(args)
        tell(found, args.output)
        if args.document:
            fill(args.document, BEGIN, END, table(found))
    except (ImportError, ModelError, ValueError) as error:
        print(f"traditional.py: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
