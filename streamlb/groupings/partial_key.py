"""Partial key grouping: the less loaded of a key's two workers (Nasir et al. 2016, section II-B).

State: load int64[sources, workers], what each source has sent; meta int64[2], messages and seed.
"""

from __future__ import annotations

import numpy as np

from streamlb._jit import njit
from streamlb.groupings.base import Grouping, send_to_lesser, shared_of, source_of, weight_of
from streamlb.hashing import family_of, first_candidate, key_hash, second_candidate


@njit(cache=True, nogil=True)
def two_choices(key, weight, load, family):
    """Add a message to the less loaded of its key's first two workers and return that worker."""
    h = key_hash(key, family)
    return send_to_lesser(first_candidate(h, load.size), second_candidate(h, load.size), weight, load)


@njit(cache=True, nogil=True)
def _route(key, source, weight, load, meta):
    shared = shared_of(meta)
    source = source_of(source, load, meta)
    shared.messages += 1
    return two_choices(np.uint64(key), weight, load[source], family_of(shared.seed))


@njit(cache=True, nogil=True)
def _route_many(keys, weights, source, load, meta, out):
    shared = shared_of(meta)
    family = family_of(shared.seed)
    turn = 1 if source < 0 else 0
    source = source_of(source, load, meta)
    shared.messages += keys.size
    for i in range(keys.size):
        out[i] = two_choices(keys[i], weight_of(weights, i), load[source], family)
        source += turn
        if source == load.shape[0]:
            source = 0


class PartialKeyGrouping(Grouping):
    """Send each message to the less loaded of its key's two workers (PKG).

    It balances well while no key has more than the share of two workers, 2/n. No key is ever on
    more than two.

    Parameters
    ----------
    workers : int
        Number of workers.
    sources : int, default 1
        Number of sources, each judging by what it has sent itself.
    seed : int, numpy.random.SeedSequence or None, default 0
        The seed of the hash functions.

    Examples
    --------
    >>> from streamlb import PartialKeyGrouping
    >>> grouping = PartialKeyGrouping(10)
    >>> len(set(grouping.route_many(["a"] * 100).tolist()))
    2
    """

    __slots__ = ()
    _route = staticmethod(_route)
    _route_many = staticmethod(_route_many)
