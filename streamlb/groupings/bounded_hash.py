"""Consistent hashing with bounded loads (CH): clockwise to the first worker with room.

Compared with in Nasir et al. 2017, section II-B; the algorithm is that of Mirrokni, Thorup and
Zadimoghaddam 2018. Each worker has `points` places on a ring of 2**64; a key starts at the first
point at or after its own hash. Who has room is said in `bounded`. The least loaded worker always
has, so a walk ends within one round.

State: load int64[sources, workers]; meta, its records and what each source has sent, as in
`bounded`; ring, the points as records POINT, and behind them for each of 2**k equal arcs of the
ring the first point at or after its start; and skip, for each source a record SKIP for each point.
"""

from __future__ import annotations

from collections import namedtuple
from dataclasses import KW_ONLY, dataclass

import numpy as np

from streamlb import _check
from streamlb._jit import njit, record
from streamlb._options import checked, takes
from streamlb.groupings.base import shared_of, source_of, weight_of
from streamlb.groupings.bounded import BoundedGrouping, BoundedOptions, bounded_of, room_level, sent_of
from streamlb.hashing import derive, family_of, key_hash

# A point of the ring and the worker whose place it is; points are sorted by hash.
POINT = record([("hash", "u8"), ("worker", "u8")])
# For a point, the first one after it that is not known to be full at this level. Loads never fall,
# so a walk may jump there until the level rises. A level of 0 marks a record that is not in use.
SKIP = record([("level", "i8"), ("point", "u8")])
# points POINT[points] and arcs uint64[2**k], views of the array `ring`.
Ring = namedtuple("Ring", ["points", "arcs"])

_POINT_WORDS, _SKIP_WORDS = POINT.itemsize // 8, SKIP.itemsize // 8
_RING_STREAM = 0x52494E47  # keeps the points' hashes apart from the keys'


@njit(nogil=True, inline="always")
def _ring_of(ring, meta):
    """Return the two parts of the ring."""
    # A search may go all round, so `max_probes` is the number of points.
    words = bounded_of(meta).max_probes * _POINT_WORDS
    return Ring(ring[:words].view(POINT), ring[words:].view(np.uint64))


@njit(cache=True, nogil=True)
def _first_point(h, ring):
    """Return the first point at or after a hash, clockwise."""
    # The arcs are a power of two in number: h * arcs / 2**64 is a shift, written so that one arc is
    # no special case.
    arc = ((h >> np.uint64(32)) * np.uint64(ring.arcs.size)) >> np.uint64(32)
    point, end = ring.arcs[arc], np.uint64(ring.points.size)
    while point < end and ring.points[point].hash < h:
        point += np.uint64(1)
    return point if point < end else np.uint64(0)


@njit(cache=True, nogil=True)
def _step(h, level, load, skip, ring):
    """Return the first worker with room clockwise from a hash, and how many points it looked at."""
    points, end = ring.points, np.uint64(ring.points.size)
    start = _first_point(h, ring)
    worker = points[start].worker
    if load[worker] < level:
        return np.int64(worker), np.int64(1)
    point = start
    # The search ends before, but for an epsilon so small that its fraction is rounded to 0.
    for _ in range(points.size):
        if load[points[point].worker] < level:
            break
        if skip[point].level == level:
            point = skip[point].point
        else:
            point += np.uint64(1)
            if point == end:
                point = np.uint64(0)
    skip[start].level = level
    skip[start].point = point
    distance = np.int64(point) - np.int64(start)
    return np.int64(points[point].worker), (distance if distance > 0 else distance + points.size) + 1


@njit(cache=True, nogil=True)
def _route_many(keys, weights, source, load, meta, ring, skip, out):
    shared, bounded, sent = shared_of(meta), bounded_of(meta), sent_of(meta)
    parts, family = _ring_of(ring, meta), family_of(shared.seed)
    over, under, share = bounded.over, bounded.under, bounded.share
    turn = 1 if source < 0 else 0
    s = source_of(source, load, meta)
    shared.messages += keys.size
    for i in range(keys.size):
        weight = weight_of(weights, i)
        sent[s] += weight
        level = room_level(sent[s], over, under, share)
        worker, probes = _step(key_hash(keys[i], family), level, load[s], skip[s].view(SKIP), parts)
        load[s, worker] += weight
        out[i] = worker
        bounded.probes += probes
        bounded.most = max(bounded.most, probes)
        s += turn
        if s == load.shape[0]:
            s = 0


@njit(cache=True, nogil=True)
def _route(key, source, weight, load, meta, ring, skip):
    shared, bounded, sent = shared_of(meta), bounded_of(meta), sent_of(meta)
    s = source_of(source, load, meta)
    shared.messages += 1
    sent[s] += weight
    level = room_level(sent[s], bounded.over, bounded.under, bounded.share)
    h = key_hash(np.uint64(key), family_of(shared.seed))
    worker, probes = _step(h, level, load[s], skip[s].view(SKIP), _ring_of(ring, meta))
    load[s, worker] += weight
    bounded.probes += probes
    bounded.most = max(bounded.most, probes)
    return worker


@dataclass(frozen=True)
class RingOptions(BoundedOptions):
    """Hold the options of `BoundedLoadHashing` and check them."""

    _: KW_ONLY
    points: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        points = _check.integer("points", self.points, 1)
        if self.workers * points > 2**31 - 1:
            raise ValueError(
                f"points must leave fewer than 2**31 places on the ring, got {points} for {self.workers} workers"
            )
        checked(self, points=points)


@takes(RingOptions)
class BoundedLoadHashing(BoundedGrouping):
    """Send each message clockwise on a ring to the first worker that has room (CH).

    A worker has room while its load is below 1 + epsilon times the mean.

    It bounds the load like `PowerOfRandomChoices`, but all that overflows one worker falls on the
    next, so that keys spread further. With more points for each worker the next point belongs to a
    random worker, and the two groupings come close.

    Parameters
    ----------
    workers : int
        Number of workers.
    sources : int, default 1
        Number of sources, each judging by what it has sent itself.
    epsilon : float, default 0.01
        How far a worker may go above the mean load; more than 0.
    points : int, default 1
        Places of each worker on the ring.
    seed : int, numpy.random.SeedSequence or None, default 0
        The seed of the ring and of the keys' places on it; None takes OS entropy.

    References
    ----------
    Mirrokni, Thorup, Zadimoghaddam, "Consistent hashing with bounded loads", SODA 2018.

    Examples
    --------
    >>> from streamlb import BoundedLoadHashing
    >>> grouping = BoundedLoadHashing(4, epsilon=0.1, points=16)
    >>> workers = grouping.route_many(["hot"] * 1000)
    >>> int(grouping.loads.max()) <= 1.1 * 1000 / 4 + 1
    True
    """

    __slots__ = ()
    points: int  # an option, as an attribute to read
    _arrays = ("load", "meta", "ring", "skip")
    _route = staticmethod(_route)
    _route_many = staticmethod(_route_many)

    def _fresh(self):
        size = self.workers * self.points
        hashes = derive(self.seed ^ _RING_STREAM, size)
        order = np.argsort(hashes, kind="stable")
        points = np.empty(size, POINT)
        points["hash"], points["worker"] = hashes[order], order // self.points
        bits = max(1, (size - 1).bit_length())
        arcs = np.arange(2**bits, dtype=np.uint64) << np.uint64(64 - bits)
        ring = np.concatenate([points.view(np.int64), np.searchsorted(points["hash"], arcs).astype(np.int64)])
        load = np.zeros((self.sources, self.workers), np.int64)
        return load, self._bounded_meta(size), ring, np.zeros((self.sources, size * _SKIP_WORDS), np.int64)
