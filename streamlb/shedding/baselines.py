"""The shedders that load-aware shedding is compared with (Rivetti et al. 2016, section 5.1).

They have its interface. `StrawMan` takes every tuple to cost the mean, `FullKnowledge` knows each
cost, `RandomShedder` (the paper's Base Line) drops a fixed share at random. The first two use the
goal and the clock of load-aware shedding and hear nothing from the operator.

State: `_registers` int64, one `WATCHER` record or, for `RandomShedder`, one `CLOCK` record; `_ring`
float64, the last waits of a windowed goal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from streamlb import _check
from streamlb._jit import njit, record
from streamlb._options import checked, options_of, takes
from streamlb.rng import random_unit
from streamlb.shedding.clock import BACKWARDS, CLOCK, DROP, KEEP, add_cost, see_time, verdict
from streamlb.shedding.rules import GOAL, GoalOptions
from streamlb.shedding.shedder import GoalShedder, Shedder, check_time, clock_record, in_one

# A shedder that watches a goal and hears nothing.
WATCHER = record([("clock", CLOCK), ("goal", GOAL)])


@njit(cache=True, nogil=True, forceinline=True)
def offer_known(now, cost, forced, own, ring):
    """Drop or keep a tuple of known cost."""
    clock = own.clock
    if not see_time(now, clock):
        return BACKWARDS
    if verdict(now, forced, clock, own.goal, ring):
        return DROP
    add_cost(cost * clock.growth, now, clock)
    return KEEP


@njit(cache=True, nogil=True, forceinline=True)
def offer_random(now, share, seed, clock):
    """Drop a tuple with probability `share`, by draw number `offered` of the seed."""
    number = np.uint64(clock.offered)
    if not see_time(now, clock):
        return BACKWARDS
    if random_unit(seed, number) < share:
        return DROP
    clock.kept += 1
    return KEEP


@njit(cache=True, nogil=True)
def _offer_known(now, cost, forced, registers, ring):
    return offer_known(now, cost, forced, registers.view(WATCHER)[0], ring)


@njit(cache=True, nogil=True)
def _offer_random(now, share, seed, registers):
    return offer_random(now, share, np.uint64(seed), registers.view(CLOCK)[0])


@dataclass(frozen=True)
class StrawManOptions(GoalOptions):
    """All options of `StrawMan`."""

    mean_cost: Any = None

    def __post_init__(self):
        super().__post_init__()
        checked(self, mean_cost=None if self.mean_cost is None else _check.real("mean_cost", self.mean_cost, 0.0))


@dataclass(frozen=True)
class KnowledgeOptions(GoalOptions):
    """All options of `FullKnowledge`."""

    costs: Any = None

    def __post_init__(self):
        super().__post_init__()
        if self.costs is not None and not callable(self.costs) and not isinstance(self.costs, Mapping):
            checked(self, costs=_check.real_array("costs", self.costs))


@dataclass(frozen=True)
class RandomOptions:
    """All options of `RandomShedder`."""

    share: Any
    seed: Any = 0
    safety: Any = 0.0

    def __post_init__(self):
        checked(
            self,
            share=_check.real("share", self.share, 0.0, 1.0, high_open=True),
            seed=_check.seed_value(self.seed),
            safety=_check.real("safety", self.safety, 0.0),
        )


class _ByClock(GoalShedder):
    """A shedder that adds up what it takes tuples to cost."""

    __slots__ = ("_ring",)

    def __init__(self, *args: Any, **options: Any):
        self.options: Any = options_of(self, args, options)
        self._own_goal = self.options.own_goal
        goal = self.options.goal_record()
        self._registers = in_one(clock_record(1.0 + self.options.safety), goal)
        self._ring = np.zeros(int(goal["span"][0]))

    def _offer(self, now: Any, cost: float) -> bool:
        now = check_time("now", now)
        forced = -1 if self._own_goal is None else self._own_verdict(now)
        answer = _offer_known(now, cost, forced, self._registers, self._ring)
        if answer == BACKWARDS:
            raise self._refuse(now)
        return answer == DROP


@takes(StrawManOptions, "threshold mean_cost")
class StrawMan(_ByClock):
    """Shed by load, taking every tuple to cost the same.

    Parameters
    ----------
    threshold : float
        The goal's bound on the queuing time.
    mean_cost : float, optional
        The cost of every tuple; None to use the mean of what was completed so far.
    safety : float
        Every cost is raised by this share. 0 as in the paper's comparison; 0.05 isolates what the
        factor of load-aware shedding does.
    goal, span, share, check
        As for `LoadAwareShedder`.

    Examples
    --------
    >>> from streamlb import StrawMan
    >>> shedder = StrawMan(threshold=2.0, mean_cost=1.0, goal="bound")
    >>> [shedder.offer("any", now=0.0) for _ in range(5)]
    [False, False, False, True, True]
    """

    __slots__ = ("_completed", "_spent")

    def __init__(self, *args: Any, **options: Any):
        super().__init__(*args, **options)
        self._completed, self._spent = 0, 0.0

    @property
    def mean_cost(self) -> float:
        """What every tuple is taken to cost; 0 while nothing is known."""
        if self.options.mean_cost is not None:
            return self.options.mean_cost
        return self._spent / self._completed if self._completed else 0.0

    def offer(self, key: Any, now: Any) -> bool:
        """Say whether to drop a tuple that comes at `now`; its key is not looked at."""
        return self._offer(now, self.mean_cost)

    def complete(self, key: Any, elapsed: Any, now: Any = None) -> None:
        """Tell that the operator executed a kept tuple in `elapsed`."""
        self._spent += check_time("elapsed", elapsed)
        self._completed += 1


@takes(KnowledgeOptions, "threshold costs")
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
    goal, span, share, check
        As for `LoadAwareShedder`.

    Examples
    --------
    >>> from streamlb import FullKnowledge
    >>> shedder = FullKnowledge(threshold=2.0, costs={"map": 1.0, "join": 4.0}, goal="bound")
    >>> [shedder.offer(key, now=0.0) for key in ["map", "join", "map"]]
    [False, False, True]
    """

    __slots__ = ()

    def offer(self, key: Any, now: Any, cost: Any = None) -> bool:
        """Say whether to drop a tuple of a key, or of the given cost, that comes at `now`."""
        if cost is None:
            if self.options.costs is None:
                raise TypeError("cost must be given: this shedder was made without costs")
            cost = self._cost_of(key)
        return self._offer(now, check_time("cost", cost))

    def _cost_of(self, key: Any) -> Any:
        costs = self.options.costs
        if callable(costs):
            return costs(key)
        if isinstance(costs, np.ndarray):
            return float(costs[_check.integer("key", key, 0, costs.size - 1)])
        try:
            return costs[key]
        except KeyError:
            raise ValueError(f"key must have a cost, got {key!r}") from None

    def complete(self, key: Any, elapsed: Any, now: Any = None) -> None:
        """Tell that the operator executed a kept tuple; there is nothing to learn from it."""
        check_time("elapsed", elapsed)


@takes(RandomOptions, "share seed")
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

    __slots__ = ("_share",)

    def __init__(self, *args: Any, **options: Any):
        self.options: RandomOptions = options_of(self, args, options)
        share, safety = self.options.share, self.options.safety
        self._share = share if safety == 0.0 else 1.0 - (1.0 - share) / (1.0 + safety)
        self._registers = in_one(clock_record(1.0))

    @property
    def share(self) -> float:
        """The probability of being dropped, the safety share included."""
        return self._share

    def offer(self, key: Any, now: Any) -> bool:
        """Say whether to drop a tuple that comes at `now`."""
        now = check_time("now", now)
        answer = _offer_random(now, self._share, np.uint64(self.options.seed), self._registers)
        if answer == BACKWARDS:
            raise self._refuse(now)
        return answer == DROP

    def complete(self, key: Any, elapsed: Any, now: Any = None) -> None:
        """Tell that the operator executed a kept tuple; there is nothing to learn from it."""
        check_time("elapsed", elapsed)
