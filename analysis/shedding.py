"""Load shedding under full knowledge: the greedy shedder, the exact offline optimum, the gap.

This examines section 4 of Rivetti et al. 2016. Tuple i arrives at ``arrivals[i]`` and takes
``costs[i]``. A kept tuple waits until the operator is free; the greedy shedder keeps it exactly
when the goal still holds with it. All functions compute in the numbers they are given: integers and
fractions stay exact.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from .sketches import expected_cost_estimate

GOALS = ("average", "bound")


class SheddingInstance(NamedTuple):
    """A small stream for the shedding problem: arrivals, costs and the threshold."""

    arrivals: tuple
    costs: tuple
    threshold: Any


def waits(arrivals: Sequence, costs: Sequence, kept: Sequence[int]) -> list:
    """Return the queuing time of each kept tuple, in order (Lindley's recursion).

    Parameters
    ----------
    arrivals, costs : sequence
        The stream, arrivals in order.
    kept : sequence of int
        The indices of the kept tuples, ascending.

    Examples
    --------
    >>> from streamlb.analysis import waits
    >>> waits([3, 4, 7], [8, 4, 4], [1, 2])
    [0, 1]
    """
    out, free = [], None
    for i in kept:
        start = arrivals[i] if free is None or free < arrivals[i] else free
        out.append(start - arrivals[i])
        free = start + costs[i]
    return out


def running_averages(values: Sequence) -> list[Fraction]:
    """Return the mean of each prefix, exactly.

    For the result of `waits` that is the paper's Q(j) for each kept j.

    Parameters
    ----------
    values : sequence of numbers
        The waits, in order.

    Examples
    --------
    >>> from streamlb.analysis import running_averages
    >>> running_averages([0, 1])
    [Fraction(0, 1), Fraction(1, 2)]
    """
    return [Fraction(total) / (n + 1) for n, total in enumerate(itertools.accumulate(map(Fraction, values)))]


def _holds(goal: str, total, kept: int, wait, threshold) -> bool:
    """Say whether the goal holds with one more wait, after `kept` tuples that waited `total`."""
    if goal == "average":
        return total + wait <= threshold * (kept + 1)
    return wait <= threshold


def _check_instance(arrivals: Sequence, costs: Sequence, threshold, goal: str) -> None:
    if goal not in GOALS:
        raise ValueError(f"goal must be one of {', '.join(map(repr, GOALS))}, got {goal!r}")
    if len(arrivals) != len(costs):
        raise ValueError(f"costs must have as many entries as arrivals, {len(arrivals)}, got {len(costs)}")
    if any(b < a for a, b in itertools.pairwise(arrivals)):
        raise ValueError("arrivals must not decrease")
    if any(cost < 0 for cost in costs):
        raise ValueError("costs must be at least 0")
    if not threshold > 0:
        raise ValueError(f"threshold must be more than 0, got {threshold!r}")


def greedy_shedding(
    arrivals: Sequence, costs: Sequence, threshold, goal: str = "average", estimates: Sequence | None = None
) -> list[int]:
    """Return what the greedy shedder keeps when it knows every cost, as indices into the stream.

    Parameters
    ----------
    arrivals, costs : sequence
        The stream, arrivals in order.
    threshold : number
        The goal's bound, more than 0.
    goal : {"average", "bound"}
        Whether the threshold is on the running average of the waits or on each wait.
    estimates : sequence, optional
        What the shedder believes each tuple costs; `costs` by default. A shedder that never
        believes too little never lets the average pass the threshold, because the waits it reckons
        with are at least the true ones.

    Examples
    --------
    >>> from streamlb.analysis import greedy_shedding
    >>> greedy_shedding([3, 4, 7], [8, 4, 4], threshold=1)
    [0]
    """
    _check_instance(arrivals, costs, threshold, goal)
    believed = costs if estimates is None else estimates
    kept: list[int] = []
    total: Any = 0
    free: Any = None
    for i, arrival in enumerate(arrivals):
        start = arrival if free is None or free < arrival else free
        if _holds(goal, total, len(kept), start - arrival, threshold):
            kept.append(i)
            total += start - arrival
            free = start + believed[i]
    return kept


def optimal_shedding(arrivals: Sequence, costs: Sequence, threshold, goal: str = "average") -> list[int]:
    """Return a largest set of tuples that can be kept within the goal: the offline optimum.

    It knows the whole stream and is exact. Its states are (tuples kept, time the operator is free,
    summed wait). A state is given up only if another with as many kept tuples is no later and has
    no larger sum, since then whatever may follow the one may follow the other. The number of states
    can grow exponentially, so this is for streams of up to about 25 tuples.

    Parameters
    ----------
    arrivals, costs : sequence
        The stream, arrivals in order.
    threshold : number
        The goal's bound, more than 0.
    goal : {"average", "bound"}
        As for `greedy_shedding`.

    Examples
    --------
    >>> from streamlb.analysis import optimal_shedding
    >>> optimal_shedding([3, 4, 7], [8, 4, 4], threshold=1)
    [1, 2]
    """
    _check_instance(arrivals, costs, threshold, goal)
    fronts: dict[int, list[tuple]] = {0: [(None, 0, ())]}
    for i, arrival in enumerate(arrivals):
        grown: dict[int, list[tuple]] = {n: list(states) for n, states in fronts.items()}
        for n, states in fronts.items():
            for free, total, kept in states:
                start = arrival if free is None or free < arrival else free
                if _holds(goal, total, n, start - arrival, threshold):
                    total_then = total + (start - arrival) if goal == "average" else 0
                    grown.setdefault(n + 1, []).append((start + costs[i], total_then, (*kept, i)))
        fronts = {n: _pareto(states, arrival) for n, states in grown.items()}
    return list(fronts[max(fronts)][0][2])


def _pareto(states: list[tuple], now) -> list[tuple]:
    """Return the states that no other state beats both in time and in summed wait.

    The time is when the operator is free, and never before now.
    """
    ranked = sorted(states, key=lambda state: (now if state[0] is None else max(state[0], now), state[1]))
    best: list[tuple] = []
    for state in ranked:
        if not best or state[1] < best[-1][1]:
            best.append(state)
    return best


def counterexamples(
    tuples: int, largest: int, goal: str = "average", equal_costs: bool = False, even_arrivals: bool = False
) -> Iterator[SheddingInstance]:
    """Yield streams on which the greedy shedder keeps fewer than the optimum, smallest first.

    All streams of `tuples` tuples whose gaps (from 0), costs and threshold (from 1) are whole
    numbers up to `largest` are tried, in order of the sum of those numbers. The last tuple's cost
    delays nobody and is set to 1 (or to the common cost).

    Parameters
    ----------
    tuples, largest : int
        The size of the stream and of its numbers.
    goal : {"average", "bound"}
        As for `greedy_shedding`.
    equal_costs, even_arrivals : bool
        Restrict the search to one common cost, or to one common gap.

    Examples
    --------
    >>> from streamlb.analysis import counterexamples
    >>> next(counterexamples(2, 4), "none")
    'none'
    >>> next(counterexamples(3, 4))
    SheddingInstance(arrivals=(0, 0, 0), costs=(3, 1, 1), threshold=1)
    """
    gap_numbers = min(1, tuples - 1) if even_arrivals else tuples - 1
    cost_numbers = 1 if equal_costs else tuples - 1
    numbers = gap_numbers + cost_numbers + 1
    for size in range(1, numbers * largest + 1):
        for split in _compositions(size, numbers, largest):
            gaps, paid, threshold = split[:gap_numbers], split[gap_numbers:-1], split[-1]
            if threshold == 0 or 0 in paid:
                continue
            if even_arrivals:
                gaps = gaps * (tuples - 1)
            arrivals = (0, *itertools.accumulate(gaps))
            costs = paid * tuples if equal_costs else (*paid, 1)
            kept = greedy_shedding(arrivals, costs, threshold, goal)
            if len(kept) < tuples and len(kept) < len(optimal_shedding(arrivals, costs, threshold, goal)):
                yield SheddingInstance(arrivals, costs, threshold)


def _compositions(total: int, parts: int, largest: int) -> Iterator[tuple[int, ...]]:
    """Yield the ways to write `total` as `parts` numbers in [0, largest], in order."""
    if parts == 1:
        if total <= largest:
            yield (total,)
        return
    for first in range(max(0, total - (parts - 1) * largest), min(total, largest) + 1):
        for rest in _compositions(total - first, parts - 1, largest):
            yield (first, *rest)


def needless_drops(instance: SheddingInstance, kept: Sequence[int], goal: str = "average") -> list[int]:
    """Return the dropped tuples that could have been kept when they arrived.

    What was kept before them is given. The greedy shedder has no such tuples: that is what its rule
    guarantees, and not that it keeps the most.

    Parameters
    ----------
    instance : SheddingInstance
        The stream and the threshold.
    kept : sequence of int
        The tuples that were kept.
    goal : {"average", "bound"}
        As for `greedy_shedding`.

    Examples
    --------
    >>> from streamlb.analysis import SheddingInstance, needless_drops
    >>> needless_drops(SheddingInstance((3, 4, 7), (8, 4, 4), 1), kept=[1, 2])
    [0]
    """
    arrivals, costs, threshold = instance
    chosen, needless = set(kept), []
    for i in range(len(arrivals)):
        before = [j for j in kept if j < i]
        if i not in chosen:
            waited = waits(arrivals, costs, [*before, i])
            if _holds(goal, sum(waited[:-1]), len(before), waited[-1], threshold):
                needless.append(i)
    return needless


def greedy_gap(kept_by_optimum: int, threshold: int = 1) -> SheddingInstance:
    """Return a stream of which the greedy shedder keeps one tuple and the optimum this many.

    So the gap has no bound. A long tuple comes first; the shedder keeps it, as it may, and all
    others then wait too long.

    Parameters
    ----------
    kept_by_optimum : int
        How many tuples the optimum keeps, at least 1.
    threshold : int
        The bound on the average wait.

    Examples
    --------
    >>> from streamlb.analysis import greedy_gap, greedy_shedding, optimal_shedding
    >>> stream = greedy_gap(5)
    >>> len(greedy_shedding(*stream)), len(optimal_shedding(*stream))
    (1, 5)
    """
    if kept_by_optimum < 1:
        raise ValueError(f"kept_by_optimum must be at least 1, got {kept_by_optimum}")
    # The last tuple still waits more than twice the threshold behind the long one, too much for an
    # average over two.
    length = kept_by_optimum + 2 * threshold + 1
    arrivals = tuple(range(kept_by_optimum + 1))
    return SheddingInstance(arrivals, (length,) + (1,) * kept_by_optimum, threshold)


def online_dilemma(threshold: int = 1) -> tuple[SheddingInstance, SheddingInstance]:
    """Return two streams that begin alike, such that no online shedder is optimal on both.

    The first is one long tuple: a shedder that drops it has dropped one where the optimum drops
    none. The second goes on with short ones: a shedder that kept the long tuple drops at least two
    where the optimum drops one.

    Parameters
    ----------
    threshold : int
        The bound on the average wait.

    Examples
    --------
    >>> from streamlb.analysis import online_dilemma, optimal_shedding
    >>> [len(stream.arrivals) - len(optimal_shedding(*stream)) for stream in online_dilemma()]
    [0, 1]
    """
    longer = greedy_gap(2, threshold)
    return SheddingInstance(longer.arrivals[:1], longer.costs[:1], threshold), longer


def cost_error_share(costs: Sequence, columns: int, epsilon: float) -> float:
    """Return the share of items whose expected estimate is off by more than `epsilon`.

    The estimate is W/F, `epsilon` is a share of the item's own cost, and all items are equally
    frequent, as in the paper's analysis. For an (epsilon, delta)-approximation of each cost this
    share would have to be at most delta. With more items than columns the estimate is close to the
    mean of all costs, whatever the item.

    Parameters
    ----------
    costs : sequence of float
        The cost of each item, more than 0.
    columns : int
        Columns of the sketch.
    epsilon : float
        The relative error that is allowed.

    Examples
    --------
    >>> import numpy as np
    >>> from streamlb.analysis import cost_error_share
    >>> cost_error_share(np.repeat(np.arange(1.0, 65.0), 64), columns=55, epsilon=0.05)
    0.9375
    """
    own = np.asarray(costs, float)
    if own.size == 0 or not (own > 0).all():
        raise ValueError("costs must be at least one number, all more than 0")
    expected = np.asarray(expected_cost_estimate(own, columns))
    return float((np.abs(expected - own) > epsilon * own).mean())
