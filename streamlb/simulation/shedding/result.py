"""What a simulated shedder did with a stream."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from streamlb import _check
from streamlb.simulation.shedding.kernels import DROPPED


@dataclass(frozen=True, eq=False)
class SheddingResult:
    """What a simulated shedder did with a stream.

    Parameters
    ----------
    waits : float64[m]
        Each tuple's queuing time; -1 if it was dropped.
    costs, arrivals : float64[m]
        The stream.
    active_from : int
        The first tuple at which the shedder watched its goal; m if it never did.
    matrices, replies : int
        Pairs of matrices and replies that the shedder received.
    assignment : int32[m] or None
        The instance of each tuple, -1 for the dropped, where there are several
        (`simulate_shed_operator`).
    """

    waits: np.ndarray
    costs: np.ndarray
    arrivals: np.ndarray
    active_from: int = 0
    matrices: int = 0
    replies: int = 0
    assignment: np.ndarray | None = None

    @property
    def dropped(self) -> np.ndarray:
        """Which tuples were dropped, bool[m]."""
        return self.waits == DROPPED

    @property
    def dropped_ratio(self) -> float:
        """The share of dropped tuples, 0 of an empty stream."""
        return float(self.dropped.mean()) if self.waits.size else 0.0

    @property
    def average_wait(self) -> float:
        """The mean queuing time of the kept tuples, 0 if there are none."""
        kept = self.waits[~self.dropped]
        return float(kept.mean()) if kept.size else 0.0

    @property
    def average_completion(self) -> float:
        """The mean time from arrival to the end of execution of the kept tuples, 0 if none."""
        kept = ~self.dropped
        return float((self.waits[kept] + self.costs[kept]).mean()) if kept.any() else 0.0

    def quantile(self, share: Any) -> float:
        """Return the queuing time that this share of the kept tuples does not exceed."""
        kept = self.waits[~self.dropped]
        share = _check.real("share", share, 0.0, 1.0)
        return float(np.quantile(kept, share)) if kept.size else 0.0

    def running_average(self) -> np.ndarray:
        """Return Q(j) for each kept tuple j, in order: the mean wait of all kept up to it."""
        kept = self.waits[~self.dropped]
        return np.cumsum(kept) / np.arange(1, kept.size + 1)

    def shedding_ratio(self, baseline: SheddingResult) -> float:
        """Return how many more tuples were dropped than by a baseline, as a share of its drops."""
        theirs = int(baseline.dropped.sum())
        if theirs == 0:
            raise ValueError("baseline must have dropped something, got no drops")
        return (int(self.dropped.sum()) - theirs) / theirs

    def between(self, start: int, stop: int | None = None) -> SheddingResult:
        """Return the result of tuples start .. stop-1 alone, such as those after a warm-up."""
        part = slice(start, stop)
        return SheddingResult(self.waits[part], self.costs[part], self.arrivals[part])

    def windows(self, size: Any = 4000) -> dict[str, np.ndarray]:
        """Return means over jumping windows of `size` tuples.

        Returns
        -------
        dict of arrays
            ``end`` (index after each window's last tuple), ``wait``, ``completion`` (means over
            kept tuples, NaN if there are none) and ``dropped_ratio``.
        """
        size = _check.integer("size", size, 1)
        starts = np.arange(0, self.waits.size, size)
        kept = (~self.dropped).astype(np.float64)
        if starts.size == 0:
            empty = np.empty(0)
            return {"end": np.empty(0, np.int64), "wait": empty, "completion": empty, "dropped_ratio": empty}
        count = np.add.reduceat(kept, starts)
        length = np.diff(np.append(starts, self.waits.size))
        some = np.where(count > 0, count, np.nan)
        return {
            "end": starts + length,
            "wait": np.add.reduceat(np.where(kept > 0, self.waits, 0.0), starts) / some,
            "completion": np.add.reduceat(np.where(kept > 0, self.waits + self.costs, 0.0), starts) / some,
            "dropped_ratio": 1.0 - count / length,
        }

    def __repr__(self) -> str:
        return (
            f"<SheddingResult {self.waits.size} tuples: dropped {self.dropped_ratio:.1%}, average wait "
            f"{self.average_wait:.4g}, average completion {self.average_completion:.4g}>"
        )
