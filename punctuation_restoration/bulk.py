"""`python -m punctuation_restoration.bulk IN OUT`: restore archives; see `commands/bulk.py`."""

import sys

from punctuation_restoration.commands.bulk import main

if __name__ == "__main__":
    sys.exit(main())
