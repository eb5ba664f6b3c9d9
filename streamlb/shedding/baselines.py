"""The shedders that load-aware shedding is compared with (paper 003, section 5.1), under its interface.

`StrawMan` takes every tuple to cost the mean, `FullKnowledge` knows each cost, `RandomShedder` (the paper's Base
Line) drops a fixed share at random. The first two use the goal and the clock of `streamlb.shedding.core` and hear
nothing from the operator.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from streamlb import _check
from streamlb._jit import njit
from streamlb.rng import random_unit
from streamlb.shedding import core
from streamlb.shedding.load_aware import Shedder, _time

_NO_MARKS = np.zeros((1, 2))


@njit(cache=True, nogil=True)
def random_drop(now, share, seed, s):
    """Drop a tuple with probability `share`, by draw number `offered` of the seed."""
    number = np.uint64(s[core.OFFERED])
    if not core.see_time(now, s):
        return core.BACKWARDS
    if random_unit(np.uint64(seed), number) < share:
        return core.DROP
    s[core.KEPT] += 1.0
    return core.KEEP


class _ByClock(Shedder):
    """A shedder that adds up what it takes tuples to cost."""

    __slots__ = ()

    def __init__(self, threshold: Any, safety: Any, goal: Any, span: Any, share: Any):
        self._s, self._ring, self._goal = core.goal_slots(threshold, goal, span, share, "text")
        self._s[core.GROWTH] = 1.0 + _check.real("safety", safety, 0.0)
        self._s[core.PHASE] = core.RUN
        self._s[core.ACTIVE] = 1.0

    def _offer(self, now: Any, cost: float) -> bool:
        now = _time("now", now)
        forced = -1 if self._goal is None else self._own_verdict(now)
        answer = core.offer_known(now, cost, forced, self._s, self._ring, _NO_MARKS)
        if answer == core.BACKWARDS:
            raise self._refuse(now)
        return answer == core.DROP

    def __repr__(self) -> str:
        name = type(self).__name__
        return f"<{name} threshold {self.threshold:g}: offered {self.offered}, dropped {self.dropped}>"


class StrawMan(_ByClock):
    """Shed by load, taking every tuple to cost the same.

    Parameters
    ----------
    threshold : float
        The goal's bound on the queuing time.
    mean_cost : float, optional
        The cost of every tuple; None to use the mean of what was completed so far.
    safety : float
        Every cost is raised by this share. 0 as in the paper's comparison; 0.05 isolates what the factor of
        load-aware shedding does.
    goal, span, share
        As for `LoadAwareShedder`.

    Examples
    --------
    >>> from streamlb import StrawMan
    >>> shedder = StrawMan(threshold=2.0, mean_cost=1.0, goal="bound")
    >>> [shedder.offer("any", now=0.0) for _ in range(5)]
    [False, False, False, True, True]
    """

    __slots__ = ("_completed", "_mean", "_spent")

    def __init__(
        self, threshold: Any = 6.4, mean_cost: Any = None, *, safety: Any = 0.0, goal: Any = "average",
        span: Any = 1024, share: Any = 0.95,
    ):  # fmt: skip
        super().__init__(threshold, safety, goal, span, share)
        self._mean = None if mean_cost is None else _check.real("mean_cost", mean_cost, 0.0)
        self._completed, self._spent = 0, 0.0

    @property
    def mean_cost(self) -> float:
        """What every tuple is taken to cost; 0 while nothing is known."""
        if self._mean is not None:
            return self._mean
        return self._spent / self._completed if self._completed else 0.0

    def offer(self, key: Any, now: Any) -> bool:
        """Say whether to drop a tuple that comes at `now`; its key is not looked at."""
        return self._offer(now, self.mean_cost)

    def complete(self, key: Any, elapsed: Any, now: Any = None) -> None:
        """Tell that the operator executed a kept tuple in `elapsed`."""
        self._spent += _time("elapsed", elapsed)
        self._completed += 1


class FullKnowledge(_ByClock):
    """Shed by load, knowing what each tuple costs: the best that the shedder's rule can do.

    Parameters
    ----------
    threshold : float
        The goal's bound on the queuing time.
    costs : mapping, array or callable, optional
        The cost of a key: ``costs[key]`` or ``costs(key)``. Without it each offer names the cost.
    safety : float
        Every cost is raised by this share.
    goal, span, share
        As for `LoadAwareShedder`.

    Examples
    --------
    >>> from streamlb import FullKnowledge
    >>> shedder = FullKnowledge(threshold=2.0, costs={"map": 1.0, "join": 4.0}, goal="bound")
    >>> [shedder.offer(key, now=0.0) for key in ["map", "join", "map"]]
    [False, False, True]
    """

    __slots__ = ("_costs",)

    def __init__(
        self, threshold: Any = 6.4, costs: Any = None, *, safety: Any = 0.0, goal: Any = "average",
        span: Any = 1024, share: Any = 0.95,
    ):  # fmt: skip
        super().__init__(threshold, safety, goal, span, share)
        if costs is not None and not callable(costs) and not isinstance(costs, Mapping):
            costs = _check.real_array("costs", costs)
        self._costs = costs

    def offer(self, key: Any, now: Any, cost: Any = None) -> bool:
        """Say whether to drop a tuple of a key, or of the given cost, that comes at `now`."""
        if cost is None:
            if self._costs is None:
                raise TypeError("cost must be given: this shedder was made without costs")
            cost = self._cost_of(key)
        return self._offer(now, _time("cost", cost))

    def _cost_of(self, key: Any) -> Any:
        if callable(self._costs):
            return self._costs(key)
        if isinstance(self._costs, np.ndarray):
            return float(self._costs[_check.integer("key", key, 0, self._costs.size - 1)])
        try:
            return self._costs[key]
        except KeyError:
            raise ValueError(f"key must have a cost, got {key!r}") from None

    def complete(self, key: Any, elapsed: Any, now: Any = None) -> None:
        """Tell that the operator executed a kept tuple; there is nothing to learn from it."""
        _time("elapsed", elapsed)


class RandomShedder(Shedder):
    """Drop a fixed share of the tuples at random, whatever they are: the paper's Base Line.

    Parameters
    ----------
    share : float
        The probability of being dropped, in [0, 1).
    seed : int, SeedSequence or None
        Of the draws.
    safety : float
        Drop more, so that what is kept falls by a factor of 1 + safety.

    Examples
    --------
    >>> from streamlb import RandomShedder
    >>> shedder = RandomShedder(0.25, seed=1)
    >>> dropped = [shedder.offer("any", now=float(i)) for i in range(1000)]
    >>> 200 < sum(dropped) < 300
    True
    """

    __slots__ = ("_seed", "_share")

    def __init__(self, share: Any, seed: Any = 0, *, safety: Any = 0.0):
        share = _check.real("share", share, 0.0, 1.0, high_open=True)
        safety = _check.real("safety", safety, 0.0)
        self._share = share if safety == 0.0 else 1.0 - (1.0 - share) / (1.0 + safety)
        self._seed = _check.seed_value(seed)
        self._s, self._ring, self._goal = core.goal_slots(1.0, "bound", 1, 0.5, "text")

    @property
    def share(self) -> float:
        """The probability of being dropped, the safety share included."""
        return self._share

    def offer(self, key: Any, now: Any) -> bool:
        """Say whether to drop a tuple that comes at `now`."""
        now = _time("now", now)
        answer = random_drop(now, self._share, np.uint64(self._seed), self._s)
        if answer == core.BACKWARDS:
            raise self._refuse(now)
        return answer == core.DROP

    def complete(self, key: Any, elapsed: Any, now: Any = None) -> None:
        """Tell that the operator executed a kept tuple; there is nothing to learn from it."""
        _time("elapsed", elapsed)

    def __repr__(self) -> str:
        return f"<RandomShedder share {self._share:g}: offered {self.offered}, dropped {self.dropped}>"
