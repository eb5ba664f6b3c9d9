"""Count-Min and the pair of cost matrices: shapes, guarantees, and the mean of an estimate.

The statements are those of Rivetti et al. 2015, sections III-A and IV-B, and Rivetti et al. 2016,
section 4. Everything here is about independent, uniform hash functions: each of r rows sends an
item to one of c columns. With W the summed costs and C the number of messages in item v's cell, the
estimate is W/C. The formulas also take Python integers and `Fraction`, and are exact then.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from numbers import Rational
from typing import Any

import numpy as np

from streamlb import _check


def count_min_shape(epsilon: float, delta: float, rounding: str = "ceil") -> tuple[int, int]:
    """Return the shape (rows, columns) of a Count-Min sketch: ceil(log2(1/delta)) by e/epsilon.

    Parameters
    ----------
    epsilon : float
        The error allowed as a share of the other messages, in (0, 1].
    delta : float
        The chance of a larger error, in (0, 1).
    rounding : {"ceil", "floor"}
        How e/epsilon becomes a whole number. The papers print both: 4 columns for .70 and 55 for
        .05 are rounded up, 54 for .05 is rounded down. Only "ceil" keeps the guarantee for one row;
        for "floor" ask `count_min_failure`.

    Examples
    --------
    >>> from streamlb.analysis import count_min_shape
    >>> count_min_shape(0.05, 0.1), count_min_shape(0.05, 0.1, rounding="floor")
    ((4, 55), (4, 54))
    >>> count_min_shape(0.7, 0.25)
    (2, 4)
    """
    epsilon = _check.real("epsilon", epsilon, 0, 1, low_open=True)
    delta = _check.real("delta", delta, 0, 1, low_open=True, high_open=True)
    _check.choice("rounding", rounding, ("ceil", "floor"))
    width = math.e / epsilon
    return max(1, math.ceil(math.log2(1 / delta))), math.ceil(width) if rounding == "ceil" else math.floor(width)


def count_min_failure(epsilon: float, rows: int, columns: int) -> float:
    """Return a bound on the chance that a key is over-counted by more than is allowed.

    Allowed is less than epsilon times the messages of other keys. In one row the expected excess is
    at most (m - f)/c, so by Markov's inequality it reaches epsilon (m - f) with probability at most
    1/(epsilon c); the least of independent rows does so with that probability to the power of the
    rows.

    Parameters
    ----------
    epsilon : float
        The excess as a share of the other messages; more than 0.
    rows, columns : int
        The shape of the sketch.

    Examples
    --------
    >>> from streamlb.analysis import count_min_failure
    >>> round(count_min_failure(0.05, 4, 55), 4)
    0.0175
    """
    epsilon = _check.real("epsilon", epsilon, 0, low_open=True)
    rows, columns = _check.integer("rows", rows, 1), _check.integer("columns", columns, 1)
    return min(1.0, 1.0 / (epsilon * columns)) ** rows


def collision_probability(others: int, items: int, columns: Any) -> Any:
    """Return the probability that just a given set of `others` items shares an item's cell.

    It is from Rivetti et al. 2015, section IV-B: (1/c)^i (1 - 1/c)^(n-1-i). Over the C(n-1, i) sets
    of every size i the probabilities sum to 1.

    Parameters
    ----------
    others : int
        The size i of the set, from 0 to items - 1.
    items : int
        The number n of distinct items.
    columns : int, Fraction or float
        The number c of columns; the result is a Fraction if c is rational.

    Examples
    --------
    >>> from streamlb.analysis import collision_probability
    >>> collision_probability(1, 3, 4)
    Fraction(3, 16)
    """
    items = _check.integer("items", items, 1)
    others = _check.integer("others", others, 0, items - 1)
    share = _share(columns)
    return share**others * (1 - share) ** (items - 1 - others)


def expected_cost_estimate(costs: Any, columns: int) -> np.ndarray:
    """Return E[W/C] of every item when all are equally frequent (Rivetti et al. 2015, theorem 4.3).

    Parameters
    ----------
    costs : array of float
        The cost of each of the n items.
    columns : int
        The number c of columns.

    Returns
    -------
    float64[n]
        (S - w)/(n-1) - c (S - n w)/(n (n-1)) (1 - (1 - 1/c)^n), with S the sum of the costs; w
        itself if there is only one item.

    Examples
    --------
    >>> import numpy as np
    >>> from streamlb.analysis import expected_cost_estimate
    >>> expected_cost_estimate([1.0, 64.0], 2).round(3).tolist()
    [16.75, 48.25]
    >>> e = expected_cost_estimate(np.repeat(np.arange(1, 65), 64), 55)
    >>> round(float(e.min()), 2), round(float(e.max()), 2)
    (32.08, 32.92)
    """
    costs = _check.real_array("costs", costs)
    columns = _check.integer("columns", columns, 1)
    if costs.size <= 1:
        return costs.copy()
    return theorem_4_3(costs, costs.sum(), costs.size, columns)


def theorem_4_3(w: Any, total: Any, n: Any, c: Any) -> Any:
    """Return the right-hand side of theorem 4.3 of Rivetti et al. 2015.

    It is evaluated in the arithmetic that the arguments bring.

    Parameters
    ----------
    w : number
        The item's cost: a float, an array, a `Fraction` or a SymPy expression, like the others.
    total : number
        The summed cost of all items.
    n : number
        How many items there are, more than one.
    c : number
        The number of columns.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from streamlb.analysis import theorem_4_3
    >>> theorem_4_3(Fraction(1), Fraction(65), 2, Fraction(2))
    Fraction(67, 4)
    """
    return (total - w) / (n - 1) - c * (total - n * w) / (n * (n - 1)) * (1 - (1 - 1 / c) ** n)


def expected_cost_estimate_exact(frequencies: Sequence[Any], costs: Sequence[Any], columns: Any, item: int) -> Any:
    """Return E[W/C] of one item for any frequencies.

    Parameters
    ----------
    frequencies, costs : sequences
        How often each item occurs (more than 0) and what it costs.
    columns : int
        The number c of columns.
    item : int
        The index of the item in question.

    Returns
    -------
    Fraction or float
        A `Fraction` if every number given is an integer or a `Fraction`, else a float, good to
        about ten digits.

    Examples
    --------
    >>> from streamlb.analysis import expected_cost_estimate_exact
    >>> expected_cost_estimate_exact([1, 1], [1, 64], 2, 0)
    Fraction(67, 4)
    >>> round(expected_cost_estimate_exact([1.0, 9.0], [1.0, 64.0], 2, 0), 3)
    29.35

    Notes
    -----
    Rational numbers are summed over every value that C can take. Otherwise E[1/(a + X)] is the
    integral of exp(-a s) E[exp(-X s)] over s > 0, which turns the sum over all sets of colliding
    items into a product.
    """
    if len(frequencies) != len(costs):
        raise ValueError(f"costs must have as many entries as frequencies, {len(frequencies)}, got {len(costs)}")
    item = _check.integer("item", item, 0, len(costs) - 1)
    if not all(frequency > 0 for frequency in frequencies):
        raise ValueError(f"frequencies must be more than 0, got {min(frequencies)}")
    numbers = [*frequencies, *costs, columns]
    if all(isinstance(number, (Rational, np.integer)) for number in numbers):
        counts = [_fraction(frequency) for frequency in frequencies]
        return _mean_by_sums(counts, [_fraction(cost) for cost in costs], _share(columns), item)
    return _mean_by_integral(np.asarray(frequencies, float), np.asarray(costs, float), float(_share(columns)), item)


def _mean_by_sums(counts: list[Fraction], costs: list[Fraction], share: Fraction, item: int) -> Fraction:
    """Return E[W/C] by going through the other items one by one.

    For each value that C can take, it keeps the probability and the mean of W over that event.
    """
    mass = {counts[item]: (Fraction(1), counts[item] * costs[item])}
    for other, (count, cost) in enumerate(zip(counts, costs)):
        if other == item:
            continue
        after: dict[Fraction, tuple[Fraction, Fraction]] = {}
        for size, (probability, work) in mass.items():
            for here, chance, more in ((size, 1 - share, Fraction(0)), (size + count, share, count * cost)):
                p, w = after.get(here, (Fraction(0), Fraction(0)))
                after[here] = p + chance * probability, w + chance * (work + more * probability)
        mass = after
    return sum((work / size for size, (_, work) in mass.items()), Fraction(0))


def _mean_by_integral(counts: np.ndarray, costs: np.ndarray, share: float, item: int) -> float:
    from scipy.integrate import quad

    if share == 1.0:
        return float(counts @ costs / counts.sum())  # one column holds everything
    ratio = np.delete(counts, item) / counts[item]
    work = np.delete(costs, item) * ratio

    def integrand(log_s: float) -> float:
        s = math.exp(log_s)
        fade = np.exp(-ratio * s)
        keep = 1 - share + share * fade
        product = math.exp(float(np.log(keep).sum()) - s)
        return s * product * (costs[item] + float((work * share * fade / keep).sum()))

    # exp(-s) is 0 in floats beyond 745. Below exp(-40) the integrand, which is at most s times the
    # greatest cost, adds nothing that a float could show.
    edges = [-40.0, -20.0, -10.0, -5.0, 0.0, math.log(745.0)]
    return sum(
        quad(integrand, low, high, epsabs=0, epsrel=1e-11, limit=200)[0] for low, high in itertools.pairwise(edges)
    )


def cost_tail_bound(costs: Any, columns: int, rows: int, x: float) -> np.ndarray:
    """Return for each item a bound on the chance that the least W/C of all rows is at least x.

    The bound is that of Rivetti et al. 2015, section IV-B, and Rivetti et al. 2016, section 4.

    Parameters
    ----------
    costs : array of float
        The cost of each item; items are equally frequent.
    columns, rows : int
        The shape of the sketch.
    x : float
        The estimate in question, more than 0.

    Returns
    -------
    float64[n]
        min(1, E[W/C]/x)^rows, by Markov's inequality and the independence of the rows.

    Notes
    -----
    The bound is about the least ratio of the rows. A scheduler reads the row where C is least, and
    for that row the bound can fail. Take two items with costs 1 and 0, two columns, two rows and x
    = 1: the row of least C gives 1 with probability 3/4, but the bound is 9/16.

    Examples
    --------
    >>> import numpy as np
    >>> from streamlb.analysis import cost_tail_bound
    >>> bool(cost_tail_bound(np.repeat(np.arange(1, 65), 64), 55, 10, 48.0).max() < (11 / 16) ** 10)
    True
    """
    rows = _check.integer("rows", rows, 1)
    x = _check.real("x", x, 0, low_open=True)
    return np.minimum(1.0, expected_cost_estimate(costs, columns) / x) ** rows


def _share(columns: Any) -> Any:
    """Return 1/c, exact for a rational c."""
    if not columns >= 1:
        raise ValueError(f"columns must be at least 1, got {columns!r}")
    return 1 / _fraction(columns) if isinstance(columns, (Rational, np.integer)) else 1.0 / columns


def _fraction(number: Any) -> Fraction:
    return Fraction(int(number)) if isinstance(number, np.integer) else Fraction(number)
