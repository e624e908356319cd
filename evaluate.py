"""Score a model on benchmarks or on your own files: see `punctuation_restoration/cli/evaluate.py`."""

from punctuation_restoration.cli.evaluate import main

if __name__ == "__main__":
    raise SystemExit(main())
