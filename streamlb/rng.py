"""Randomness as a function of (seed, index), and alias tables to draw from any distribution.

The generator is SplitMix64 read as a counter: draw i of a seed is mix(seed' + i * golden). A stream
is thus the same whatever the chunking and whoever draws which part. An alias table is uint64[n]:
each entry packs the alias (upper 32 bits) and the threshold (lower 32 bits) below which the entry
itself is drawn.
"""

from __future__ import annotations

import numpy as np

from streamlb._jit import njit
from streamlb.hashing import GOLDEN, derive, mix

_S11, _S32 = np.uint64(11), np.uint64(32)
_LOW32 = np.uint64(0xFFFFFFFF)


@njit(cache=True, nogil=True, forceinline=True)
def random_bits(seed, index):
    """Return 64 random bits: draw `index` of the stream `seed` (both uint64)."""
    return mix(seed + (index + np.uint64(1)) * GOLDEN)


@njit(cache=True, nogil=True, forceinline=True)
def random_unit(seed, index):
    """Return draw `index` of the stream `seed` as a float in [0, 1), 53 bits fine."""
    return (random_bits(seed, index) >> _S11) * 2.0**-53


@njit(cache=True, nogil=True, forceinline=True)
def alias_column(bits, n):
    """Return which column of an alias table of n < 2**32 entries (uint64) 64 random bits pick.

    The column takes the place of the upper half of the bits, which it was drawn from; a column's
    chance is off by less than one in 2**32 / n of itself. The lower half is left for `alias_entry`.
    """
    return (((bits >> _S32) * n) & ~_LOW32) | (bits & _LOW32)


@njit(cache=True, nogil=True, forceinline=True)
def alias_entry(picked, table):
    """Return what is drawn once `alias_column` has picked a column: the column or its alias."""
    column = picked >> _S32
    entry = table[column]
    return column if (picked & _LOW32) < (entry & _LOW32) else entry >> _S32


@njit(cache=True, nogil=True)
def _fill_units(seed, start, out):
    for i in range(out.size):
        out[i] = random_unit(seed, np.uint64(start + i))


@njit(cache=True, nogil=True)
def _build_alias(scaled, stack, table):
    """Build by Vose's construction.

    `scaled` is n * pmf and is used up; `stack` int64[n] holds the small entries from the left and
    the large ones from the right.
    """
    n = scaled.size
    small, large = 0, n
    for i in range(n - 1, -1, -1):
        if scaled[i] < 1.0:
            stack[small] = i
            small += 1
        else:
            large -= 1
            stack[large] = i
    while small > 0 and large < n:
        small -= 1
        i = stack[small]
        j = stack[large]
        threshold = np.uint64(scaled[i] * 4294967296.0)
        if threshold > _LOW32:
            threshold = _LOW32
        table[i] = np.uint64(j) << _S32 | threshold
        scaled[j] -= 1.0 - scaled[i]
        if scaled[j] < 1.0:
            large += 1
            stack[small] = j
            small += 1
    while small > 0:  # full columns, but for rounding: the alias is the column itself
        small -= 1
        table[stack[small]] = np.uint64(stack[small]) << _S32
    while large < n:
        table[stack[large]] = np.uint64(stack[large]) << _S32
        large += 1


def alias_table(pmf: np.ndarray) -> np.ndarray:
    """Return the alias table of a distribution: uint64[n], read once for each draw.

    Parameters
    ----------
    pmf : float64[n]
        Probabilities; they are taken to sum to 1.
    """
    scaled = np.asarray(pmf, np.float64) * len(pmf)
    table = np.empty(scaled.size, np.uint64)
    _build_alias(scaled, np.empty(scaled.size, np.int64), table)
    return table


def uniforms(seed: int, count: int, start: int = 0) -> np.ndarray:
    """Return draws start .. start+count-1 of a seed's stream as floats in [0, 1).

    Examples
    --------
    >>> from streamlb.rng import uniforms
    >>> bool((uniforms(7, 10)[4:] == uniforms(7, 6, start=4)).all())
    True
    """
    out = np.empty(count, np.float64)
    _fill_units(np.uint64(seed), start, out)
    return out


def permutation(seed: int, n: int) -> np.ndarray:
    """Return a random permutation of 0..n-1 that follows from a seed: int64[n]."""
    return np.argsort(derive(seed, n), kind="stable")
