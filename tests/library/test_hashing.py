"""The hash families: equal to their twins, and as random as their users need."""

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from streamlb._jit import njit
from streamlb.hashing import candidate, derive, family_of, key_hash, mix, sketch_column, sketch_family

words = st.integers(0, 2**64 - 1)


@njit(nogil=True)
def _mix_many(keys, out):
    for i in range(keys.size):
        out[i] = mix(keys[i])


@njit(nogil=True)
def _candidates(keys, seed, i, n, out):
    family = family_of(seed)
    for at in range(keys.size):
        out[at] = candidate(key_hash(keys[at], family), i, n)


@njit(nogil=True)
def _columns(keys, family, columns, out):
    for at in range(keys.size):
        out[at] = sketch_column(mix(keys[at]), family[0], family[1], family[2], np.uint64(columns))


def mixed(keys):
    out = np.empty_like(keys)
    _mix_many(keys, out)
    return out


@given(st.lists(words, min_size=1, max_size=20), words, st.integers(0, 50), st.integers(1, 2**31))
def test_match_naive(keys, seed, i, n):
    array, out = np.array(keys, np.uint64), np.empty(len(keys), np.int64)
    assert mixed(array).tolist() == [naive.mix(key) for key in keys]
    _candidates(array, np.uint64(seed), i, n, out)
    assert out.tolist() == [naive.candidate(key, seed, i, n) for key in keys]
    family = sketch_family(2, seed)
    assert family.tolist() == naive.sketch_family(2, seed)
    _columns(array, family[1], n, out)
    assert out.tolist() == [naive.sketch_column(key, family[1].tolist(), n) for key in keys]


def test_mixer_is_a_bijection_on_a_sample():
    keys = np.concatenate([np.arange(200_000, dtype=np.uint64), np.arange(200_000, dtype=np.uint64) << np.uint64(40)])
    assert np.unique(mixed(keys)).size == np.unique(keys).size


@pytest.mark.bound
def test_avalanche():
    """Each of 64 x 64 (input bit, output bit) pairs flips half the time.

    With 20,000 keys a fair pair leaves [.5 - .019, .5 + .019] with probability 7e-8 (5.4 standard
    errors of .0035): a false alarm over 4,096 pairs in 1 of 3,000 draws of the keys, and the keys
    are fixed.
    """
    keys = derive(5, 20_000)
    base = mixed(keys)
    for bit in range(64):
        flipped = mixed(keys ^ np.uint64(1 << bit)) ^ base
        shares = [(flipped >> np.uint64(out) & np.uint64(1)).mean() for out in range(64)]
        assert max(abs(share - 0.5) for share in shares) < 0.019


@pytest.mark.bound
@pytest.mark.parametrize(
    "keys", [np.arange(100_000), np.arange(100_000) * 4096, 2**63 + np.arange(100_000, dtype=np.uint64)]
)
def test_candidates_are_uniform_and_independent(keys):
    """Chi-square of F_1 and of the pair (F_1, F_2) on structured keys: p above 1e-6, six tests."""
    keys = np.asarray(keys).astype(np.uint64)
    first, second = np.empty(keys.size, np.int64), np.empty(keys.size, np.int64)
    seed = derive(3, 1)[0]
    _candidates(keys, seed, 0, 50, first)
    _candidates(keys, seed, 1, 50, second)
    assert stats.chisquare(np.bincount(first, minlength=50)).pvalue > 1e-6
    assert stats.chisquare(np.bincount(first * 50 + second, minlength=2500)).pvalue > 1e-6


@pytest.mark.bound
def test_sketch_family_is_two_universal():
    """Two keys collide under a random function with chance 1/c: 20,000 functions, five key pairs.

    The number of collisions is binomial; each count lies within 5.5 standard deviations (4e-8 a
    pair).
    """
    functions, columns = 20_000, 55
    family = sketch_family(functions, 17).reshape(functions, 3)
    out = np.empty(2, np.int64)
    for pair in [(0, 1), (1, 2**32), (7, 7 + 2**33), (2**64 - 1, 0), (123456789, 987654321)]:
        keys = np.array(pair, np.uint64)
        collisions = 0
        for function in family:
            _columns(keys, function, columns, out)
            collisions += out[0] == out[1]
        mean = functions / columns
        assert abs(collisions - mean) < 5.5 * np.sqrt(mean * (1 - 1 / columns))


def test_derive_is_a_prefix_of_itself():
    assert derive(9, 4).tolist() == naive.derive(9, 4)
    assert derive(9, 9)[:4].tolist() == derive(9, 4).tolist()


def _workers(keys, seed, i, n):
    out = np.empty(keys.size, np.int64)
    _candidates(keys, np.uint64(seed), i, n, out)
    return out


@pytest.mark.bound
@pytest.mark.parametrize("step", [1, 3, 4096, int(naive.GOLDEN)])
def test_seeds_are_independent_replicates(step):
    """Workers under seeds s and s + 1, shifted by -1, 0 or 1 keys, agree as often as chance has it.

    Keys are in arithmetic progression. With 100,000 keys and 64 workers the share of agreement is
    1/64 with a standard error of 3.9e-4; six of them have a chance of 2e-9, so over the 27
    comparisons a false alarm has one of 5e-8.
    """
    keys = np.arange(100_000, dtype=np.uint64) * np.uint64(step)
    for seed in range(9):
        a, b = _workers(keys, seed, 0, 64), _workers(keys, seed + 1, 0, 64)
        for left, right in ((a, b), (a[1:], b[:-1]), (a[:-1], b[1:])):
            assert abs((left == right).mean() - 1 / 64) < 6 * (1 / 64 * 63 / 64 / left.size) ** 0.5


@pytest.mark.bound
def test_avalanche_of_the_seed():
    """Each bit of the seed flips each bit of a key's hash half the time.

    The chance of a false alarm is that of `test_avalanche`.
    """
    seeds = derive(11, 20_000)
    base = np.array([naive.key_hash(17, int(seed)) for seed in seeds], np.uint64)
    for bit in (0, 1, 7, 31, 32, 63):
        other = np.array([naive.key_hash(17, int(seed) ^ (1 << bit)) for seed in seeds], np.uint64) ^ base
        shares = [(other >> np.uint64(out) & np.uint64(1)).mean() for out in range(64)]
        assert max(abs(share - 0.5) for share in shares) < 0.019


@pytest.mark.bound
@pytest.mark.parametrize("step", [1, int(naive.GOLDEN), 2**64 - int(naive.GOLDEN)])
def test_no_two_keys_have_shifted_sequences(step):
    """F_i(key) and F_{i + 1} of a neighbouring key agree as often as chance has it, for i up to 5.

    The version before gave F_0(key + GOLDEN) = F_1(key) always. Six standard errors, as above: a
    false alarm in 1 of 1e7.
    """
    keys = np.arange(50_000, dtype=np.uint64) * np.uint64(step)
    sequences = [_workers(keys, 3, i, 64) for i in range(7)]
    for i in range(6):
        for left, right in ((sequences[i][1:], sequences[i + 1][:-1]), (sequences[i][:-1], sequences[i + 1][1:])):
            assert abs((left == right).mean() - 1 / 64) < 6 * (1 / 64 * 63 / 64 / left.size) ** 0.5
