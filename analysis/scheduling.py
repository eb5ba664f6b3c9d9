"""Greedy scheduling on identical machines, and what POSG's protocol costs.

These are section IV-A and theorem 3.3 of Rivetti et al. 2015. Everything is exact: integers and
fractions go in, fractions come out. Floats are taken at their exact binary value.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any


def _machines(k: int) -> int:
    if isinstance(k, bool) or int(k) != k or k < 1:
        raise ValueError(f"k must be a whole number of machines, at least 1, got {k!r}")
    return int(k)


def _exact(costs: Iterable[Any]) -> list[Fraction]:
    """Return costs as fractions; NumPy's numbers are taken at their exact value."""
    exact = [Fraction(cost.item() if hasattr(cost, "item") else cost) for cost in costs]
    for at, cost in enumerate(exact):
        if cost < 0:
            raise ValueError(f"costs must not be negative, got {cost} at position {at}")
    return exact


def greedy_ratio(k: int) -> Fraction:
    """Return 2 - 1/k, the competitive ratio of greedy scheduling on k machines (theorem 4.2).

    On identical machines greedy takes at most this many times as long as the optimum.

    Parameters
    ----------
    k : int
        How many machines.

    Examples
    --------
    >>> from streamlb.analysis import greedy_ratio
    >>> greedy_ratio(5)
    Fraction(9, 5)
    """
    return 2 - Fraction(1, _machines(k))


def makespan_lower_bound(costs: Iterable[Any], k: int) -> Fraction:
    """Return the larger of the mean load and the largest cost (equations 3 and 4).

    No schedule on k machines is shorter than that.

    Parameters
    ----------
    costs : iterable of int, Fraction or float
        What each task costs.
    k : int
        How many machines.

    Examples
    --------
    >>> from streamlb.analysis import makespan_lower_bound
    >>> makespan_lower_bound([3, 1, 1], 2)
    Fraction(3, 1)
    """
    exact, k = _exact(costs), _machines(k)
    return max(sum(exact, Fraction(0)) / k, max(exact, default=Fraction(0)))


def greedy_makespan(costs: Iterable[Any], k: int) -> Fraction:
    """Return the makespan of greedy scheduling in the order given; the first machine wins ties."""
    load = [Fraction(0)] * _machines(k)
    for cost in _exact(costs):
        machine = load.index(min(load))
        load[machine] += cost
    return max(load)


def greedy_makespan_bound(costs: Iterable[Any], k: int) -> Fraction:
    """Return sum/k + (1 - 1/k) max, the bound of equation 2 for greedy scheduling in any order."""
    exact, k = _exact(costs), _machines(k)
    return sum(exact, Fraction(0)) / k + (1 - Fraction(1, k)) * max(exact, default=Fraction(0))


def optimal_makespan(costs: Iterable[Any], k: int) -> Fraction:
    """Return the least makespan of any schedule on k machines, by branch and bound.

    This is for some twenty costs at most. Costs are placed from the largest down. A branch ends
    when it cannot beat the best schedule found so far, and of machines with equal loads only the
    first is tried.

    Parameters
    ----------
    costs : iterable of int, Fraction or float
        What each task costs.
    k : int
        How many machines.

    Examples
    --------
    >>> from streamlb.analysis import optimal_makespan
    >>> optimal_makespan([3, 3, 2, 2, 2], 2)
    Fraction(6, 1)
    """
    k = _machines(k)
    ordered = sorted(_exact(costs), reverse=True)
    if len(ordered) <= k:
        return ordered[0] if ordered else Fraction(0)
    floor = max(makespan_lower_bound(ordered, k), ordered[k - 1] + ordered[k])
    best = greedy_makespan(ordered, k)
    load = [Fraction(0)] * k

    def place(at: int) -> None:
        nonlocal best
        if best == floor:
            return
        if at == len(ordered):
            best = max(load)
            return
        for machine in range(k):
            if load[machine] in load[:machine]:
                continue
            if load[machine] + ordered[at] < best:
                load[machine] += ordered[at]
                place(at + 1)
                load[machine] -= ordered[at]

    place(0)
    return best


def tight_costs(k: int) -> list[Fraction]:
    """Return costs on which greedy scheduling reaches its ratio.

    They are k(k-1) costs of 1/k and then one of 1.

    Parameters
    ----------
    k : int
        How many machines.

    Examples
    --------
    >>> from streamlb.analysis import greedy_makespan, greedy_ratio, optimal_makespan, tight_costs
    >>> greedy_makespan(tight_costs(3), 3) / optimal_makespan(tight_costs(3), 3) == greedy_ratio(3)
    True
    """
    k = _machines(k)
    return [Fraction(1, k)] * (k * (k - 1)) + [Fraction(1)]


def completion_times(
    arrivals: Sequence[Any], costs: Sequence[Any], assignment: Sequence[int], k: int
) -> list[Fraction]:
    """Return how long each tuple stays: its wait at its instance plus its execution.

    Each instance serves its tuples first come, first served.

    Parameters
    ----------
    arrivals, costs : sequence of int, Fraction or float
        When each tuple arrives and how long its execution takes.
    assignment : sequence of int
        The instance of each tuple.
    k : int
        How many instances.

    Examples
    --------
    >>> from streamlb.analysis import completion_times
    >>> [int(t) for t in completion_times([0, 1, 2], [10, 1, 10], [0, 1, 0], 2)]
    [10, 1, 18]
    """
    free = [Fraction(0)] * _machines(k)
    stays = []
    for arrival, cost, instance in zip(_exact(arrivals), _exact(costs), assignment, strict=True):
        free[instance] = max(free[instance], arrival) + cost
        stays.append(free[instance] - arrival)
    return stays


def posg_message_bounds(m: int, window: int, k: int, resync: int | None = None) -> dict[str, int]:
    """Return the most messages that POSG exchanges over m tuples (theorem 3.3, with its constants).

    An instance needs two windows for a pair of matrices, so m tuples give at most m / 2N pairs.
    Each pair starts at most one synchronisation. There are at most m / resync periodic
    synchronisations besides. Each synchronisation has k replies.

    Parameters
    ----------
    m : int
        Tuples of the stream.
    window : int
        Executions between two checks of stability (the paper's N).
    k : int
        Instances.
    resync : int, optional
        After how many tuples in RUN the instances are asked again. None, as printed: never.

    Examples
    --------
    >>> from streamlb.analysis import posg_message_bounds
    >>> posg_message_bounds(500_000, 1024, 5)
    {'matrices': 244, 'replies': 1220, 'total': 1464}
    """
    matrices = m // (2 * window)
    replies = k * (matrices + (m // resync if resync else 0))
    return {"matrices": matrices, "replies": replies, "total": matrices + replies}
