"""The command `evaluate.py`: scores a model on benchmarks or on your own files, through the pipeline as users get it.

    python evaluate.py --model checkpoints/en-zh-ms --benchmark iwslt2011-test ms-news-test
    python evaluate.py --model out/best --benchmark my-talks.jsonl --threshold COMMA=0.4
    python evaluate.py --model out/best --benchmark iwslt2012-dev --output new.json --against results/earlier.json

Takes a model and names of benchmarks, or JSONL, TSV or text files; prints tables and writes one JSON file a benchmark.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from punctuation_restoration.cli.options import DTYPES, at_least, read_threshold
from punctuation_restoration.evaluation.benchmarks import (
    BENCHMARKS,
    benchmark_of,
    default_root,
    file_name,
)
from punctuation_restoration.loading import add_trust_option, load_pipeline

# Settings of a model that say in which windows it reads.
READ_IN = ("window", "left_context", "right_context", "max_window_pieces")
Fields = dict[str, Any]


def parse_args(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="punctuation-restoration evaluate",
        description="Score a model on benchmarks or on your own files.",
    )
    add = parser.add_argument
    add("--model", help="folder or name of the model (default: the one that the pipeline loads)")
    add("--benchmark", nargs="+", default=[], metavar="NAME",
        help="benchmarks, files, or folders of prepared data for their test share")  # fmt: skip
    add("--list", action="store_true", help="name the benchmarks and end")
    add("--output", type=Path,
        help="JSON file, or a folder for several (default: results/, or nothing with --limit)")  # fmt: skip
    add("--against", type=Path, metavar="JSON",
        help="an earlier result on the same test to compare with, or a folder")  # fmt: skip
    add("--limit", type=at_least(1), metavar="WORDS",
        help="score at most this many words, for a quick look")  # fmt: skip
    add("--bench-root", type=Path, default=default_root(),
        help="folder of the benchmarks (default: bench, or ../shared/bench)")  # fmt: skip
    add("--recipe", type=Path, default=Path("recipes/en-zh-ms.yaml"),
        help="recipe whose held-out documents are scored")  # fmt: skip
    add("--all-marks", action="store_true",
        help="score in all labels of the model, as files of your own always are")  # fmt: skip
    add("--threshold", nargs="+", default=[], type=read_threshold, metavar="LABEL=P",
        help="probability from which a mark is written")  # fmt: skip
    add("--device", help="cpu, cuda, cuda:1, mps (default: the first accelerator there is)")
    add("--dtype", default="float32", choices=DTYPES, help="default: float32")
    add_trust_option(parser)
    args = parser.parse_args(argv)
    if args.list:
        for name, benchmark in BENCHMARKS.items():
            print(f"{name:28}{benchmark.use:12}{benchmark.about}")
        parser.exit()
    if not args.benchmark:
        parser.error(
            "Expected --benchmark or --list, got none. Try --benchmark iwslt2012-dev --limit 20000."
        )
    try:
        args.benchmark = {name: benchmark_of(name) for name in args.benchmark}
    except ValueError as error:
        parser.error(str(error))
    if len(set(map(file_name, args.benchmark))) < len(args.benchmark):
        parser.error(
            "Expected files of different names, after which results are named, got some alike. Score them one by one, "
            "each with an --output of its own."
        )
    if not args.limit and not args.output:
        args.output = Path("results")
    for path in (args.output, args.against):
        if path and path.suffix == ".json" and len(args.benchmark) > 1:
            parser.error(
                f"Expected a folder for the results of several benchmarks, got {path}. Name a folder."
            )
    return args


def run(args: argparse.Namespace) -> None:
    """Score every benchmark, write its result, and print the tables."""
    from punctuation_restoration.evaluation import report, result_files

    # Read first: the new result may replace it.
    compared = args.benchmark if args.against else ()
    earlier = {name: result_files.read_result(result_path(args.against, name)) for name in compared}
    restore = load_pipeline(
        args.model, args.device, dtype=args.dtype, trust_remote_code=args.trust_remote_code
    )
    results = []
    for name in args.benchmark:
        results.append(score_one(restore, name, args, earlier.get(name)))
        print(report.details(results[-1]))
        if args.output:
            result_files.write_result(results[-1], result_path(args.output, name))
    print(report.overview(results))


def result_path(path: Path, name: str) -> Path:
    """The file of a benchmark's result, where `--output` or `--against` names a file or a folder."""
    return path if path.suffix == ".json" else path / f"{file_name(name)}.json"


def score_one(restore: Any, name: str, args: argparse.Namespace, earlier: Fields | None) -> Fields:
    """The result of one benchmark, compared with an earlier one if there is one."""
    from punctuation_restoration.evaluation import examples, result_files
    from punctuation_restoration.evaluation.runner import evaluate_examples
    from punctuation_restoration.evaluation.scored_texts import load_examples

    config, benchmark = restore.model.config, args.benchmark[name]
    labels = examples.standard_labels(config)
    in_own_labels = args.all_marks or name not in BENCHMARKS
    if earlier and labels.names == earlier["label_names"] != config.label_names:
        in_own_labels = False  # a model with more labels is compared in those that both have
    if in_own_labels:
        labels = examples.own_labels(config)
    options: Fields = {"marks": "all" if in_own_labels else "basic"}
    if args.threshold:
        options["thresholds"] = dict(args.threshold)
    texts = load_examples(name, labels, args.bench_root, args.recipe)
    if args.limit:
        texts = examples.cut(texts, args.limit)
    digest = result_files.digest_of(texts, benchmark.casing)
    if earlier:
        result_files.check_same_test(digest, labels.names, earlier)
    with_letters = benchmark.casing and not in_own_labels
    given = {**options, "truecase": with_letters}
    evaluated = evaluate_examples(restore, texts, labels, name, **given)
    casing = {}
    if with_letters:
        told = evaluate_examples(restore, texts, labels, name, with_marks=True, **given)
        casing = {"reference": told["casing"], "model": evaluated["casing"]}
    settings = {key: getattr(config, key) for key in READ_IN}
    settings |= {**options, "dtype": args.dtype, "limit": args.limit}
    model = str(restore.model.name_or_path)  # the folder, where --model was `fast`
    result = {
        "format": result_files.FORMAT,
        "benchmark": Path(name).name,
        "about": benchmark.about,
        "signature": {
            "data_sha256": digest,
            **result_files.signature(model, settings, str(restore.device)),
        },
        **evaluated,
        "casing": casing,  # the scores of letters, by whose marks they stand beside
    }
    if earlier:
        result["against"] = result_files.compare(result, earlier)
    return result
