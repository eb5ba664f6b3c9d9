"""Hash kernels: a 64-bit mixer, the routing family, a 2-universal family for sketches, xxhash64.

Keys are uint64. The mixer is Stafford's variant 13 of MurmurHash3's finaliser (the one of
SplitMix64), a bijection.

The routing family gives each key a sequence of workers F_0, F_1, .... A seed becomes two
well-spread words, `add` and an odd `times`, and a key's hash is mix((key + add) * times). So
neighbouring seeds have nothing in common, and keys in arithmetic progression stay apart, because
their step is multiplied by a number of the seed's own. The upper half of the hash picks F_0, the
lower half picks F_1, and F_i for i >= 2 is drawn from mix(hash + i * GOLDEN). The hash is mixed
before i is added, so keys at a given distance do not have sequences that are shifted copies of each
other.

The sketch family is Thorup's pair-multiply-shift ("High speed hashing for integers and strings",
2015, section 3.5), which is strongly universal from 64-bit keys to 32 bits for a0, a1 and b uniform
in 64 bits. Keys pass through the mixer first: as a bijection it changes nothing in the proof, and
it breaks up runs of consecutive integers, on which any linear family is far from random.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from streamlb._jit import njit

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_M1 = np.uint64(0xBF58476D1CE4E5B9)
_M2 = np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S32, _S33, _S29 = (np.uint64(s) for s in (30, 27, 31, 32, 33, 29))
_LOW32 = np.uint64(0xFFFFFFFF)
# How many keys a batch kernel hashes at a time; what it writes on the way stays in the nearest
# cache.
BLOCK = 256


@njit(cache=True, nogil=True, forceinline=True)
def mix(x):
    """Mix 64 bits: a bijection in which every input bit moves every output bit."""
    x = (x ^ (x >> _S30)) * _M1
    x = (x ^ (x >> _S27)) * _M2
    return x ^ (x >> _S31)


@njit(cache=True, nogil=True, forceinline=True)
def fast_range(h, n):
    """Map a hash to 0..n-1 by its upper 32 bits (Lemire's multiply-shift); n is below 2**32."""
    return np.int64(((h >> _S32) * np.uint64(n)) >> _S32)


# The two words of a seed, uint64 each, which a kernel makes once.
Family = namedtuple("Family", "add times")


@njit(cache=True, nogil=True, forceinline=True)
def family_of(seed):
    """Return the routing family of a seed (uint64)."""
    spread = mix(seed + GOLDEN)
    return Family(mix(spread + GOLDEN), mix(spread + GOLDEN + GOLDEN) | np.uint64(1))


@njit(cache=True, nogil=True, forceinline=True)
def key_hash(key, family):
    """Return a key's 64-bit hash under a routing family."""
    return mix((key + family.add) * family.times)


@njit(cache=True, nogil=True, forceinline=True)
def first_candidate(h, n):
    """Return F_0 of a key with hash `h`, its first worker of n; n is below 2**32."""
    return fast_range(h, n)


@njit(cache=True, nogil=True, forceinline=True)
def second_candidate(h, n):
    """Return F_1 of a key with hash `h`, its second worker of n; n is below 2**32."""
    return np.int64(((h & _LOW32) * np.uint64(n)) >> _S32)


@njit(cache=True, nogil=True, forceinline=True)
def later_candidate(h, i, n):
    """Return F_i of a key with hash `h`, for i >= 2."""
    return fast_range(mix(h + np.uint64(i) * GOLDEN), n)


@njit(cache=True, nogil=True, forceinline=True)
def candidate(h, i, n):
    """Return F_i of a key with hash `h`, the i-th worker of n (i from 0).

    The family is nested: F_0 and F_1 stay what they are when more workers are taken.
    """
    if i == 0:
        return first_candidate(h, n)
    if i == 1:
        return second_candidate(h, n)
    return later_candidate(h, i, n)


@njit(cache=True, nogil=True, forceinline=True)
def sketch_column(mixed, a0, a1, b, columns):
    """Return a mixed key's column under the pair-multiply-shift function (a0, a1, b).

    `columns` and the result are uint64: Numba indexes by unsigned numbers without a test for
    negative ones.
    """
    h = (a0 + (mixed >> _S32)) * (a1 + (mixed & _LOW32)) + b
    return ((h >> _S32) * columns) >> _S32


@njit(cache=True, nogil=True, forceinline=True)
def sketch_columns(keys, family, columns, work):
    """Write the column of every key under every function of a sketch family, all in one go.

    `work` is uint64[functions + 1, BLOCK] and `keys` no longer than BLOCK. The columns under
    function i end up in work[i]; the last row takes the mixed keys. Nothing but arithmetic stands
    in these loops, so that they run on the processor's vector units.
    """
    last = np.uint64(family.shape[0])
    mixed = work[last]
    for i in range(np.uint64(keys.size)):
        mixed[i] = mix(keys[i])
    for row in range(last):
        a0, a1, b, found = family[row, 0], family[row, 1], family[row, 2], work[row]
        for i in range(np.uint64(keys.size)):
            found[i] = sketch_column(mixed[i], a0, a1, b, columns)


@njit(cache=True, nogil=True)
def _fill_uint64(seed, out):
    spread = mix(seed + GOLDEN)
    for i in range(out.size):
        out[i] = mix(spread + np.uint64(i + 1) * GOLDEN)


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


@njit(cache=True, nogil=True)
def hash_one(key, seed):
    """Return a key's hash under the routing family of a seed.

    This is `key_hash` for callers outside of kernels.
    """
    return key_hash(key, family_of(seed))


def sketch_family(rows: int, seed: int) -> np.ndarray:
    """Return the parameters of `rows` independent 2-universal functions.

    The result is uint64[rows, 3], with a0, a1 and b in each row.
    """
    return derive(seed, 3 * rows).reshape(rows, 3)


def sketch_work(rows: int) -> np.ndarray:
    """Return room for what `sketch_columns` writes."""
    return np.empty((rows + 1, BLOCK), np.uint64)


# xxhash64 (Y. Collet's published specification) over the bytes data[start:stop]. These kernels take
# bytes objects as well as arrays and are not cached themselves. They are compiled into the kernels
# of keys.py, each of which has one signature and is cached.
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
