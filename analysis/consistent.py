"""The theory of consistent grouping and of the power of random choices, printed and corrected.

It is that of Nasir et al. 2017, section V. Everything is exact for exact input: give a
`fractions.Fraction` for a real number and the answer is one, too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

# An epsilon means exactly the fraction that was written, as it does in the groupings.
from .exact import exact, like


def random_choices_imbalance_bound(m: int, n: int, epsilon: Any, sources: int = 1) -> Any:
    """Return a bound on the imbalance of the power of random choices, whatever the keys.

    After m messages of s sources the imbalance, which is the largest load minus the mean load in
    messages, is less than epsilon m / n + s.

    Parameters
    ----------
    m, n : int
        Messages so far and workers.
    epsilon : float or Fraction
        The grouping's epsilon.
    sources : int, default 1
        Number of sources, each of which keeps loads of its own.

    Returns
    -------
    float or Fraction
        A strict upper bound.

    Notes
    -----
    Proof. Take the last message that a source put on worker w, the t-th of that source's m_s. Just
    before it the source's load on w was below (1 + epsilon) t / n, by the test that let it in (or
    because w was least loaded, so at most (t - 1) / n). After it the load is below (1 + epsilon) t
    / n + 1 <= (1 + epsilon) m_s / n + 1 and has not changed since. Summed over the sources the load
    of w is below (1 + epsilon) m / n + s; less the mean m / n, that is epsilon m / n + s. The
    paper's epsilon m / n fails at the first message: one worker has load 1, the mean is 1 / n, and
    1 - 1 / n > epsilon / n once epsilon < n - 1.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from streamlb.analysis import random_choices_imbalance_bound
    >>> random_choices_imbalance_bound(1000, 10, Fraction(1, 100))
    Fraction(2, 1)
    """
    _counts(m=m, n=n, sources=sources)
    return like(epsilon, exact(_positive("epsilon", epsilon)) * m / n + sources)


def random_choices_imbalance_printed(m: int, n: int, epsilon: Any) -> Any:
    """Return the bound as printed in section V-A, epsilon m / n, which fails at first."""
    _counts(m=m, n=n)
    return like(epsilon, exact(_positive("epsilon", epsilon)) * m / n)


def shuffle_memory_bound(p: Any, m: int, n: int) -> int:
    """Return Eq. 1: the most (key, worker) pairs that shuffle grouping makes in expectation.

    Key i occurs f_i times and is on at most min(f_i, n) workers. The mean of that is at most
    min(p_i m, n), because the minimum is concave.

    Parameters
    ----------
    p : array_like of float
        The keys' probabilities.
    m, n : int
        Messages and workers.
    """
    _counts(m=m, n=n)
    return int(np.minimum(np.ceil(np.asarray(p, float) * m), n).sum())


def random_choices_memory_printed(p: Any, n: int, epsilon: float) -> int:
    """Return Eq. 2 as printed, the sum of ceil(p_i n / (1 + epsilon)).

    It counts also the keys that never occur.
    """
    _counts(n=n)
    return int(np.ceil(np.asarray(p, float) * n / (1.0 + _positive("epsilon", epsilon))).sum())


def random_choices_memory_bound(frequencies: Any, n: int, epsilon: float, sources: int = 1) -> int:
    """Return the fewest (key, worker) pairs that the power of random choices can make of a stream.

    A key that occurs f times fills at least f / ((1 + epsilon) m / n + s) workers, because no
    worker takes more than that in all. This is Eq. 2 corrected: it counts the keys that did occur,
    and it has the + s of the imbalance bound.

    Parameters
    ----------
    frequencies : array_like of int
        How often each key occurred.
    n : int
        Workers.
    epsilon : float
        The grouping's epsilon.
    sources : int, default 1
        Number of sources.
    """
    _counts(n=n, sources=sources)
    distinct, keys = np.unique(np.asarray(frequencies), return_counts=True)
    messages = int(distinct @ keys)
    room = (1 + exact(_positive("epsilon", epsilon))) * messages / n + sources
    return sum(math.ceil(f / room) * k for f, k in zip(distinct.tolist(), keys.tolist()))


def replicated_everywhere_possible(n: int, epsilon: Any) -> bool:
    """Return whether the power of random choices can ever bring a key to all workers.

    A key reaches the last worker of its hash sequence only at a moment when the n - 1 others are
    full. At message m their loads are then at least (1 + epsilon) m / n each and m - 1 at most
    together, so that (n - 1)(1 + epsilon) < n, that is epsilon < 1 / (n - 1). If epsilon is larger
    the key never goes there, at this moment or a later one: loads may rise and keys may wander, but
    the sequence of a key is always the same. The paper's argument in section V-B leaves open
    whether it holds over time; it does. (An implementation that gives up after so many probes may
    break it, once in a very long while.)

    Parameters
    ----------
    n : int
        Workers, at least 2.
    epsilon : float or Fraction
        The grouping's epsilon.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from streamlb.analysis import replicated_everywhere_possible
    >>> replicated_everywhere_possible(11, 0.099), replicated_everywhere_possible(11, 0.1)
    (True, False)
    """
    _counts(n=n)
    return (n - 1) * (1 + exact(_positive("epsilon", epsilon))) < n


def optimal_share(capacity: Any, n: int, virtual: int) -> Any:
    """Return a worker's optimal number of virtual workers, c n alpha (section V-A2).

    Capacities sum to 1.
    """
    return capacity * n * virtual


def least_share_of_overloaded(capacity: Any, n: int, virtual: int, epsilon: Any, threshold: Any) -> Any:
    """Return the least number of virtual workers that an overloaded worker holds.

    A worker is overloaded when its load is at least `threshold` times its capacity. Each virtual
    worker has a load of at most 1 / (n alpha) + epsilon, so an overloaded worker holds at least
    threshold c / (1 / (n alpha) + epsilon) of them. This is exact; `least_share_printed` has the
    form of the paper.

    Parameters
    ----------
    capacity : float or Fraction
        The worker's capacity c, where all capacities sum to 1.
    n, virtual : int
        Workers, and virtual workers for each (alpha).
    epsilon : float or Fraction
        How far a virtual worker's load may be above 1 / (n alpha), where all load is 1.
    threshold : float or Fraction
        The paper's theta_b.
    """
    return threshold * capacity / (Fraction(1, n * virtual) + epsilon)


def least_share_printed(capacity: Any, n: int, virtual: int, epsilon: Any, threshold: Any) -> Any:
    """Return the weaker bound that the paper takes from Bernoulli's inequality.

    It is theta_b c n alpha (1 - epsilon n alpha).
    """
    return threshold * capacity * n * virtual * (1 - epsilon * n * virtual)


class LemmaHypotheses(NamedTuple):
    """Which hypotheses of Lemmas 5.1 and 5.2 hold, and the lemmas' scale ln ln(bins) / ln d."""

    enough_messages: bool
    light_keys: bool
    scale: float


def lemma_hypotheses(p1: Any, m: int, n: int, virtual: int = 1, d: int = 2) -> LemmaHypotheses:
    """Return which hypotheses of Lemmas 5.1 and 5.2 hold.

    Lemma 5.1 needs both, Lemma 5.2 only the first. They are about the n alpha bins, not about the n
    workers.

    Parameters
    ----------
    p1 : float or Fraction
        Share of the most frequent key.
    m, n : int
        Messages and workers.
    virtual : int, default 1
        Virtual workers for each worker.
    d : int, default 2
        Choices.

    Examples
    --------
    >>> from streamlb.analysis import lemma_hypotheses
    >>> lemma_hypotheses(0.002, 10**6, 10, virtual=10)[:2]  # 100 bins
    (True, True)
    >>> lemma_hypotheses(0.002, 10**6, 100, virtual=10)[:2]  # 1,000 bins
    (True, False)
    """
    _counts(m=m, n=n, virtual=virtual)
    bins = n * virtual
    scale = math.log(math.log(bins)) / math.log(d) if bins > math.e else 0.0
    return LemmaHypotheses(m >= bins**2, p1 * 5 * bins <= 1, scale)


class Granularity(NamedTuple):
    """Whether whole virtual workers can bring every worker into the band, and with which counts.

    `shares` is None where they cannot. `lowest` and `highest` are the fewest and the most virtual
    workers that each worker may hold.
    """

    feasible: bool
    shares: tuple[int, ...] | None
    lowest: tuple[int, ...]
    highest: tuple[int, ...]


def granularity(
    capacities: Sequence[Any], virtual: int, idle: Any = "0.75", busy: Any = "0.85", utilisation: Any = "0.8"
) -> Granularity:
    """Return whether virtual workers can be dealt so that every utilisation is within [idle, busy].

    There are `virtual` virtual workers for each worker. With V virtual workers of equal load, a
    worker of capacity c that holds a of them has utilisation a / V * u * C / c, for total capacity
    C and overall utilisation u. Each worker thus needs a whole number within an interval, and the
    numbers must sum to V.

    Parameters
    ----------
    capacities : sequence of int, float or Fraction
        Relative capacities.
    virtual : int
        Virtual workers for each worker.
    idle, busy, utilisation : str, float or Fraction, default 0.75, 0.85 and 0.8
        The band of utilisations, and the load as a share of all capacity. Strings are exact
        decimals.

    Examples
    --------
    >>> from streamlb.analysis import granularity
    >>> capacities = [5] * 3 + [1] * 7
    >>> [granularity(capacities, virtual).feasible for virtual in (5, 10, 20)]
    [False, False, True]
    """
    _counts(virtual=virtual)
    caps = [Fraction(c) for c in capacities]
    if not caps or min(caps) <= 0:
        raise ValueError(f"capacities must be more than 0, got {list(capacities)!r}")
    low, high, u = Fraction(idle), Fraction(busy), Fraction(utilisation)
    total, bins = sum(caps), len(caps) * virtual
    ideal = [c / total * bins / u for c in caps]  # virtual workers that would mean utilisation 1
    lowest = [max(1, math.ceil(low * x)) for x in ideal]
    highest = [math.floor(high * x) for x in ideal]
    if any(a > b for a, b in zip(lowest, highest)) or not sum(lowest) <= bins <= sum(highest):
        return Granularity(False, None, tuple(lowest), tuple(highest))
    shares, left = list(lowest), bins - sum(lowest)
    for i, most in enumerate(highest):
        more = min(left, most - shares[i])
        shares[i] += more
        left -= more
    return Granularity(True, tuple(shares), tuple(lowest), tuple(highest))


def virtual_workers_needed(
    capacities: Sequence[Any],
    idle: Any = "0.75",
    busy: Any = "0.85",
    utilisation: Any = "0.8",
    maximum: int = 10_000,
) -> int:
    """Return how many virtual workers each worker needs, so that `granularity` is feasible.

    It is the least number with which every worker's utilisation can lie within [idle, busy].

    Parameters
    ----------
    capacities : sequence of int, float or Fraction
        Relative capacities.
    idle, busy, utilisation : str, float or Fraction
        As in `granularity`.
    maximum : int, default 10,000
        Where to stop looking.

    Examples
    --------
    >>> from streamlb.analysis import virtual_workers_needed
    >>> virtual_workers_needed([1, 1, 1, 1]), virtual_workers_needed([5] * 3 + [1] * 7)
    (1, 9)
    """
    for virtual in range(1, maximum + 1):
        if granularity(capacities, virtual, idle, busy, utilisation).feasible:
            return virtual
    raise ValueError(f"no number of virtual workers up to {maximum} brings every worker into [{idle}, {busy}]")


def saturated_throughput(shares: Any, capacities: Any) -> float:
    """Return how fast a closed system can run when each worker gets a fixed part of all messages.

    The worker with the most messages for its capacity sets the pace.

    Parameters
    ----------
    shares : array_like of float
        The part of the messages that each worker gets.
    capacities : array_like of float
        Messages that each worker can serve in a unit of time.
    """
    shares, capacities = np.asarray(shares, float), np.asarray(capacities, float)
    used = shares > 0
    return float((capacities[used] / shares[used]).min())


def _counts(**values: int) -> None:
    for name, value in values.items():
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}")


def _positive(name: str, value: Any) -> Any:
    if not value > 0:
        raise ValueError(f"{name} must be more than 0, got {value!r}")
    return value
