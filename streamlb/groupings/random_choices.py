"""The power of random choices (PoRC): the first worker with room in a key's hash sequence.

From Nasir et al. 2017, Algorithm 1. Who has room is said in `bounded`. Some worker is always at or
below the mean, so after `max_probes` probes the least loaded one takes the message.

State: load int64[sources, workers]; meta, its records and what each source has sent, as in
`bounded`; and memo, for each source 256 records MEMO. Loads never fall, so a worker that is full at
a level stays full until the level rises: going on from where the memo ends gives the same worker as
walking the sequence again.
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
from streamlb.hashing import GOLDEN, family_of, first_candidate, key_hash, later_candidate, second_candidate

# How far a key's sequence is known to be full: its first `probes` places are, at this level. A
# level of 0 marks a record that is not in use.
MEMO = record([("key", "u8"), ("level", "i8"), ("probes", "i8")])
# What one source has: its loads int64[workers], and its memo MEMO[256].
Source = namedtuple("Source", ["load", "memo"])

_MEMO_BITS = 8
_MEMO_SHIFT = np.uint64(64 - _MEMO_BITS)
_PLAIN = 8  # so many probes are quicker repeated than remembered


@njit(nogil=True, inline="always")
def _source(s, load, memo):
    return Source(load[s], memo[s].view(MEMO))


@njit(cache=True, nogil=True)
def _least_loaded(load, start):
    """Return the least loaded worker, on a tie the first from `start` on."""
    best = start
    worker = start
    for _ in range(load.size - 1):
        worker = worker + 1 if worker + 1 < load.size else 0
        if load[worker] < load[best]:
            best = worker
    return best


@njit(cache=True, nogil=True)
def _search(key, h, level, max_probes, own):
    """Return the first worker with room from the third place on, and how many probes it took."""
    load, memo = own.load, own.memo[(key * GOLDEN) >> _MEMO_SHIFT]
    probe = memo.probes if memo.key == key and memo.level == level else np.int64(2)
    worker = np.int64(-1)
    while probe < max_probes:
        place = later_candidate(h, probe, load.size)
        if load[place] < level:
            worker = place
            break
        probe += 1
    if probe >= _PLAIN:
        memo.key = key
        memo.level = level
        memo.probes = probe
    if worker < 0:
        return _least_loaded(load, first_candidate(h, load.size)), probe
    return worker, probe + 1


@njit(cache=True, nogil=True, forceinline=True)
def _step(key, h, level, max_probes, own):
    """Return the first worker with a load below the level, and how many probes it took."""
    # Most messages need no more than these two places, and a call would double their time.
    worker = first_candidate(h, own.load.size)
    if own.load[worker] < level:
        return worker, np.int64(1)
    worker = second_candidate(h, own.load.size)
    if own.load[worker] < level:
        return worker, np.int64(2)
    return _search(key, h, level, max_probes, own)


@njit(cache=True, nogil=True)
def _share(keys, weights, out, first, stride, own, sent, meta):
    """Route every stride-th message, all of one source; return what it has sent by then."""
    bounded, family, load = bounded_of(meta), family_of(shared_of(meta).seed), own.load
    over, under, share, max_probes = bounded.over, bounded.under, bounded.share, bounded.max_probes
    total, most = np.int64(0), bounded.most
    for i in range(first, keys.size, stride):
        weight = weight_of(weights, i)
        sent += weight
        level = room_level(sent, over, under, share)
        worker, probes = _step(keys[i], key_hash(keys[i], family), level, max_probes, own)
        load[worker] += weight
        out[i] = worker
        total += probes
        most = max(most, probes)
    bounded.probes += total
    bounded.most = most
    return sent


@njit(cache=True, nogil=True)
def _route_many(keys, weights, source, load, meta, memo, out):
    # Sources know nothing of each other, so each one's messages can be routed in a run of their
    # own.
    shared, sent = shared_of(meta), sent_of(meta)
    sources = load.shape[0]
    stride = sources if source < 0 else 1
    for turn in range(stride):
        s = (shared.messages + turn) % sources if source < 0 else source
        sent[s] = _share(keys, weights, out, turn, stride, _source(s, load, memo), sent[s], meta)
    shared.messages += keys.size


@njit(cache=True, nogil=True)
def _route(key, source, weight, load, meta, memo):
    s = source_of(source, load, meta)
    shared, bounded, sent = shared_of(meta), bounded_of(meta), sent_of(meta)
    shared.messages += 1
    sent[s] += weight
    level = room_level(sent[s], bounded.over, bounded.under, bounded.share)
    key = np.uint64(key)
    h = key_hash(key, family_of(shared.seed))
    worker, probes = _step(key, h, level, bounded.max_probes, _source(s, load, memo))
    load[s, worker] += weight
    bounded.probes += probes
    bounded.most = max(bounded.most, probes)
    return worker


@dataclass(frozen=True)
class RandomChoicesOptions(BoundedOptions):
    """Hold the options of `PowerOfRandomChoices` and check them."""

    _: KW_ONLY
    max_probes: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        probes = min(max(64, 8 * self.workers), 2**31 - 1) if self.max_probes is None else self.max_probes
        checked(self, max_probes=_check.integer("max_probes", probes, _PLAIN, 2**31 - 1))


@takes(RandomChoicesOptions)
class PowerOfRandomChoices(BoundedGrouping):
    """Send each message to the first worker with room in its key's hash sequence (PoRC).

    A worker has room while its load is below 1 + epsilon times the mean.

    The imbalance stays below epsilon m / n + sources at every message m, whatever the keys: see
    `streamlb.analysis.random_choices_imbalance_bound`. A key leaves its first worker only when that
    is full, so a light key stays on one or two workers and a heavy one takes as many as its share
    needs.

    Parameters
    ----------
    workers : int
        Number of workers.
    sources : int, default 1
        Number of sources, each judging by what it has sent itself.
    epsilon : float, default 0.01
        How far a worker may go above the mean load: small for balance, large to keep keys together.
        More than 0.
    max_probes : int, optional
        After so many full workers of a key's sequence the least loaded of all takes the message; at
        least 8. By default it is 8 times the number of workers, with which fewer than one search
        in 2,000 ends without the last free worker.
    seed : int, numpy.random.SeedSequence or None, default 0
        The seed of the hash functions; None takes OS entropy.

    Notes
    -----
    With several sources "mean" is the mean of what the source itself has sent. Messages that weigh
    more than 1 add to the bound: read the weight of the heaviest message for each source in place
    of 1.

    References
    ----------
    Nasir et al. 2017, "Load balancing for skewed streams on heterogeneous cluster", section IV-A.

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
    max_probes: int  # an option, as an attribute to read
    _arrays = ("load", "meta", "memo")
    _route = staticmethod(_route)
    _route_many = staticmethod(_route_many)

    def _fresh(self):
        memo = np.zeros((self.sources, 2**_MEMO_BITS * MEMO.itemsize // 8), np.int64)
        return np.zeros((self.sources, self.workers), np.int64), self._bounded_meta(self.max_probes), memo
