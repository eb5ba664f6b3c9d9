"""The exact meaning of a number that a user writes.

Theory and algorithms share this definition, not its code.

A share or an epsilon is a fraction. A whole number or a fraction stands for itself; a float stands
for its decimal if that has at most twelve digits behind the point (0.01 is 1/100), and else for the
fraction of least denominator within 2**-50 of it (0.2 / 7 is 1/35).
"""

from __future__ import annotations

import numbers
from fractions import Fraction
from typing import Any


def exact(value: Any) -> Fraction:
    """Return the fraction that a number stands for."""
    if isinstance(value, numbers.Rational):
        return Fraction(value)
    decimal, nearest = Fraction(repr(float(value))), Fraction(float(value))
    if decimal.denominator <= 10**12:
        return decimal
    # The best fraction up to a denominator gets no worse as that grows: bisect for the first that
    # is good enough.
    low, high = 0, nearest.denominator
    while high - low > 1:
        middle = (low + high) // 2
        near = abs(nearest.limit_denominator(middle) - nearest) <= abs(nearest) / 2**50
        low, high = (low, middle) if near else (middle, high)
    return nearest.limit_denominator(high)


def like(value: Any, result: Fraction) -> Any:
    """Return a result as it is if the `value` that it comes from is exact, else as a float."""
    return result if isinstance(value, numbers.Rational) else float(result)
