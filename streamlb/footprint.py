"""What keys cost in memory: the (key, worker) pairs of a routing, counted in a table of bits.

The state of a footprint is seen uint64[keys, words]: bit w of a key's row is set once worker w has
had the key.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from streamlb import _check
from streamlb._jit import njit
from streamlb.metrics import routed


@njit(cache=True, nogil=True)
def _mark(keys, workers, seen):
    """Set the bits of some messages and return how many were not set before."""
    new = 0
    for i in range(keys.size):
        row = np.int64(keys[i])
        word = workers[i] >> 6
        bit = np.uint64(1) << np.uint64(workers[i] & 63)
        if not seen[row, word] & bit:
            seen[row, word] |= bit
            new += 1
    return new


class KeyFootprint:
    """Count on how many workers each of the keys 0 to keys - 1 has been.

    Messages come in any number of chunks. It keeps one bit for each key and worker, is about four
    times as fast as `ReplicationCounter`, and knows each key's workers. `ReplicationCounter` takes
    keys of any kind, also strings, and grows with the pairs that occur: use it where the keys have
    no known end, or are too many for a table.

    Parameters
    ----------
    keys : int
        Keys are whole numbers below this one, as those of `Zipf` are.
    workers : int
        Number of workers.

    Examples
    --------
    >>> from streamlb import KeyFootprint
    >>> footprint = KeyFootprint(keys=3, workers=2)
    >>> footprint.add([0, 0, 2, 0], [0, 1, 1, 0])
    >>> footprint.pairs, footprint.per_key.tolist()
    (3, [2, 0, 1])
    """

    __slots__ = ("_seen", "keys", "pairs", "workers")

    def __init__(self, keys: int, workers: int):
        self.keys = _check.integer("keys", keys, 1, _check.LENGTH)
        self.workers = _check.integer("workers", workers, 1, _check.LENGTH)
        self._seen = np.zeros((self.keys, (self.workers + 63) // 64), np.uint64)
        self.pairs = 0

    def add(self, keys: Any, workers: Any) -> None:
        """Count messages.

        Parameters
        ----------
        keys, workers : array_like of int
            Key and worker of each message.
        """
        keys, workers = routed(keys, workers)
        if keys.size and int(keys.max()) >= self.keys:
            raise ValueError(f"keys must be below {self.keys}, got {keys.max()}")
        if keys.size and workers.max() >= self.workers:
            raise ValueError(f"workers must be in [0, {self.workers - 1}], got {workers.min()} to {workers.max()}")
        self.pairs += _mark(keys, workers, self._seen)

    @property
    def per_key(self) -> np.ndarray:
        """The number of workers that each key has been on: int64[keys]."""
        counts = np.zeros(self.keys, np.int64)
        for word in self._seen.T:
            for byte in np.ascontiguousarray(word).view(np.uint8).reshape(self.keys, 8).T:
                counts += _BITS[byte]
        return counts


_BITS = np.array([bin(byte).count("1") for byte in range(256)], np.int64)
