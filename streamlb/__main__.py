"""`python -m streamlb` is `streamlb`."""

import sys

from streamlb.cli import main

if __name__ == "__main__":
    sys.exit(main())
