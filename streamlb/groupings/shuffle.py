"""Shuffle grouping: each source sends round robin (Nasir et al. 2016, section II-B).

State: load int64[sources, workers]; meta int64[2 + sources], messages, seed and each source's next
worker.
"""

from __future__ import annotations

import numpy as np

from streamlb._jit import njit
from streamlb.groupings.base import Grouping, rest_of, shared_of, source_of, weight_of
from streamlb.hashing import derive


@njit(cache=True, nogil=True)
def _step(source, weight, load, turns):
    worker = turns[source]
    load[source, worker] += weight
    turns[source] = worker + 1 if worker + 1 < load.shape[1] else 0
    return worker


@njit(cache=True, nogil=True)
def _route(key, source, weight, load, meta):
    shared = shared_of(meta)
    source = source_of(source, load, meta)
    shared.messages += 1
    return _step(source, weight, load, rest_of(meta))


@njit(cache=True, nogil=True)
def _route_many(keys, weights, source, load, meta, out):
    shared, turns = shared_of(meta), rest_of(meta)
    turn = 1 if source < 0 else 0
    source = source_of(source, load, meta)
    shared.messages += keys.size
    for i in range(keys.size):
        out[i] = _step(source, weight_of(weights, i), load, turns)
        source += turn
        if source == load.shape[0]:
            source = 0


class ShuffleGrouping(Grouping):
    """Send messages to the workers in turn: perfect balance, and every key may be anywhere.

    Each source starts at a worker of its own, drawn from the seed, so that the sources do not sweep
    in step.

    Parameters
    ----------
    workers : int
        Number of workers.
    sources : int, default 1
        Number of sources.
    seed : int, numpy.random.SeedSequence or None, default 0
        The seed of the workers at which the sources start.

    Examples
    --------
    >>> from streamlb import ShuffleGrouping
    >>> grouping = ShuffleGrouping(3)
    >>> sorted(grouping.route("a") for _ in range(3))
    [0, 1, 2]
    """

    __slots__ = ()
    _route = staticmethod(_route)
    _route_many = staticmethod(_route_many)

    def _fresh(self):
        meta = self._fresh_meta(2 + self.sources)
        meta[2:] = derive(self.seed, self.sources) % np.uint64(self.workers)
        return np.zeros((self.sources, self.workers), np.int64), meta
