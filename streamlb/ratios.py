"""Shares and limits that mean what the user wrote, compared exactly with whole numbers.

In floats (1 + 0.01) / 20 * 10000 is 505.00000000000006, so that a worker with 505 messages would
seem to have room for one more, and 0.2 / 7 is not 1 / 35. Here a number that a user gives is a
fraction (`fraction_of`), and a count is compared with that fraction of m exactly (`reaches`,
`ceil_share`). Nearly always a float decides, because the count is far from the limit; only in a
near tie are the products compared in 128 bits.
"""

from __future__ import annotations

import math
import numbers
from fractions import Fraction
from typing import Any

import numpy as np

from streamlb._jit import njit

_SLACK = 2.0**-50  # of a product of m and a float: its error is below 2**-51 of it
_LOW32, _S32 = np.uint64(0xFFFFFFFF), np.uint64(32)
_LONGEST = 10**12  # the denominator up to which a decimal is taken as it was written
_GREATEST = 2**62  # what a numerator or a denominator stays below


def fraction_of(value: Any) -> Fraction:
    """Return the fraction that a number stands for.

    A whole number or a fraction stands for itself. A float stands for its decimal, if that has at
    most twelve digits behind the point (0.01 is 1/100), and else for the simplest fraction within
    2**-50 of it (0.2 / 7 is 1/35).

    Examples
    --------
    >>> from streamlb.ratios import fraction_of
    >>> fraction_of(0.01), fraction_of(0.2 / 7)
    (Fraction(1, 100), Fraction(1, 35))
    """
    if isinstance(value, numbers.Rational):
        return Fraction(value)
    value = float(value)
    written = Fraction(repr(value))
    if written.denominator <= _LONGEST:
        return written
    near = Fraction(value)
    return _simplest(near * (1 - Fraction(1, 2**50)), near * (1 + Fraction(1, 2**50)))


def _simplest(low: Fraction, high: Fraction) -> Fraction:
    """Return the fraction of least denominator in [low, high], both above 0."""
    whole = math.ceil(low)
    if whole <= high:
        return Fraction(whole)
    whole -= 1
    return whole + 1 / _simplest(1 / (high - whole), 1 / (low - whole))


def terms_of(ratio: Fraction) -> tuple[int, int, float]:
    """Return what the kernels take of a fraction: numerator, denominator and the nearest float.

    A fraction whose terms do not fit 62 bits is replaced by the nearest one that does.
    """
    if max(ratio.numerator, ratio.denominator) >= _GREATEST:
        ratio = ratio.limit_denominator(_GREATEST // max(1, 2 * math.ceil(ratio)))
    return ratio.numerator, ratio.denominator, float(ratio)


@njit(cache=True, nogil=True)
def _at_most(a, b, c, d):
    """Return whether a * b <= c * d, for whole numbers from 0 to 2**63 - 1, in 128 bits."""
    a, b, c, d = np.uint64(a), np.uint64(b), np.uint64(c), np.uint64(d)
    cross = (a & _LOW32) * (b & _LOW32) >> _S32
    cross += (a >> _S32) * (b & _LOW32)
    high = (a >> _S32) * (b >> _S32) + (cross >> _S32)
    high += ((cross & _LOW32) + (a & _LOW32) * (b >> _S32)) >> _S32
    cross = (c & _LOW32) * (d & _LOW32) >> _S32
    cross += (c >> _S32) * (d & _LOW32)
    other = (c >> _S32) * (d >> _S32) + (cross >> _S32)
    other += ((cross & _LOW32) + (c & _LOW32) * (d >> _S32)) >> _S32
    return high < other or (high == other and a * b <= c * d)


@njit(cache=True, nogil=True, forceinline=True)
def reaches(count, m, over, under, value):
    """Return whether count >= m * over / under, exactly; `value` is the float of over / under."""
    limit = m * value
    excess = count - limit
    if abs(excess) > limit * _SLACK:
        return excess > 0.0
    return _at_most(np.int64(m), over, np.int64(count), under)


@njit(cache=True, nogil=True)
def _exact_ceil(m, over, under, guess):
    while not _at_most(m, over, guess, under):
        guess += 1
    while guess > 0 and _at_most(m, over, guess - 1, under):
        guess -= 1
    return guess


@njit(cache=True, nogil=True, forceinline=True)
def ceil_share(m, over, under, value):
    """Return the least whole number that is not below m * over / under; `value` is its float.

    A count is below the limit m * over / under exactly when it is below this number.
    """
    limit = m * value
    whole = math.floor(limit)
    slack = limit * _SLACK
    if limit - whole > slack and whole + 1.0 - limit > slack:
        return np.int64(whole) + 1
    return _exact_ceil(np.int64(m), over, under, np.int64(limit + 0.5))
