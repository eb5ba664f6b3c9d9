"""The number of choices of D-Choices: the fewest with which its necessary condition holds.

That is Proposition 4.1 of Nasir et al. 2016. Each key of a head of shares p_1 >= p_2 >= ... gets d
workers. For every prefix of h keys, what these keys and the keys whose workers all lie among theirs
must send has to fit on the expected number b_h of workers that the prefix has.

With d distinct workers for each key the condition alone leaves no margin: where p_1 n is just below
a whole number it is content with that number, and the hottest key's workers are full. So distinct
workers are also no fewer than those that the d hashes of the printed condition reach on average,
which is the memory that the printed algorithm takes.

As printed, all workers are taken (W-Choices) once d reaches their number. Distinct workers then
jump: n hashes reach only .63 n workers, and a little more skew gives a hot key all n. Without this
switch the search goes on beyond n hashes, and the number of distinct workers rises smoothly.
"""

from __future__ import annotations

import math

import numpy as np

from streamlb._jit import njit

_SLACK = 1e-12  # of rounding: a condition met with equality is met


@njit(cache=True, nogil=True)
def _subset_probability(b, d, n):
    """Return C(b, d) / C(n, d), the chance that d of n workers all lie among b; b is real."""
    b = max(b, d)
    return math.exp(math.lgamma(b + 1.0) - math.lgamma(b - d + 1.0) - math.lgamma(n + 1.0) + math.lgamma(n - d + 1.0))


# Compiled into fewest_choices, once for each value of `distinct`; only that is cached, which has
# one signature.
@njit(nogil=True)
def _covered(h, d, n, distinct):
    """Return b_h / n, the expected share of all workers that the first h keys have."""
    return 1.0 - (1.0 - d / n) ** h if distinct else 1.0 - ((n - 1.0) / n) ** (h * d)


@njit(nogil=True)
def _fits(covered, prefix, d, head, n, epsilon, distinct):
    """Return whether keys with shares of `prefix` in all fit on `covered` of the workers."""
    if distinct:
        hot = _subset_probability(covered * n, d, n) if head > prefix else 0.0
        cold = covered * (covered * n - 1.0) / (n - 1.0)
    else:
        hot = covered**d
        cold = covered * covered
    tail = max(0.0, 1.0 - head)
    return prefix + hot * (head - prefix) + cold * tail <= covered * (1.0 + n * epsilon) + _SLACK


@njit(nogil=True)
def _least_that_fits(shares, workers, most, epsilon, distinct):
    """Return the least d that meets the condition for every prefix, or `most`.

    The first and the last prefix are tried before the others: they are the ones that fail, so a d
    is mostly refused at once. Where the prefix has so many workers that these could take all
    messages, so have all longer ones: they fit.
    """
    n = float(workers)
    head = 0.0
    for share in shares:
        head += share
    d = max(2, np.int64(math.ceil(shares[0] * n)))
    while d < most:
        choices = float(d)
        last = _covered(float(shares.size), choices, n, distinct)
        fits = _fits(_covered(1.0, choices, n, distinct), shares[0], choices, head, n, epsilon, distinct)
        fits = fits and _fits(last, head, choices, head, n, epsilon, distinct)
        if fits:
            prefix = shares[0]
            for h in range(1, shares.size - 1):
                prefix += shares[h]
                covered = _covered(h + 1.0, choices, n, distinct)
                if covered * (1.0 + n * epsilon) >= 1.0:
                    break
                if not _fits(covered, prefix, choices, head, n, epsilon, distinct):
                    fits = False
                    break
        if fits:
            return d
        d += 1
    return most


@njit(cache=True, nogil=True)
def fewest_choices(shares, workers, epsilon, distinct, switch):
    """Return d for a head of shares in descending order; `workers` means all of them.

    `switch` says whether all workers are taken where the printed d is no less than their number.
    """
    if shares.size == 0:
        return min(2, workers)
    n, most = float(workers), workers
    if distinct and not switch and workers > 2:
        most += np.int64(n * math.log(n))  # so many hashes reach all workers but one on average
    d = _least_that_fits(shares, workers, most, epsilon, False)
    if not distinct or d >= most:
        return min(d, workers)
    reached = np.int64(math.ceil(n * (1.0 - ((n - 1.0) / n) ** float(d))))
    return max(reached, _least_that_fits(shares, workers, workers, epsilon, True))
