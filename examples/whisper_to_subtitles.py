"""Whisper's JSON -> subtitles whose cues end with sentences.

    python -m examples.whisper_to_subtitles [WHISPER.json] [--model MODEL]

The same on the command line: punctuate talk.json -o talk.srt
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from transformers import pipeline

import punctuation_restoration
from punctuation_restoration.transcripts import CueLimits, read_bytes, restore_file, write_as

RECORDED = Path(__file__).parent / "inputs" / "whisper.json"


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", type=Path, default=RECORDED)
    parser.add_argument("--model", default=punctuation_restoration.DEFAULT_MODEL)
    args = parser.parse_args(argv)
    restore = pipeline("punctuation-restoration", model=args.model)
    transcript, _ = read_bytes(args.file.read_bytes(), name=args.file.name)
    restored = restore_file(restore, transcript)
    print(write_as(restored, "srt", CueLimits(line_width=42, n_lines=2)), end="")


if __name__ == "__main__":
    main()
