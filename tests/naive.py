"""The slow, obvious twin of every kernel: pure Python that imports nothing from streamlb.

One module a room; this one gathers them.
"""
from naive_posg import *  # noqa: F403  (POSG and its simulation)
from naive_scheduling import *  # noqa: F403  (learner, greedy)
