"""Argument checks.

Each returns the value in the type that the kernels take, or raises an error that names the
argument, the value and the rule.
"""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np

MOST = 2**62  # the greatest count that an option may name: sums of a few still fit an int64
LENGTH = 2**31 - 1  # the greatest count of things that take memory each
_MASK = 0xFFFFFFFFFFFFFFFF


def integer(name: str, value: Any, minimum: int | None = None, maximum: int | None = None) -> int:
    """Return `value` as an int within [minimum, maximum], and within 2**62 of zero by default."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be an integer, got {value!r} of type {type(value).__name__}")
    number = int(value)
    if (minimum is not None and number < minimum) or (maximum is not None and number > maximum):
        raise ValueError(f"{name} must be {_range(minimum, maximum)}, got {value}")
    if maximum is None and abs(number) > MOST:
        raise ValueError(f"{name} must be at most 2**62 in size, got {value}")
    return number


def real(
    name: str,
    value: Any,
    low: float | None = None,
    high: float | None = None,
    *,
    low_open: bool = False,
    high_open: bool = False,
) -> float:
    """Return `value` as a finite float within the interval; an open end excludes its bound."""
    # Live calls give a float: the tests below would take longer than some kernels.
    quick = type(value) is float
    if not quick and (isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real)):
        raise TypeError(f"{name} must be a real number, got {value!r} of type {type(value).__name__}")
    number = float(value)
    below = low is not None and (number <= low if low_open else number < low)
    above = high is not None and (number >= high if high_open else number > high)
    if not math.isfinite(number) or below or above:
        left = "" if low is None else f"{'(' if low_open else '['}{low:g}, "
        right = "" if high is None else f"{high:g}{')' if high_open else ']'}"
        if low is None and high is None:
            rule = "finite"
        elif high is None:
            rule = f"finite and {'more than' if low_open else 'at least'} {low:g}"
        elif low is None:
            rule = f"finite and {'less than' if high_open else 'at most'} {high:g}"
        else:
            rule = f"in {left}{right}"
        raise ValueError(f"{name} must be {rule}, got {value!r}")
    return number


def choice(name: str, value: Any, options: tuple[str, ...]) -> str:
    """Return `value` if it is one of the options."""
    if not isinstance(value, str) or value not in options:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, options))}, got {value!r}")
    return value


def flag(name: str, value: Any) -> bool:
    """Return `value` as a bool, if it is one."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def pairs(name: str, values: Any, rule: str) -> list[tuple[Any, Any]]:
    """Return `values` as a list of pairs, none for None; `rule` says what they are pairs of."""
    if values is None:
        return []
    try:
        entries = [tuple(each) for each in values]
    except TypeError:
        raise TypeError(f"{name} must be pairs of {rule}, got {values!r}") from None
    for entry in entries:
        if len(entry) != 2:
            raise ValueError(f"{name} must be pairs of {rule}, got {entry!r} among them")
    return entries  # type: ignore[return-value]


def seed_value(seed: Any) -> int:
    """Return a seed as an int below 2**64.

    It is made from an int, from a `numpy.random.SeedSequence`, or from OS entropy for None.
    """
    if seed is None:
        seed = np.random.SeedSequence()
    if isinstance(seed, np.random.SeedSequence):
        return int(seed.generate_state(1, np.uint64)[0])
    number = integer("seed", seed, maximum=_MASK)
    if number < -(2**63):
        raise ValueError(f"seed must be from -2**63 to 2**64 - 1, got {seed}")
    return number & _MASK


def real_array(name: str, values: Any, length: int | None = None, low: float | None = 0.0) -> np.ndarray:
    """Return `values` as float64[m], all finite and at least `low`.

    The error names the first position that is not.
    """
    array = _array(name, values)
    if array.dtype.kind not in "fiu":
        raise TypeError(f"{name} must be real numbers, got an array of {array.dtype}")
    array = np.ascontiguousarray(array, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"{name} must have one dimension, got shape {array.shape}")
    if length is not None and array.size != length:
        raise ValueError(f"{name} must have as many entries as the keys, {length}, got {array.size}")
    # A sum is one pass without a temporary array. Where it is finite and the minimum is not below
    # `low`, every entry is good.
    with np.errstate(over="ignore", invalid="ignore"):
        suspect = array.size and not (np.isfinite(array.sum()) and (low is None or array.min() >= low))
    if suspect:
        bad = ~np.isfinite(array) if low is None else ~(np.isfinite(array) & (array >= low))
        if bad.any():
            at = int(np.argmax(bad))
            rule = "finite" if low is None else f"finite and at least {low:g}"
            raise ValueError(f"{name} must be {rule}, got {array[at]} at position {at}")
    if not array.flags.writeable:
        array = array.copy()  # a read-only array is another type to Numba
    return array


def rising(name: str, values: Any, length: int, low: float | None = 0.0) -> np.ndarray:
    """Return `values` as float64[length] that never decreases, at least `low`."""
    array = real_array(name, values, length, low)
    falls = np.flatnonzero(np.diff(array) < 0)
    if falls.size:
        raise ValueError(f"{name} must not decrease, got {array[falls[0] + 1]!r} at position {falls[0] + 1}")
    return array


def weight_array(name: str, values: Any, length: int) -> np.ndarray:
    """Return `values` as int64[length] of whole numbers, zero or more.

    The error names the first position where there is none.
    """
    array = _array(name, values)
    if array.dtype.kind == "f":
        bad = ~(np.isfinite(array) & (array == np.floor(array)))
        if bad.any():
            at = int(np.argmax(bad))
            raise ValueError(f"{name} must be whole numbers, got {array.flat[at]} at position {at}")
    elif array.dtype.kind == "O":
        # Whole numbers that no integer type holds, or no numbers at all.
        for at, value in enumerate(array.flat):
            integer(f"{name}[{at}]", value, 0, MOST - 1)
    elif array.dtype.kind not in "iu":
        raise TypeError(f"{name} must be whole numbers, got an array of {array.dtype}")
    if array.ndim != 1 or array.size != length:
        raise ValueError(f"{name} must be one number for each of the {length} keys, got shape {array.shape}")
    if array.size and (array.min() < 0 or array.max() >= 2**62):
        at = int(np.argmax((array < 0) | (array >= 2**62)))
        raise ValueError(f"{name} must be in [0, 2**62), got {array[at]} at position {at}")
    array = np.ascontiguousarray(array, dtype=np.int64)
    return array if array.flags.writeable else array.copy()


def _array(name: str, values: Any) -> np.ndarray:
    try:
        return np.asarray(values)
    except ValueError as error:  # lists of unequal lengths
        raise ValueError(f"{name} must have one dimension, got lists of unequal lengths") from error


def _range(minimum: int | None, maximum: int | None) -> str:
    if maximum is None:
        return f"at least {minimum}"
    if minimum is None:
        return f"at most {maximum}"
    return f"in [{minimum}, {maximum}]"
