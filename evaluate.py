"""Score a model on benchmarks or on your own files: `punctuation-restoration evaluate`."""

import functools

from punctuation_restoration.cli.commands import run

main = functools.partial(run, "evaluate")

if __name__ == "__main__":
    raise SystemExit(main())
