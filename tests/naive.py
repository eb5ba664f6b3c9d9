"""The slow, obvious twin of every kernel: pure Python that imports nothing from streamlb.

One module a room; this one gathers them.
"""

# hashing, keys, rng, streams, count_min, cost_sketch, space_saving
from naive_core import *  # noqa: F403

# placement, simulation/pipeline
from naive_placement import *  # noqa: F403
