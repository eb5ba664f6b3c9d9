"""How well a stream was spread: imbalance, replication (memory), head and tail load.

Loads are int64[workers], as a grouping's `loads` gives them. Routed messages are two arrays, keys
and workers. Replication is counted exactly, in a hash set of (key, worker) pairs, whose memory
grows with the pairs and not with the messages. The set is two arrays, table_keys uint64[size] and
table_workers int32[size], where a free place has the worker -1 and the size is a power of two.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from streamlb import _check
from streamlb._jit import njit
from streamlb.hashing import GOLDEN, mix
from streamlb.keys import key_array, keys_of

_FIRST_SIZE = 1024


@njit(cache=True, nogil=True)
def _add_pairs(keys, workers, start, used, table_keys, table_workers):
    """Enter the pairs from `start` on, until the table is half full.

    Return the place of the next pair to enter, and how many different pairs the table holds.
    """
    mask = np.uint64(table_keys.size - 1)
    for i in range(start, keys.size):
        if 2 * used >= table_keys.size:
            return i, used
        place = mix(keys[i] + np.uint64(workers[i] + 1) * GOLDEN) & mask
        while table_workers[place] >= 0 and (table_keys[place] != keys[i] or table_workers[place] != workers[i]):
            place = (place + np.uint64(1)) & mask
        if table_workers[place] < 0:
            table_keys[place], table_workers[place] = keys[i], workers[i]
            used += 1
    return keys.size, used


class ReplicationCounter:
    """Count the different (key, worker) pairs of a stream, chunk by chunk.

    That is how many states of keys the workers hold together. It takes keys of any kind and number.
    For whole numbers from 0 on, such as those of `Zipf`, `KeyFootprint` is faster and also says on
    how many workers each key has been.

    Examples
    --------
    >>> from streamlb import ReplicationCounter
    >>> counter = ReplicationCounter()
    >>> counter.update(["a", "a", "b"], [0, 1, 1])
    >>> counter.update(["a"], [1])
    >>> counter.pairs
    3
    """

    __slots__ = ("_table_keys", "_table_workers", "pairs")

    def __init__(self):
        self.pairs = 0
        self._table_keys, self._table_workers = _empty_table(_FIRST_SIZE)

    def update(self, keys: Any, workers: Any) -> None:
        """Count routed messages.

        Parameters
        ----------
        keys : array_like
            Their keys.
        workers : array_like of int
            Their workers, one for each key.
        """
        keys, workers = routed(keys, workers)
        place = 0
        while place < keys.size:
            place, self.pairs = _add_pairs(keys, workers, place, self.pairs, self._table_keys, self._table_workers)
            if place < keys.size:
                self._grow()

    def _grow(self) -> None:
        full = self._table_workers >= 0
        keys, workers = self._table_keys[full], self._table_workers[full]
        self._table_keys, self._table_workers = _empty_table(4 * self._table_keys.size)
        _add_pairs(keys, workers, 0, 0, self._table_keys, self._table_workers)

    def __repr__(self) -> str:
        return f"ReplicationCounter(): {self.pairs} pairs"


def _empty_table(size: int) -> tuple[np.ndarray, np.ndarray]:
    return np.zeros(size, np.uint64), np.full(size, -1, np.int32)


def routed(keys: Any, workers: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return routed messages as keys uint64[m] and workers int32[m], all of them zero or more."""
    keys = key_array(keys)
    workers = np.asarray(workers)
    if workers.dtype.kind not in "iu" and workers.size:
        raise TypeError(f"workers must be whole numbers, got an array of {workers.dtype}")
    if workers.shape != keys.shape:
        raise ValueError(f"workers must be one for each of the {keys.size} keys, got shape {workers.shape}")
    if workers.size and (workers.min() < 0 or workers.max() >= 2**31):
        raise ValueError(f"workers must be in [0, 2**31), got {workers.min()} to {workers.max()}")
    workers = np.ascontiguousarray(workers, np.int32)
    return keys, workers if workers.flags.writeable else workers.copy()


def replication(keys: Any, workers: Any) -> int:
    """Return the number of different (key, worker) pairs among routed messages.

    That is how many states of keys the workers hold together.

    Parameters
    ----------
    keys : array_like
        The messages' keys.
    workers : array_like of int
        The messages' workers.

    Examples
    --------
    >>> from streamlb import replication
    >>> replication([7, 7, 7, 8], [0, 1, 1, 0])
    3
    """
    counter = ReplicationCounter()
    counter.update(keys, workers)
    return counter.pairs


def imbalance(loads: Any) -> float:
    """Return the greatest load minus the mean, as a share of all messages.

    Parameters
    ----------
    loads : array_like
        Messages of each worker.

    Examples
    --------
    >>> from streamlb import imbalance
    >>> imbalance([30, 10, 20])
    0.16666666666666666
    """
    loads = _check.real_array("loads", loads)
    if not loads.size:
        raise ValueError("loads must have an entry for each worker, got none")
    total = loads.sum()
    return float((loads.max() - total / loads.size) / total) if total else 0.0


def checkpoint_imbalance(workers: Any, n: int, checkpoints: int = 100) -> np.ndarray:
    """Return the imbalance of all messages so far, at evenly spaced points of a stream.

    The mean of these is the average imbalance of the papers.

    Parameters
    ----------
    workers : array_like of int
        The messages' workers, in order.
    n : int
        Number of workers.
    checkpoints : int, default 100
        The number of points; the last one is the end of the stream.

    Returns
    -------
    float64[checkpoints]

    Examples
    --------
    >>> from streamlb import checkpoint_imbalance
    >>> checkpoint_imbalance([0, 0, 1, 1], 2, checkpoints=2)
    array([0.5, 0. ])
    """
    n = _check.integer("n", n, 1, _check.LENGTH)
    checkpoints = _check.integer("checkpoints", checkpoints, 1)
    workers = np.asarray(workers)
    if workers.ndim != 1 or workers.size < checkpoints:
        raise ValueError(f"workers must be at least {checkpoints} messages in order, got shape {workers.shape}")
    if workers.dtype.kind not in "iu" or workers.min() < 0 or workers.max() >= n:
        raise ValueError(f"workers must be whole numbers in [0, {n - 1}]")
    ends = np.arange(1, checkpoints + 1) * workers.size // checkpoints
    loads, values, start = np.zeros(n, np.int64), np.empty(checkpoints), 0
    for i, end in enumerate(ends):
        loads += np.bincount(workers[start:end], minlength=n)
        values[i], start = imbalance(loads), end
    return values


def head_tail_load(keys: Any, workers: Any, hot: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return how many messages of the hot keys, and of all others, each worker got.

    Parameters
    ----------
    keys : array_like
        The messages' keys.
    workers : array_like of int
        The messages' workers.
    hot : array_like
        The keys that count as hot.
    n : int
        Number of workers.

    Returns
    -------
    head, tail : int64[n]

    Examples
    --------
    >>> from streamlb import head_tail_load
    >>> head_tail_load([1, 1, 2, 3], [0, 1, 1, 1], hot=[1], n=2)
    (array([1, 1]), array([0, 2]))
    """
    n = _check.integer("n", n, 1, _check.LENGTH)
    keys, workers = routed(keys, workers)
    if workers.size and workers.max() >= n:
        raise ValueError(f"workers must be in [0, {n - 1}], got {workers.max()}")
    among = np.isin(keys, keys_of("hot", hot))
    return np.bincount(workers[among], minlength=n), np.bincount(workers[~among], minlength=n)


def movement(before: Any, after: Any) -> int:
    """Return how many keys changed worker.

    Parameters
    ----------
    before, after : array_like of int
        The worker of each key, in the same order, before and after a change: see
        `ConsistentGrouping.principal`.

    Examples
    --------
    >>> from streamlb import ConsistentGrouping, movement
    >>> grouping, keys = ConsistentGrouping(10), range(1000)
    >>> before = grouping.principal(keys)
    >>> worker = grouping.add_worker()
    >>> 50 < movement(before, grouping.principal(keys)) < 150  # about one in eleven
    True
    """
    before, after = np.asarray(before), np.asarray(after)
    if before.shape != after.shape:
        raise ValueError(f"after must have as many entries as before, {before.shape}, got {after.shape}")
    return int(np.count_nonzero(before != after))
