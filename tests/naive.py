"""The slow, obvious twin of every kernel: pure Python that imports nothing from streamlb.

One module a room; this one gathers them.
"""

from naive_shedding import *  # noqa
