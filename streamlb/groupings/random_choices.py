"""The power of random choices (PoRC): the first worker with room of a key's hash sequence (paper 004, Alg. 1).

A worker has room while its load is below (1 + epsilon) m / n, where m counts the current message: otherwise the first
message would never find a place. Some worker is always below the mean, so after `max_probes` probes the least loaded
one takes the message.

State: load int64[sources, workers]; meta int64[6 + sources], messages, seed, probes in all, most probes of a message,
the limit of probes, (1 + epsilon) / n as float64 bits, and what each source has sent; memo int64[sources, 256, 3],
for a key the room level (the smallest load without room) and how far its sequence is known to be full at that level.
Loads never fall, so a worker full at a level stays so until the level rises: going on from there gives the same
worker as walking the sequence again.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple

import numpy as np

from streamlb import _check
from streamlb._jit import njit
from streamlb._options import checked, takes
from streamlb.groupings.base import Grouping, GroupingOptions, source_of, weight_of
from streamlb.hashing import GOLDEN, candidate, family_of, first_candidate, key_hash

PROBES, MOST, LIMIT, FACTOR, SENT = 2, 3, 4, 5, 6  # places in meta
_MEMO_BITS = 8
_MEMO_SHIFT = np.uint64(64 - _MEMO_BITS)
_PLAIN = 8  # so many probes are quicker repeated than remembered


class Probes(NamedTuple):
    """How many places a grouping looked at per message: the mean and the maximum."""

    mean: float
    maximum: int


@njit(cache=True, nogil=True)
def least_loaded(load, start):
    """Return the least loaded worker, on a tie the first from `start` on."""
    best = start
    worker = start
    for _ in range(load.size - 1):
        worker = worker + 1 if worker + 1 < load.size else 0
        if load[worker] < load[best]:
            best = worker
    return best


@njit(cache=True, nogil=True)
def room_cap(factor, sent):
    """Return the load from which on a worker is full; never 0, for a message of no weight may be the first."""
    return factor * sent if sent > 0 else 0.5


@njit(cache=True, nogil=True)
def _step(key, h, level, probe, load, memo, meta):
    """Return a key's first worker from `probe` on whose load is below the level, and the number of probes up to it."""
    entry = (key * GOLDEN) >> _MEMO_SHIFT
    if memo[entry, 0] == np.int64(key) and memo[entry, 1] == level:
        probe = memo[entry, 2]
    worker = np.int64(-1)
    while probe < meta[LIMIT]:
        place = candidate(h, probe, load.size)
        if load[place] < level:
            worker = place
            break
        probe += 1
    if probe >= _PLAIN:
        memo[entry, 0] = np.int64(key)
        memo[entry, 1] = level
        memo[entry, 2] = probe
    if worker < 0:
        return least_loaded(load, first_candidate(h, load.size)), probe
    return worker, probe + 1


@njit(cache=True, nogil=True)
def _share(keys, weights, first, stride, sent, load, memo, meta, out):
    """Route every stride-th message from the first on, all of one source; return what it has sent by then."""
    family, factor = family_of(np.uint64(meta[1])), meta.view(np.float64)[FACTOR]
    total, most = np.int64(0), meta[MOST]
    for i in range(first, keys.size, stride):
        weight = weight_of(weights, i)
        sent += weight
        cap = room_cap(factor, sent)
        # The first probes stand here, not in a call: most messages need no more, and a call would double their time.
        probes = np.int64(1)
        h = key_hash(keys[i], family)
        worker = first_candidate(h, load.size)
        while load[worker] >= cap:
            if probes == _PLAIN:
                worker, probes = _step(keys[i], h, np.int64(math.ceil(cap)), probes, load, memo, meta)
                break
            worker = candidate(h, probes, load.size)
            probes += 1
        load[worker] += weight
        out[i] = worker
        total += probes
        most = max(most, probes)
    meta[PROBES] += total
    meta[MOST] = most
    return sent


@njit(cache=True, nogil=True)
def _route_many(keys, weights, source, load, meta, memo, out):
    # Sources know nothing of each other, so each one's messages can be routed in a run of their own.
    sources = load.shape[0]
    stride = sources if source < 0 else 1
    for turn in range(stride):
        s = (meta[0] + turn) % sources if source < 0 else source
        meta[SENT + s] = _share(keys, weights, turn, stride, meta[SENT + s], load[s], memo[s], meta, out)
    meta[0] += keys.size


@njit(cache=True, nogil=True)
def _route(key, source, weight, load, meta, memo):
    s = source_of(source, load, meta)
    meta[0] += 1
    meta[SENT + s] += weight
    level = np.int64(math.ceil(room_cap(meta.view(np.float64)[FACTOR], meta[SENT + s])))
    key = np.uint64(key)
    h = key_hash(key, family_of(np.uint64(meta[1])))
    worker, probes = _step(key, h, level, np.int64(0), load[s], memo[s], meta)
    load[s, worker] += weight
    meta[PROBES] += probes
    meta[MOST] = max(meta[MOST], probes)
    return worker


@dataclass(frozen=True)
class RandomChoicesOptions(GroupingOptions):
    """Hold the options of `PowerOfRandomChoices` and check them."""

    _: KW_ONLY
    epsilon: float = 0.01
    max_probes: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        probes = min(max(64, 8 * self.workers), 2**31 - 1) if self.max_probes is None else self.max_probes
        checked(
            self,
            epsilon=_check.real("epsilon", self.epsilon, 0, low_open=True),
            max_probes=_check.integer("max_probes", probes, _PLAIN, 2**31 - 1),
        )


@takes(RandomChoicesOptions)
class PowerOfRandomChoices(Grouping):
    """Send each message to the first worker of its key's hash sequence below 1 + epsilon times the mean (PoRC).

    The imbalance stays below epsilon m / n + sources at every message m, whatever the keys: see
    `streamlb.analysis.random_choices_imbalance_bound`. A key leaves its first worker only when that is full, so a
    light key stays on one or two workers and a heavy one takes as many as its share needs.

    Parameters
    ----------
    workers : int
        Number of workers.
    sources : int, default 1
        Number of sources, each judging by what it has sent itself.
    epsilon : float, default 0.01
        How far a worker may go above the mean load: small for balance, large to keep keys together. More than 0.
    max_probes : int, optional
        After so many full workers of a key's sequence the least loaded of all takes the message; at least 8. By
        default 8 probes a worker, which leaves fewer than one search in 2,000 without the last free worker.
    seed : int, numpy.random.SeedSequence or None, default 0
        Of the hash functions.

    Notes
    -----
    With several sources "mean" is the mean of what the source itself has sent. Messages that weigh more than 1 add to
    the bound: read the weight of the heaviest message for each source in place of 1.

    References
    ----------
    Nasir et al., "Load balancing for skewed streams on heterogeneous cluster", section IV-A.

    Examples
    --------
    >>> from streamlb import PowerOfRandomChoices
    >>> grouping = PowerOfRandomChoices(4, epsilon=0.1)
    >>> workers = grouping.route_many(["hot"] * 1000)
    >>> int(grouping.loads.max()) <= 1.1 * 1000 / 4 + 1
    True
    >>> grouping.probes.maximum >= 2
    True
    """

    __slots__ = ()
    epsilon: float  # options, as attributes to read
    max_probes: int
    _arrays = ("load", "meta", "memo")
    _route = staticmethod(_route)
    _route_many = staticmethod(_route_many)

    def _fresh(self):
        meta = self._fresh_meta(SENT + self.sources)
        meta[LIMIT] = self.max_probes
        meta.view(np.float64)[FACTOR] = (1.0 + self.epsilon) / self.workers
        memo = np.zeros((self.sources, 2**_MEMO_BITS, 3), np.int64)
        return np.zeros((self.sources, self.workers), np.int64), meta, memo

    @property
    def probes(self) -> Probes:
        """Hash probes per message so far, as the algorithm counts them: mean and maximum."""
        meta = self._state[1]
        return Probes(int(meta[PROBES]) / max(1, int(meta[0])), int(meta[MOST]))
