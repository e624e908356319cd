"""A meeting in three languages at once, one utterance a line -> the same JSON lines with marks of each script.

    python -m examples.code_switched_meeting [--model MODEL]

The same on the command line: punctuate meeting.jsonl
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from transformers import pipeline

import punctuation_restoration

RECORDED = Path(__file__).parent / "inputs" / "code_switching.jsonl"


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default=punctuation_restoration.DEFAULT_MODEL)
    args = parser.parse_args(argv)
    restore = pipeline("punctuation-restoration", model=args.model)
    utterances = [json.loads(line) for line in RECORDED.read_text(encoding="utf-8").splitlines()]
    for utterance, restored in zip(
        utterances, restore([u["text"] for u in utterances]), strict=True
    ):
        print(f"{utterance['speaker']}: {restored['text']}")


if __name__ == "__main__":
    main()
