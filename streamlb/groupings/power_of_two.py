"""The power of two choices: the less loaded of two workers drawn afresh for each message.

It is a baseline of Nasir et al. 2016 and Nasir et al. 2017.

State: load int64[sources, workers]; meta int64[2], messages and seed. Draw i gives message i's two
workers.
"""

from __future__ import annotations

import numpy as np

from streamlb._jit import njit
from streamlb.groupings.base import Grouping, send_to_lesser, shared_of, source_of, weight_of
from streamlb.hashing import fast_range
from streamlb.rng import random_bits

_S32 = np.uint64(32)


@njit(cache=True, nogil=True)
def _step(message, weight, load, seed):
    bits = random_bits(seed, np.uint64(message))
    return send_to_lesser(fast_range(bits, load.size), fast_range(bits << _S32, load.size), weight, load)


@njit(cache=True, nogil=True)
def _route(key, source, weight, load, meta):
    shared = shared_of(meta)
    source = source_of(source, load, meta)
    shared.messages += 1
    return _step(shared.messages - 1, weight, load[source], shared.seed)


@njit(cache=True, nogil=True)
def _route_many(keys, weights, source, load, meta, out):
    shared = shared_of(meta)
    seed = shared.seed
    turn = 1 if source < 0 else 0
    source = source_of(source, load, meta)
    first = shared.messages
    shared.messages += keys.size
    for i in range(keys.size):
        out[i] = _step(first + i, weight_of(weights, i), load[source], seed)
        source += turn
        if source == load.shape[0]:
            source = 0


class PowerOfTwoChoices(Grouping):
    """Send each message to the less loaded of two random workers (PoTC).

    The balance is near-perfect, and keys end up everywhere.

    Parameters
    ----------
    workers : int
        Number of workers.
    sources : int, default 1
        Number of sources, each judging by what it has sent itself.
    seed : int, numpy.random.SeedSequence or None, default 0
        The seed of the draws.

    Examples
    --------
    >>> from streamlb import PowerOfTwoChoices
    >>> grouping = PowerOfTwoChoices(4)
    >>> loads = [grouping.route("a") for _ in range(1000)]
    >>> int(grouping.loads.max() - grouping.loads.min()) < 10
    True
    """

    __slots__ = ()
    _route = staticmethod(_route)
    _route_many = staticmethod(_route_many)
