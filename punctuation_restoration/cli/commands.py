"""The command `punctuation-restoration`: prepares data, trains, evaluates, exports and labels.

    punctuation-restoration prepare --recipe recipes/en-zh-ms.yaml --output prepared/
    punctuation-restoration train --data prepared/ --output runs/first
    punctuation-restoration evaluate --model runs/first/best --benchmark ms-news-test
    punctuation-restoration export --model runs/first/best --output hub/

Each of them has its own --help. They exit with 0 when all is done, 1 when the work failed, 2 on a wrong command line.
"""

import argparse
import importlib
import sys
from collections.abc import Sequence

import punctuation_restoration

# What a command is for, the module whose `main` does it, and the extra that brings what the core does not.
COMMANDS = {
    "prepare": ("turn texts into training data", "cli.prepare", "train"),
    "train": ("train a model", "cli.train", "train"),
    "evaluate": ("score a model on benchmarks or your own files", "cli.evaluate", "evaluate"),
    "export": ("write a model's folder for the Hub, and send it there", "export", "fast"),
    "label": ("write a model's probabilities, for a smaller one to learn", "cli.label", "train"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command that the first argument names, with the arguments after it; returns its exit code."""
    name, *rest = (sys.argv[1:] if argv is None else argv) or ["--help"]
    if name in COMMANDS:
        return run(name, rest)
    parser = argparse.ArgumentParser(
        prog="punctuation-restoration", usage="%(prog)s COMMAND ...", description=__doc__,
        epilog="commands:\n" + "\n".join(f"  {name:9} {about}" for name, (about, *_) in COMMANDS.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--version", action="version", version=f"%(prog)s {punctuation_restoration.__version__}")
    parser.parse_args([name] if name.startswith("-") else [])
    parser.error(f"Expected a command out of {', '.join(COMMANDS)}, got {name!r}. Choose one.")


def run(name: str, argv: Sequence[str] | None = None) -> int:
    """Run one command; where a package is missing, say which extra brings it. Returns its exit code."""
    _, module, extra = COMMANDS[name]
    try:
        return importlib.import_module(f"punctuation_restoration.{module}").main(argv)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "punctuation_restoration":
            raise
        print(
            f"{name}: Expected the package {error.name}, which is not installed. Run `pip install "
            f'"punctuation-restoration[{extra}]"`, or in a clone `pip install ".[{extra}]"`.',
            file=sys.stderr,
        )
        return 1


if __name__ == "__main__":
    sys.exit(main())
