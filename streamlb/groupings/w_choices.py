"""W-Choices: hot keys go to the least loaded of all workers, the others to the less loaded of two (Nasir et al. 2016, section III-B).

State: load, meta and sketch as in `head`.
"""

from __future__ import annotations

import numpy as np

from streamlb._jit import njit
from streamlb.groupings.base import shared_of, source_of, weight_of
from streamlb.groupings.head import HeadGrouping, is_hot, least_worker, registers_of, send_tail, sketch_of
from streamlb.sketches.space_saving import offer


@njit(cache=True, nogil=True, forceinline=True)
def _step(key, weight, load, meta, own, counters):
    counters.own.total += weight
    slot = offer(key, weight, counters)
    if not is_hot(max(slot, ~slot), counters, meta):
        return send_tail(key, weight, load, meta)
    worker = least_worker(load, meta, own)
    load[np.uint64(worker)] += weight
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


class WChoices(HeadGrouping):
    """Send hot keys to the least loaded of all workers, other keys to the less loaded of their two (W-Choices).

    The best balance of all groupings that keep keys together; a hot key's state ends up on every worker.

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
        Which of equally loaded workers a hot key takes: the next in its source's turn, or the first.
    seed : int, numpy.random.SeedSequence or None, default 0
        Of the hash functions and of the sources' turns.

    Examples
    --------
    >>> from streamlb import WChoices, Zipf
    >>> grouping = WChoices(50)
    >>> workers = grouping.route_many(Zipf(10_000, 1.4).draw(100_000, seed=1))
    >>> int(grouping.loads.max() - grouping.loads.min()) <= 2
    True
    >>> keys, shares = grouping.head()
    >>> int(keys[0])
    0
    """

    __slots__ = ()
    _route = staticmethod(_route)
    _route_many = staticmethod(_route_many)
