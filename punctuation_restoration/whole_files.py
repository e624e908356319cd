"""Writes files and folders whole or not at all: beside their place first, and renamed when complete."""

import errno
import glob
import os
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

FULL_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_REPLACED = " replaced"  # the old content of a folder, until the new one is in its place


@contextmanager
def written_whole(place: Path, replace: bool = True, like: Path | None = None) -> Iterator[Path]:
    """A path at which to write a file or folder; it is moved to `place` once it is on the disk, or removed on an error.

    Args:
        place: where the file or folder belongs; a link is followed, and missing parent folders are made.
        replace: whether what is there may be replaced. A file keeps its mode; a folder is replaced with its content.
        like: a file; who may not read or write it may not read or write the new one either.

    Raises:
        FileExistsError: something is at `place`, and `replace` is False.
        OSError: it cannot be written, for example because the disk is full.
    """
    place = place.resolve() if place.is_symlink() else place
    if not place.parent.exists():  # of a file there `mkdir` would say that it exists
        place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(
        prefix=f".{place.name[:40]}.", suffix=".part", dir=place.parent
    ) as beside:
        whole = Path(beside) / place.name
        try:
            yield whole
        except Exception as error:
            if getattr(error, "filename", None) is None:  # torch and safetensors do not name it
                error.filename = str(place)  # type: ignore[attr-defined]
            raise
        for path in filter(Path.is_file, [whole, *whole.rglob("*")]):
            # Windows syncs only what may be written.
            with path.open("r+b" if os.name == "nt" else "rb") as file:
                os.fsync(file.fileno())
        if whole.is_file() and place.is_file():
            shutil.copymode(place, whole)
        if like and like.is_file():  # a pipe's mode says nothing
            whole.chmod(whole.stat().st_mode & (like.stat().st_mode | stat.S_IRWXU))
        if place.exists() and not replace:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(place))
        replaced = Path(beside) / _REPLACED
        if place.exists() and whole.is_dir():
            place.rename(replaced)
        try:
            whole.replace(place)
        except BaseException:  # a file in it is open on Windows, or Ctrl-C
            if replaced.exists() and not place.exists():
                replaced.rename(place)
            raise


def write_whole(
    path: Path, content: bytes | Iterable[bytes], force: bool = False, like: Path | None = None
) -> None:
    """Write a file as `written_whole` does. A device or a pipe is written to directly."""
    place = nullcontext(path) if is_special(path) else written_whole(path, force, like)
    with place as beside, beside.open("wb") as file:
        file.writelines([content] if isinstance(content, bytes) else content)


def remove_unfinished(folder: Path, name: str = "") -> None:
    """Remove what killed programs left in a folder for one name, or below it for all. Nobody may be writing there.

    A folder whose old content was moved away already takes its place.
    """
    for path in list(
        folder.glob(f".{glob.escape(name[:40])}.*.part") if name else folder.rglob(".*.part")
    ):
        for whole in path.iterdir() if (path / _REPLACED).exists() else ():
            if whole.name != _REPLACED and not (path.parent / whole.name).exists():
                whole.rename(path.parent / whole.name)
        shutil.rmtree(path, ignore_errors=True)


def is_special(path: Path) -> bool:
    """Whether it is a device or a pipe, such as /dev/stdout: it must not be replaced by a file."""
    is_device = path.absolute().parts[:2] == ("/", "dev")  # /dev/stdout may lead to a file
    return path.exists() and not path.is_dir() and (is_device or not path.is_file())
