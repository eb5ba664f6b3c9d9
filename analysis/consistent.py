"""Theory of consistent grouping and of the power of random choices (paper 004, section V), printed and corrected.

Everything is exact for exact input: give `fractions.Fraction` for a real number and the answer is one.
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
    """Return what the imbalance of the power of random choices stays below after m messages, whatever their keys.

    The imbalance, largest load less mean load in messages, is less than epsilon m / n + s for s sources.

    Parameters
    ----------
    m, n : int
        Messages so far and workers.
    epsilon : float or Fraction
        The grouping's.
    sources : int, default 1
        Sources, each with loads of its own.

    Returns
    -------
    float or Fraction
        A strict upper bound.

    Notes
    -----
    Proof. Take the last message that a source put on worker w, the t-th of that source's m_s. Just before it the source's load on
    w was below (1 + epsilon) t / n, by the test that let it in (or because w was least loaded, so at most (t - 1) / n). After it
    the load is below (1 + epsilon) t / n + 1 <= (1 + epsilon) m_s / n + 1 and has not changed since. Summed over the sources the
    load of w is below (1 + epsilon) m / n + s; less the mean m / n, that is epsilon m / n + s. The paper's epsilon m / n fails
    at the first message: one worker has load 1, the mean is 1 / n, and 1 - 1 / n > epsilon / n once epsilon < n - 1.

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
    """Return the bound as printed in section V-A, epsilon m / n, which fails for the first messages."""
    _counts(m=m, n=n)
    return like(epsilon, exact(_positive("epsilon", epsilon)) * m / n)


def shuffle_memory_bound(p: Any, m: int, n: int) -> int:
    """Return Eq. 1: at most so many (key, worker) pairs are expected with shuffle grouping.

    An upper bound in expectation: key i occurs f_i times and is on at most min(f_i, n) workers, whose mean is at most
    min(p_i m, n) as the minimum is concave.

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
    """Return Eq. 2 as printed: the sum of ceil(p_i n / (1 + epsilon)), which counts keys that never occur."""
    _counts(n=n)
    return int(np.ceil(np.asarray(p, float) * n / (1.0 + _positive("epsilon", epsilon))).sum())


def random_choices_memory_bound(frequencies: Any, n: int, epsilon: float, sources: int = 1) -> int:
    """Return the least number of (key, worker) pairs that the power of random choices can make of a stream.

    A key that occurs f times fills at least f / ((1 + epsilon) m / n + s) workers, as none takes more in all. Eq. 2 corrected:
    for what occurred, and with the + s of the imbalance bound.

    Parameters
    ----------
    frequencies : array_like of int
        How often each key occurred.
    n : int
        Workers.
    epsilon : float
        The grouping's.
    sources : int, default 1
        Sources.
    """
    _counts(n=n, sources=sources)
    distinct, keys = np.unique(np.asarray(frequencies), return_counts=True)
    messages = int(distinct @ keys)
    room = (1 + exact(_positive("epsilon", epsilon))) * messages / n + sources
    return sum(math.ceil(f / room) * k for f, k in zip(distinct.tolist(), keys.tolist()))


def replicated_everywhere_possible(n: int, epsilon: Any) -> bool:
    """Return whether a key can be on all workers of the power of random choices by overflow alone, by the paper's argument.

    For that n - 1 workers must be full, at 1 + epsilon times the mean each: (n - 1)(1 + epsilon) <= n, so epsilon <= 1 / (n - 1).
    The argument is about one moment; a key may still visit workers one after the other as the level rises.
    """
    _counts(n=n)
    return (n - 1) * (1 + exact(_positive("epsilon", epsilon))) <= n


def optimal_share(capacity: Any, n: int, virtual: int) -> Any:
    """Return a worker's optimal number of virtual workers, c n alpha, for capacities that sum to 1 (section V-A2)."""
    return capacity * n * virtual


def least_share_of_overloaded(capacity: Any, n: int, virtual: int, epsilon: Any, threshold: Any) -> Any:
    """Return the least number of virtual workers of a worker with load at least `threshold` times its capacity.

    Each virtual worker has load at most 1 / (n alpha) + epsilon, so an overloaded worker holds at least
    threshold c / (1 / (n alpha) + epsilon) of them. Exact; the printed form is `least_share_printed`.

    Parameters
    ----------
    capacity : float or Fraction
        Its capacity c, where all capacities sum to 1.
    n, virtual : int
        Workers, and virtual workers for each (alpha).
    epsilon : float or Fraction
        How far a virtual worker's load may be above 1 / (n alpha), where all load is 1.
    threshold : float or Fraction
        theta_b.
    """
    return threshold * capacity / (Fraction(1, n * virtual) + epsilon)


def least_share_printed(capacity: Any, n: int, virtual: int, epsilon: Any, threshold: Any) -> Any:
    """Return the weaker bound that the paper takes from Bernoulli's inequality: theta_b c n alpha (1 - epsilon n alpha)."""
    return threshold * capacity * n * virtual * (1 - epsilon * n * virtual)


class LemmaHypotheses(NamedTuple):
    """Which hypotheses of Lemmas 5.1 and 5.2 hold, and the lemmas' scale ln ln(bins) / ln d."""

    enough_messages: bool
    light_keys: bool
    scale: float


def lemma_hypotheses(p1: Any, m: int, n: int, virtual: int = 1, d: int = 2) -> LemmaHypotheses:
    """Return which hypotheses of Lemmas 5.1 (both) and 5.2 (the first) hold: they are about the n alpha bins, not the n workers.

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
    """Whether whole virtual workers can bring every worker into the band, and the counts that do (None where they cannot)."""

    feasible: bool
    shares: tuple[int, ...] | None
    lowest: tuple[int, ...]
    highest: tuple[int, ...]


def granularity(
    capacities: Sequence[Any], virtual: int, idle: Any = "0.75", busy: Any = "0.85", utilisation: Any = "0.8"
) -> Granularity:
    """Return whether `virtual` virtual workers a worker can be dealt so that every utilisation is within [idle, busy].

    With V virtual workers of equal load, a worker of capacity c that holds a of them has utilisation a / V * u * C / c, for
    total capacity C and overall utilisation u. Each worker thus needs a whole number within an interval, and the
    numbers must sum to V.

    Parameters
    ----------
    capacities : sequence of int, float or Fraction
        Relative capacities.
    virtual : int
        Virtual workers for each worker.
    idle, busy, utilisation : str, float or Fraction, default 0.75, 0.85 and 0.8
        The band, and the load over all capacity. Strings are exact decimals.

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
    """Return the fewest virtual workers a worker with which every worker's utilisation can lie within [idle, busy].

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
    """Return how fast a closed system can run when a fixed part of all messages goes to each worker: the fullest worker sets the pace.

    Parameters
    ----------
    shares : array_like of float
        The part of the messages that each worker gets.
    capacities : array_like of float
        Messages a unit of time that each can serve.
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
