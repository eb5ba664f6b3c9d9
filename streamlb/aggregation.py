"""Periodic aggregation: the partial counts of split keys add up to the exact counts.

This is Nasir et al. 2017, section IV-D. Counting is a sum, so it does not matter which worker
counted what, nor how often the parts are collected.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from streamlb import _check
from streamlb.keys import key_array


class PartialCounts:
    """The counters of all workers, each holding part of the counts of the keys it was sent.

    Parameters
    ----------
    workers : int
        Number of workers.

    Examples
    --------
    >>> from streamlb import PartialCounts
    >>> counts = PartialCounts(2)
    >>> counts.add([7, 7, 9, 7], workers=[0, 1, 1, 1])
    >>> counts.at(1)
    {7: 2, 9: 1}
    >>> counts.collect()
    {7: 3, 9: 1}
    >>> counts.at(1)
    {}
    """

    __slots__ = ("_parts", "_totals", "workers")

    def __init__(self, workers: int):
        self.workers = _check.integer("workers", workers, 1, 2**24)
        self._parts: list[dict[int, int]] = [{} for _ in range(self.workers)]
        self._totals: dict[int, int] = {}

    def add(self, keys: Any, workers: Any, weights: Any = None) -> None:
        """Count messages at the workers they were sent to.

        Parameters
        ----------
        keys : array_like
            Keys of any supported kind; they are counted as the 64-bit numbers of `key_array`.
        workers : array_like of int
            The worker of each message.
        weights : array_like of int, optional
            What each message counts for; 1 by default.
        """
        keys = key_array(keys)
        workers = np.asarray(workers)
        weights = (
            np.ones(keys.size, np.int64) if weights is None else _check.weight_array("weights", weights, keys.size)
        )
        if workers.shape != keys.shape or workers.dtype.kind not in "iu":
            raise ValueError(
                f"workers must be a whole number for each of the {keys.size} keys, got shape {workers.shape}"
            )
        if keys.size and not (workers.min() >= 0 and workers.max() < self.workers):
            raise ValueError(f"workers must be in [0, {self.workers - 1}], got {workers.min()} to {workers.max()}")
        for key, worker, weight in zip(keys.tolist(), workers.tolist(), weights.tolist()):
            part = self._parts[worker]
            part[key] = part.get(key, 0) + weight

    def at(self, worker: int) -> dict[int, int]:
        """Return the partial counts that a worker holds since the last collection, by key."""
        return dict(self._parts[_check.integer("worker", worker, 0, self.workers - 1)])

    def collect(self) -> dict[int, int]:
        """Add all partial counts to the totals, clear them, and return the totals.

        The totals are the exact counts so far, by key.
        """
        for part in self._parts:
            for key, count in part.items():
                self._totals[key] = self._totals.get(key, 0) + count
            part.clear()
        return dict(self._totals)
