"""The slow, obvious twin of every kernel: pure Python that imports nothing from streamlb.

One module a room; this one gathers them.
"""

# cluster
from naive_cluster import *  # noqa: F403

# unequal workers: random_choices, bounded_hash, pairing, capacity
from naive_consistent import *  # noqa: F403

# hashing, keys, rng, streams, count_min, cost_sketch, space_saving
from naive_core import *  # noqa: F403

# metrics and footprint (the same pairs), base, key, shuffle, partial_key, power_of_two, head, choices, w_choices, d_choices,
# round_robin_head
from naive_groupings import *  # noqa: F403

# placement: pipeline, refine; simulation: _pipeline
from naive_placement import *  # noqa: F403

# posg: protocol, _operator (naive_posg); learner, greedy (naive_scheduling); load_aware, baselines, goals (naive_shedding)
from naive_posg import *  # noqa: F403
from naive_scheduling import *  # noqa: F403
from naive_shedding import *  # noqa: F403
