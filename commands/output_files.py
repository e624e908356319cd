"""Writes files so that none is ever half there: beside its place first, and renamed when it is complete.

It knows file systems, and nothing about what is written.
"""

import errno
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

UNFINISHED = ".part"
FULL_DISK = (errno.ENOSPC, errno.EDQUOT)


def write_whole(path: Path, content: bytes | Iterable[bytes], force: bool = False) -> None:
    """Write a file under its name only when all of it is on the disk. A device or a pipe is written to as it is.

    `content` may come in parts; where they stop with an error, nothing is left behind.

    Raises:
        FileExistsError: it exists, and `force` is not set.
        OSError: it cannot be written, for example because the disk is full; nothing is left behind.
    """
    parts = [content] if isinstance(content, bytes) else content
    if is_special(path):
        with path.open("wb") as file:
            file.writelines(parts)
        return
    path = path.resolve() if path.is_symlink() else path  # what it leads to is replaced, not the link
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path.parent)) from error
    handle, beside = tempfile.mkstemp(prefix=f".{path.name[:40]}.", suffix=UNFINISHED, dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(beside, _mode_of(path))
        if force:
            os.replace(beside, path)
        else:
            _rename_to_new(beside, path)
    finally:
        Path(beside).unlink(missing_ok=True)


def remove_unfinished(folder: Path) -> None:
    """Remove what programs that were killed have left behind. Only where nobody writes any more."""
    for path in folder.rglob(f".*{UNFINISHED}"):
        path.unlink(missing_ok=True)


def is_special(path: Path) -> bool:
    """Whether it is a device or a pipe, such as /dev/stdout: it must not be replaced by a file."""
    is_device = path.absolute().parts[:2] == ("/", "dev")  # /dev/stdout may lead to a file
    return path.exists() and not path.is_dir() and (is_device or not path.is_file())


def _rename_to_new(beside: str, path: Path) -> None:
    """A link fails where the name is taken, even by a program that was faster; a rename would replace it."""
    try:
        os.link(beside, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        if path.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path)) from None
        os.replace(beside, path)


def _mode_of(path: Path) -> int:
    """The mode of the file that is replaced, or what a new file would have."""
    try:
        return path.stat().st_mode & 0o7777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
