"""The options of `punctuate`: read, checked, and explained by `--help`. It knows argparse, and reads no transcript."""

import argparse
import contextlib
import glob
import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import punctuation_restoration

from ..loading import OptionError, add_trust_option
from ..transcripts import FIELDS, FOREIGN, FORMATS, CueLimits, FormatError, format_of_name
from ..transcripts.file_text import decode_bytes

HELP = """Put punctuation into transcripts: text, subtitles (SRT, WebVTT), recogniser JSON, word lists.

Files keep their format, encoding, times, tags and layout; only marks are added. Nothing is overwritten without
--force, and no file is ever left half-written.

    echo 'hello how are you' | punctuate
    punctuate talk.srt -o talk.punctuated.srt
    punctuate meetings/ -o restored/
    punctuate whisper.json -o new.srt
    recogniser | punctuate --live
"""
EXIT_CODES = """Exit codes: 0 done, 1 something failed (what else could be done is done and kept), 2 wrong use of the
command line: nothing was restored."""
BACKEND_NAMES = ("torch", "torch-int8", "onnx", "onnx-int8")
DTYPES = ("float32", "bfloat16", "float16")
# What the pipeline's calls take; an option that is not given is left to the model.
PIPELINE_OPTIONS = ("existing", "marks", "thresholds", "truecase", "final", "batch_size")


def parse_args(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line, checked.

    Beside the options themselves it has `options`, those of the pipeline's calls that were given; `limits`, the
    `CueLimits`; and `into_folder`, whether the output is a folder, or is to be one. `to` is the format that `--to` or
    `--json` asks for, or None.

    Raises:
        OptionError: options that do not go together.
        SystemExit: options that do not exist or cannot be read, with code 2; `--help` and `--version`, with code 0.
    """
    args = _parser().parse_intermixed_args(sys.argv[1:] if argv is None else argv)
    args.limits = CueLimits(args.line_width, args.cue_lines, args.reading_speed)
    args.thresholds = dict(args.thresholds) if args.thresholds else None
    args.options = {
        name: getattr(args, name) for name in PIPELINE_OPTIONS if getattr(args, name) is not None
    }
    if args.live and any((args.files, args.text, args.output, args.format, args.to, args.json)):
        raise OptionError(
            "Expected --live alone: standard input to standard output, got files or formats."
        )
    if args.text is not None:
        if args.files:
            raise OptionError("Expected --text or FILES, got both.")
        args.format = args.format or "txt"
        args.encoding = None  # the command line has its own
    args.files = [file for given in args.files for file in _matching(given)]
    if args.files == [Path("-")]:
        args.files = []  # standard input
    _check_output(args)
    return args


def _check_output(args: argparse.Namespace) -> None:
    """Say of the output what `parse_args` promises; an `OptionError` if it is no place for the files."""
    name = args.output or ""
    args.output = output = Path(name) if name else None  # which forgets a slash at the end
    args.into_folder = name.endswith((os.sep, "/")) or os.path.isdir(name)
    if args.json:
        args.to = "json" if name.endswith(".json") else "jsonl"
    if args.into_folder:
        if not args.files:
            raise OptionError(
                f"Expected --output FILE for text without a name, got the folder {output}."
            )
    elif output and output.suffix.lower() in FOREIGN and args.format is None:
        raise OptionError(
            f"Expected --output in a format of {', '.join(FORMATS)}, got {output}. Name another."
        )
    elif len(args.files) > 1 or any(path.is_dir() for path in args.files):
        if output is None or output.exists() or format_of_name(name):
            got = f"{output}, the name of a file" if output else "none"
            raise OptionError(
                f"Expected --output FOLDER for several files, got {got}. Name a folder with it."
            )
        args.into_folder = True


def _matching(given: Path) -> list[Path]:
    """The files of a pattern such as `*.srt`, which Windows shells hand on; another path itself."""
    names = [] if given.exists() else glob.glob(str(given), recursive=True)
    return sorted(map(Path, names)) or [given]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="punctuate", usage="punctuate [options] [FILES ...]", description=HELP, epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False,
    )  # fmt: skip
    parser.add_argument(
        "--version", action="version", version=f"punctuate {punctuation_restoration.__version__}"
    )

    files = parser.add_argument_group("files and formats")
    add: Callable[..., Any] = files.add_argument
    add(
        "files",
        nargs="*",
        type=Path,
        metavar="FILES",
        help="files and folders; standard input if there are none",
    )
    add("--text", help="restore this text instead of files")
    add("--output", "-o", metavar="OUT", help="file, or folder for several files; the extension may choose another "
        "format (default: standard output)")  # fmt: skip
    add("--format", choices=FORMATS, help="format of the input (default: by extension)")
    add("--encoding", type=_encoding, metavar="NAME", help="encoding of the input, if it is neither UTF-8 nor marked "
        "by its first bytes; the output has the same")  # fmt: skip
    add("--keys", type=_keys, metavar="FIELD=KEY,...", help="names of the keys of JSON that are not known: "
        "text=content,start=from,end=to,speaker=participant.name")  # fmt: skip
    add("--force", "-f", action="store_true", help="overwrite files that exist")
    add(
        "--skip-existing",
        action="store_true",
        help="leave out files that have their output already",
    )
    add("--quiet", "-q", action="store_true", help="no progress bar, no warnings")
    add = files.add_mutually_exclusive_group().add_argument
    add("--to", choices=FORMATS, help="write another format: txt has a sentence a line, srt and vtt new "
        "cues that end with sentences, of subtitles too; their tags and positions are lost")  # fmt: skip
    add(
        "--json",
        action="store_true",
        help="write JSON lines: text, words with labels and scores, sentences",
    )

    add = parser.add_argument_group("marks").add_argument
    add("--existing", metavar="keep|replace", help="marks that the text has: they stay, and fewer are added nearby "
        "(keep, the default), or they are removed first (replace)")  # fmt: skip
    add("--marks", type=_mark_names, metavar="NAMES", help="marks that may be written: basic (, . ?; the default), all "
        "that the model has, sentence-ends, or labels such as COMMA,PERIOD")  # fmt: skip
    add("--threshold", dest="thresholds", action="append", type=read_threshold, metavar="NAME=P",
        help="probability from which a mark is written, such as COMMA=0.4; repeatable")  # fmt: skip
    add(
        "--truecase",
        action="store_true",
        default=None,
        help="give sentences and names their capitals",
    )
    add("--lines", action="store_true", help="each line of a text is an utterance of its own, and ends a sentence; "
        "with --live too, where otherwise an empty line does")  # fmt: skip
    add("--unfinished", dest="final", action="store_false", default=None,
        help="the text breaks off: what ends a file is not taken for the end of a sentence")  # fmt: skip

    about_model = parser.add_argument_group("model")
    add = about_model.add_argument
    add("--model", "-m", help="folder or Hub id; fast for the small, fast model")
    add("--device", help="cpu, cuda, cuda:1, mps (default: the first accelerator there is)")
    add("--dtype", choices=DTYPES, help="precision of the computation (default: the model's)")
    add("--backend", choices=BACKEND_NAMES, help="those with onnx need onnxruntime")
    add(
        "--jieba-dictionary",
        metavar="FILE",
        help="user dictionary of jieba, with Mandarin words to add",
    )
    add("--batch-size", type=at_least(1), metavar="N", help="windows in one forward pass")
    add_trust_option(about_model)

    add = parser.add_argument_group("new cues").add_argument
    add(
        "--line-width",
        type=at_least(1),
        default=42,
        metavar="N",
        help="characters a line (42); Han counts twice",
    )
    add("--cue-lines", type=at_least(1), default=2, metavar="N", help="lines a cue (2)")
    add(
        "--reading-speed",
        type=at_least(0.1),
        default=20.0,
        metavar="N",
        help="characters a second (20)",
    )

    add = parser.add_argument_group("live speech").add_argument
    add("--live", action="store_true", help="read words from standard input as they come, and write each as soon as "
        "its mark is decided; an empty line ends an utterance")  # fmt: skip
    add("--look-ahead", type=at_least(0), default=4, metavar="N",
        help="words that must follow a word before it is written (4)")  # fmt: skip
    return parser


def at_least(least: float) -> Callable[[str], Any]:
    """What reads a number of this or more, of its own type."""

    def read(given: str) -> float:
        with contextlib.suppress(ValueError):
            if (number := type(least)(given)) >= least:
                return number
        raise argparse.ArgumentTypeError(
            f"Expected a number of {least} or more, got {given!r}. Give one."
        )

    return read


def _encoding(name: str) -> str:
    try:
        decode_bytes(b"", name)
    except FormatError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return name


def _keys(given: str) -> dict[str, str]:
    """The keys that hold a text, its times and its speaker, of `text=content,speaker=participant.name`."""
    pairs = [pair.partition("=")[::2] for pair in given.split(",")]
    if not all(field in FIELDS and key for field, key in pairs):
        raise argparse.ArgumentTypeError(
            f"Expected --keys such as text=content,start=from, of {', '.join(FIELDS)}, got {given!r}."
        )
    return dict(pairs)


def _mark_names(given: str) -> str | list[str]:
    """A set of marks by its name, or the names of labels."""
    names = re.findall(r"[^,\s]+", given)
    return names[0] if len(names) == 1 else names


def read_threshold(given: str) -> tuple[str, float]:
    """A mark's name and the probability from which it is written, of `NAME=P`."""
    name, _, number = given.partition("=")
    try:
        return name, float(number)
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"Expected --threshold NAME=PROBABILITY, got {given!r}."
        ) from error
