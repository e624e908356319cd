"""The command `punctuate`: transcripts in, transcripts with marks out.

    punctuate talk.srt -o talk.punctuated.srt
    punctuate meetings/ -o restored/
    echo "hello how are you" | punctuate

It composes reading, restoring and writing, and knows how each of them may fail.
"""

import errno
import itertools
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import typer

from ..transcripts import (
    FORMATS,
    PLAIN_FORMATS,
    UTF8,
    UTF8_ONLY,
    WRITABLE,
    CueLimits,
    Encoding,
    FormatError,
    Transcript,
    format_of_name,
    read_bytes,
    restore_transcript,
    restored_parts,
    write_as,
)
from ..whole_files import FULL_DISK, is_special, write_whole
from . import options as opt
from .input_files import Job, plan_jobs
from .live import restore_live
from .models import LazyRestorer, ModelError, OptionError, first_line
from .terminal import Reporter, legend, paint, reporting, say

DONE, SOME_FAILED, WRONG_USE, NO_MODEL, INTERRUPTED, READER_GONE = 0, 1, 2, 3, 130, 141
MAX_WARNINGS = 3  # a file; subtitles may have hundreds of overlapping cues

app = typer.Typer(add_completion=False, rich_markup_mode="rich", pretty_exceptions_enable=False)


@dataclass(frozen=True, slots=True)
class Settings:
    """What the user asked for, checked."""

    input_format: str | None = None
    output_format: str | None = None
    extension_format: str | None = None  # of the output's name: counts where the input is of another format
    text_field: str | None = None
    encoding: str | None = None
    limits: CueLimits | None = None
    resegment: bool = False  # whether subtitles get new cues
    color: bool = False
    force: bool = False
    quiet: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    try:
        app(args=list(sys.argv[1:] if argv is None else argv), prog_name="punctuate")
    except SystemExit as exit_:
        return exit_.code if isinstance(exit_.code, int) else int(exit_.code is not None)
    return DONE


@app.command(no_args_is_help=False, help=opt.HELP, epilog=opt.EXIT_CODES)
def punctuate(
    files: opt.Files = None,
    text: opt.Text = None,
    output: opt.Output = None,
    input_format: opt.Format = None,
    to: opt.To = None,
    json: opt.Json = False,
    sentences: opt.Sentences = False,
    field_name: opt.Field = None,
    encoding: opt.EncodingName = None,
    force: opt.Force = False,
    skip_existing: opt.SkipExisting = False,
    color: opt.Color = False,
    quiet: opt.Quiet = False,
    existing: opt.Existing = None,
    marks: opt.Marks = None,
    threshold: opt.Threshold = None,
    truecase: opt.Truecase = False,
    pause: opt.Pause = None,
    model: opt.Model = None,
    device: opt.Device = None,
    backend: opt.Backend = None,
    jieba_dictionary: opt.JiebaDictionary = None,
    batch_size: opt.BatchSize = None,
    window: opt.Window = None,
    left_context: opt.LeftContext = None,
    right_context: opt.RightContext = None,
    resegment: opt.Resegment = False,
    line_width: opt.LineWidth = 42,
    lines: opt.Lines = 2,
    reading_speed: opt.ReadingSpeed = 20.0,
    live: opt.Live = False,
    look_ahead: opt.LookAhead = 4,
    version: opt.Version = False,
) -> None:
    chosen = {
        "existing": existing, "marks": opt.mark_names(marks), "thresholds": opt.thresholds(threshold),
        "truecase": truecase or None, "pause": pause, "batch_size": batch_size,
        "window": window, "left_context": left_context, "right_context": right_context,
    }  # fmt: skip
    settings = Settings(
        _checked(input_format, FORMATS, "--format"), _output_format(to, json, sentences, output),
        _extension_format(output), field_name, opt.checked_encoding(encoding),
        CueLimits(line_width, lines, reading_speed), resegment, color, force, quiet,
        {name: value for name, value in chosen.items() if value is not None},
    )  # fmt: skip
    if text is not None and files:
        raise typer.BadParameter("Expected --text or FILES, got both.")
    if color and output is not None:
        raise typer.BadParameter("Expected --color for standard output only, got --output too.")
    dictionary = str(jieba_dictionary) if jieba_dictionary else None
    backend = opt.checked_backend(backend)
    restorer = LazyRestorer(model, device, settings.options, backend=backend, jieba_dictionary=dictionary)
    if live:
        if files or text is not None or output or input_format or settings.output_format or color or resegment:
            raise typer.BadParameter("Expected --live alone: standard input to standard output, got files or formats.")
        raise typer.Exit(_guarded(partial(_restore_live, settings, restorer, look_ahead)))
    if text is not None or not files or files == [Path("-")]:
        raise typer.Exit(_guarded(partial(_restore_stream, settings, restorer, text, output)))
    raise typer.Exit(_guarded(partial(_restore_files, settings, restorer, files, output, skip_existing)))


def _guarded(restore: Callable[[], int]) -> int:
    """Run it; what concerns all files alike becomes a message and an exit code here."""
    try:
        return restore()
    except OptionError as error:
        raise typer.BadParameter(str(error)) from error
    except ModelError as error:
        say(str(error))
        return NO_MODEL
    except BrokenPipeError:
        # What reads our output has closed it, as `head` does; Python must not complain once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return READER_GONE


def _restore_live(settings: Settings, restorer: LazyRestorer, look_ahead: int) -> int:
    def write(text: str) -> None:
        sys.stdout.buffer.write(text.encode(settings.encoding or "utf-8"))
        sys.stdout.buffer.flush()

    try:
        restore_live(
            sys.stdin.buffer, write, restorer.open(), look_ahead, settings.encoding or "utf-8", settings.options
        )
    except KeyboardInterrupt:
        return INTERRUPTED
    except FormatError as error:
        say(_reason(error, "standard input"))
        return SOME_FAILED
    return DONE


def _restore_stream(settings: Settings, restorer: LazyRestorer, text: str | None, output: Path | None) -> int:
    """Restore --text or standard input; their encoding is UTF-8 unless it is marked or named."""
    name = None if text is not None else "standard input"
    _refuse_existing([output], settings)
    if text is not None:
        settings = replace(settings, encoding="utf-8")
    if text is None and sys.stdin.isatty() and not settings.quiet:
        say("reading from the terminal; end with Ctrl-D")
    wanted = settings.input_format or ("txt" if text is not None else None)
    try:
        content = text.encode("utf-8", "surrogateescape") if text is not None else sys.stdin.buffer.read()
        with reporting(1, settings.quiet) as reporter:
            transcript, encoding = _read(content, name, wanted, settings)
            reporter.begin(name or "", _length(transcript))
            parts = _restored(transcript, encoding, settings, restorer, reporter)
            end = b"\n" if text is not None and _format_to_write(transcript, settings) is None else b""
            _put_out(parts, output, settings, end)
    except KeyboardInterrupt:
        say("interrupted; nothing was written" if output is not None else "interrupted; the output is not complete")
        return INTERRUPTED
    except (FormatError, ValueError, OSError) as error:
        if isinstance(error, BrokenPipeError | OptionError):
            raise
        say(_reason(error, name or "--text"))
        return SOME_FAILED
    return DONE


def _restore_files(
    settings: Settings, restorer: LazyRestorer, files: list[Path], output: Path | None, skip: bool
) -> int:
    suffix = f".{settings.output_format}" if settings.output_format else None
    try:
        plan = plan_jobs(files, output, suffix)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    jobs = [job for job in plan.jobs if not (skip and job.target is not None and job.target.exists())]
    if not skip:
        _refuse_existing([job.target for job in jobs], settings)
    for name, problem in plan.problems:
        say(f"{name}: {problem}")
    n_done, n_failed = 0, len(plan.problems)
    try:
        with reporting(len(jobs), settings.quiet) as reporter:
            for job in jobs:
                is_done, goes_on = _restore_file(job, settings, restorer, reporter)
                n_done, n_failed = n_done + is_done, n_failed + (not is_done)
                reporter.finish()
                if not goes_on:
                    break
    except KeyboardInterrupt:
        say(f"interrupted; {n_done} of {len(jobs)} files are done and kept")
        return INTERRUPTED
    if n_failed and len(jobs) + len(plan.problems) > 1:
        say(f"{n_done} files done, {len(jobs) + len(plan.problems) - n_done} not")
    return SOME_FAILED if n_failed else DONE


def _restore_file(job: Job, settings: Settings, restorer: LazyRestorer, reporter: Reporter) -> tuple[bool, bool]:
    """Whether the file is done, and whether it makes sense to go on with others."""
    at_fault = job.source
    try:
        transcript, encoding = _read(job.source.read_bytes(), str(job.source), settings.input_format, settings)
        reporter.begin(str(job.source), _length(transcript))
        parts = _restored(transcript, encoding, settings, restorer, reporter)
        at_fault = job.target or Path("standard output")
        _put_out(parts, job.target, settings)
    except BrokenPipeError:
        raise
    except OSError as error:
        say(_reason(error, str(at_fault)))
        return False, error.errno not in FULL_DISK
    except OptionError:
        raise
    except ValueError as error:
        say(_reason(error, str(job.source)))
        return False, True
    return True, True


def _length(transcript: Transcript) -> int:
    return sum(len(speech.text) for speech in transcript.speeches)


def _read(
    content: bytes, name: str | None, input_format: str | None, settings: Settings
) -> tuple[Transcript, Encoding]:
    transcript, encoding = read_bytes(
        content, input_format, name=name, encoding=settings.encoding, field=settings.text_field
    )
    _warn(transcript, name, settings)
    return transcript, encoding


def _restored(
    transcript: Transcript, encoding: Encoding, settings: Settings, restorer: LazyRestorer, reporter: Reporter
) -> Iterator[bytes]:
    """The output in parts: plain text as it is restored, everything else when all of it is."""
    new_format = _format_to_write(transcript, settings)
    is_plain = transcript.format in PLAIN_FORMATS and new_format is None and not settings.color
    restore = restored_parts if is_plain else restore_transcript
    more = {} if is_plain else {"keep_words": new_format is not None}
    result: Any = restore(transcript, restorer, on_progress=reporter.advance, **more, **settings.options)
    if is_plain:
        return encoding.encode_parts(result)
    if new_format in UTF8_ONLY and new_format != transcript.format:
        encoding = UTF8
    if new_format is not None:
        written = write_as(result, new_format, settings.limits)
        # Subtitles that get new cues keep their line ends.
        is_windows = new_format == transcript.format and "\r\n" in transcript.source
        return encoding.encode_parts([written.replace("\n", "\r\n") if is_windows else written])
    return encoding.encode_parts([result.source(paint if settings.color else None)])


def _put_out(parts: Iterator[bytes], target: Path | None, settings: Settings, end: bytes = b"") -> None:
    if settings.color:
        typer.echo(legend(), err=True)
    if target is not None:
        write_whole(target, itertools.chain(parts, [end]), settings.force)
        return
    for part in itertools.chain(parts, [end]):
        sys.stdout.buffer.write(part)
        sys.stdout.buffer.flush()


def _format_to_write(transcript: Transcript, settings: Settings) -> str | None:
    """The format in which the file is written anew; None: it is edited in place."""
    own = "txt" if transcript.format == "lines" else transcript.format
    if settings.output_format is not None:
        return settings.output_format
    if settings.extension_format not in (None, own):
        return settings.extension_format
    return own if settings.resegment and own in ("srt", "vtt") else None


def _warn(transcript: Transcript, name: str | None, settings: Settings) -> None:
    if settings.quiet:
        return
    for warning in transcript.warnings[:MAX_WARNINGS]:
        say(f"{name or '--text'}: {warning}")
    if len(transcript.warnings) > MAX_WARNINGS:
        say(f"{name or '--text'}: and {len(transcript.warnings) - MAX_WARNINGS} warnings more")


def _reason(error: Exception, name: str) -> str:
    """One line: where, what was wrong, and what to do."""
    if isinstance(error, FormatError) and error.path is not None:
        return str(error)
    if isinstance(error, FileExistsError):
        return f"{error.filename}: it exists; use --force to overwrite it"
    if isinstance(error, OSError):
        kept = "; nothing was written for it, finished files are kept" if error.errno in FULL_DISK else ""
        return f"{name}: {os.strerror(error.errno or errno.EIO).lower()}{kept}"
    return f"{name}: {first_line(error)}"


def _refuse_existing(targets: Sequence[Path | None], settings: Settings) -> None:
    existing = [target for target in targets if target is not None and target.exists() and not is_special(target)]
    if existing and not settings.force:
        more = f" and {len(existing) - 1} more" if len(existing) > 1 else ""
        raise typer.BadParameter(
            f"Expected new files, got {existing[0]}{more}, which exist. Use --force to overwrite, or --skip-existing."
        )


def _checked(name: str | None, known: Sequence[str], option: str) -> str | None:
    if name is not None and name not in known:
        raise typer.BadParameter(f"Expected {option} to be one of {', '.join(known)}, got {name!r}.")
    return name


def _output_format(to: str | None, json: bool, sentences: bool, output: Path | None) -> str | None:
    """The format that an option asks for, None if none does."""
    if (to is not None) + json + sentences > 1:
        raise typer.BadParameter("Expected one of --to, --json and --sentences, got several.")
    if to is not None:
        return _checked(to, WRITABLE, "--to")
    if json:
        return "json" if output is not None and output.suffix == ".json" else "jsonl"
    return "txt" if sentences else None


def _extension_format(output: Path | None) -> str | None:
    """The format that the name of an output file stands for; None for folders and other names."""
    if output is None or output.is_dir():
        return None
    named = format_of_name(output.name)
    return named if named in WRITABLE else None


if __name__ == "__main__":
    sys.exit(main())
