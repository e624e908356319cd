"""The options of `punctuate`, with their help texts. It knows typer, and nothing of transcripts."""

import codecs
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

import punctuation_restoration

from ..transcripts import FORMATS, WRITABLE

_FILES, _MARKS, _MODEL, _CUES, _LIVE = "Files and formats", "Marks", "Model", "Subtitles", "Live speech"

HELP = (
    "Put punctuation into transcripts: text, subtitles (SRT, WebVTT), recogniser JSON, word lists, CTM, TSV.\n\n"
    "Files keep their format, encoding, times, tags and layout; only marks are added. Nothing is overwritten without "
    "--force, and no file is ever left half-written.\n\n"
    "\b\n"
    "echo 'hello how are you' | punctuate\n"
    "punctuate talk.srt -o talk.punctuated.srt\n"
    "punctuate meetings/ -o restored/\n"
    "punctuate whisper.json -o new.srt\n"
    "recogniser | punctuate --live"
)
EXIT_CODES = (
    "Exit codes: 0 all done, 1 some files failed (the others are done), 2 wrong use, 3 no model, 130 interrupted "
    "(finished files are kept)."
)


def _option(panel: str, *names: str, text: str, metavar: str | None = None, **more: Any) -> typer.models.OptionInfo:
    return typer.Option(*names, help=text, metavar=metavar, rich_help_panel=panel, show_default=False, **more)


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        typer.echo(f"punctuate {punctuation_restoration.__version__}")
        raise typer.Exit


Files = Annotated[
    list[Path] | None,
    typer.Argument(metavar="FILES", help="Files and folders; standard input if there are none.", show_default=False),
]
Text = Annotated[str | None, _option(_FILES, "--text", text="Restore this text instead of files.", metavar="TEXT")]
Output = Annotated[
    Path | None,
    _option(
        _FILES, "--output", "-o", metavar="OUT",
        text="File, or folder for several files; the extension may choose another format. Default: standard output.",
    ),
]  # fmt: skip
Format = Annotated[
    str | None,
    _option(
        _FILES, "--format", text=f"Format of the input: {', '.join(FORMATS)}. Default: by extension.", metavar="NAME"
    ),
]
To = Annotated[
    str | None,
    _option(_FILES, "--to", text=f"Write another format: {', '.join(WRITABLE)}.", metavar="NAME"),
]
Json = Annotated[
    bool, _option(_FILES, "--json", text="Write JSON lines: text, words with labels and scores, sentences.")
]
Sentences = Annotated[bool, _option(_FILES, "--sentences", text="Write plain text with one sentence a line.")]
Field = Annotated[
    str | None, _option(_FILES, "--field", text="JSON key or TSV column that has the text.", metavar="NAME")
]
EncodingName = Annotated[
    str | None,
    _option(
        _FILES,
        "--encoding",
        metavar="NAME",
        text="Encoding of the input, if it is neither UTF-8 nor marked by its first bytes. The output has the same.",
    ),
]
Force = Annotated[bool, _option(_FILES, "--force", "-f", text="Overwrite files that exist.")]
SkipExisting = Annotated[
    bool, _option(_FILES, "--skip-existing", text="Leave out files that have their output already.")
]
Color = Annotated[
    bool, _option(_FILES, "--color", text="Show new marks in colour: green sure, yellow less so, red unsure.")
]
Quiet = Annotated[bool, _option(_FILES, "--quiet", "-q", text="No progress bar, no warnings.")]

Existing = Annotated[
    str | None,
    _option(_MARKS, "--existing", metavar="keep|condition|replace",
            text="Marks that the text has: keep them, show them to the model as well, or replace them."),
]  # fmt: skip
Marks = Annotated[
    str | None,
    _option(_MARKS, "--marks", text="Marks that may be written: all, sentence-ends, or labels such as COMMA,PERIOD.",
            metavar="NAMES"),
]  # fmt: skip
Threshold = Annotated[
    list[str] | None,
    _option(_MARKS, "--threshold", text="Probability from which a mark is written, such as COMMA=0.4; repeatable.",
            metavar="NAME=P"),
]  # fmt: skip
Truecase = Annotated[bool, _option(_MARKS, "--truecase", text="Give sentences their capitals.")]
Pause = Annotated[
    float | None,
    _option(_MARKS, "--pause", text="A pause from so many seconds on makes a mark likelier, where words have times.",
            metavar="SECONDS", min=0.01),
]  # fmt: skip

Model = Annotated[str | None, _option(_MODEL, "--model", "-m", text="Folder or Hub id.", metavar="MODEL")]
Device = Annotated[str | None, _option(_MODEL, "--device", text="cpu, cuda, cuda:1, mps.", metavar="NAME")]
Backend = Annotated[
    str | None,
    _option(_MODEL, "--backend", text="torch, onnx or onnx-int8; the last two need onnxruntime.", metavar="NAME"),
]
JiebaDictionary = Annotated[
    Path | None,
    _option(_MODEL, "--jieba-dictionary", text="User dictionary of jieba, with Mandarin words to add.", metavar="FILE",
            exists=True, dir_okay=False),
]  # fmt: skip
BatchSize = Annotated[
    int | None, _option(_MODEL, "--batch-size", text="Windows in one forward pass.", metavar="N", min=1)
]
Window = Annotated[
    int | None, _option(_MODEL, "--window", text="Words that the model reads at once.", metavar="N", min=1)
]
LeftContext = Annotated[
    int | None,
    _option(_MODEL, "--left-context", text="Words of a window read before those decided.", metavar="N", min=0),
]
RightContext = Annotated[
    int | None,
    _option(_MODEL, "--right-context", text="Words of a window read after those decided.", metavar="N", min=0),
]

Resegment = Annotated[
    bool, _option(_CUES, "--resegment", text="Cut subtitles anew, at sentence ends. Tags and positions are lost.")
]
LineWidth = Annotated[
    int, _option(_CUES, "--line-width", text="Characters a line, 42; Han characters count twice.", metavar="N", min=1)
]
Lines = Annotated[int, _option(_CUES, "--lines", text="Lines a cue, 2.", metavar="N", min=1)]
ReadingSpeed = Annotated[
    float, _option(_CUES, "--reading-speed", text="Characters a second, 20.", metavar="N", min=0.1)
]

Live = Annotated[
    bool,
    _option(_LIVE, "--live", text="Read words from standard input as they come, and write each as soon as its mark is "
            "decided. An empty line ends an utterance."),
]  # fmt: skip
LookAhead = Annotated[
    int,
    _option(_LIVE, "--look-ahead", text="Words that must follow a word before it is written, 4.", metavar="N", min=0),
]

Version = Annotated[
    bool, typer.Option("--version", help="Show the version and exit.", callback=_print_version, is_eager=True)
]


BACKENDS = ("torch", "onnx", "onnx-int8")


def checked_backend(name: str | None) -> str | None:
    """The backend, if there is one of that name."""
    if name is not None and name not in BACKENDS:
        raise typer.BadParameter(f"Expected --backend to be one of {', '.join(BACKENDS)}, got {name!r}.")
    return name


def checked_encoding(name: str | None) -> str | None:
    """The name of the encoding, if Python knows it."""
    try:
        codecs.lookup(name or "utf-8")
    except LookupError as error:
        raise typer.BadParameter(f"Expected --encoding such as utf-8 or gb18030, got {name!r}.") from error
    return name


def mark_names(marks: str | None) -> str | list[str] | None:
    """What `--marks` means to the pipeline."""
    if marks is None or marks in ("all", "sentence-ends"):
        return marks
    return [name.strip() for name in marks.split(",") if name.strip()]


def thresholds(given: Sequence[str] | None) -> dict[str, float] | None:
    """What `--threshold` means to the pipeline."""
    numbers: dict[str, float] = {}
    for pair in given or ():
        name, _, number = pair.partition("=")
        try:
            numbers[name] = float(number)
        except ValueError as error:
            raise typer.BadParameter(f"Expected --threshold NAME=PROBABILITY, got {pair!r}.") from error
    return numbers or None
