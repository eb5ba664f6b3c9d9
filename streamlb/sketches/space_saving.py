"""SpaceSaving: the heavy keys of a stream in `capacity` counters (Metwally, Agrawal and El Abbadi 2005; D-Choices, section III-A).

State of one sketch: slots uint64[capacity], the key of each counter; counts int64[2, capacity], its count and how much of that
it may have inherited (the error); table int32[size], an open-addressing index of slots, -1 where free, size a power of two at least
4 * capacity; registers int64[4]: USED counters, LEVEL and CURSOR of the least one, TOTAL weight.

Counts only grow, so the least counter is found by walking a cursor over the counters that stand at the least level; when it
reaches the end the level is recomputed. With unit weights all capacity counters have passed a level before the next scan, so
scans cost O(1) a message, amortised, on any stream.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from streamlb import _check, _state
from streamlb._jit import njit
from streamlb.hashing import mix
from streamlb.keys import key_batch
from streamlb.sketches.count_min import check_mergeable

USED, LEVEL, CURSOR, TOTAL = range(4)


@njit(cache=True, nogil=True, forceinline=True)
def _home(key, mask):
    return np.int64(mix(key)) & mask


@njit(cache=True, nogil=True, forceinline=True)
def _find(key, slots, table):
    """Return (slot, place): the key's slot, -1 if it has none, and its place in the table, or the free one where it would stand."""
    mask = np.uint64(table.size - 1)
    place = mix(key) & mask
    slot = table[place]
    while slot >= 0 and slots[np.uint64(slot)] != key:
        place = (place + np.uint64(1)) & mask
        slot = table[place]
    return np.int64(slot), place


@njit(cache=True, nogil=True)
def _remove(key, slots, table):
    """Take `key` out of the table, moving later keys of its run back so that no search breaks."""
    mask = table.size - 1
    hole = np.int64(_find(key, slots, table)[1])
    place = hole
    while True:
        place = (place + 1) & mask
        slot = table[place]
        if slot < 0:
            break
        # The key at `place` may fill the hole unless its home lies behind the hole.
        if ((place - _home(slots[slot], mask)) & mask) >= ((place - hole) & mask):
            table[hole] = slot
            hole = place
    table[hole] = -1


@njit(cache=True, nogil=True)
def _least(counts, registers):
    """Return the slot of a least counter; all counters are in use."""
    capacity = counts.shape[1]
    level, cursor = registers[LEVEL], registers[CURSOR]
    while True:
        while cursor < capacity and counts[0, cursor] != level:
            cursor += 1
        if cursor < capacity:
            break
        level = counts[0, 0]
        for slot in range(1, capacity):
            level = min(level, counts[0, slot])
        cursor = 0
    registers[LEVEL], registers[CURSOR] = level, cursor
    return cursor


@njit(cache=True, nogil=True)
def _enter(key, weight, slots, counts, table, registers):
    """Give a key that has no counter a free one, or the least; return its slot."""
    if registers[USED] < slots.size:
        slot = registers[USED]
        registers[USED] += 1
        counts[0, slot] = weight
    else:
        slot = _least(counts, registers)
        _remove(slots[slot], slots, table)
        counts[1, slot] = counts[0, slot]
        counts[0, slot] += weight
    table[_find(key, slots, table)[1]] = slot
    slots[slot] = key
    return slot


@njit(cache=True, nogil=True, forceinline=True)
def offer(key, weight, slots, counts, table, registers):
    """Count one message; return the key's slot, or ~slot where the slot has just changed hands. TOTAL is the caller's."""
    slot = _find(key, slots, table)[0]
    if slot >= 0:
        counts[0, np.uint64(slot)] += weight
        return slot
    return ~_enter(key, weight, slots, counts, table, registers)


@njit(cache=True, nogil=True)
def _update_many(keys, weights, slots, counts, table, registers):
    """Count every key by its weight; an empty `weights` means one each."""
    if weights.size:
        for i in range(keys.size):
            offer(keys[i], weights[i], slots, counts, table, registers)
            registers[TOTAL] += weights[i]
    else:
        for i in range(keys.size):
            offer(keys[i], np.int64(1), slots, counts, table, registers)
        registers[TOTAL] += keys.size


@njit(cache=True, nogil=True)
def _estimate_many(keys, absent, slots, counts, table, out):
    for i in range(keys.size):
        slot = _find(keys[i], slots, table)[0]
        if slot >= 0:
            out[0, i], out[1, i] = counts[0, slot], counts[1, slot]
        else:
            out[0, i], out[1, i] = absent, absent


@njit(cache=True, nogil=True)
def _index(slots, table, used):
    """Enter the first `used` slots into an empty table."""
    for slot in range(used):
        table[_find(slots[slot], slots, table)[1]] = slot


def table_size(capacity: int) -> int:
    """Return the size of the index of `capacity` slots: the power of two at or above four times as many."""
    return 1 << (4 * capacity - 1).bit_length()


def empty_sketch(capacity: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return (slots, counts, table, registers) of a sketch that has seen nothing."""
    registers = np.zeros(4, np.int64)
    registers[LEVEL], registers[CURSOR] = -1, capacity
    return (
        np.zeros(capacity, np.uint64),
        np.zeros((2, capacity), np.int64),
        np.full(table_size(capacity), -1, np.int32),
        registers,
    )


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
    For a key among the counters, count - error <= true count <= count; a key that is not has at most the least count.

    References
    ----------
    A. Metwally, D. Agrawal, A. El Abbadi, "Efficient computation of frequent and top-k elements in data streams", 2005.
    P. Agarwal et al., "Mergeable summaries", 2012.
    """

    __slots__ = ("_counts", "_registers", "_slots", "_table", "capacity")
    _VERSION = 1

    def __init__(self, capacity: int):
        self.capacity = _check.integer("capacity", capacity, 1, 2**28)
        self._slots, self._counts, self._table, self._registers = empty_sketch(self.capacity)

    @property
    def total(self) -> int:
        """The weight of all messages seen."""
        return int(self._registers[TOTAL])

    @property
    def used(self) -> int:
        """How many counters hold a key."""
        return int(self._registers[USED])

    def update(self, keys: Any, weights: Any = None) -> None:
        """Count keys, each once or by its weight.

        Parameters
        ----------
        keys : a key or many
            See `streamlb.key_array`.
        weights : array of whole numbers, optional
            As many as keys, zero or more. With weights far apart, finding the least counter may take a scan of all counters a message.
        """
        batch, single = key_batch(keys)
        if weights is None:
            scale = np.empty(0, np.int64)
        else:
            scale = _check.weight_array("weights", [weights] if single else weights, batch.size)
        _update_many(batch, scale, self._slots, self._counts, self._table, self._registers)

    def estimate(self, keys: Any) -> Any:
        """Return an upper bound on the count of one key (an int) or of many (int64[m])."""
        batch, single = key_batch(keys)
        out = self._bounds(batch)[0]
        return int(out[0]) if single else out

    def error(self, keys: Any) -> Any:
        """Return how much too high `estimate` may be, for one key (an int) or for many (int64[m])."""
        batch, single = key_batch(keys)
        out = self._bounds(batch)[1]
        return int(out[0]) if single else out

    def error_bound(self) -> int:
        """Return the greatest error that any key's estimate can have: the least count once all counters are in use."""
        return int(self._counts[0].min()) if self.used == self.capacity else 0

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
        return rows[rows["count"] >= threshold * self.total]

    def merge(self, other: SpaceSaving) -> None:
        """Take in another sketch of the same capacity; every guarantee then holds for both streams together.

        Each key's counts are added, a key that one side lacks counting there with its greatest possible value; the largest stay.
        """
        check_mergeable(self, other, ("capacity",))
        keys = np.union1d(self._slots[: self.used], other._slots[: other.used])
        count, error = self._bounds(keys) + other._bounds(keys)
        order = np.lexsort((keys, -count))[: self.capacity]
        total = self.total + other.total
        self.reset()
        used = order.size
        self._slots[:used] = keys[order]
        self._counts[0, :used], self._counts[1, :used] = count[order], error[order]
        self._registers[USED], self._registers[TOTAL] = used, total
        _index(self._slots, self._table, used)

    def reset(self) -> None:
        """Forget every message."""
        self._slots[:] = 0
        self._counts[:] = 0
        self._table[:] = -1
        self._registers[:] = 0
        self._registers[LEVEL], self._registers[CURSOR] = -1, self.capacity

    def state(self) -> bytes:
        """Return capacity and counters as bytes, with a version and a checksum."""
        arrays = {"slots": self._slots, "counts": self._counts, "table": self._table, "registers": self._registers}
        return _state.pack("SpaceSaving", self._VERSION, {"capacity": self.capacity}, arrays)

    @classmethod
    def from_state(cls, data: bytes) -> SpaceSaving:
        """Return the sketch that `state` wrote."""
        parameters, arrays = _state.unpack(data, "SpaceSaving", cls._VERSION)
        sketch = cls(**parameters)
        for name in ("slots", "counts", "table", "registers"):
            _state.fill(getattr(sketch, f"_{name}"), arrays, name)
        table, used = sketch._table, sketch.used
        entries = np.sort(table[table != -1])
        if not (0 <= used <= sketch.capacity and np.array_equal(entries, np.arange(used))):
            raise ValueError("state must be bytes from state(): its index does not name each counter in use once")
        return sketch

    def _bounds(self, batch: np.ndarray) -> np.ndarray:
        """Return int64[2, m]: count and error of each key."""
        out = np.empty((2, batch.size), np.int64)
        _estimate_many(batch, self.error_bound(), self._slots, self._counts, self._table, out)
        return out

    def _rows(self) -> np.ndarray:
        used = self.used
        rows = np.empty(used, [("key", np.uint64), ("count", np.int64), ("error", np.int64)])
        rows["key"], rows["count"], rows["error"] = self._slots[:used], self._counts[0, :used], self._counts[1, :used]
        return rows[np.lexsort((rows["key"], -rows["count"]))]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SpaceSaving) and self.state() == other.state()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"SpaceSaving(capacity={self.capacity}): {self.used} keys, total {self.total}"
