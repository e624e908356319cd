"""Train a model on prepared data, or on plain text of one language: `punctuation-restoration train`."""

import functools
import os
import sys

# evaluate.py beside us must not shadow the library `evaluate` for whoever imports it.
if sys.path and os.path.abspath(sys.path[0] or ".") == os.path.dirname(os.path.abspath(__file__)):
    sys.path.append(sys.path.pop(0))

from punctuation_restoration.cli.commands import run

main = functools.partial(run, "train")

if __name__ == "__main__":
    raise SystemExit(main())
