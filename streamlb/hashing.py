"""Hash kernels: a 64-bit mixer, the routing family F_1, F_2, ..., a 2-universal family for sketches, xxhash64.

Keys are uint64. The mixer is Stafford's variant 13 of MurmurHash3's finaliser (the one of SplitMix64), a bijection. The sketch
family is Thorup's pair-multiply-shift ("High speed hashing for integers and strings", 2015, section 3.5): strongly universal from
64-bit keys to 32 bits, for a0, a1, b uniform in 64 bits; keys pass through the mixer first, which as a bijection of the keys
changes nothing in the proof and breaks up runs of consecutive integers, on which any linear family is far from random.
"""

from __future__ import annotations

import numpy as np

from streamlb._jit import njit

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_M1 = np.uint64(0xBF58476D1CE4E5B9)
_M2 = np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S32, _S33, _S29 = (np.uint64(s) for s in (30, 27, 31, 32, 33, 29))
_LOW32 = np.uint64(0xFFFFFFFF)


@njit(cache=True, nogil=True, forceinline=True)
def mix(x):
    """Mix 64 bits: a bijection in which every input bit moves every output bit."""
    x = (x ^ (x >> _S30)) * _M1
    x = (x ^ (x >> _S27)) * _M2
    return x ^ (x >> _S31)


@njit(cache=True, nogil=True, forceinline=True)
def fast_range(h, n):
    """Map a hash to 0..n-1 by its upper 32 bits (Lemire's multiply-shift); n below 2**32."""
    return np.int64(((h >> _S32) * np.uint64(n)) >> _S32)


# Not cached itself: a literal i (0, 1) is a type of its own, and a cached kernel has one signature.
@njit(nogil=True, forceinline=True)
def candidate(key, seed, i, n):
    """Return F_i(key), the key's i-th worker of n (i from 0): one nested family, so that F_1 and F_2 stay as i grows."""
    return fast_range(mix(key + seed + np.uint64(i) * GOLDEN), n)


@njit(cache=True, nogil=True, forceinline=True)
def sketch_column(mixed, a0, a1, b, columns):
    """Return a mixed key's column under the pair-multiply-shift function (a0, a1, b).

    `columns` and the result are uint64: Numba indexes by unsigned numbers without a test for negative ones.
    """
    h = (a0 + (mixed >> _S32)) * (a1 + (mixed & _LOW32)) + b
    return ((h >> _S32) * columns) >> _S32


@njit(cache=True, nogil=True)
def _fill_uint64(seed, out):
    for i in range(out.size):
        out[i] = mix(seed + np.uint64(i + 1) * GOLDEN)


def derive(seed: int, count: int) -> np.ndarray:
    """Return `count` 64-bit numbers that follow from a seed: the parameters of a hash family.

    Examples
    --------
    >>> from streamlb.hashing import derive
    >>> derive(1, 3).tolist() == derive(1, 5)[:3].tolist()
    True
    """
    out = np.empty(count, np.uint64)
    _fill_uint64(np.uint64(seed), out)
    return out


def sketch_family(rows: int, seed: int) -> np.ndarray:
    """Return the parameters of `rows` independent 2-universal functions: uint64[rows, 3] of (a0, a1, b)."""
    return derive(seed, 3 * rows).reshape(rows, 3)


# xxhash64 (Y. Collet's published specification), over the bytes data[start:stop]. These four take
# bytes objects as well as arrays; they are compiled into the kernels of keys.py, each of which has one
# signature and is cached, and are not cached themselves.
_P1 = np.uint64(0x9E3779B185EBCA87)
_P2 = np.uint64(0xC2B2AE3D27D4EB4F)
_P3 = np.uint64(0x165667B19E3779F9)
_P4 = np.uint64(0x85EBCA77C2B2AE63)
_P5 = np.uint64(0x27D4EB2F165667C5)


@njit(nogil=True, forceinline=True)
def _rotate(x, r):
    return (x << np.uint64(r)) | (x >> np.uint64(64 - r))


@njit(nogil=True, forceinline=True)
def _word32(data, at):
    return (
        np.uint64(data[at])
        | np.uint64(data[at + 1]) << np.uint64(8)
        | np.uint64(data[at + 2]) << np.uint64(16)
        | np.uint64(data[at + 3]) << np.uint64(24)
    )


@njit(nogil=True, forceinline=True)
def _word64(data, at):
    return _word32(data, at) | _word32(data, at + 4) << _S32


@njit(nogil=True, forceinline=True)
def _round(lane, word):
    return _rotate(lane + word * _P2, 31) * _P1


@njit(nogil=True)
def xxhash64(data, start, stop, seed):
    """Return xxhash64 of data[start:stop] (uint8) under a seed."""
    at, length = start, stop - start
    if length >= 32:
        v1, v2, v3, v4 = seed + _P1 + _P2, seed + _P2, seed, seed - _P1
        while at + 32 <= stop:
            v1 = _round(v1, _word64(data, at))
            v2 = _round(v2, _word64(data, at + 8))
            v3 = _round(v3, _word64(data, at + 16))
            v4 = _round(v4, _word64(data, at + 24))
            at += 32
        h = _rotate(v1, 1) + _rotate(v2, 7) + _rotate(v3, 12) + _rotate(v4, 18)
        h = (h ^ _round(np.uint64(0), v1)) * _P1 + _P4
        h = (h ^ _round(np.uint64(0), v2)) * _P1 + _P4
        h = (h ^ _round(np.uint64(0), v3)) * _P1 + _P4
        h = (h ^ _round(np.uint64(0), v4)) * _P1 + _P4
    else:
        h = seed + _P5
    h += np.uint64(length)
    while at + 8 <= stop:
        h = _rotate(h ^ _round(np.uint64(0), _word64(data, at)), 27) * _P1 + _P4
        at += 8
    if at + 4 <= stop:
        h = _rotate(h ^ (_word32(data, at) * _P1), 23) * _P2 + _P3
        at += 4
    while at < stop:
        h = _rotate(h ^ (np.uint64(data[at]) * _P5), 11) * _P1
        at += 1
    h = (h ^ (h >> _S33)) * _P2
    h = (h ^ (h >> _S29)) * _P3
    return h ^ (h >> _S32)
