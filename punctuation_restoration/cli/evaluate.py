"""The command `evaluate.py`: scores a model on benchmarks or on your own files, through the pipeline as users get it.

    python evaluate.py --model checkpoints/en-zh-ms --benchmark iwslt2011-test ms-news-test
    python evaluate.py --model out/best --benchmark my-talks.jsonl --threshold COMMA=0.4 --mistakes 20
    python evaluate.py --model out/best --benchmark iwslt2012-dev --output new.json --against results/earlier.json

Takes a model and names of benchmarks, or JSONL, TSV or text files; prints tables and writes one JSON file a benchmark.
"""

import argparse
import functools
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from punctuation_restoration.cli.models import ModelError, load_pipeline
from punctuation_restoration.cli.options import read_threshold
from punctuation_restoration.data.progress import ProgressBar
from punctuation_restoration.evaluation import report, result_files
from punctuation_restoration.evaluation.benchmarks import BENCHMARKS, default_root, load_examples, named
from punctuation_restoration.evaluation.casing_scores import evaluate_casing
from punctuation_restoration.evaluation.examples import cut
from punctuation_restoration.evaluation.labels import own_labels, standard_labels
from punctuation_restoration.evaluation.reference_files import digest_of
from punctuation_restoration.evaluation.runner import Evaluation, Mistake, evaluate_examples
from punctuation_restoration.evaluation.signature import signature

RESULTS = Path("results")
RECIPE = Path("recipes/en-zh-ms.yaml")
SCORED = "benchmarks, groups (all, test, validation), files, or folders of prepared data for their test share"
PIPELINE_SETTINGS = {
    "window": "words in a window",
    "left_context": "words of context on the left",
    "right_context": "words of context on the right",
    "batch_size": "windows in one forward pass",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command: 0 if all went well, 1 if the work failed; a wrong command line ends with 2."""
    args = parse_args(argv)
    try:
        run(args)
    except (ValueError, ImportError, OSError, ModelError) as error:
        print(f"evaluate: {error}", file=sys.stderr)
        return 1
    return 0


def parse_args(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="punctuation-restoration evaluate", description="Score a model on benchmarks or on your own files."
    )
    add = parser.add_argument
    add("--model", help="folder or name of the model (default: the one that the pipeline loads)")
    add("--benchmark", nargs="+", default=[], metavar="NAME", help=SCORED)
    add("--list", action="store_true", help="name the benchmarks and end")
    where = f"JSON file, or a folder for several (default: {RESULTS}/; with --limit nothing is written)"
    add("--output", type=Path, help=where)
    add("--against", type=Path, metavar="JSON", help="an earlier result on the same test to compare with, or a folder")
    add("--pictures", type=Path, metavar="FOLDER", help="write confusion matrix and reliability curve")
    add("--mistakes", type=int, default=0, metavar="N", help="show the N most certain mistakes")
    add("--details", action="store_true", help="tables per mark, source and document of each benchmark")
    add("--limit", type=int, metavar="WORDS", help="score only so many words, for a quick look")
    add("--bench-root", type=Path, default=default_root(), help="folder of the benchmarks")
    add("--recipe", type=Path, default=RECIPE, help="recipe whose held-out documents are scored")
    add("--all-marks", action="store_true", help="score in all labels of the model, as files of your own always are")
    add = parser.add_argument_group("passed on to the pipeline").add_argument
    for name, about in PIPELINE_SETTINGS.items():
        add("--" + name.replace("_", "-"), type=int, help=about)
    about = "probability from which a mark is written"
    add("--threshold", nargs="+", default=[], type=read_threshold, metavar="LABEL=P", help=about)
    add("--device", help="cpu, cuda, cuda:1, mps (default: the first accelerator there is)")
    add("--dtype", default="float32", choices=("float32", "bfloat16", "float16"), help="default: float32")
    args = parser.parse_args(argv)
    if not (args.benchmark or args.list):
        parser.error("Expected --benchmark or --list, got none. Try --benchmark iwslt2012-dev --limit 20000.")
    if args.limit is not None and args.limit < 1:
        parser.error(f"Expected --limit of 1 or more words, got {args.limit}. Raise it.")
    args.output = args.output or (None if args.limit else RESULTS)
    try:
        args.benchmark = named(args.benchmark)
    except ValueError as error:
        parser.error(str(error))
    for place in filter(None, (args.output, args.against)):
        if len(args.benchmark) > 1 and place.suffix == ".json":
            parser.error(f"Expected a folder for the results of several benchmarks, got {place}. Name a folder.")
    return args


def run(args: argparse.Namespace) -> None:
    """Run the command; raises ValueError, ImportError, OSError or ModelError, which say what to do."""
    if args.list:
        for name, benchmark in BENCHMARKS.items():
            print(f"{name:28}{benchmark.use:12}{benchmark.about}")
        return
    names = args.benchmark
    earlier = {name: result_files.read_result(result_path(args.against, name)) for name in names if args.against}
    settings = {key: getattr(args, key) for key in PIPELINE_SETTINGS if getattr(args, key) is not None}
    if args.threshold:
        settings["thresholds"] = dict(args.threshold)
    restore = load_pipeline(args.model, args.device, dtype=args.dtype)
    results, mistakes = [], []
    for name in names:
        result, found = score_one(restore, name, settings, args, earlier.get(name))
        results.append(result)
        mistakes.append(found)
        if args.output:
            result_files.write_result(result, result_path(args.output, name))
    for result in results:
        if args.details or len(results) == 1:
            print(*report.details(result), sep="\n")
        for path in report.save_pictures(result, args.pictures) if args.pictures else ():
            print(f"wrote {path}")
    for found in filter(None, mistakes):
        print(report.mistakes_text(found))
    print(report.overview(results))
    print(*(report.casing_table(result) for result in results if "casing" in result), sep="\n")
    for result in results if earlier else ():
        print(report.against_line(result))


def result_path(place: Path, name: str) -> Path:
    """Where the result of a benchmark is: the file that was named, or one in that folder."""
    return place if place.suffix == ".json" else place / f"{result_files.file_name(name)}.json"


def score_one(
    restore: Any, name: str, settings: dict[str, Any], args: argparse.Namespace, earlier: dict[str, Any] | None = None
) -> tuple[dict[str, Any], Sequence[Mistake]]:
    """The result of one benchmark, compared with an earlier one if there is one, and its worst mistakes."""
    is_basic = name in BENCHMARKS and not args.all_marks
    label_set = (standard_labels if is_basic else own_labels)(restore.model.config)
    examples = load_examples(name, label_set, args.bench_root, args.recipe)
    examples = cut(examples, args.limit) if args.limit else examples
    digest = digest_of(examples)
    if earlier:
        result_files.check_same_test(digest, label_set.names, earlier)
    options = {**settings, "marks": "basic" if is_basic else "all"}

    def counted(title: str, evaluate: Callable[..., Any], **more: Any) -> Any:
        with ProgressBar(title, sum(len(example.spans) for example in examples)) as bar:
            count = functools.partial(bar.count, unit="units")
            return evaluate(restore, examples, label_set, on_document=count, **options, **more)

    evaluation: Evaluation = counted(name, evaluate_examples, n_mistakes=args.mistakes)
    casing = {
        marks: counted(f"{name}, capitals, marks of the {marks}", evaluate_casing, with_marks=marks == "reference")
        for marks in (("reference", "model") if name in BENCHMARKS and BENCHMARKS[name].casing else ())
    }
    config = restore.model.config
    used = {key: getattr(config, key) for key in ("window", "left_context", "right_context", "max_window_pieces")}
    used |= settings | {"dtype": str(restore.model.dtype).removeprefix("torch."), "slot_style": config.slot_style}
    chosen = {"limit": args.limit, "marks": "all" if args.all_marks else None}
    used |= {key: value for key, value in chosen.items() if value}
    model = args.model or str(restore.model.name_or_path)
    signed = {"data_sha256": digest, **signature(model, used, str(restore.device))}
    about = BENCHMARKS[name].about if name in BENCHMARKS else "test share" if Path(name).is_dir() else "a file"
    result = result_files.to_result(evaluation, Path(name).name, about, signed, casing)
    return {**result, **({"against": result_files.compare(result, earlier)} if earlier else {})}, evaluation.mistakes
