"""Key grouping: one worker for each key, by a hash (Nasir et al. 2016, section II-B).

State: load int64[sources, workers]; meta int64[2], messages and seed.
"""

from __future__ import annotations

import numpy as np

from streamlb._jit import njit
from streamlb.groupings.base import Grouping, shared_of, source_of, weight_of
from streamlb.hashing import BLOCK, family_of, first_candidate, key_hash


@njit(cache=True, nogil=True)
def _route(key, source, weight, load, meta):
    shared = shared_of(meta)
    source = source_of(source, load, meta)
    shared.messages += 1
    worker = first_candidate(key_hash(np.uint64(key), family_of(shared.seed)), load.shape[1])
    load[source, worker] += weight
    return worker


@njit(cache=True, nogil=True)
def _route_many(keys, weights, source, load, meta, out):
    shared = shared_of(meta)
    # Arithmetic first and counting after it: the first loop then runs on the vector units.
    family, workers = family_of(shared.seed), load.shape[1]
    turn = 1 if source < 0 else 0
    source = source_of(source, load, meta)
    shared.messages += keys.size
    for at in range(0, keys.size, BLOCK):
        part, found = keys[at : at + BLOCK], out[at : at + BLOCK]
        for i in range(np.uint64(part.size)):
            found[i] = first_candidate(key_hash(part[i], family), workers)
        for i in range(np.uint64(part.size)):
            load[source, np.uint32(found[i])] += weight_of(weights, at + i)
            source += turn
            if source == load.shape[0]:
                source = 0


class KeyGrouping(Grouping):
    """Send each key to the one worker that its hash names.

    No key is split, and the hottest key alone may overload its worker.

    Parameters
    ----------
    workers : int
        Number of workers.
    sources : int, default 1
        Number of sources.
    seed : int, numpy.random.SeedSequence or None, default 0
        The seed of the hash function.

    Examples
    --------
    >>> from streamlb import KeyGrouping
    >>> grouping = KeyGrouping(10)
    >>> grouping.route("user-17") == grouping.route("user-17")
    True
    >>> int(grouping.loads.sum())
    2
    """

    __slots__ = ()
    _route = staticmethod(_route)
    _route_many = staticmethod(_route_many)
