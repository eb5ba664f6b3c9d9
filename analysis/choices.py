"""How many workers a hot key needs, what they cost in memory, and what two choices cannot do.

This is the theory of Nasir et al. 2016, sections III and IV and appendix A. A head key has d
candidates: either d hashes, some of which may coincide ("independent", as printed), or d different
workers ("distinct"). Both variants of the paper's necessary condition are here, in floats; expected
sizes are also given as exact fractions.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.special import gammaln

from .exact import exact

CANDIDATES = ("independent", "distinct")
_SLACK = 1e-12  # for rounding: a condition that holds with equality must count as met


def expected_workers(n: int, d: int, h: int = 1, *, candidates: str = "independent", exact: bool = False) -> Any:
    """Return b_h, the expected number of different workers among the candidates of h keys.

    Parameters
    ----------
    n : int
        Workers.
    d : int
        Candidates of each key.
    h : int, default 1
        Keys.
    candidates : {"independent", "distinct"}
        Whether a key's candidates may coincide.
    exact : bool, default False
        Return a Fraction.

    Examples
    --------
    >>> from streamlb.analysis import expected_workers
    >>> expected_workers(4, 2), expected_workers(4, 2, candidates="distinct")
    (1.75, 2.0)
    """
    _check_counts(n=n)
    _check_counts(0, d=d, h=h)
    _check_candidates(candidates, n, d)
    missed = Fraction(n - d, n) ** h if candidates == "distinct" else Fraction(n - 1, n) ** (h * d)
    size = n * (1 - missed)
    return size if exact else float(size)


def occupancy_distribution(n: int, draws: int) -> list[Fraction]:
    """Return the distribution of B, the number of different workers among independent draws.

    The result is the list of P(B = j) for j = 0..n, as exact fractions.

    Parameters
    ----------
    n : int
        Workers.
    draws : int
        Independent draws.

    Examples
    --------
    >>> from streamlb.analysis import occupancy_distribution
    >>> [str(p) for p in occupancy_distribution(3, 2)]
    ['0', '1/3', '2/3', '0']
    """
    chances = [Fraction(1)] + [Fraction(0)] * n
    for _ in range(draws):
        chances = [
            chances[j] * Fraction(j, n) + (chances[j - 1] * Fraction(n - j + 1, n) if j else 0) for j in range(n + 1)
        ]
    return chances


def _check_candidates(candidates: str, n: int, d: int = 1) -> None:
    if candidates not in CANDIDATES:
        raise ValueError(f"candidates must be one of {CANDIDATES}, got {candidates!r}")
    if candidates == "distinct" and d > n:
        raise ValueError(f"d must be at most n={n} for distinct candidates, got {d}")


def _check_counts(least: int = 1, **counts: int) -> None:
    for name, value in counts.items():
        if int(value) != value or value < least:
            raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}")


def _check_condition(n: int, theta: float, epsilon: float, candidates: str, prefixes: str = "all") -> None:
    _check_counts(n=n)
    _check_theta(theta)
    if not 0 < epsilon < math.inf:
        raise ValueError(f"epsilon must be finite and more than 0, got {epsilon!r}")
    _check_candidates(candidates, n)
    if prefixes not in ("all", "ends"):
        raise ValueError(f"prefixes must be 'all' or 'ends', got {prefixes!r}")


def _check_theta(theta: float) -> None:
    if not 0 < theta < 1:
        raise ValueError(f"theta must be in (0, 1), got {theta!r}")


def _shares(p: Any) -> np.ndarray:
    """Return the shares as float64, largest first."""
    shares = np.sort(np.asarray(p, np.float64))[::-1]
    if shares.ndim != 1 or not shares.size or not np.isfinite(shares).all() or shares[-1] < 0:
        raise ValueError("p must be the keys' shares: one dimension, finite, zero or more")
    if shares.sum() > 1 + 1e-6:
        raise ValueError(f"p must be the keys' shares, 1 in all, got a sum of {shares.sum():g}")
    return shares


def _in_head(shares: np.ndarray, theta: float) -> np.ndarray:
    """Return which shares are theta or more; where only rounding differs, fractions decide."""
    found = shares >= theta
    close = np.flatnonzero(np.abs(shares - theta) <= theta * 2.0**-48)
    found[close] = [exact(share) >= exact(theta) for share in shares[close]]
    return found


def head_size(p: Any, theta: float) -> int:
    """Return how many keys have a share of theta or more.

    Examples
    --------
    >>> from streamlb.analysis import head_size
    >>> head_size([0.5, 0.3, 0.1, 0.1], 0.2)
    2
    """
    _check_theta(theta)
    return int(np.count_nonzero(_in_head(_shares(p), theta)))


def choices_margin(
    p: Any, n: int, d: int, theta: float, epsilon: float, *, candidates: str = "independent"
) -> np.ndarray:
    """Return by how much each prefix of the head fits: one number for each head key.

    It is the right side of the necessary condition (Proposition 4.1) minus its left side, so that a
    prefix fits where the number is not negative.

    Parameters
    ----------
    p : array_like
        The keys' shares. Keys with a share of theta or more are the head; the rest of 1 is the
        tail.
    n : int
        Workers.
    d : int
        Candidates of a head key.
    theta : float
        The share from which a key belongs to the head.
    epsilon : float
        The imbalance allowed.
    candidates : {"independent", "distinct"}
        Whether a key's candidates may coincide.
    """
    _check_condition(n, theta, epsilon, candidates)
    _check_counts(d=d)
    _check_candidates(candidates, n, d)
    shares = _shares(p)
    head = shares[_in_head(shares, theta)]
    total = head.sum()
    tail = max(0.0, 1.0 - total)
    prefix = np.cumsum(head)
    h = np.arange(1.0, head.size + 1)
    if candidates == "distinct":
        covered = 1.0 - (1.0 - d / n) ** h
        b = np.maximum(covered * n, d)
        hot = np.exp(gammaln(b + 1) - gammaln(b - d + 1) - gammaln(n + 1) + gammaln(n - d + 1))
        cold = covered * (covered * n - 1.0) / max(n - 1.0, 1.0)
    else:
        covered = 1.0 - ((n - 1.0) / n) ** (h * d)
        hot, cold = covered**d, covered**2
    return covered * (1.0 + n * epsilon) - (prefix + hot * (total - prefix) + cold * tail)


def choices_feasible(
    p: Any, n: int, d: int, theta: float, epsilon: float, *, candidates: str = "independent", prefixes: str = "all"
) -> bool:
    """Return whether d candidates meet the necessary condition for every prefix of the head.

    The condition is Proposition 4.1.

    Parameters
    ----------
    p, n, d, theta, epsilon, candidates
        As in `choices_margin`.
    prefixes : {"all", "ends"}
        Look at every prefix, or at the first key and the whole head only.

    Examples
    --------
    >>> from streamlb.analysis import choices_feasible
    >>> choices_feasible([0.5, 0.5], 10, 5, 0.02, 1e-4)
    False
    >>> choices_feasible([0.5, 0.5], 10, 9, 0.02, 1e-2)
    False
    >>> choices_feasible([0.1] * 10, 10, 2, 0.2, 1e-4)  # no head
    True
    """
    _check_condition(n, theta, epsilon, candidates, prefixes)
    margin = choices_margin(p, n, d, theta, epsilon, candidates=candidates)
    if prefixes == "ends" and margin.size:
        margin = margin[[0, -1]]
    return bool((margin >= -_SLACK).all())


def min_choices(
    p: Any,
    n: int,
    theta: float,
    epsilon: float,
    *,
    candidates: str = "independent",
    prefixes: str = "all",
    switch: bool = True,
) -> int:
    """Return the d of D-Choices: the least number of candidates that meets the condition.

    The search begins at max(2, ceil(p_1 n)); a result of n means all workers.

    The number of distinct workers is also at least the number that the independent d hashes reach
    on average, rounded up: the condition alone leaves the hottest key no margin where p_1 n is just
    below a whole number.

    Parameters
    ----------
    p, n, theta, epsilon, candidates
        As in `choices_margin`.
    prefixes : {"all", "ends"}
        As in `choices_feasible`.
    switch : bool, default True
        Take all workers where the printed d is no less than n, as printed. False, for distinct
        workers only: search on, up to n + n ln n hashes.

    Examples
    --------
    >>> from streamlb import Zipf
    >>> from streamlb.analysis import min_choices
    >>> p = Zipf(10_000, 1.4).pmf
    >>> min_choices(p, 50, 1 / 250, 1e-4), min_choices(p, 50, 1 / 250, 1e-4, candidates="distinct")
    (22, 18)
    """
    _check_condition(n, theta, epsilon, candidates, prefixes)
    if not switch and candidates != "distinct":
        raise ValueError(f"switch must be True unless candidates are distinct, got False with {candidates!r}")
    shares = _shares(p)
    if not _in_head(shares[:1], theta)[0]:
        return min(2, n)
    most = n if switch or n <= 2 else n + int(n * math.log(n))
    least = _least_feasible(shares, n, most, theta, epsilon, "independent", prefixes)
    if candidates == "independent" or least >= most:
        return min(least, n)
    reached = math.ceil(n * (1.0 - ((n - 1.0) / n) ** float(least)))
    return max(reached, _least_feasible(shares, n, n, theta, epsilon, candidates, prefixes))


def _least_feasible(
    shares: np.ndarray, n: int, most: int, theta: float, epsilon: float, candidates: str, prefixes: str
) -> int:
    for d in range(max(2, math.ceil(shares[0] * n)), most):
        if choices_feasible(shares, n, d, theta, epsilon, candidates=candidates, prefixes=prefixes):
            return d
    return most


def partial_key_imbalance_lower_bound(p1: float, n: int) -> float:
    """Return the least imbalance that is possible with two workers for each key.

    It is p_1/2 - 1/n, or 0 while p_1 <= 2/n.

    Parameters
    ----------
    p1 : float
        The share of the most frequent key.
    n : int
        Workers.

    Examples
    --------
    >>> from streamlb.analysis import partial_key_imbalance_lower_bound
    >>> round(partial_key_imbalance_lower_bound(0.0932, 100), 4)  # Wikipedia on 100 workers
    0.0366
    """
    _check_counts(n=n)
    if not 0 <= p1 <= 1:
        raise ValueError(f"p1 must be a share in [0, 1], got {p1!r}")
    return max(0.0, p1 / 2 - 1 / n)


COUNTS = ("drawn", "expected")


def memory_cost(
    p: Any,
    m: int,
    n: int,
    scheme: str,
    *,
    theta: float | None = None,
    epsilon: float = 1e-4,
    d: int | None = None,
    counts: str = "drawn",
) -> float:
    """Return the paper's estimate of the (key, worker) pairs of a scheme after m messages.

    A key that occurs f times is on min(f, choices) workers. This estimates from above, since two
    choices may coincide, and a key need not meet both.

    Parameters
    ----------
    p : array_like
        The keys' shares.
    m : int
        Messages.
    n : int
        Workers.
    scheme : {"KG", "PKG", "SG", "D-C", "W-C", "RR"}
        Which grouping.
    theta : float, optional
        The share from which a key belongs to the head, 1 / (5 n) by default.
    epsilon : float, default 1e-4
        The imbalance that D-C allows; used only where d is not given.
    d : int, optional
        Candidates of a head key of D-C; `min_choices` by default.
    counts : {"drawn", "expected"}, default "drawn"
        What f is: the key's count in a stream that is drawn, over which the result is the mean, or
        its expected count p m. They differ for keys that occur about as often as they have choices.

    Examples
    --------
    >>> from streamlb.analysis import memory_cost
    >>> p = [0.6, 0.3, 0.1]
    >>> [round(memory_cost(p, 100, 10, scheme), 2) for scheme in ("KG", "PKG", "SG", "W-C")]
    [3.0, 6.0, 28.81, 28.81]
    >>> memory_cost(p, 100, 10, "SG", counts="expected")
    30.0
    """
    _check_counts(0, m=m)
    _check_counts(n=n)
    if counts not in COUNTS:
        raise ValueError(f"counts must be one of {COUNTS}, got {counts!r}")
    shares = _shares(p)
    theta = 0.2 / n if theta is None else theta
    _check_theta(theta)
    if scheme in ("KG", "PKG", "SG"):
        return _kept(shares, int(m), {"KG": 1, "PKG": 2, "SG": n}[scheme], counts)
    if scheme not in ("D-C", "W-C", "RR"):
        raise ValueError(f"scheme must be one of KG, PKG, SG, D-C, W-C, RR, got {scheme!r}")
    if scheme != "D-C":
        d = n
    elif d is None:
        d = min_choices(shares, n, theta, epsilon)
    hot = _in_head(shares, theta)
    return _kept(shares[hot], int(m), d, counts) + _kept(shares[~hot], int(m), 2, counts)


def _kept(shares: np.ndarray, m: int, choices: int, counts: str) -> float:
    """Return the sum over keys of min(f, choices), or its mean for binomial f."""
    if counts == "expected":
        return float(np.minimum(shares * m, choices).sum())
    # Beyond this a count below `choices` has a chance of less than 1e-13.
    rare = shares[(shares * m < 4 * choices + 60) & (shares > 0) & (shares < 1)]
    sure = np.minimum(m, choices) * np.count_nonzero(shares * m >= 4 * choices + 60)
    sure += np.minimum(m, choices) * np.count_nonzero((shares == 1) & (m < 4 * choices + 60))
    missing = np.zeros(rare.size)
    odds, log_none = np.log(rare) - np.log1p(-rare), m * np.log1p(-rare)
    log_ways = 0.0  # of choosing which j of m messages have the key
    for j in range(min(choices, m + 1)):
        missing += (choices - j) * np.exp(log_ways + j * odds + log_none)
        log_ways += math.log((m - j) / (j + 1)) if j < m else 0.0
    return float(sure + (choices - missing).sum())


def coupon_collector_mean(n: int) -> Fraction:
    """Return how many independent draws it takes on average to meet all of n workers.

    The result is n H_n, as an exact fraction.

    Parameters
    ----------
    n : int
        Workers.

    Examples
    --------
    >>> from streamlb.analysis import coupon_collector_mean
    >>> coupon_collector_mean(3)
    Fraction(11, 2)
    """
    return n * sum((Fraction(1, i) for i in range(1, n + 1)), Fraction(0))


def all_workers_probability(n: int, draws: int) -> float:
    """Return the chance that independent draws meet every one of n workers.

    W-Choices reaches all workers for certain, because it does not hash the head keys.

    Parameters
    ----------
    n : int
        Workers.
    draws : int
        Independent draws.

    Examples
    --------
    >>> from streamlb.analysis import all_workers_probability
    >>> all_workers_probability(2, 3)
    0.75
    """
    return float(occupancy_distribution(n, draws)[n])


def coverage_moments(n: int, draws: int) -> tuple[Fraction, Fraction]:
    """Return E[B/n] and E[(B/n)**2] for B, the number of different workers among independent draws.

    The paper puts (b/n)**2, the square of the first, for the chance that both workers of a tail key
    lie among B. The exact value is the second, which is never smaller.
    """
    chances = occupancy_distribution(n, draws)
    first = sum((chance * Fraction(j, n) for j, chance in enumerate(chances)), Fraction(0))
    second = sum((chance * Fraction(j, n) ** 2 for j, chance in enumerate(chances)), Fraction(0))
    return first, second


def zipf_shares(keys: int, exponent: float) -> np.ndarray:
    """Return the shares of a Zipf distribution over `keys` keys, largest first."""
    weights = np.arange(1, keys + 1, dtype=np.float64) ** -exponent
    return weights / weights.sum()
