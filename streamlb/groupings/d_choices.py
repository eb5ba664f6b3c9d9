"""D-Choices: hot keys go to the least loaded of d workers, d as small as it may be, others to two (paper 001, III and IV-A).

State: load, meta and sketch as in `head`, where a source's row of sketch goes on with records int64[capacity, 8], what is
kept of a counter whose key is hot; order int64[capacity], the hot counters, the largest first; shares float64[capacity],
scratch; history int64[2 * HISTORY], the weight at which d changed and what it became; stamps int64[workers], scratch. pool
int32[sources, size] holds the hot keys' lists of workers, one after the other; it is the one array that grows.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from streamlb import _check
from streamlb._jit import njit
from streamlb._options import checked, takes
from streamlb.groupings.base import MAX_WORKERS, Grouping, shared_of, source_of, weight_of
from streamlb.groupings.head import (
    CAPACITY,
    CHANGES,
    CHOICES,
    DISTINCT,
    EPSILON,
    FILLED,
    FIXED,
    HOT,
    PENDING,
    ROTATE,
    SOLVE,
    STAMP,
    START,
    TABLE,
    HeadGrouping,
    HeadOptions,
    is_hot,
    least_worker,
    registers_of,
    second_choice,
    send_tail,
    sketch_of,
)
from streamlb.groupings.solve_d import fewest_choices
from streamlb.hashing import candidate, family_of, first_candidate, key_hash
from streamlb.sketches.space_saving import offer

# A record: where its list is in the pool and how long; with which d it was last used; AT, LOW, REST: see _least_candidate.
PLACE, LENGTH, USED_D, AT, LOW, REST, LISTED = range(7)
RECORD = 8
HISTORY = 512
_POOL = 256


@njit(nogil=True, inline="always")
def hot_of(row, meta):
    """Return the parts of a source's row that follow its sketch, views: records, order, shares, history and stamps."""
    capacity = meta[CAPACITY]
    at = 3 * capacity + meta[TABLE] // 2
    records = row[at : at + RECORD * capacity].reshape((capacity, RECORD))
    at += RECORD * capacity
    order = row[at : at + capacity]
    shares = row[at + capacity : at + 2 * capacity].view(np.float64)
    at += 2 * capacity
    history = row[at : at + 2 * HISTORY]
    stamps = row[at + 2 * HISTORY :]
    return records, order, shares, history, stamps


@njit(cache=True, nogil=True)
def _note(choices, total, own, history):
    """Write down that d has changed; when the room is used up, every second entry goes."""
    if own[CHANGES] == HISTORY:
        for i in range(HISTORY // 2):
            history[2 * i], history[2 * i + 1] = history[4 * i], history[4 * i + 1]
        own[CHANGES] = HISTORY // 2
    history[2 * own[CHANGES]], history[2 * own[CHANGES] + 1] = total, choices
    own[CHANGES] += 1


@njit(cache=True, nogil=True)
def _solve(workers, meta, own, row):
    """Set d by the keys that are hot now, and drop from the list of hot keys those that are not any more."""
    counters = sketch_of(row, own, meta)
    counts, total = counters.counts, counters.own.total
    records, order, shares, history, _stamps = hot_of(row, meta)
    hot = 0
    for i in range(own[HOT]):
        slot = order[i]
        if not is_hot(slot, counters, meta):
            records[slot, LISTED] = 0
            continue
        at = hot  # insertion: the list stays in order but for a few neighbours
        while at > 0 and counts[order[at - 1]] < counts[slot]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = slot
        hot += 1
    own[HOT] = hot
    for i in range(hot):
        shares[i] = counts[order[i]] / total
    if meta[FIXED] > 0:
        choices = min(meta[FIXED], workers)
    else:
        choices = fewest_choices(shares[:hot], workers, meta.view(np.float64)[EPSILON], meta[DISTINCT] != 0)
    if choices != own[CHOICES]:
        _note(choices, total, own, history)
        own[CHOICES] = choices
    own[SOLVE] = total + 1 + total // 100


@njit(cache=True, nogil=True)
def _enlist(slot, workers, meta, own, row):
    """Put a counter whose key has become hot on the list, and solve for d again."""
    records, order, _shares, _history, _stamps = hot_of(row, meta)
    records[slot, LISTED] = 1
    order[own[HOT]] = slot
    own[HOT] += 1
    _solve(workers, meta, own, row)


@njit(cache=True, nogil=True)
def _change_hands(slot, meta, own, row):
    """Forget what was kept of a counter's former key."""
    records, order, _shares, _history, _stamps = hot_of(row, meta)
    if records[slot, LISTED] != 0:
        at = 0
        while order[at] != slot:
            at += 1
        own[HOT] -= 1
        for i in range(at, own[HOT]):
            order[i] = order[i + 1]
    records[slot, :] = 0


@njit(cache=True, nogil=True)
def list_candidates(h, distinct, workers, stamp, stamps, out):
    """Write the first out.size workers of a key with hash `h`; distinct ones are the family's in order, without those that came before."""
    if not distinct:
        for i in range(out.size):
            out[i] = candidate(h, i, workers)
        return
    out[0] = first_candidate(h, workers)
    out[1] = second_choice(h, np.int64(out[0]), workers)
    stamps[out[0]] = stamp
    stamps[out[1]] = stamp
    found, draw = 2, 2
    while found < out.size:
        worker = candidate(h, draw, workers)
        draw += 1
        if stamps[worker] != stamp:
            stamps[worker] = stamp
            out[found] = worker
            found += 1


@njit(cache=True, nogil=True)
def _list_workers(key, slot, workers, meta, own, row, pool):
    """Make the list of a hot key's workers, at least d of them; return whether the pool has room for it."""
    records, _order, _shares, _history, stamps = hot_of(row, meta)
    length = 8
    while length < own[CHOICES]:
        length *= 2
    length = min(length, workers)
    if own[FILLED] + length > pool.size:
        return False
    place = own[FILLED]
    own[FILLED] += length
    own[STAMP] += 1
    distinct = meta[DISTINCT] != 0
    h = key_hash(key, family_of(shared_of(meta).seed))
    list_candidates(h, distinct, workers, own[STAMP], stamps, pool[place : place + length])
    records[slot, PLACE], records[slot, LENGTH] = place, length
    return True


@njit(cache=True, nogil=True, forceinline=True)
def _least_candidate(record, load, candidates, rotate):
    """Return the least loaded candidate: the first in the list, or to rotate ties the first at or after the last one.

    As in `least_worker`: a cursor (AT) over the candidates that stand at the least load (LOW), REST of them not yet passed.
    """
    d = candidates.size
    level, at, left = record[LOW], record[AT], record[REST]
    while True:
        while left > 0 and load[np.uint32(candidates[np.uint64(at)])] != level:
            left -= 1
            at += 1
            if at == d:
                at = 0
        if left > 0:
            break
        level = load[np.uint32(candidates[0])]
        for i in range(1, d):
            level = min(level, load[np.uint32(candidates[i])])
        at = record[AT] if rotate != 0 else 0
        left = d
    record[LOW], record[AT], record[REST] = level, at, left
    return np.int64(candidates[np.uint64(at)])


@njit(cache=True, nogil=True, forceinline=True)
def _hot_worker(key, slot, load, meta, own, row, records, pool):
    """Return a hot key's worker, or -1 where the pool has no room for its list."""
    d = own[CHOICES]
    if d >= load.size:
        return least_worker(load, meta, own)
    record = records[slot]
    if record[LENGTH] < d and not _list_workers(key, slot, load.size, meta, own, row, pool):
        return -1
    if record[USED_D] != d:
        if record[USED_D] == 0:
            record[AT] = own[START]
        if record[AT] >= d:
            record[AT] %= d
        record[USED_D], record[REST] = d, 0
    return _least_candidate(record, load, pool[record[PLACE] : record[PLACE] + d], meta[ROTATE])


@njit(cache=True, nogil=True, forceinline=True)
def _step(key, weight, load, meta, own, counters, row, records, pool):
    """Route one message; -1 asks for a larger pool and another call, which goes on where this one stopped."""
    if own[PENDING] == 0:
        counters.own.total += weight
        slot = offer(key, weight, counters)
        if slot < 0:
            slot = ~slot
            if records[slot, USED_D] + records[slot, LISTED] != 0:
                _change_hands(slot, meta, own, row)
        if counters.own.total >= own[SOLVE]:
            _solve(load.size, meta, own, row)
        if not is_hot(slot, counters, meta):
            return send_tail(key, weight, load, meta)
        if records[slot, LISTED] == 0:
            _enlist(slot, load.size, meta, own, row)
    else:
        slot = own[PENDING] - 1
        own[PENDING] = 0
    worker = _hot_worker(key, slot, load, meta, own, row, records, pool)
    if worker >= 0:
        load[worker] += weight
    else:
        own[PENDING] = slot + 1
    return worker


@njit(cache=True, nogil=True)
def _route(key, source, weight, load, meta, sketch, pool):
    source = source_of(source, load, meta)
    own, row = registers_of(source, meta), sketch[source]
    counters = sketch_of(row, own, meta)
    records, _order, _shares, _history, _stamps = hot_of(row, meta)
    key = np.uint64(key)
    worker = _step(key, weight, load[source], meta, own, counters, row, records, pool[source])
    if worker >= 0:
        shared_of(meta).messages += 1
    return worker


@njit(cache=True, nogil=True)
def _route_many(keys, weights, source, load, meta, sketch, pool, out, place):
    """Route messages; True asks for a larger pool and another call, which goes on from `place` (turn and message)."""
    # Sources share nothing, so each one's messages are routed together: its sketch stays in the cache.
    stride = load.shape[0] if source < 0 else 1
    first = source_of(source, load, meta)
    for turn in range(place[0], min(stride, keys.size)):
        source = (first + turn) % load.shape[0]
        own, row = registers_of(source, meta), sketch[source]
        counters = sketch_of(row, own, meta)
        records, _order, _shares, _history, _stamps = hot_of(row, meta)
        for i in range(max(turn, place[1]), keys.size, stride):
            weight = weight_of(weights, i)
            worker = _step(keys[i], weight, load[source], meta, own, counters, row, records, pool[source])
            if worker < 0:
                place[0], place[1] = turn, i
                return True
            out[i] = worker
        place[1] = 0
    shared_of(meta).messages += keys.size
    return False


@dataclass(frozen=True)
class DChoicesOptions(HeadOptions):
    """Hold the options of D-Choices and check them."""

    _: KW_ONLY
    epsilon: float = 1e-4
    choices: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        checked(
            self,
            epsilon=_check.real("epsilon", self.epsilon, 0, low_open=True),
            choices=None if self.choices is None else _check.integer("choices", self.choices, 2, MAX_WORKERS),
        )


@takes(DChoicesOptions)
class DChoices(HeadGrouping):
    """Send hot keys to the least loaded of d workers, other keys to the less loaded of their two (D-Choices).

    d follows from the hot keys' shares: the fewest workers with which they can be balanced within epsilon. Nearly the balance
    of `WChoices` with less of each hot key's state spread over the workers.

    Parameters
    ----------
    workers : int
        Number of workers.
    sources : int, default 1
        Number of sources, each with its own loads, sketch and d.
    theta : float, optional
        The share from which a key is hot, in (0, 1); 1 / (5 workers) by default.
    capacity : int, optional
        Counters in each source's sketch: at least 1 / theta; by default twice that, and no fewer than 1000.
    guard : bool, default True
        Call a key hot only when it was surely seen often enough, and at least 50 times; False as printed in the paper.
    candidates : {"distinct", "independent"}
        Whether a key's workers are all different, or hashed one by one as in the paper, so that some coincide.
    ties : {"rotate", "first"}
        Which of equally loaded workers a hot key takes: the next in its source's turn, or the first.
    epsilon : float, default 1e-4
        The imbalance, as a share of all messages, that d is solved for: a target, not a guarantee.
    choices : int, optional
        A fixed d, 2 or more, instead of solving for it; `workers` or more means all workers.
    seed : int, numpy.random.SeedSequence or None, default 0
        Of the hash functions and of the sources' turns.

    Examples
    --------
    >>> from streamlb import DChoices, Zipf
    >>> grouping = DChoices(50)
    >>> workers = grouping.route_many(Zipf(10_000, 1.4).draw(100_000, seed=1))
    >>> 17 < grouping.d < 50  # the hottest key has 35% of all messages: more than 17 workers' share
    True
    >>> keys, shares = grouping.head()
    >>> int(keys[0])
    0
    """

    __slots__ = ()
    epsilon: float  # options, as attributes to read
    choices: int | None
    _arrays = ("load", "meta", "sketch", "pool")
    _route = staticmethod(_route)
    _route_many = staticmethod(_route_many)

    def _tolerance(self) -> float:
        return self.epsilon

    def _first_choices(self) -> int:
        return min(self.choices or 2, self.workers)

    def _row_size(self) -> int:
        return super()._row_size() + (RECORD + 2) * self.capacity + 2 * HISTORY + self.workers

    def _fresh(self) -> tuple[np.ndarray, ...]:
        load, meta, sketch = super()._fresh()
        meta[FIXED] = self.choices or 0
        return load, meta, sketch, np.zeros((self.sources, _POOL), np.int32)

    def route(self, key: Any, source: int | None = None, weight: int = 1) -> int:
        """Return the worker of one message; see `Grouping.route`."""
        worker = Grouping.route(self, key, source, weight)
        while worker < 0:
            self._enlarge_pool()
            worker = Grouping.route(self, key, source, weight)
        return worker

    def _batch(self, keys: np.ndarray, weights: np.ndarray, source: int, out: np.ndarray) -> None:
        place = np.zeros(2, np.int64)
        while self._route_many(keys, weights, source, *self._state, out, place):
            self._enlarge_pool()

    def _enlarge_pool(self) -> None:
        """Empty the pool, twice as large if the present lists fill more than half of it: lists are made again as needed."""
        load, meta, sketch, pool = self._state
        own = self._registers(meta)
        lists = own[:, HOT] + 1
        lengths = np.minimum(2 ** np.ceil(np.log2(np.maximum(own[:, CHOICES], 8))), self.workers).astype(np.int64)
        size = pool.shape[1]
        while size < 2 * int((lists * lengths).max()):
            size *= 2
        at = 3 * self.capacity + int(meta[TABLE]) // 2
        sketch[:, at : at + RECORD * self.capacity].reshape(self.sources, self.capacity, RECORD)[:, :, LENGTH] = 0
        own[:, FILLED] = 0
        self._state = (load, meta, sketch, np.zeros((self.sources, size), np.int32))

    def d_history(self, source: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Return when a source's d changed, by the weight it had sent, and what it became.

        Of more than 512 changes only every second older one is kept.

        Parameters
        ----------
        source : int, default 0
            The source asked.

        Returns
        -------
        sent : int64[c]
        d : int64[c]
        """
        source = _check.integer("source", source, 0, self.sources - 1)
        changes = int(self._registers(self._state[1])[source, CHANGES])
        start = self._row_size() - self.workers - 2 * HISTORY
        rows = self._state[2][source, start : start + 2 * changes].reshape(changes, 2)
        return rows[:, 0].copy(), rows[:, 1].copy()

    def _restore(self, arrays: dict[str, np.ndarray]) -> None:
        pool = arrays.get("pool")
        if pool is not None and pool.ndim == 2 and pool.shape[1] > _POOL:
            self._state = (*self._state[:3], np.zeros((self.sources, pool.shape[1]), np.int32))
        super()._restore(arrays)
