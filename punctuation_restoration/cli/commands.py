"""The command `punctuation-restoration`: prepares data, trains, evaluates, exports and labels.

    punctuation-restoration prepare --recipe recipes/en-zh-ms.yaml --output prepared/
    punctuation-restoration train --model checkpoints/en-zh-ms --data prepared/ --output runs/first
    punctuation-restoration evaluate --model runs/first/best --benchmark ms-news-test
    punctuation-restoration export --model runs/first/best --output hub/

Each of them has its own --help. They exit with 0 when all is done, 1 when the work failed, 2 on a wrong command line.
"""

import argparse
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

import punctuation_restoration
from punctuation_restoration.loading import ModelError, refused_code
from punctuation_restoration.whole_files import FULL_DISK

# What a command is for, the module whose `parse_args` and `run` do it, and the extra that brings what the core lacks.
COMMANDS = {
    "prepare": ("turn texts into training data", "cli.prepare", "train"),
    "train": ("train a model", "cli.train", "train"),
    "evaluate": ("score a model on benchmarks or your own files", "cli.evaluate", "evaluate"),
    "export": ("write a model's folder for the Hub, and send it there", "export", "fast"),
    "label": ("write a model's probabilities, for a smaller one to learn", "cli.label", "train"),
}
FULL_MEMORY_SAID = ("out of memory", "can't allocate memory", "BrokenProcessPool")
FULL_DISK_SAID = (
    "No space left on device",
    "StorageFull",
    "File too large",
    "PytorchStreamWriter failed",
)


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
    parser.add_argument(
        "--version", action="version", version=f"%(prog)s {punctuation_restoration.__version__}"
    )
    parser.parse_args([name] if name.startswith("-") else [])
    parser.error(
        f"Expected a command out of {', '.join(COMMANDS)}, got {name!r}. Write one of these."
    )


def run(name: str, argv: Sequence[str] | None = None) -> int:
    """Run one command. Returns 0, or 1 after one line that says why it failed; other errors are raised.

    A wrong command line ends with 2.
    """
    _, module, extra = COMMANDS[name]
    try:
        command = importlib.import_module(f"punctuation_restoration.{module}")
        command.run(command.parse_args(argv))
    except Exception as error:
        if not (message := failure_message(error, extra)):
            raise
        print(f"{name}: {message}", file=sys.stderr)
        return 1
    except KeyboardInterrupt as stop:
        print(f"{name}: Stopped. {stop or 'Start the same command again.'}", file=sys.stderr)
        return 130  # as shells have it
    return 0


def failure_message(error: Exception, extra: str) -> str | None:
    """The message to the user for a failure that is expected; None for any other error, which is raised."""
    if isinstance(error, ModuleNotFoundError):
        if (error.name or "").partition(".")[0] == "punctuation_restoration":
            return None  # a fault of ours, which no installation mends
        return (
            f"Expected the package {error.name}, which is not installed. "
            f'Run `pip install -e ".[{extra}]"` in the clone of this project.'
        )
    if refused := refused_code(error):
        return refused
    # torch and safetensors name what is full only in their messages, and concurrent.futures nothing.
    said = f"{type(error).__name__}: {error}"
    if isinstance(error, MemoryError) or any(sign in said for sign in FULL_MEMORY_SAID):
        return (
            "Expected to fit into memory, did not. To train, lower --pieces-per-batch and raise --accumulate by the "
            "same factor: the result stays the same. To prepare, lower --processes to 1, or split very long documents."
        )
    if lock := getattr(error, "lock_file", None):  # of filelock
        return (
            f"Expected {Path(lock).parent} for this run alone, another one is writing there. Wait for it, or end it "
            "(the processes of torchrun can outlive it), or choose another --output."
        )
    if getattr(error, "errno", None) in FULL_DISK or any(sign in said for sign in FULL_DISK_SAID):
        place = getattr(error, "filename", None) or "the output"
        return (
            f"Expected room on the disk for {place}, it is full, or a limit on the size of files (ulimit -f) is "
            "reached. Free some, or raise the limit, and start the same command again."
        )
    if isinstance(error, OSError) and error.filename:
        return f"Expected to use {error.filename}, got: {error.strerror}. Name another place."
    told = ValueError | OSError | FloatingPointError | ImportError | ModelError
    return str(error) if isinstance(error, told) else None


if __name__ == "__main__":
    sys.exit(main())
