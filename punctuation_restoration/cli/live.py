"""The command's option `--live`: words from standard input -> text with marks on standard output, word by word.

Takes bytes as another program writes them, however it cuts them. It knows nothing of files.
"""

import codecs
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, BinaryIO

from ..transcripts import FormatError
from .models import OptionError

_UTTERANCES = re.compile(r"(\n[ \t\r]*\n)")  # an empty line parts them


def restore_live(
    source: BinaryIO, write: Callable[[str], None], restore: Any, look_ahead: int, encoding: str,
    options: Mapping[str, Any],
) -> None:  # fmt: skip
    """Write what is committed as soon as it is; an empty line ends an utterance, and commits all that came before.

    `write` takes text that will not change any more; so many words as `look_ahead` says must follow it. `options` are
    keywords of the pipeline. Whatever ends it, all words before that are written.

    Raises:
        FormatError: the source is in another encoding.
        OptionError: an option that cannot work in a stream.
    """
    from ..pipeline.streamer import PunctuationStreamer

    try:
        streamer = PunctuationStreamer(restore, look_ahead, condition=bool(options.get("truecase")), **options)
    except ValueError as error:
        raise OptionError(str(error)) from error
    try:
        before = ""
        for text in _texts(source, encoding):
            if before.endswith("\n") and text.lstrip(" \t\r").startswith("\n"):  # an empty line cut in two
                write(streamer.flush().committed)
            before = text
            for n, part in enumerate(_UTTERANCES.split(text)):
                if part:
                    write(streamer.feed(part).committed)
                if n % 2:
                    write(streamer.flush().committed)
                streamer.forget()
    finally:
        write(streamer.flush().committed)


def _texts(source: BinaryIO, encoding: str) -> Iterator[str]:
    """Text as it comes; bytes of a character that is not complete wait for the rest."""
    read: Callable[[int], bytes] = getattr(source, "read1", source.read)
    n_before = 0
    try:
        for text in codecs.iterdecode(iter(lambda: read(1 << 16), b""), encoding):
            n_before += len(text)
            yield text
    except UnicodeDecodeError as error:
        before = error.object[: error.start].decode(error.encoding)  # read together with what is wrong
        yield before
        raise FormatError(
            f"Expected {encoding}, got other bytes after {n_before + len(before):,} characters: {error.reason}. Name "
            "the encoding (--encoding)."
        ) from error
