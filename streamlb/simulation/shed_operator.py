"""A shedder in front of a scheduler of k operator instances.

This joins load-aware shedding (Rivetti et al. 2016) and POSG (Rivetti et al. 2015). The shedder
sees the k instances as one operator of k-fold speed, whose backlog is what a fair scheduler leaves
at each of them: it is told each execution time divided by k, and as the time of a completion when
that operator would have been done with as much. It works on one tuple at a time, where the
instances have begun others: what is done of these, divided by k, is taken from the time. Without
that the shedder would take the others to be untouched, and shed more the more instances there are.
Tuples that it keeps go where the scheduler says. The loop calls the live objects, one tuple after
the other, in the order of arrivals and completions.
"""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np

from streamlb import _check
from streamlb._options import bind, checked, shows, signature_of
from streamlb.simulation.shedding import DROPPED, SheddingResult
from streamlb.simulation.shedding.options import ArrivalOptions


class _RoundRobin:
    """Send tuples to the instances in turn."""

    def __init__(self, instances: int):
        self.instances, self._turn = instances, -1

    def submit(self, key: int, now: float) -> int:
        self._turn = (self._turn + 1) % self.instances
        return self._turn

    def complete(self, instance: int, key: int, elapsed: float, now: float) -> None:
        pass


@dataclass(frozen=True, eq=False, kw_only=True)
class ShedOperatorOptions(ArrivalOptions):
    """Hold the arguments of `simulate_shed_operator`, which documents them, and check them."""

    shedder: Any
    scheduler: Any

    def __post_init__(self):
        if isinstance(self.scheduler, (int, np.integer)):
            checked(self, scheduler=_RoundRobin(_check.integer("scheduler", self.scheduler, 1, 2**31 - 1)))
        for name, calls in (("shedder", ("offer",)), ("scheduler", ("instances", "submit"))):
            given = getattr(self, name)
            if not all(hasattr(given, call) for call in (*calls, "complete")):
                raise TypeError(f"{name} must have {', '.join(calls)} and complete, got {given!r}")
        _check.integer("scheduler.instances", self.scheduler.instances, 1)
        super().__post_init__()

    @property
    def instances(self) -> int:
        """How many instances there are behind the scheduler."""
        return int(self.scheduler.instances)


_SIGNATURE = signature_of(ShedOperatorOptions, "keys costs shedder scheduler underprovisioning arrivals")


@shows(_SIGNATURE)
def simulate_shed_operator(*args: Any, **kwargs: Any) -> SheddingResult:
    """Simulate k operator instances behind a shedder and a scheduler.

    Parameters
    ----------
    keys : array-like
        The stream, see `streamlb.key_array`.
    costs : array-like of float
        The execution time of each tuple, on any instance.
    shedder : a shedder
        `LoadAwareShedder` or any object with `offer` and `complete`. It is told the execution times
        divided by k, and the time of a completion less a k-th of what is done by then of the tuples
        that are being executed.
    scheduler : POSG or int
        Any object with `instances`, `submit` and `complete`. A number stands for round robin over
        so many instances.
    underprovisioning : float
        Tuples come at equal distances of mean(costs) * (1 - underprovisioning) / k.
    arrivals : array-like of float, optional
        When each tuple comes; at equal distances by default.

    Returns
    -------
    SheddingResult
        Its `assignment` is the instance of each tuple, or -1 for those dropped.

    Examples
    --------
    >>> from streamlb import POSG, LoadAwareShedder, Zipf, execution_times, simulate_shed_operator
    >>> keys = Zipf(500, 1.0).draw(6000, seed=1)
    >>> costs = execution_times(500, 64, 0.1, 6.4, seed=1)[keys]
    >>> shedder = LoadAwareShedder(6.4, window=512, reports=16)
    >>> shedder.train(keys, costs / 4)
    True
    >>> result = simulate_shed_operator(keys, costs, shedder, POSG(4, window=512))
    >>> bool(result.average_wait < 2 * 6.4), bool(0.2 < result.dropped_ratio < 0.35)
    (True, True)
    """
    options: ShedOperatorOptions = bind("simulate_shed_operator", ShedOperatorOptions, args, kwargs, _SIGNATURE)
    keys, costs, arrivals = options.keys, options.costs, options.arrivals
    shedder, scheduler, k = options.shedder, options.scheduler, options.instances
    waits = np.full(keys.size, DROPPED)
    assignment = np.full(keys.size, -1, np.int32)
    free = [0.0] * k
    begins: list[deque[float]] = [deque() for _ in range(k)]  # when what each instance holds begins
    running: list[tuple[float, int, int, int, float]] = []
    first = keys.size

    def complete(until: float) -> None:
        while running and running[0][0] <= until:
            finish, _, instance, key, cost = heapq.heappop(running)
            scheduler.complete(instance, key, cost, finish)
            begins[instance].popleft()
            done = sum(finish - held[0] for held in begins if held and held[0] < finish)
            shedder.complete(key, cost / k, finish - done / k)

    for i, (key, cost, now) in enumerate(zip(keys.tolist(), costs.tolist(), arrivals.tolist())):
        complete(now)
        if first == keys.size and getattr(shedder, "active", True):
            first = i
        if shedder.offer(key, now):
            continue
        instance = scheduler.submit(key, now)
        start = max(free[instance], now)
        free[instance] = start + cost
        begins[instance].append(start)
        waits[i], assignment[i] = start - now, instance
        heapq.heappush(running, (free[instance], i, instance, key, cost))
    complete(np.inf)
    matrices, replies = getattr(shedder, "matrices", 0), getattr(shedder, "replies", 0)
    return SheddingResult(waits, costs, arrivals, first, matrices, replies, assignment)
