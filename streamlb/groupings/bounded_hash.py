"""Consistent hashing with bounded loads (CH): clockwise to the first worker with room (paper 004, section II-B).

Each worker has `points` places on a ring of 2**64; a key starts at the first point at or after its own hash. A worker
has room while its load is below (1 + epsilon) m / n, where m counts the current message; the least loaded worker
always has, so a walk ends within one round.

State: load int64[sources, workers]; meta int64[6 + sources], messages, seed, probes in all, most probes of a message,
points on the ring, (1 + epsilon) / n as float64 bits, and what each source has sent; ring uint64[points], sorted;
place int64[points + 2**k], each point's worker, then for each of 2**k equal arcs the first point at or after its
start; skip int64[sources, points, 2], for a point the room level and the first point after it not known to be full at
that level (loads never fall, so it may be jumped to until the level rises).
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass

import numpy as np

from streamlb import _check
from streamlb._jit import njit
from streamlb._options import checked, takes
from streamlb.groupings.base import Grouping, GroupingOptions, source_of, weight_of
from streamlb.groupings.random_choices import FACTOR, LIMIT, MOST, PROBES, SENT, Probes, room_cap
from streamlb.hashing import derive, family_of, key_hash

_RING_STREAM = 0x52494E47  # keeps the points' hashes apart from the keys'


@njit(cache=True, nogil=True)
def _first_point(h, ring, place):
    """Return the first point at or after a hash, clockwise."""
    points = ring.size
    arcs = np.uint64(place.size - points)
    # The arcs are a power of two in number: h * arcs / 2**64 is a shift, written so that one arc is no special case.
    point = place[points + np.int64(((h >> np.uint64(32)) * arcs) >> np.uint64(32))]
    while point < points and ring[point] < h:
        point += 1
    return point if point < points else 0


@njit(cache=True, nogil=True)
def _step(key, cap, load, skip, ring, place, seed):
    """Return the first worker with room clockwise from a key, and the number of points looked at, its own included."""
    start = _first_point(key_hash(key, family_of(seed)), ring, place)
    worker = place[start]
    if load[worker] < cap:
        return worker, np.int64(1)
    level = np.int64(math.ceil(cap))
    point = start
    for _ in range(ring.size):  # ends before, but for loads beyond the precision of a float
        if load[place[point]] < level:
            break
        if skip[point, 0] == level:
            point = skip[point, 1]
        else:
            point = point + 1 if point + 1 < ring.size else 0
    skip[start, 0] = level
    skip[start, 1] = point
    distance = point - start
    return place[point], (distance if distance > 0 else distance + ring.size) + 1


@njit(cache=True, nogil=True)
def _route_many(keys, weights, source, load, meta, ring, place, skip, out):
    seed, factor = np.uint64(meta[1]), meta.view(np.float64)[FACTOR]
    turn = 1 if source < 0 else 0
    source = source_of(source, load, meta)
    meta[0] += keys.size
    for i in range(keys.size):
        weight = weight_of(weights, i)
        meta[SENT + source] += weight
        cap = room_cap(factor, meta[SENT + source])
        worker, probes = _step(keys[i], cap, load[source], skip[source], ring, place, seed)
        load[source, worker] += weight
        out[i] = worker
        meta[PROBES] += probes
        meta[MOST] = max(meta[MOST], probes)
        source += turn
        if source == load.shape[0]:
            source = 0


@njit(cache=True, nogil=True)
def _route(key, source, weight, load, meta, ring, place, skip):
    s = source_of(source, load, meta)
    meta[0] += 1
    meta[SENT + s] += weight
    cap = room_cap(meta.view(np.float64)[FACTOR], meta[SENT + s])
    worker, probes = _step(np.uint64(key), cap, load[s], skip[s], ring, place, np.uint64(meta[1]))
    load[s, worker] += weight
    meta[PROBES] += probes
    meta[MOST] = max(meta[MOST], probes)
    return worker


@dataclass(frozen=True)
class BoundedOptions(GroupingOptions):
    """Hold the options of `BoundedLoadHashing` and check them."""

    _: KW_ONLY
    epsilon: float = 0.01
    points: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        epsilon = _check.real("epsilon", self.epsilon, 0, low_open=True)
        points = _check.integer("points", self.points, 1)
        if self.workers * points > 2**31 - 1:
            raise ValueError(
                f"points must leave fewer than 2**31 places on the ring, got {points} for {self.workers} workers"
            )
        checked(self, epsilon=epsilon, points=points)


@takes(BoundedOptions)
class BoundedLoadHashing(Grouping):
    """Send each message clockwise on a ring to the first worker below 1 + epsilon times the mean load (CH).

    Bounds the load like `PowerOfRandomChoices`, but all that overflows one worker falls on the next, so keys spread
    further. With more points a worker the next point belongs to a random worker and the two come close.

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
        Of the ring and the keys' places on it.

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
    epsilon: float  # options, as attributes to read
    points: int
    _arrays = ("load", "meta", "ring", "place", "skip")
    _route = staticmethod(_route)
    _route_many = staticmethod(_route_many)

    def _fresh(self):
        size = self.workers * self.points
        hashes = derive(self.seed ^ _RING_STREAM, size)
        order = np.argsort(hashes, kind="stable")
        ring = hashes[order]
        bits = max(1, (size - 1).bit_length())
        arcs = np.arange(2**bits, dtype=np.uint64) << np.uint64(64 - bits)
        place = np.concatenate([order // self.points, np.searchsorted(ring, arcs)]).astype(np.int64)
        meta = self._fresh_meta(SENT + self.sources)
        meta[LIMIT] = size
        meta.view(np.float64)[FACTOR] = (1.0 + self.epsilon) / self.workers
        load = np.zeros((self.sources, self.workers), np.int64)
        return load, meta, ring, place, np.zeros((self.sources, size, 2), np.int64)

    @property
    def probes(self) -> Probes:
        """Points of the ring looked at per message so far: mean and maximum."""
        meta = self._state[1]
        return Probes(int(meta[PROBES]) / max(1, int(meta[0])), int(meta[MOST]))
