"""The time series in seven phases to compare shedders on (Rivetti et al. 2016, figure 6)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from streamlb import _check
from streamlb.streams import Zipf, execution_times


class SheddingLoad(NamedTuple):
    """A stream with its costs and arrivals, and where its phases start."""

    keys: np.ndarray
    costs: np.ndarray
    arrivals: np.ndarray
    starts: np.ndarray
    mean_cost: float


def seven_phases(
    seed: Any = 0,
    keys: Any = 4096,
    exponent: Any = 1.0,
    messages: Any = 20_000,
    swapped: str = "DEF",
    rates: str = "first",
) -> SheddingLoad:
    """Return the stream of a time series in seven phases, A to G, of changing rate, keys and costs.

    It is the one of Rivetti et al. 2016, figure 6.

    A: the load is what the operator can bear. B: twice that. C: as A. D: the most frequent key
    changes places with one of the greatest cost. E: two thirds of the load of A. F: the load of A,
    every cost doubled. G: as A.

    Parameters
    ----------
    seed : int, SeedSequence or None
        Of the keys and of which key costs what.
    keys, exponent : int, float
        The Zipf distribution.
    messages : int
        Tuples a phase.
    swapped : str
        The phases in which the two keys have changed places: the text restores "phase A" only in G.
    rates : {"first", "own"}
        Whether the loads of E and F are meant by the mean cost of phase A, so that tuples come in F
        as they did in A, or by what tuples cost in E and F themselves.

    Examples
    --------
    >>> from streamlb import seven_phases, simulate_shedding
    >>> load = seven_phases(seed=1, messages=2000)
    >>> given = {"arrivals": load.arrivals, "mean_cost": load.mean_cost}
    >>> result = simulate_shedding(load.keys, load.costs, "straw_man", threshold=64.0, **given)
    >>> dropped = result.windows(2000)["dropped_ratio"]
    >>> float(dropped[1].round(1))  # phase B comes at twice the rate
    0.5
    """
    if not isinstance(swapped, str):
        raise TypeError(f"swapped must be the letters of phases, got {swapped!r}")
    if not set(swapped) <= set("ABCDEFG"):
        raise ValueError(f"swapped must name phases of A to G, got {swapped!r}")
    _check.choice("rates", rates, ("first", "own"))
    stream = Zipf(keys, exponent)
    messages = _check.integer("messages", messages, 1, _check.LENGTH)
    value = _check.seed_value(seed)
    times = execution_times(keys, min(64, keys), 0.1, 6.4, seed=value)
    pmf = stream.pmf
    mean_cost = float(pmf @ times)
    dear = int(np.flatnonzero(times[1:] == times.max())[0]) + 1 if (times[1:] == times.max()).any() else 0
    # By so much is the mean with the two swapped.
    dearer = float((pmf[0] - pmf[dear]) * (times[dear] - times[0]))
    drawn = stream.draw(7 * messages, value)
    costs = np.empty(drawn.size)
    gaps = np.empty(drawn.size)
    for number, (name, gap, factor) in enumerate(zip("ABCDEFG", (1, 0.5, 1, 1, 1.5, 1, 1), (1, 1, 1, 1, 1, 2, 1))):
        part = slice(number * messages, (number + 1) * messages)
        if name in swapped:
            first, other = drawn[part] == 0, drawn[part] == dear
            drawn[part][first], drawn[part][other] = dear, 0
        costs[part] = factor * times[drawn[part]]
        own = factor * (mean_cost + (dearer if name in swapped else 0.0))
        gaps[part] = gap * (own if rates == "own" and name in "EF" else mean_cost)
    arrivals = np.concatenate([[0.0], np.cumsum(gaps[:-1])])
    return SheddingLoad(drawn, costs, arrivals, np.arange(7) * messages, mean_cost)
