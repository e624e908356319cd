"""Scores a model on benchmarks or on your own files, through the pipeline as users get it.

    python evaluate.py --model checkpoints/en-zh-ms --benchmark iwslt2011-test ms-news-test
    python evaluate.py --model out/best --benchmark my-talks.jsonl --threshold COMMA=0.4 --mistakes 20
    python evaluate.py --join results/a.json results/b.json --output results/whole.json

Takes a model and names of benchmarks, or JSONL, TSV or text files; prints tables and writes one JSON file a benchmark.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path


def parse_args(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="evaluate.py", description=__doc__.partition("\n\n")[0], formatter_class=argparse.RawTextHelpFormatter
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
        "--threshold", nargs="+", default=[], metavar="LABEL=P", help="probability from which a mark is written"
    )
    passed.add_argument("--device", help="cpu, cuda, cuda:1, mps (default: the first accelerator there is)")
    passed.add_argument("--dtype", default="float32", help="float32, bfloat16, float16 (default: float32)")
    args = parser.parse_args(argv)
    if not (args.benchmark or args.join or args.list):
        parser.error("Expected --benchmark, --join or --list, got none. Try --benchmark iwslt2012-dev --limit 20000.")
    return args


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; 0 if all went well, 2 for a wrong input."""
    args = parse_args(argv)
    # Imported here, so that --help does not wait for torch.
    from punctuation_restoration.evaluation import command

    try:
        return command.run(args)
    except (ValueError, ImportError, OSError) as error:
        print(f"evaluate.py: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
