"""A folder of transcripts -> the same folder restored, one after another with one model.

    python -m examples.folder_of_transcripts [FOLDER] OUT [--model MODEL]

The same on the command line: punctuate FOLDER -o OUT
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from transformers import pipeline

import punctuation_restoration
from punctuation_restoration.transcripts import (
    FormatError,
    format_of_name,
    read_bytes,
    restore_file,
)

RECORDED = Path(__file__).parent / "inputs" / "meetings"


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=RECORDED)
    parser.add_argument("output", type=Path)
    parser.add_argument("--model", default=punctuation_restoration.DEFAULT_MODEL)
    args = parser.parse_args(argv)
    restore = pipeline("punctuation-restoration", model=args.model)
    for path in sorted(args.folder.rglob("*")):
        if not path.is_file() or format_of_name(path.name) is None:
            continue
        try:
            transcript, encoding = read_bytes(path.read_bytes(), name=str(path))
        except FormatError as error:
            print(f"left out: {error}")
            continue
        target = args.output / path.relative_to(args.folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(
            encoding.encode(restore_file(restore, transcript, keep_words=False).source())
        )
        print(f"{path.name}: {target.read_text(encoding=encoding.name).strip()[:70]}")


if __name__ == "__main__":
    main()
