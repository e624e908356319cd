"""Automatic captions of YouTube, without marks and with lines that scroll up -> the same file with marks, and its text.

    python -m examples.youtube_captions [CAPTIONS.vtt] [--model MODEL]

Every line stands in the file two or three times; it is read once, and each copy gets the same marks. The same on the
command line: punctuate captions.vtt -o captions.punctuated.vtt
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from transformers import pipeline

import punctuation_restoration
from punctuation_restoration.transcripts import read_bytes, restore_file, write_as

RECORDED = Path(__file__).parent / "inputs" / "youtube.vtt"


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", type=Path, default=RECORDED)
    parser.add_argument("--model", default=punctuation_restoration.DEFAULT_MODEL)
    args = parser.parse_args(argv)
    restore = pipeline("punctuation-restoration", model=args.model)
    transcript, _ = read_bytes(args.file.read_bytes(), name=args.file.name)
    restored = restore_file(restore, transcript)
    print(restored.source())
    print("The text, one sentence a line:\n")
    print(write_as(restored, "txt"), end="")


if __name__ == "__main__":
    main()
