"""Round robin for the head: hot keys go to all workers in turn, others to the less loaded of two.

It is the load-oblivious baseline of Nasir et al. 2016, section III-B.

State: load, meta and sketch as in `head`.
"""

from __future__ import annotations

import numpy as np

from streamlb._jit import njit
from streamlb.groupings.base import shared_of, source_of, weight_of
from streamlb.groupings.head import NEXT, HeadGrouping, is_hot, registers_of, send_tail, sketch_of
from streamlb.sketches.space_saving import offer


@njit(cache=True, nogil=True, forceinline=True)
def _step(key, weight, load, meta, own, counters):
    counters.own.total += weight
    slot = offer(key, weight, counters)
    if not is_hot(max(slot, ~slot), counters, meta):
        return send_tail(key, weight, load, meta)
    worker = own[NEXT]
    own[NEXT] = worker + 1 if worker + 1 < load.size else 0
    load[worker] += weight
    return worker


@njit(cache=True, nogil=True)
def _route(key, source, weight, load, meta, sketch):
    source = source_of(source, load, meta)
    shared_of(meta).messages += 1
    own = registers_of(source, meta)
    counters = sketch_of(sketch[source], own, meta)
    return _step(np.uint64(key), weight, load[source], meta, own, counters)


@njit(cache=True, nogil=True)
def _route_many(keys, weights, source, load, meta, sketch, out):
    # Sources share nothing, so each one's messages are routed together: its sketch stays in the cache.
    stride = load.shape[0] if source < 0 else 1
    first = source_of(source, load, meta)
    shared_of(meta).messages += keys.size
    for start in range(min(stride, keys.size)):
        source = (first + start) % load.shape[0]
        own, own_load = registers_of(source, meta), load[source]
        counters = sketch_of(sketch[source], own, meta)
        for i in range(start, keys.size, stride):
            out[i] = _step(keys[i], weight_of(weights, i), own_load, meta, own, counters)


class RoundRobinHead(HeadGrouping):
    """Send hot keys round robin to all workers, other keys to the less loaded of their two (RR).

    The load-oblivious counterpart of `WChoices`, with the same memory: the head is balanced, the tail apart from it.

    Parameters
    ----------
    workers : int
        Number of workers.
    sources : int, default 1
        Number of sources, each with its own loads and sketch.
    theta : float, optional
        The share from which a key is hot, in (0, 1); 1 / (5 workers) by default.
    capacity : int, optional
        Counters in each source's sketch: at least 1 / theta; by default twice that, and no fewer than 1000.
    guard : bool, default True
        Call a key hot only when it was surely seen often enough, and at least 50 times; False as printed in the paper.
    candidates : {"distinct", "independent"}
        Whether the two workers of a key that is not hot always differ, or are hashed apart, as in the paper.
    ties : {"rotate", "first"}
        Where the sources begin their round: each at a worker of its own, or all at worker 0.
    seed : int, numpy.random.SeedSequence or None, default 0
        Of the hash functions and of where the sources begin.

    Examples
    --------
    >>> from streamlb import RoundRobinHead
    >>> grouping = RoundRobinHead(5)
    >>> workers = grouping.route_many(["a"] * 1000)  # the first 49 go to two workers, the rest round robin
    >>> len(set(workers[:49].tolist())), len(set(workers[49:].tolist()))
    (2, 5)
    """

    __slots__ = ()
    _route = staticmethod(_route)
    _route_many = staticmethod(_route_many)
