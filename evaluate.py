"""Score a model on benchmarks or on your own files: `punctuation-restoration evaluate`."""

import sys

from punctuation_restoration.cli.commands import main

if __name__ == "__main__":
    raise SystemExit(main(["evaluate", *sys.argv[1:]]))
