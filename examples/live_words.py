"""Words as a live recogniser gives them -> text that grows, with a tail that may still change.

    python -m examples.live_words [--look-ahead 4] [--model MODEL]

Each line shows what is committed, and after the bar what is not.
"""

import argparse
from collections.abc import Sequence

from transformers import pipeline

import punctuation_restoration
from punctuation_restoration import PunctuationStreamer

SPOKEN = (
    "good morning everyone thank you for joining today we will look at the budget first and then at the plan for june "
    "do you have any questions before we start"
)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--look-ahead", type=int, default=4, help="words that must follow a word before it is final"
    )
    parser.add_argument("--model", default=punctuation_restoration.DEFAULT_MODEL)
    args = parser.parse_args(argv)
    restore = pipeline("punctuation-restoration", model=args.model)
    streamer = PunctuationStreamer(restore, look_ahead=args.look_ahead)
    for word in SPOKEN.split():
        step = streamer.feed_words([word])
        print(f"{streamer.committed[-60:]:>60} |{step.tail}")
    streamer.flush()
    print(streamer.committed)


if __name__ == "__main__":
    main()
