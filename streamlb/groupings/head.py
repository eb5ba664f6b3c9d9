"""What the three groupings share that treat hot keys apart: a sketch for each source, the test, the least loaded worker.

A source counts its keys in a SpaceSaving sketch. A key is hot, part of the head, while its count reaches the threshold
theta times all the source has sent; all other keys, the tail, choose between two workers as in partial key grouping.

State: load int64[sources, workers]; meta int64[OWN + REGISTERS * sources], parameters and each source's registers; sketch
int64[sources, ...], a row a source: its sketch's keys, counts and index one after the other, and what a subclass adds.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from streamlb import _check
from streamlb._jit import njit
from streamlb._options import checked, takes
from streamlb.groupings.base import Grouping, GroupingOptions, send_to_lesser, shared_of
from streamlb.hashing import derive, family_of, first_candidate, key_hash, second_candidate
from streamlb.sketches.space_saving import REGISTERS as SKETCH
from streamlb.sketches.space_saving import Counters, table_size

# meta: what all messages share, after MESSAGES and SEED; theta, epsilon and floor are the bits of floats. FIXED: a given d.
THETA, EPSILON, FLOOR, DISTINCT, ROTATE, CAPACITY, TABLE, FIXED = range(2, 10)
OWN = 10
# Registers of a source, after the four of its sketch. LEAST, NEXT, LEFT: see least_of.
# START: where a source's turn begins. CHOICES is d; the rest belongs to D-Choices: the total at which d is next SOLVEd, how many
# keys are HOT, how often d has CHANGED, how far the pool is FILLED, the last STAMP, a counter whose message is PENDING.
LEAST, NEXT, LEFT, START, CHOICES, SOLVE, HOT, CHANGES, FILLED, STAMP, PENDING = range(4, 15)
REGISTERS = 15

_GUARD = 50.0  # with the guard a key is not called hot before it was seen this often
_SEEN = 0.5  # without it, once it was seen at all
_MOST_COUNTERS = 2**28


@njit(nogil=True, inline="always")
def registers_of(source, meta):
    """Return a source's registers, a view."""
    return meta[OWN + source * REGISTERS : OWN + (source + 1) * REGISTERS]


@njit(nogil=True, inline="always")
def sketch_of(row, own, meta):
    """Return a source's SpaceSaving sketch: views of its row and of its first registers."""
    capacity = meta[CAPACITY]
    keys = row[:capacity].view(np.uint64)
    counts = row[capacity : 2 * capacity]
    errors = row[2 * capacity : 3 * capacity]
    table = row[3 * capacity : 3 * capacity + meta[TABLE] // 2].view(np.int32)
    return Counters(keys, counts, errors, table, own[:4].view(SKETCH)[0])


@njit(cache=True, nogil=True, forceinline=True)
def is_hot(slot, counters, meta):
    """Return whether a counter's key is hot now; with the guard, what the count may have inherited is left out."""
    parameters = meta.view(np.float64)
    slot = np.uint64(slot)
    count = counters.counts[slot]
    if parameters[FLOOR] >= 1.0:
        count -= counters.errors[slot]
    return count >= max(parameters[THETA] * counters.own.total, parameters[FLOOR])


@njit(cache=True, nogil=True, forceinline=True)
def second_choice(h, first, n):
    """Return the second of a key's two distinct workers, given its hash and the first: one of the n - 1 others."""
    second = first + 1 + second_candidate(h, n - 1)
    return second - n if second >= n else second


@njit(cache=True, nogil=True, forceinline=True)
def send_tail(key, weight, load, meta):
    """Add a message of a key that is not hot to the less loaded of its two workers and return that worker."""
    h, n = key_hash(key, family_of(shared_of(meta).seed)), load.size
    first = first_candidate(h, n)
    second = second_choice(h, first, n) if meta[DISTINCT] != 0 else second_candidate(h, n)
    return send_to_lesser(first, second, weight, load)


@njit(cache=True, nogil=True, forceinline=True)
def least_worker(load, meta, own):
    """Return the least loaded worker: the first one, or to rotate ties the first at or after the last one returned.

    Loads only grow, so no worker comes back to the least load once it has left it: a cursor (NEXT) walks over the workers
    that stand at that load (LEAST), and only when it has been all round (LEFT is 0) are all loads read for the next one.
    """
    n = load.size
    level, at, left = own[LEAST], own[NEXT], own[LEFT]
    while True:
        while left > 0 and load[np.uint64(at)] != level:
            left -= 1
            at += 1
            if at == n:
                at = 0
        if left > 0:
            break
        level = load[0]
        for worker in range(1, n):
            level = min(level, load[worker])
        at = own[NEXT] if meta[ROTATE] != 0 else 0
        left = n
    own[LEAST], own[NEXT], own[LEFT] = level, at, left
    return at


@dataclass(frozen=True)
class HeadOptions(GroupingOptions):
    """Hold the options of a grouping that treats hot keys apart, and check them."""

    _: KW_ONLY
    theta: float | None = None
    capacity: int | None = None
    guard: bool = True
    candidates: str = "distinct"
    ties: str = "rotate"

    def __post_init__(self) -> None:
        super().__post_init__()
        theta = 0.2 / self.workers if self.theta is None else _theta(self.theta)
        least = math.ceil(1 / theta)
        checked(
            self,
            theta=theta,
            capacity=max(1000, 2 * least) if self.capacity is None else _capacity(self.capacity, least, theta),
            guard=_flag("guard", self.guard),
            candidates=_check.choice("candidates", self.candidates, ("distinct", "independent")),
            ties=_check.choice("ties", self.ties, ("rotate", "first")),
        )


@takes(HeadOptions)
class HeadGrouping(Grouping):
    """Base of the groupings that treat hot keys apart.

    Parameters
    ----------
    workers, sources, seed
        As for every grouping.
    theta : float, optional
        The share from which a key is hot, in (0, 1); 1 / (5 workers) by default.
    capacity : int, optional
        Counters in each source's sketch: at least 1 / theta; by default twice that, and no fewer than 1000.
    guard : bool, default True
        Call a key hot only when it was surely seen often enough, and at least 50 times. False: as printed in the paper,
        which takes every key for hot while few messages were seen.
    candidates : {"distinct", "independent"}
        Whether a key's workers are all different, or hashed one by one as in the paper, so that some coincide.
    ties : {"rotate", "first"}
        Which of equally loaded workers a hot key takes: the next in turn, each source in a turn of its own, or the first.
    """

    __slots__ = ()
    theta: float  # options, as attributes to read
    capacity: int
    guard: bool
    candidates: str
    ties: str
    _arrays: tuple[str, ...] = ("load", "meta", "sketch")

    def _row_size(self) -> int:
        """Return how many words a source takes in `sketch`."""
        return 3 * self.capacity + table_size(self.capacity) // 2

    def _fresh(self) -> tuple[np.ndarray, ...]:
        meta = self._fresh_meta(OWN + REGISTERS * self.sources)
        meta.view(np.float64)[[THETA, EPSILON, FLOOR]] = self.theta, self._tolerance(), _GUARD if self.guard else _SEEN
        meta[[DISTINCT, ROTATE]] = self.candidates == "distinct", self.ties == "rotate"
        meta[[CAPACITY, TABLE]] = self.capacity, table_size(self.capacity)
        own = self._registers(meta)
        sketches = own[:, :4].copy().view(SKETCH)
        sketches["level"], sketches["cursor"] = -1, self.capacity
        own[:, :4] = sketches.view(np.int64)
        if self.ties == "rotate":
            own[:, START] = derive(self.seed, self.sources) % np.uint64(self.workers)
        own[:, NEXT] = own[:, START]
        own[:, CHOICES] = self._first_choices()
        sketch = np.zeros((self.sources, self._row_size()), np.int64)
        sketch[:, 3 * self.capacity : 3 * self.capacity + meta[TABLE] // 2] = -1
        return np.zeros((self.sources, self.workers), np.int64), meta, sketch

    def _tolerance(self) -> float:
        return 0.0

    def _first_choices(self) -> int:
        return self.workers

    def _registers(self, meta: np.ndarray) -> np.ndarray:
        return meta[OWN:].reshape(self.sources, REGISTERS)

    @property
    def d(self) -> int:
        """How many workers a hot key may have at present; the most over all sources."""
        return int(self.d_by_source.max())

    @property
    def d_by_source(self) -> np.ndarray:
        """How many workers a hot key may have at each source: int64[sources]."""
        return np.minimum(self._registers(self._state[1])[:, CHOICES], self.workers)

    def d_history(self, source: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Return when a source's d changed, by the weight it had sent, and what it became: never, unless d is solved for.

        Parameters
        ----------
        source : int, default 0
            The source asked.

        Returns
        -------
        sent : int64[c]
        d : int64[c]
        """
        _check.integer("source", source, 0, self.sources - 1)
        return np.empty(0, np.int64), np.empty(0, np.int64)

    def head(self, source: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the hot keys and their estimated shares, largest first.

        Parameters
        ----------
        source : int, optional
            The source asked; by default all of them: every key hot at one source at least, and its share of what all
            sources have counted.

        Returns
        -------
        keys : uint64[h]
        shares : float64[h]
        """
        wanted = range(self.sources) if source is None else [_check.integer("source", source, 0, self.sources - 1)]
        parts = [self._counters(one) for one in wanted]
        total = sum(part[3] for part in parts)
        hot = np.unique(np.concatenate([keys[hot] for keys, _, hot, _ in parts]))
        counts = np.zeros(hot.size, np.int64)
        for keys, count, _, _ in parts:
            place = np.searchsorted(hot, keys)
            found = (place < hot.size) & (hot[np.minimum(place, hot.size - 1)] == keys) if hot.size else place < 0
            np.add.at(counts, place[found], count[found])
        order = np.lexsort((hot, -counts))
        return hot[order], counts[order] / max(total, 1)

    def _counters(self, source: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
        """Return a source's keys, counts, which of them are hot, and the weight of all it has sent."""
        own = self._registers(self._state[1])[source, :4].view(SKETCH)[0]
        row, used, total = self._state[2][source], int(own["used"]), int(own["total"])
        counts, errors = row[self.capacity :][:used], row[2 * self.capacity :][:used]
        sure = counts - errors if self.guard else counts
        hot = sure >= max(self.theta * total, _GUARD if self.guard else _SEEN)
        return row[:used].view(np.uint64), counts, hot, total


def _theta(theta: Any) -> float:
    theta = _check.real("theta", theta, 0, 1, low_open=True, high_open=True)
    if theta < 2 / _MOST_COUNTERS:
        raise ValueError(f"theta must be at least 2**-27, for a sketch of 2/theta counters to fit, got {theta!r}")
    return theta


def _capacity(capacity: Any, least: int, theta: float) -> int:
    capacity = _check.integer("capacity", capacity, 1, _MOST_COUNTERS)
    if capacity < least:
        raise ValueError(f"capacity must be at least {least} (1/theta) for theta={theta:g}, got {capacity}")
    return capacity


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be True or False, got {value!r}")
    return bool(value)
