"""The command `evaluate.py`: scores a model on benchmarks or on your own files, through the pipeline as users get it.

    python evaluate.py --model checkpoints/en-zh-ms --benchmark iwslt2011-test ms-news-test
    python evaluate.py --model out/best --benchmark my-talks.jsonl --threshold COMMA=0.4 --mistakes 20
    python evaluate.py --model out/best --benchmark iwslt2012-dev --output new.json --against results/earlier.json

Takes a model and names of benchmarks, or JSONL, TSV or text files; prints tables and writes one JSON file a benchmark.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from punctuation_restoration.cli.models import ModelError, load_pipeline
from punctuation_restoration.cli.options import read_threshold
from punctuation_restoration.data.progress import ProgressBar
from punctuation_restoration.evaluation.benchmarks import BENCHMARKS, default_root, load_examples, named
from punctuation_restoration.evaluation.examples import cut
from punctuation_restoration.evaluation.labels import own_labels, standard_labels
from punctuation_restoration.evaluation.reference_files import digest_of
from punctuation_restoration.evaluation.report import against_line, details, mistakes_table, overview, save_pictures
from punctuation_restoration.evaluation.result_files import (
    check_same_test,
    compare,
    file_name,
    read_result,
    to_result,
    write_result,
)
from punctuation_restoration.evaluation.runner import Mistake, evaluate_examples
from punctuation_restoration.evaluation.signature import shown_model, signature

RESULTS = Path("results")
WIDTH = 120  # columns, where the output goes to a file
SCORED = "benchmarks, groups (all, test, validation), files, or folders of prepared data for their test share"
PIPELINE_SETTINGS = {
    "window": "words in a window",
    "left_context": "words of context on the left",
    "right_context": "words of context on the right",
    "batch_size": "windows in one forward pass",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; 0 if all went well, 2 for a wrong input."""
    args = parse_args(argv)
    try:
        run(args)
    except (ValueError, ImportError, OSError, ModelError) as error:
        print(f"evaluate.py: {error}", file=sys.stderr)
        return 2
    return 0


def parse_args(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="evaluate.py", description="Score a model on benchmarks or on your own files."
    )
    parser.add_argument("--model", help="folder or name of the model (default: the one that the pipeline loads)")
    parser.add_argument("--ensemble", nargs="+", metavar="MODEL", help="further models; scores of all are averaged")
    parser.add_argument("--benchmark", nargs="+", default=[], metavar="NAME", help=SCORED)
    parser.add_argument("--list", action="store_true", help="name the benchmarks and end")
    parser.add_argument("--output", type=Path, default=RESULTS, help="JSON file, or a folder for several")
    parser.add_argument(
        "--against", type=Path, metavar="JSON", help="an earlier result on the same test to compare with, or a folder"
    )
    parser.add_argument("--pictures", type=Path, metavar="FOLDER", help="write confusion matrix and reliability curve")
    parser.add_argument("--mistakes", type=int, default=0, metavar="N", help="show the N most certain mistakes")
    parser.add_argument("--details", action="store_true", help="tables per mark, source and document of each benchmark")
    parser.add_argument("--limit", type=int, metavar="WORDS", help="score only so many words, for a quick look")
    parser.add_argument("--bench-root", type=Path, default=default_root(), help="folder of the benchmarks")
    parser.add_argument(
        "--recipe", type=Path, default=Path("recipes/en-zh-ms.yaml"), help="recipe whose held-out documents are scored"
    )
    parser.add_argument(
        "--all-marks", action="store_true", help="score in all labels of the model, as files of your own always are"
    )
    passed = parser.add_argument_group("passed on to the pipeline")
    for name, help_text in PIPELINE_SETTINGS.items():
        passed.add_argument("--" + name.replace("_", "-"), type=int, help=help_text)
    passed.add_argument(
        "--threshold",
        nargs="+",
        default=[],
        type=read_threshold,
        metavar="LABEL=P",
        help="probability from which a mark is written",
    )
    passed.add_argument("--device", help="cpu, cuda, cuda:1, mps (default: the first accelerator there is)")
    passed.add_argument("--dtype", default="float32", help="float32, bfloat16, float16 (default: float32)")
    args = parser.parse_args(argv)
    if not (args.benchmark or args.list):
        parser.error("Expected --benchmark or --list, got none. Try --benchmark iwslt2012-dev --limit 20000.")
    return args


def run(args: argparse.Namespace) -> None:
    """Run the command.

    Raises:
        ValueError, ImportError, OSError, ModelError: for a wrong input; the message says what to do.
    """
    console = Console(width=None if sys.stdout.isatty() else WIDTH)
    if args.list:
        for name, benchmark in BENCHMARKS.items():
            console.print(f"{name:28}{benchmark.use:12}{benchmark.about}", markup=False, highlight=False)
        return
    names = named(args.benchmark)
    if args.limit is not None and args.limit < 1:
        raise ValueError(f"Expected --limit of 1 or more words, got {args.limit}. Raise it.")
    for place in filter(None, (args.output, args.against)):
        if len(names) > 1 and place.suffix == ".json":
            raise ValueError(f"Expected a folder for the results of several benchmarks, got {place}. Name a folder.")
    earlier = {name: read_result(result_path(args.against, name)) for name in names if args.against}
    settings = {key: getattr(args, key) for key in PIPELINE_SETTINGS if getattr(args, key) is not None}
    if args.threshold:
        settings["thresholds"] = dict(args.threshold)
    restore = load_pipeline(args.model, args.device, dtype=args.dtype, ensemble=args.ensemble)
    results, mistakes = [], []
    for name in names:
        result, found = score_one(restore, name, settings, args, earlier.get(name))
        results.append(result)
        mistakes.append(found)
        write_result(result, result_path(args.output, name))
    for result in results:
        if args.details or len(results) == 1:
            console.print(*details(result), sep="\n")
        if args.pictures:
            for path in save_pictures(result, args.pictures):
                console.print(f"wrote {path}")
    for found in filter(None, mistakes):
        console.print(mistakes_table(found))
    console.print(overview(results))
    for result in results if earlier else ():
        console.print(against_line(result), markup=False, highlight=False)


def result_path(place: Path, name: str) -> Path:
    """Where the result of a benchmark is: the file that was named, or one in that folder."""
    return place if place.suffix == ".json" else place / f"{file_name(name)}.json"


def score_one(
    restore: Any,
    name: str,
    settings: dict[str, Any],
    args: argparse.Namespace,
    earlier: dict[str, Any] | None = None,
) -> tuple[dict[str, Any], Sequence[Mistake]]:
    """The result of one benchmark, compared with an earlier one if there is one, and its worst mistakes."""
    is_basic = name in BENCHMARKS and not args.all_marks
    label_set = (standard_labels if is_basic else own_labels)(restore.model.config)
    examples = load_examples(name, label_set, args.bench_root, args.recipe)
    examples = cut(examples, args.limit) if args.limit else examples
    digest = digest_of(examples)
    if earlier:
        check_same_test(digest, label_set.names, earlier)
    with ProgressBar(name, sum(len(example.spans) for example in examples)) as bar:
        evaluation = evaluate_examples(
            restore,
            examples,
            label_set,
            n_mistakes=args.mistakes,
            on_document=lambda n_units: bar.count(n_units, "units"),
            marks="basic" if is_basic else "all",
            **settings,
        )
    config = restore.model.config
    used = {key: getattr(config, key) for key in ("window", "left_context", "right_context", "max_window_pieces")}
    used |= settings | {"dtype": str(restore.model.dtype).removeprefix("torch."), "slot_style": config.slot_style}
    used |= {"limit": args.limit} if args.limit else {}
    used |= {"marks": "all"} if args.all_marks else {}
    used |= {"ensemble": [shown_model(name) for name in args.ensemble]} if args.ensemble else {}
    signed = signature(args.model or str(restore.model.name_or_path), used, str(restore.device))
    about = BENCHMARKS[name].about if name in BENCHMARKS else "test share" if Path(name).is_dir() else "a file"
    result = to_result(evaluation, Path(name).name, about, digest, signed)
    return {**result, **({"against": compare(result, earlier)} if earlier else {})}, evaluation.mistakes
