"""Which documents are kept from training, by the hash of their id: shares of all, and files of hashes for a benchmark.

Takes hashes, knows nothing about texts. Lines of a file are 16 hexadecimal digits each, as `hash_id` gives them; a line
that begins with # is a comment.
"""

from pathlib import Path

from punctuation_restoration.data.readers import numbered_lines


def split_of(document_hash: int, validation: float, test: float = 0.0) -> str:
    """`"validation"` and `"test"` for these shares of all hashes, otherwise `"train"`: the id alone decides.

    A share for test leaves the documents for validation as they are.
    """
    if document_hash < validation * 2.0**64:
        return "validation"
    return "test" if document_hash < (validation + test) * 2.0**64 else "train"


def read_hashes(path: str | None) -> frozenset[int]:
    """The hashes in a file; none without a file.

    Raises:
        ValueError: if the file is missing, or a line is no hash.
    """
    if path is None:
        return frozenset()
    if not Path(path).is_file():
        raise ValueError(f"Expected a file of hashes at {path}, found none. Check held_out in the recipe.")
    rows = ((number, line.strip()) for number, line in numbered_lines(Path(path)))
    return frozenset(_hash(line, f"{path}, line {number}") for number, line in rows if line and line[0] != "#")


def _hash(line: str, where: str) -> int:
    try:
        return int(line, 16)
    except ValueError as error:
        raise ValueError(f"Expected 16 hexadecimal digits in {where}, got {line!r:.60}. Write it again.") from error
