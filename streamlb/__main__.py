"""Let `python -m streamlb` do what the command `streamlb` does."""

import sys

from streamlb.cli import main

if __name__ == "__main__":
    sys.exit(main())
