"""Files out of what was downloaded: single files, folders, and archives, also archives within archives.

Takes paths and says which names are wanted; gives names and contents. Writes nothing, knows nothing about formats.
"""

import io
import tarfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO
from zipfile import BadZipFile, ZipFile

TAR_SUFFIXES = (".tar", ".tar.gz", ".tgz")
Wanted = Callable[[str], bool]


def files_at(path: Path, wanted: Wanted) -> Iterator[tuple[str, bytes]]:
    """Name and content of every file that is wanted by its name, at a path or below it.

    Raises:
        ValueError: if there is nothing at the path, or an archive is damaged.
    """
    if not path.exists():
        raise ValueError(f"Expected a file, a folder or an archive at {path}, found none. Check the path.")
    for file in sorted(one for one in path.rglob("*") if one.is_file()) if path.is_dir() else [path]:
        try:
            with file.open("rb") as stream:
                yield from _wanted_in(stream, str(file), wanted)
        except (BadZipFile, tarfile.TarError, EOFError, zlib.error) as error:
            raise ValueError(f"Expected a whole archive in {file}, got: {error}. Download it again.") from error


def _wanted_in(stream: IO[bytes], name: str, wanted: Wanted) -> Iterator[tuple[str, bytes]]:
    if wanted(name):
        yield name, stream.read()
    elif name.endswith((".zip", *TAR_SUFFIXES)):
        for member, content in _members(stream, name.endswith(".zip"), wanted):
            yield from _wanted_in(io.BytesIO(content), f"{name}/{member}", wanted)


def _members(stream: IO[bytes], is_zip: bool, wanted: Wanted) -> Iterator[tuple[str, bytes]]:
    """The members of an archive that are wanted, or archives too. In memory: nothing is unpacked to the disk."""

    def matters(name: str) -> bool:
        return wanted(name) or name.endswith((".zip", *TAR_SUFFIXES))

    if is_zip:
        with ZipFile(stream) as archive:
            for name in filter(matters, archive.namelist()):
                yield name, archive.read(name)
        return
    with tarfile.open(fileobj=stream) as tar:
        for entry in tar:
            content = tar.extractfile(entry) if matters(entry.name) else None
            if content is not None:
                yield entry.name, content.read()
