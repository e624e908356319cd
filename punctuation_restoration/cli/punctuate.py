"""The command `punctuate`: transcripts in, transcripts with marks out.

    punctuate talk.srt -o talk.punctuated.srt
    punctuate meetings/ -o restored/
    echo "hello how are you" | punctuate

It composes reading, restoring and writing, and knows how each of them may fail.
"""

import errno
import functools
import os
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from tqdm import tqdm

from .. import transcripts
from ..transcripts import Encoding, FormatError, Transcript
from ..whole_files import FULL_DISK, write_whole
from .input_files import Job, plan_jobs
from .live import restore_live
from .models import ModelError, OptionError, first_line, load_pipeline
from .options import parse_args

DONE, FAILED, WRONG_USE = 0, 1, 2
MAX_WARNINGS = 3  # a file; subtitles may have hundreds of overlapping cues
# Gives the pipeline, loaded when it is first asked for: unreadable files are told before.
Load = Callable[[], Any]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    try:
        args = parse_args(argv)
        construction = {"backend": args.backend, "dtype": args.dtype, "jieba_dictionary": args.jieba_dictionary}
        load = functools.cache(lambda: load_pipeline(args.model, args.device, args.options, **construction))
        if args.live:
            encoding = args.encoding or "utf-8"
            restore_live(
                sys.stdin.buffer, lambda text: _write_out([text.encode(encoding)]), load(), args.look_ahead, encoding,
                args.options,
            )  # fmt: skip
            return DONE
        return _restore(args, load)
    except SystemExit as exit_:
        return int(exit_.code or DONE)
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
    except FormatError as error:
        say(_reason(error, "standard input"))
    return FAILED


def _restore(args: Namespace, load: Load) -> int:
    """Restore files, or --text, or standard input."""
    jobs, problems = plan_jobs(args)
    if jobs and jobs[0].source is None and args.text is None and sys.stdin.isatty() and not args.quiet:
        say("reading from the terminal; end with Ctrl-D")
    for name, problem in problems:
        say(f"{name}: {problem}")
    n_done, n_all = 0, len(jobs) + len(problems)
    try:
        for number, job in enumerate(jobs, start=1):
            is_done, goes_on = _restore_one(job, args, load, f"{number} of {len(jobs)}: ")
            n_done += is_done
            if not goes_on:
                break
    except KeyboardInterrupt:
        say(f"interrupted; {n_done} of {len(jobs)} files are done and kept")
        return FAILED
    if n_done < n_all > 1:
        say(f"{n_done} files done, {n_all - n_done} not")
    return FAILED if n_done < n_all else DONE


def _restore_one(job: Job, args: Namespace, load: Load, place: str) -> tuple[bool, bool]:
    """Whether it is done, and whether it makes sense to go on with others. `place` is that among the files."""
    at_fault = name = str(job.source or ("standard input" if args.text is None else "--text"))
    try:
        if args.text is not None:
            content, encoding = f"{args.text}\n".encode("utf-8", "surrogateescape"), "utf-8"
        else:
            content, encoding = job.source.read_bytes() if job.source else sys.stdin.buffer.read(), args.encoding
        file_format = args.format or (None if args.text is None else "txt")
        transcript, own = transcripts.read_bytes(content, file_format, name=name, encoding=encoding)
        n_more = len(transcript.warnings) - MAX_WARNINGS
        shown = transcript.warnings[:MAX_WARNINGS] + [f"and {n_more} warnings more"] * (n_more > 0)
        for warning in [] if args.quiet else shown:
            say(f"{name}: {warning}")
        n_characters = sum(len(speech.text) for speech in transcript.speeches)
        about: Any = {"desc": place + name[-40:], "unit": " characters", "unit_scale": True, "leave": False}
        with tqdm(total=n_characters, disable=args.quiet or None, **about) as bar:  # None: shown on a terminal
            parts = _restored(transcript, own, args, load, bar)
            at_fault = str(job.target or "standard output")
            if job.target is not None:
                write_whole(job.target, parts, args.force)
            else:
                _write_out(parts)
    except BrokenPipeError:
        raise
    except OSError as error:
        say(_reason(error, at_fault))
        return False, error.errno not in FULL_DISK
    except ValueError as error:
        say(_reason(error, name))
        return False, True
    return True, True


def _restored(transcript: Transcript, encoding: Encoding, args: Namespace, load: Load, bar: Any) -> Iterator[bytes]:
    """The output in parts: plain text as it is restored, everything else when all of it is."""
    new_format = args.to or (args.extension_format if args.extension_format != transcript.format else None)
    restore: Any = load() if transcript.speeches else None  # nothing is restored then
    options: dict[str, Any] = {"on_progress": lambda n: bar.update(n), **args.options}
    if new_format is None:
        return encoding.encode_parts(transcripts.restored_parts(transcript, restore, **options))
    written = transcripts.write_as(
        transcripts.restore_transcript(transcript, restore, **options), new_format, args.limits
    )
    if new_format != transcript.format:
        encoding = transcripts.encoding_of(new_format, encoding)
    elif "\r\n" in transcript.source:  # subtitles that get new cues keep their line ends
        written = written.replace("\n", "\r\n")
    return encoding.encode_parts([written])


def _write_out(parts: Iterable[bytes]) -> None:
    for part in parts:
        sys.stdout.buffer.write(part)
        sys.stdout.buffer.flush()


def say(message: str) -> None:
    """A message for people, on standard error."""
    print(f"punctuate: {message}", file=sys.stderr)


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


if __name__ == "__main__":
    sys.exit(main())
