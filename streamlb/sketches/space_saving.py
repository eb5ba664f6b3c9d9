"""SpaceSaving: the heavy keys of a stream in `capacity` counters.

From Metwally, Agrawal and El Abbadi 2005; it is the sketch of Nasir et al. 2016, section III-A. A
counter is a slot, 0 to capacity - 1. Counts only grow, so a least counter is found by walking a
cursor over the counters that stand at the least level; when it reaches the end, the level is
computed again. With unit weights all counters have passed a level before the next scan, so that
scans cost O(1) for each message, amortised, on any stream.

State: keys uint64[capacity], counts int64[capacity] and errors int64[capacity] by slot, where an
error is how much of its count a counter may have inherited; table int32[size], an open-addressing
index of slots, -1 where free, its size a power of two; registers int64[4], a `REGISTERS` record.
"""

from __future__ import annotations

import math
from collections import namedtuple
from typing import Any

import numpy as np

from streamlb import _check, _state
from streamlb._jit import likely, njit, record
from streamlb.hashing import mix
from streamlb.keys import key_batch
from streamlb.ratios import fraction_of
from streamlb.sketches.count_min import check_mergeable, weighted_batch

REGISTERS = record(
    [
        ("used", "i8"),  # how many counters hold a key: slots 0 to used - 1
        ("level", "i8"),  # the least count when it was last computed
        ("cursor", "i8"),  # the counters before this slot stand above the level
        ("total", "i8"),  # the weight of all messages
    ]
)
_SMALL_INDEX = 16  # bits of an index that may take four times as much room as its slots need

# What a count and its error have above their 32 low bits.
HIGH = record(
    [
        ("slot", "i8"),  # the counter's slot + 1; 0: no record
        ("count", "u4"),
        ("error", "u4"),
    ]
)

# The arrays of one sketch inside a kernel; `own` is its REGISTERS record. A sketch that is part of
# a larger state may keep counts and errors as uint32: `high` then has a HIGH record for each
# counter of 2**32 or more, found by `find_slot`. There are at most total / 2**32 of these, and they
# stay, because the count of a slot never falls, nor does its error. `high` is empty while
# `own.total` is below 2**32, and always where counts are int64.
Counters = namedtuple("Counters", ["keys", "counts", "errors", "high", "table", "own"])


@njit(nogil=True, inline="always")
def counters_of(keys, counts, errors, table, registers):
    """Return the sketch that these flat arrays hold."""
    return Counters(keys, counts, errors, table[:0].view(HIGH), table, registers.view(REGISTERS)[0])


# The kernels from here to `_inherit` are compiled for each type of record and either width of
# counts, into the kernels that call them; so they are not cached themselves.
@njit(nogil=True, forceinline=True)
def find_slot(slot, records):
    """Return the place of a slot's record, or the free one where it would stand.

    The first place tried is the slot modulo the room, a power of two, then the ones after it. A
    record's field `slot` is the slot + 1, or 0 where there is no record.
    """
    mask = np.uint64(records.size - 1)
    place = np.uint64(slot) & mask
    while records[place].slot != slot + 1 and records[place].slot != 0:
        place = (place + np.uint64(1)) & mask
    return place


@njit(nogil=True, forceinline=True)
def count_at(slot, counters):
    """Return a slot's count."""
    count = np.int64(counters.counts[np.uint64(slot)])
    if counters.high.size > 0:
        count += _high_count(np.int64(slot), counters.high)
    return count


@njit(nogil=True, forceinline=True)
def error_at(slot, counters):
    """Return how much of a slot's count may be inherited."""
    error = np.int64(counters.errors[np.uint64(slot)])
    if likely(counters.high.size == 0):
        return error
    return error + _high_error(np.int64(slot), counters.high)


@njit(nogil=True, forceinline=False)
def _high_count(slot, high):
    return np.int64(high[find_slot(slot, high)].count) << np.int64(32)


@njit(nogil=True, forceinline=False)
def _high_error(slot, high):
    return np.int64(high[find_slot(slot, high)].error) << np.int64(32)


@njit(nogil=True, forceinline=False)
def _carry(slot, low, high):
    """Add to a slot's record what its low bits have grown beyond 32; return the count."""
    record = high[find_slot(slot, high)]
    above = low >> np.int64(32)
    if above != 0:
        record.slot = slot + 1
        record.count += above
    return (np.int64(record.count) << np.int64(32)) + (low & np.int64(2**32 - 1))


@njit(nogil=True, forceinline=False)
def _inherit_high(slot, high):
    record = high[find_slot(slot, high)]
    record.error = record.count


@njit(nogil=True, forceinline=True)
def _add(slot, weight, counters):
    """Add to a slot's count and return it."""
    count = np.int64(counters.counts[np.uint64(slot)]) + weight
    counters.counts[np.uint64(slot)] = count
    if likely(counters.high.size == 0):
        return count
    return _carry(slot, count, counters.high)


@njit(nogil=True, forceinline=True)
def _inherit(slot, counters):
    """Make a slot's error its count, which its next key inherits."""
    counters.errors[np.uint64(slot)] = counters.counts[np.uint64(slot)]
    if counters.high.size > 0:
        _inherit_high(slot, counters.high)


@njit(cache=True, nogil=True, forceinline=True)
def home_of(key, table):
    """Return the place in the table where a key would stand if all were free."""
    return mix(key) & np.uint64(table.size - 1)


@njit(cache=True, nogil=True, forceinline=True)
def _find(key, place, keys, table):
    """Return a key's slot, or -1, and its place in the table, or the free one where it would stand.

    The search begins at `place`, the key's home.
    """
    mask = np.uint64(table.size - 1)
    slot = table[place]
    while slot >= 0 and keys[np.uint64(slot)] != key:
        place = (place + np.uint64(1)) & mask
        slot = table[place]
    return np.int64(slot), place


@njit(cache=True, nogil=True)
def _remove(key, keys, table):
    """Take `key` out of the table, moving later keys of its run back so that no search breaks."""
    mask = np.uint64(table.size - 1)
    hole = _find(key, home_of(key, table), keys, table)[1]
    place = hole
    while True:
        place = (place + np.uint64(1)) & mask
        slot = table[place]
        if slot < 0:
            break
        # The key at `place` may fill the hole unless its home lies behind the hole.
        if ((place - mix(keys[np.uint64(slot)])) & mask) >= ((place - hole) & mask):
            table[hole] = slot
            hole = place
    table[hole] = -1


@njit(nogil=True)
def _least(counters):
    """Return the slot of a least counter; all counters are in use."""
    capacity, own = counters.keys.size, counters.own
    level, cursor = own.level, own.cursor
    while True:
        while cursor < capacity and count_at(cursor, counters) != level:
            cursor += 1
        if cursor < capacity:
            break
        level = count_at(0, counters)
        for slot in range(1, capacity):
            level = min(level, count_at(slot, counters))
        cursor = 0
    own.level, own.cursor = level, cursor
    return cursor


@njit(nogil=True)
def _enter(key, home, weight, counters):
    """Give a key that has no counter a free one, or the least; return its slot and count."""
    keys, table, own = counters.keys, counters.table, counters.own
    if own.used < keys.size:
        slot = own.used
        own.used += 1
    else:
        slot = _least(counters)
        _remove(keys[slot], keys, table)
        _inherit(slot, counters)
    count = _add(slot, weight, counters)
    table[_find(key, home, keys, table)[1]] = slot
    keys[slot] = key
    return slot, count


@njit(nogil=True, forceinline=True)
def offer(key, home, weight, counters):
    """Count one message; return the slot, ~slot where that has just changed hands, and the count.

    `home` is the key's, from `home_of`. The caller adds the weight to `own.total`.
    """
    slot = _find(key, home, counters.keys, counters.table)[0]
    if likely(slot >= 0):
        return slot, _add(slot, weight, counters)
    slot, count = _enter(key, home, weight, counters)
    return ~slot, count


@njit(cache=True, nogil=True)
def _update_many(batch, weights, keys, counts, errors, table, registers):
    """Count every key by its weight; an empty `weights` means one each."""
    counters = counters_of(keys, counts, errors, table, registers)
    own = counters.own
    if weights.size:
        for i in range(batch.size):
            offer(batch[i], home_of(batch[i], table), weights[i], counters)
            own.total += weights[i]
    else:
        for i in range(batch.size):
            offer(batch[i], home_of(batch[i], table), np.int64(1), counters)
        own.total += batch.size


@njit(cache=True, nogil=True)
def _estimate_many(batch, absent, keys, counts, errors, table, out):
    """Write each key's count and error; a key without a counter has `absent` for both."""
    for i in range(batch.size):
        slot = _find(batch[i], home_of(batch[i], table), keys, table)[0]
        if slot >= 0:
            out[0, i], out[1, i] = counts[slot], errors[slot]
        else:
            out[0, i], out[1, i] = absent, absent


@njit(cache=True, nogil=True)
def index_keys(keys, table, used):
    """Enter the first `used` slots into an empty table."""
    for slot in range(used):
        table[_find(keys[slot], home_of(keys[slot], table), keys, table)[1]] = slot


def table_size(capacity: int) -> int:
    """Return the size of the index of `capacity` slots, a power of two.

    It is four times as many or more while the index is small (searches then mostly take one look),
    and at least a quarter more than there are slots where it is large.
    """
    return 1 << max(min((4 * capacity - 1).bit_length(), _SMALL_INDEX), (capacity + capacity // 4).bit_length())


class SpaceSaving:
    """Keep the heavy keys of a stream, with bounds on their counts.

    Parameters
    ----------
    capacity : int
        How many counters. Every key with more than total/capacity messages is among them.

    Examples
    --------
    >>> from streamlb import SpaceSaving
    >>> sketch = SpaceSaving(capacity=2)
    >>> sketch.update([7, 7, 7, 1, 2])
    >>> sketch.heavy_hitters(0.5).tolist()
    [(7, 3, 0)]
    >>> sketch.estimate(2)
    2

    Notes
    -----
    For a key among the counters, count - error <= true count <= count; a key that is not has at
    most the least count.

    References
    ----------
    A. Metwally, D. Agrawal, A. El Abbadi, "Efficient computation of frequent and top-k elements in
    data streams", 2005. P. Agarwal et al., "Mergeable summaries", 2012.
    """

    __slots__ = ("_counts", "_errors", "_keys", "_registers", "_table", "capacity")
    _VERSION = 2  # 2: counts and errors are arrays of their own

    def __init__(self, capacity: int):
        self.capacity = _check.integer("capacity", capacity, 1, 2**28)
        self.reset()

    @property
    def total(self) -> int:
        """The weight of all messages seen."""
        return int(self._own["total"])

    @property
    def used(self) -> int:
        """How many counters hold a key."""
        return int(self._own["used"])

    @property
    def _own(self) -> np.void:
        return self._registers.view(REGISTERS)[0]

    @property
    def _arrays(self) -> dict[str, np.ndarray]:
        """The state, in the order in which kernels take it."""
        return {
            "keys": self._keys,
            "counts": self._counts,
            "errors": self._errors,
            "table": self._table,
            "registers": self._registers,
        }

    def update(self, keys: Any, weights: Any = None) -> None:
        """Count keys, each once or by its weight.

        Parameters
        ----------
        keys : a key or many
            See `streamlb.key_array`.
        weights : array of whole numbers, optional
            As many as keys, zero or more. With weights far apart, finding the least counter may
            take a scan of all counters for each message.
        """
        batch, scale = weighted_batch(keys, weights)
        _update_many(batch, scale, *self._arrays.values())

    def estimate(self, keys: Any) -> Any:
        """Return an upper bound on the count of one key (an int) or of many (int64[m])."""
        batch, single = key_batch(keys)
        out = self._bounds(batch)[0]
        return int(out[0]) if single else out

    def error(self, keys: Any) -> Any:
        """Return how much too high `estimate` may be: an int for one key, int64[m] for many."""
        batch, single = key_batch(keys)
        out = self._bounds(batch)[1]
        return int(out[0]) if single else out

    def error_bound(self) -> int:
        """Return the greatest error of any estimate: the least count once no counter is free."""
        return int(self._counts.min()) if self.used == self.capacity else 0

    def heavy_hitters(self, threshold: float) -> np.ndarray:
        """Return the keys whose share of all messages may reach `threshold`.

        Parameters
        ----------
        threshold : float
            A share, in (0, 1].

        Returns
        -------
        structured array
            Fields ``key``, ``count`` and ``error``, largest count first, equal counts by key.
        """
        threshold = _check.real("threshold", threshold, 0, 1, low_open=True)
        rows = self._rows()
        return rows[rows["count"] >= math.ceil(fraction_of(threshold) * self.total)]

    def merge(self, other: SpaceSaving) -> None:
        """Take in another sketch of the same capacity; every guarantee then holds for both streams.

        Each key's counts are added, a key that one side lacks counting there with its greatest
        possible value; the largest stay.
        """
        check_mergeable(self, other, ("capacity",))
        keys = np.union1d(self._keys[: self.used], other._keys[: other.used])
        count, error = self._bounds(keys) + other._bounds(keys)
        order = np.lexsort((keys, -count))[: self.capacity]
        total = self.total + other.total
        self.reset()
        used = order.size
        self._keys[:used], self._counts[:used], self._errors[:used] = keys[order], count[order], error[order]
        self._own["used"], self._own["total"] = used, total
        index_keys(self._keys, self._table, used)

    def reset(self) -> None:
        """Forget every message."""
        self._keys = np.zeros(self.capacity, np.uint64)
        self._counts = np.zeros(self.capacity, np.int64)
        self._errors = np.zeros(self.capacity, np.int64)
        self._table = np.full(table_size(self.capacity), -1, np.int32)
        self._registers = np.array([(0, -1, self.capacity, 0)], REGISTERS).view(np.int64)

    def state(self) -> bytes:
        """Return capacity and counters as bytes, with a version and a checksum."""
        return _state.pack("SpaceSaving", self._VERSION, {"capacity": self.capacity}, self._arrays)

    @classmethod
    def from_state(cls, data: bytes) -> SpaceSaving:
        """Return the sketch that `state` wrote."""
        parameters, arrays = _state.unpack(data, "SpaceSaving", cls._VERSION)
        sketch = cls(**parameters)
        for name, array in sketch._arrays.items():
            _state.fill(array, arrays, name)
        table, used = sketch._table, sketch.used
        entries = np.sort(table[table != -1])
        if not (0 <= used <= sketch.capacity and np.array_equal(entries, np.arange(used))):
            raise ValueError("state must be bytes from state(): its index does not name each counter in use once")
        return sketch

    def _bounds(self, batch: np.ndarray) -> np.ndarray:
        """Return int64[2, m]: count and error of each key."""
        out = np.empty((2, batch.size), np.int64)
        _estimate_many(batch, self.error_bound(), self._keys, self._counts, self._errors, self._table, out)
        return out

    def _rows(self) -> np.ndarray:
        used = self.used
        rows = np.empty(used, [("key", np.uint64), ("count", np.int64), ("error", np.int64)])
        rows["key"], rows["count"], rows["error"] = self._keys[:used], self._counts[:used], self._errors[:used]
        return rows[np.lexsort((rows["key"], -rows["count"]))]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SpaceSaving) and self.state() == other.state()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"SpaceSaving(capacity={self.capacity}): {self.used} keys, total {self.total}"
