"""The slow, obvious twin of every kernel: pure Python that imports nothing from streamlb.

One module a room; this one gathers them.
"""

# hashing, keys, rng, streams, count_min, cost_sketch, space_saving
from naive_core import *  # noqa: F403

# placement, simulation/pipeline
from naive_placement import *  # noqa: F403

# naive_posg.py: POSG and its simulation; naive_scheduling.py: learner, greedy
from naive_posg import *  # noqa: F403
from naive_scheduling import *  # noqa: F403
from naive_shedding import *  # noqa: F403
