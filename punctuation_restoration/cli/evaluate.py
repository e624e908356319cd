"""The command `evaluate.py`: scores a model on benchmarks or on your own files, through the pipeline as users get it.

    python evaluate.py --model checkpoints/en-zh-ms --benchmark iwslt2011-test ms-news-test
    python evaluate.py --model out/best --benchmark my-talks.jsonl --threshold COMMA=0.4 --mistakes 20
    python evaluate.py --join results/a.json results/b.json --output results/whole.json

Takes a model and names of benchmarks, or JSONL, TSV or text files; prints tables and writes one JSON file a benchmark.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from punctuation_restoration.cli.models import ModelError, load_pipeline
from punctuation_restoration.cli.options import read_threshold
from punctuation_restoration.evaluation.benchmarks import BENCHMARKS, Loader, named
from punctuation_restoration.evaluation.examples import Example, cut
from punctuation_restoration.evaluation.labels import LabelSet, own_labels, standard_labels
from punctuation_restoration.evaluation.mistakes import Mistake
from punctuation_restoration.evaluation.reference_files import Reader, digest_of, read_ids
from punctuation_restoration.evaluation.report import details, mistakes_table, overview
from punctuation_restoration.evaluation.result_files import join, read_result, to_result, write_result
from punctuation_restoration.evaluation.runner import evaluate_examples
from punctuation_restoration.evaluation.signature import signature

RESULTS = Path("results")
WIDTH = 120  # columns, where the output goes to a file


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; 0 if all went well, 2 for a wrong input."""
    args = parse_args(argv)
    try:
        return run(args)
    except (ValueError, ImportError, OSError, ModelError) as error:
        print(f"evaluate.py: {error}", file=sys.stderr)
        return 2


def parse_args(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="evaluate.py",
        description="Score a model on benchmarks or on your own files.",
        formatter_class=argparse.RawTextHelpFormatter,
    )
    parser.add_argument("--model", help="folder or name of the model (default: the one that the pipeline loads)")
    parser.add_argument(
        "--benchmark", nargs="+", default=[], metavar="NAME", help="benchmarks, groups (all, test, validation) or files"
    )
    parser.add_argument("--list", action="store_true", help="name the benchmarks and end")
    parser.add_argument("--join", nargs="+", metavar="JSON", help="join results of shards into one")
    parser.add_argument("--output", type=Path, help="JSON file, or a folder for several (default: results)")
    parser.add_argument("--pictures", type=Path, metavar="FOLDER", help="write confusion matrix and reliability curve")
    parser.add_argument("--mistakes", type=int, default=0, metavar="N", help="show the N most certain mistakes")
    parser.add_argument("--details", action="store_true", help="tables per mark, source and document of each benchmark")
    choice = parser.add_argument_group("what is scored")
    choice.add_argument("--limit", type=int, metavar="WORDS", help="score only so many words, for a quick look")
    choice.add_argument("--shard", metavar="I/N", help="score only every N-th document, from the I-th on")
    choice.add_argument("--documents", type=Path, metavar="FILE", help="score only the documents with these ids")
    choice.add_argument("--bench-root", type=Path, default=Path("../shared/bench"), help="folder of the benchmarks")
    choice.add_argument(
        "--recipe", type=Path, default=Path("recipes/en-zh-ms.yaml"), help="recipe whose held-out documents are scored"
    )
    passed = parser.add_argument_group("passed on to the pipeline")
    passed.add_argument("--window", type=int, help="words in a window")
    passed.add_argument("--left-context", type=int, help="words of context on the left")
    passed.add_argument("--right-context", type=int, help="words of context on the right")
    passed.add_argument("--batch-size", type=int, help="windows in one forward pass")
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
    if not (args.benchmark or args.join or args.list):
        parser.error("Expected --benchmark, --join or --list, got none. Try --benchmark iwslt2012-dev --limit 20000.")
    return args


def run(args: argparse.Namespace) -> int:
    """Run the command.

    Raises:
        ValueError: for a wrong input; the message says what to do.
    """
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDTH)
    if args.list:
        for name, benchmark in BENCHMARKS.items():
            console.print(f"{name:28}{benchmark.use:12}{benchmark.about}", markup=False, highlight=False)
        return 0
    if args.join:
        result = join([read_result(path) for path in args.join])
        show([result], {}, args, console)
        write_result(result, output_path(args.output, result["benchmark"], several=False))
        return 0
    names = named(args.benchmark)
    restore = load_pipeline(args.model, args.device, dtype=args.dtype)
    label_sets = {True: standard_labels(restore.model.config), False: own_labels(restore.model.config)}
    loader = Loader(
        reader_for=lambda is_named: Reader.for_labels(label_sets[is_named]),
        bench_root=args.bench_root,
        recipe=args.recipe,
        documents=frozenset(read_ids(args.documents)) if args.documents else None,
    )
    results, mistakes = [], {}
    for name in names:
        examples = choose(loader(name), args.limit, args.shard)
        result, mistakes[name] = score_one(restore, name, examples, label_sets[name in BENCHMARKS], args)
        results.append(result)
        write_result(result, output_path(args.output, name, several=len(names) > 1))
    show(results, mistakes, args, console)
    return 0


def score_one(
    restore: Any,
    name: str,
    examples: Sequence[Example],
    label_set: LabelSet,
    args: argparse.Namespace,
) -> tuple[dict[str, Any], list[Mistake]]:
    """The result of one benchmark, and its worst mistakes."""
    given = {key: getattr(args, key) for key in ("window", "left_context", "right_context", "batch_size")}
    settings: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
    if args.threshold:
        settings["thresholds"] = dict(args.threshold)
    with Progress(
        TextColumn(name), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), console=Console(stderr=True)
    ) as progress:
        task = progress.add_task(name, total=sum(len(example.spans) for example in examples))
        evaluation = evaluate_examples(
            restore,
            examples,
            label_set,
            n_mistakes=args.mistakes,
            on_document=lambda n_units: progress.advance(task, n_units),
            **settings,
        )
    config = restore.model.config
    used = {key: getattr(config, key) for key in ("window", "left_context", "right_context", "max_window_pieces")}
    used |= settings | {"dtype": str(restore.model.dtype).removeprefix("torch."), "slot_style": config.slot_style}
    used |= {key: getattr(args, key) for key in ("limit", "shard") if getattr(args, key)}
    model = args.model or str(restore.model.name_or_path)
    signed = signature(model, used, str(restore.device))
    about = BENCHMARKS[name].about if name in BENCHMARKS else "a file"
    result = to_result(evaluation, Path(name).name, about, digest_of(examples), signed)
    return result, evaluation.mistakes


def show(
    results: Sequence[dict[str, Any]],
    mistakes: dict[str, list[Mistake]],
    args: argparse.Namespace,
    console: Console,
) -> None:
    """Print the tables, and write the pictures."""
    for result in results:
        if args.details or len(results) == 1:
            for table in details(result):
                console.print(table)
        if args.pictures:
            from punctuation_restoration.evaluation.pictures import save_pictures

            for path in save_pictures(result, args.pictures):
                console.print(f"wrote {path}")
    for found in mistakes.values():
        if found:
            console.print(mistakes_table(found))
    console.print(overview(results))


def choose(examples: list[Example], limit: int | None, shard: str | None) -> list[Example]:
    """The examples of a shard, or the first words.

    Raises:
        ValueError: if the shard is not written as I/N, or has no document.
    """
    if shard:
        index, _, n_shards = shard.partition("/")
        if not (index.isdecimal() and n_shards.isdecimal() and 1 <= int(index) <= int(n_shards)):
            raise ValueError(f"Expected --shard as I/N with I from 1 to N, got {shard!r}. Try --shard 1/4.")
        examples = examples[int(index) - 1 :: int(n_shards)]
        if not examples:
            raise ValueError(f"Expected a document in shard {shard}, there are fewer documents. Use fewer shards.")
    if limit is not None:
        if limit < 1:
            raise ValueError(f"Expected --limit of 1 or more words, got {limit}. Raise it.")
        examples = cut(examples, limit)
    return examples


def output_path(output: Path | None, name: str, *, several: bool) -> Path:
    """Where the result of a benchmark goes: the file that was named, or a file in the folder that was."""
    from punctuation_restoration.evaluation.pictures import file_name

    folder = output or RESULTS
    if folder.suffix == ".json":
        if several:
            raise ValueError(f"Expected a folder for the results of several benchmarks, got {folder}. Drop the ending.")
        return folder
    return folder / f"{file_name(name)}.json"
