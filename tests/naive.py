"""The slow, obvious twin of every kernel: pure Python that imports nothing from streamlb.

One module a room; this one gathers them.
"""

# cluster
from naive_cluster import *  # noqa: F403

# unequal workers: random_choices, bounded_hash, pairing, capacity
from naive_consistent import *  # noqa: F403

# hashing, keys, rng, streams, count_min, cost_sketch, space_saving
from naive_core import *  # noqa: F403

# metrics, base, key, shuffle, partial_key, power_of_two, head, choices, w_choices, d_choices, round_robin_head
from naive_groupings import *  # noqa: F403

# placement, simulation/pipeline
from naive_placement import *  # noqa: F403

# naive_posg.py: POSG and its simulation; naive_scheduling.py: learner, greedy
from naive_posg import *  # noqa: F403
from naive_scheduling import *  # noqa: F403
