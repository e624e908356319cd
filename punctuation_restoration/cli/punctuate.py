"""The command `punctuate`: transcripts in, transcripts with marks out; `HELP` in `options.py` has examples.

It composes reading, restoring and writing, and knows how each of them may fail.
"""

import codecs
import errno
import functools
import itertools
import os
import re
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tqdm import tqdm

from .. import transcripts
from ..loading import ModelError, OptionError, gist, load_pipeline
from ..transcripts import Encoding, FormatError, Transcript
from ..whole_files import FULL_DISK, is_special, write_whole
from .options import parse_args

DONE, FAILED, WRONG_USE = 0, 1, 2
# What the pipeline is made with; `args.options` are those of its calls.
CONSTRUCTION = ("backend", "dtype", "jieba_dictionary", "trust_remote_code")
_EMPTY_LINE, _LINE_END = re.compile(r"(\n[ \t\r]*\n)"), re.compile(r"(\n)")
_JSON_HEAD = re.compile(r"\ufeff?\s*\{\s*\"")
MAX_WARNINGS = 3  # a file; subtitles may have hundreds of overlapping cues
# Gives the pipeline, loaded when it is first asked for: unreadable files are told before.
Load = Callable[[], Any]


class Job(NamedTuple):
    """What is restored, and where the result goes: None for standard input (or `--text`) and standard output."""

    source: Path | None
    target: Path | None

    def is_done(self) -> bool:
        """Whether the result is there; a device may be written to again."""
        target = self.target
        return target is not None and target.exists() and not is_special(target)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code. A command line that cannot be read ends with 2, `--help` with 0."""
    try:
        args = parse_args(argv)
        construction = {name: getattr(args, name) for name in CONSTRUCTION}
        load = functools.cache(
            lambda: load_pipeline(args.model, args.device, args.options, **construction)
        )
        return _restore_live(args, load) if args.live else _restore(args, load)
    except OptionError as error:
        say(f"{error} See punctuate --help.")
        return WRONG_USE
    except KeyboardInterrupt:
        return FAILED
    except BrokenPipeError:
        # What reads our output has closed it, as `head` does; Python must not complain once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except ModelError as error:
        say(str(error))
    except (OSError, UnicodeEncodeError, FormatError) as error:
        say(_reason(error, f"standard {'input' if isinstance(error, FormatError) else 'output'}"))
    return FAILED


def _restore(args: Namespace, load: Load) -> int:
    jobs, problems = _planned(args)
    for problem in problems:
        say(problem)
    n_done, n_all = 0, len(jobs) + len(problems)
    try:
        for number, job in enumerate(jobs, start=1):
            error = _restore_one(job, args, load, f"{number} of {len(jobs)}: ")
            n_done += error is None
            if getattr(error, "errno", None) in FULL_DISK:
                break
    except KeyboardInterrupt:
        say(f"interrupted; {n_done} of {len(jobs)} files are done and kept")
        return FAILED
    if n_done < n_all > 1:
        say(f"{n_done} files done, {n_all - n_done} not")
    return FAILED if n_done < n_all else DONE


def _planned(args: Namespace) -> tuple[list[Job], list[str]]:
    """Pair every input of the command line with its target; gives what is to be done, and what cannot be, and why."""
    problems: list[str] = []
    jobs = [Job(file, args.output) for file in args.files or [None]]
    if args.into_folder:
        sources: dict[Path, Path] = {}  # by target
        for path in args.files:
            is_folder = path.is_dir()
            for file in _files_below(path, args.output, problems) if is_folder else [path]:
                target = args.output / file.relative_to(path if is_folder else path.parent)
                target = target.with_suffix(f".{args.to}") if args.to else target
                if (other := sources.setdefault(target, file)) != file:
                    raise OptionError(
                        f"Expected a place for every file, got {target} for both {other} and {file}. "
                        "Restore them into separate folders."
                    )
        jobs = [Job(file, target) for target, file in sources.items()]
    existing = [job.target for job in jobs if job.is_done()]
    if args.skip_existing:
        jobs = [job for job in jobs if not job.is_done()]
    elif existing and not args.force:
        more = f" and {len(existing) - 1} more" if len(existing) > 1 else ""
        raise OptionError(
            f"Expected new files, got {existing[0]}{more}, which exist. Use --force to overwrite, or --skip-existing."
        )
    return jobs, problems


def _files_below(folder: Path, output: Path, problems: list[str]) -> list[Path]:
    """The files of known formats in a folder and its sub-folders, in order of their names.

    Hidden ones, and the output folder itself, are left out. What cannot be read goes to the problems.
    """
    found: list[Path] = []
    excluded = output.resolve()

    def note(error: OSError) -> None:
        problems.append(_reason(error, error.filename))

    for parent, folders, names in os.walk(folder, onerror=note):
        folders[:] = [
            name
            for name in sorted(folders)
            if name[0] != "." and Path(parent, name).resolve() != excluded
        ]
        found += [
            Path(parent, name)
            for name in sorted(names)
            if name[0] != "." and transcripts.format_of_name(name)
        ]
    if not found:
        problems.append(
            f"{folder}: no file in it has a known extension; use --format on single files"
        )
    return found


def _restore_one(
    job: Job, args: Namespace, load: Load, position: str
) -> OSError | ValueError | None:
    """Restore one file, or say why it cannot be; gives that error. `position` is that among the files."""
    at_fault = name = str(job.source or ("standard input" if args.text is None else "--text"))
    try:
        if args.text is not None:
            content = f"{args.text}\n".encode("utf-8", "surrogateescape")
        elif job.source:
            content = job.source.read_bytes()
        else:
            if sys.stdin.isatty() and not args.quiet:
                say("reading from the terminal; end with Ctrl-D")
            content = sys.stdin.buffer.read()
        transcript, encoding = transcripts.read_bytes(
            content, args.format, name=name, encoding=args.encoding, keys=args.keys
        )
        for speech in transcript.speeches if args.lines and transcript.format == "txt" else ():
            speech.part_lines()
        warnings = [] if args.quiet else transcript.warnings
        for warning in warnings[:MAX_WARNINGS]:
            say(f"{name}: {warning}")
        if len(warnings) > MAX_WARNINGS:
            say(f"{name}: and {len(warnings) - MAX_WARNINGS} warnings more")
        with (
            tqdm(
                total=sum(len(speech.text) for speech in transcript.speeches),
                disable=args.quiet or None,  # None: shown on a terminal
                desc=position + name[-40:],
                unit=" characters",
                unit_scale=True,
                leave=False,
            ) as bar
        ):
            parts = _restored(job, transcript, encoding, args, load, bar)
            at_fault = str(job.target or "standard output")
            if job.target is None:
                _write_out(parts)
            else:
                write_whole(job.target, parts, args.force, like=job.source)
    except BrokenPipeError:
        raise
    except (OSError, ValueError) as error:
        say(_reason(error, at_fault if isinstance(error, OSError) else name))
        return error
    return None


def _restored(
    job: Job, transcript: Transcript, encoding: Encoding, args: Namespace, load: Load, bar: Any
) -> Iterator[bytes]:
    """The output in parts: plain text as it is restored, everything else when all of it is."""
    # The extension of the output counts if the input has another one; a text may hold subtitles, and stays what it is.
    source_format, target_format = (transcripts.format_of_name(str(path)) for path in job)
    is_other = target_format not in (source_format, transcript.format)
    new_format = args.to or (target_format if is_other else None)
    restore = load() if transcript.speeches else None  # nothing is restored then
    options = {"on_progress": bar.update, **args.options}
    if new_format is None:
        return encoding.encode_parts(transcripts.restored_parts(restore, transcript, **options))
    done = transcripts.restore_file(restore, transcript, **options)
    written = transcripts.write_as(done, new_format, args.limits)
    if new_format != transcript.format:
        encoding = transcripts.encoding_of(new_format, encoding)
    elif "\r\n" in transcript.source:  # subtitles that get new cues keep their line ends
        written = written.replace("\n", "\r\n")
    return encoding.encode_parts([written])


def _restore_live(args: Namespace, load: Load) -> int:
    """Write words from standard input as soon as their marks are decided; an empty line ends an utterance."""
    import torch

    from ..pipeline.streamer import PunctuationStreamer

    # A recogniser keeps the other cores busy, and threads of torch wait for each other.
    torch.set_num_threads(1)
    encoding = args.encoding or "utf-8"
    streamer = PunctuationStreamer(load(), args.look_ahead, **args.options)
    encoder = codecs.getincrementalencoder(encoding)()  # writes a byte order mark once

    def write(step: Any) -> None:
        if step.committed:
            _write_out([encoder.encode(step.committed)])

    try:
        for text, is_over in _utterances(_heard(encoding), args):
            if text:
                write(streamer.feed(text))
            if is_over:
                write(streamer.flush())
            streamer.committed = ""  # it is written
    finally:  # whatever ends it, all words that came before are written
        write(streamer.flush())
    return DONE


def _utterances(texts: Iterator[str], args: Namespace) -> Iterator[tuple[str, bool]]:
    """Text as it comes, and whether an utterance ends there: at an empty line, or at each line, or value of JSON.

    A value of JSON that cannot be read is told, and left out; a `FormatError` at the end counts these.
    """
    head = ""
    for text in texts:
        head += text
        if head.strip("\ufeff \t\r\n{"):  # else it is not known yet whether it is JSON
            break
    texts = itertools.chain([head], texts)
    if _JSON_HEAD.match(head):
        n_left_out = 0
        for value in filter(str.strip, _values_of_json(texts)):
            try:
                speeches = transcripts.read_source(value, "json", args.keys).speeches
            except FormatError as error:
                say(f"{error.problem} Left out: {value!r:.60}")
                n_left_out += 1
                continue
            for speech in speeches:
                if text := speech.text.strip():
                    yield text + "\n", not speech.goes_on
        if n_left_out:
            raise FormatError(
                f"Expected JSON that can be read, left out {n_left_out} of its values."
            )
        return
    before = ""
    for text in texts:
        if before.endswith("\n") and text.lstrip(" \t\r").startswith("\n"):
            yield "", True  # an empty line cut in two
        before = text.rstrip(" \t\r") or before
        parts = (_LINE_END if args.lines else _EMPTY_LINE).split(text)
        yield from ((part, n % 2 == 1) for n, part in enumerate(parts))


def _values_of_json(texts: Iterable[str]) -> Iterator[str]:
    """The values of JSON, each of which begins a line, between them perhaps empty ones.

    Each line is looked at once: a long value that comes in many parts takes no longer for it.
    """
    waiting = value = ""
    for text in texts:
        *lines, waiting = (waiting + text).split("\n")
        for line in lines:
            if line.startswith("{"):  # the one before may be broken
                yield value
                value = ""
            value += line + "\n"
            if line.startswith(("{", "}")) and line.rstrip().endswith("}"):
                yield value
                value = ""
    yield value + waiting


def _heard(encoding: str) -> Iterator[str]:
    """Standard input as text as it comes; bytes of a character that is not complete wait for the rest."""
    standard_input: Any = sys.stdin.buffer
    try:
        yield from codecs.iterdecode(iter(lambda: standard_input.read1(1 << 16), b""), encoding)
    except UnicodeDecodeError as error:
        yield error.object[: error.start].decode(error.encoding)  # read with the wrong byte
        raise FormatError(
            f"Expected {encoding}, got other bytes: {error.reason}. Name the encoding (--encoding)."
        ) from error


def _write_out(parts: Iterable[bytes]) -> None:
    for part in parts:
        sys.stdout.buffer.write(part)
        sys.stdout.buffer.flush()


def say(message: str) -> None:
    """A message for people, on standard error."""
    print(f"punctuate: {message}", file=sys.stderr)


def _reason(error: Exception, name: str) -> str:
    """One line: where, what was wrong, and what to do."""
    if isinstance(error, FormatError):
        error.path = name
        return str(error)
    if isinstance(error, FileExistsError):
        return f"{error.filename}: it exists; use --force to overwrite it"
    problem = gist(error)
    if isinstance(error, OSError):
        problem = os.strerror(error.errno or errno.EIO).lower()
        if error.errno in FULL_DISK:
            problem += "; nothing was written for it, finished files are kept"
    return f"{name}: {problem}"


if __name__ == "__main__":
    sys.exit(main())
