"""Streams: equal to their twins, the same for any chunking, distributed as their pmf says."""

import pickle

import naive
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from streamlb import (
    Drifting,
    Phase,
    Phased,
    Trace,
    Uniform,
    Zipf,
    execution_times,
    key_array,
)
from streamlb.rng import alias_table, permutation, uniforms

seeds = st.integers(0, 2**64 - 1)


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=40).filter(any))
def test_alias_table_stands_for_its_pmf(weights):
    """Exact but for the 32-bit thresholds: a column is off by 2**-32 / n, so an entry by 2**-32."""
    pmf = np.array(weights) / sum(weights)
    shares = naive.alias_share(alias_table(pmf).tolist(), len(weights))
    np.testing.assert_allclose(shares, pmf, atol=2**-31)


@given(st.integers(1, 300), st.floats(0, 3), seeds, st.integers(0, 2**40), st.integers(0, 50))
def test_zipf_matches_naive(keys, exponent, seed, start, m):
    stream = Zipf(keys, exponent)
    ref = naive.alias_stream(alias_table(stream.pmf).tolist(), seed, start, m)
    assert stream.draw(m, seed, start=start).tolist() == ref


@given(st.integers(1, 2**32 - 1), seeds, st.integers(0, 2**40))
def test_uniform_matches_naive(keys, seed, start):
    assert Uniform(keys).draw(9, seed, start=start).tolist() == naive.uniform_stream(keys, seed, start, 9)


def streams():
    zipf = Zipf(50, 1.2)
    return [
        zipf,
        Uniform(7),
        Drifting(zipf, [10, 11, 400], seed=3),
        Drifting(zipf, [10, 200, 400], seed=3, returning=2),
        Phased([Phase(zipf, 100, 2.0), Phase(Uniform(90), 1), Phase(Drifting(zipf, [5]), 300)]),
        Trace(zipf.draw(1000, 9)),
    ]


@pytest.mark.parametrize("stream", streams(), ids=repr)
@pytest.mark.parametrize("size", [1, 7, 64, 100_000])
def test_any_chunking_gives_the_same_stream(stream, size):
    whole = stream.draw(600, seed=5)
    np.testing.assert_array_equal(np.concatenate(list(stream.chunks(600, 5, size=size))), whole)
    np.testing.assert_array_equal(stream.draw(200, 5, start=333), whole[333:533])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(stream)).draw(600, 5), whole)


@pytest.mark.bound
@pytest.mark.parametrize(
    ("stream", "m"),
    [
        (Zipf(100, 0.0), 10**6),
        (Zipf(100, 1.0), 10**6),
        (Zipf(10_000, 2.0), 10**6),
        (Uniform(977), 10**6),
        (Zipf(3, 0.7), 10**6),
    ],
    ids=repr,
)
def test_draws_follow_the_pmf(stream, m):
    """Chi-square over keys expected 10 times or more, the rest together: p above 1e-6, 15 tests."""
    for seed in (1, 2, 3):
        counts = np.bincount(stream.draw(m, seed).astype(np.int64), minlength=stream.keys)
        expected = stream.pmf * m
        common = expected >= 10
        observed, model = counts[common], expected[common]
        if not common.all():
            observed, model = np.append(observed, counts[~common].sum()), np.append(model, expected[~common].sum())
        assert stats.chisquare(observed, model * (observed.sum() / model.sum())).pvalue > 1e-6


@pytest.mark.bound
def test_neighbouring_seeds_and_draws_are_independent():
    """Chi-square of pairs of draws and of seeds over 20 x 20 cells: p above 1e-6, two tests."""
    stream = Uniform(20)
    a, b = stream.draw(200_001, 7).astype(int), stream.draw(200_001, 8).astype(int)
    for pairs in (a[:-1] * 20 + a[1:], a * 20 + b):
        assert stats.chisquare(np.bincount(pairs, minlength=400)).pvalue > 1e-6


def test_drift_deals_the_ranks_anew():
    base = Zipf(30, 1.5)
    stream = Drifting(base, [100, 250], seed=8)
    ranks, keys = base.draw(400, 2).astype(int), stream.draw(400, 2).astype(int)
    assert (keys[:100] == ranks[:100]).all()
    for low, high in ((100, 250), (250, 400)):
        pairs = set(zip(ranks[low:high], keys[low:high]))
        assert len({rank for rank, _ in pairs}) == len({key for _, key in pairs}) == len(pairs)
        pmf = stream.pmf_at(low)
        assert pmf.sum() == pytest.approx(1)
        assert all(pmf[key] == base.pmf[rank] for rank, key in pairs)
    assert (keys[100:250] != ranks[100:250]).any()


def test_ranks_may_return():
    base = Zipf(30, 1.5)
    stream = Drifting(base, [100, 200, 300], seed=8, returning=2)
    ranks, keys, never = (s.draw(400, 2).astype(int) for s in (base, stream, Drifting(base, [100, 200, 300], seed=8)))
    for low, back in ((0, True), (100, False), (200, True), (300, False)):
        part = slice(low, low + 100)
        assert (keys[part] == (ranks if back else never)[part]).all()
        assert (stream.pmf_at(low) == base.pmf).all() == back


@given(st.integers(1, 3000), st.floats(0, 3), st.integers(0, 10**6))
def test_distinct_is_the_sum_of_the_chances_to_be_met(keys, exponent, m):
    stream = Zipf(keys, exponent)
    assert stream.distinct(m) == pytest.approx(-np.expm1(-m * stream.pmf).sum(), rel=1e-5, abs=1e-5)


def test_phases_have_their_own_distribution_and_rate():
    stream = Phased([(Uniform(5), 50, 1.0), (Uniform(100), 50, 4.0)])
    keys = stream.draw(120, 1)
    assert keys[:50].max() < 5 <= keys[50:].max()
    gaps = np.diff(stream.arrivals(100))
    assert set(gaps[:50]) == {1.0}
    assert set(gaps[50:]) == {0.25}
    assert stream.phase_at(49) == 0
    assert stream.phase_at(10_000) == 1
    assert stream.pmf.sum() == pytest.approx(1)
    assert stream.pmf_at(0).size == 100


def test_traces_from_every_source(tmp_path):
    keys = [f"key-{i % 13}" for i in range(1000)]
    ref = key_array(keys)
    text = tmp_path / "keys.txt"
    text.write_text("\n".join(keys) + "\n")
    parquet = tmp_path / "keys.parquet"
    pq.write_table(pa.table({"user": keys, "other": range(1000)}), parquet)
    array = tmp_path / "keys.npy"
    np.save(array, ref)
    for trace in (Trace(keys), Trace(text), Trace(str(parquet), column="user"), Trace(array)):
        assert trace.messages == 1000
        assert trace.keys == 13
        np.testing.assert_array_equal(trace.draw(), ref)
        np.testing.assert_array_equal(trace.draw(10, start=37), ref[37:47])
        assert trace.pmf[0] == pytest.approx(77 / 1000)
        with pytest.raises(ValueError, match="m must be at most 1000"):
            trace.draw(1001)
    with pytest.raises(ValueError, match="column must be one of user, other"):
        Trace(parquet, column="nobody")
    with pytest.raises(ValueError, match="column must be given"):
        Trace(parquet)
    with pytest.raises(ValueError, match="existing file"):
        Trace(tmp_path / "absent.txt")


@pytest.mark.parametrize("spacing", ["linear", "geometric"])
def test_execution_times(spacing):
    times = execution_times(640, values=64, low=1, high=64, spacing=spacing, seed=4)
    values, counts = np.unique(times, return_counts=True)
    assert (counts == 10).all()
    steps = np.diff(values) if spacing == "linear" else np.diff(np.log(values))
    np.testing.assert_allclose(steps, steps[0])
    assert (values[0], values[-1]) == (1, pytest.approx(64))
    assert (times != execution_times(640, 64, 1, 64, spacing, seed=5)).any()
    # The association is random, not in order of the keys: the rank correlation of 640 pairs stays
    # below .2 (5 standard errors).
    assert abs(stats.spearmanr(np.arange(640), times).statistic) < 0.2


def test_permutation_and_uniforms():
    assert sorted(permutation(3, 500).tolist()) == list(range(500))
    draws = uniforms(3, 10_000)
    assert 0 <= draws.min() <= draws.max() < 1
    assert stats.kstest(draws, "uniform").pvalue > 1e-6


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: Zipf(0, 1.0), ValueError, "keys must be in .* got 0"),
        (lambda: Zipf(2.5, 1.0), TypeError, "keys must be an integer, got 2.5"),
        (lambda: Zipf(10, -1), ValueError, "exponent must be .* got -1"),
        (lambda: Zipf(10, float("nan")), ValueError, "exponent must be finite"),
        (lambda: Zipf(10, 1.0).draw(-1), ValueError, "m must be at least 0, got -1"),
        (lambda: Zipf(10, 1.0).draw(), TypeError, "m must be given"),
        (lambda: Zipf(10, 1.0).draw(1, "x"), TypeError, "seed must be an integer"),
        (lambda: Zipf(10, 1.0).chunks(5, size=0), ValueError, "size must be at least 1"),
        (lambda: Zipf.from_top_share(10, 0.05), ValueError, "share must be in"),
        (lambda: Uniform(0), ValueError, "keys must be in"),
        (lambda: Drifting(3, [1]), TypeError, "base must be a Stream"),
        (lambda: Drifting(Uniform(3), [5, 5]), ValueError, "points must ascend"),
        (lambda: Phased([]), ValueError, "phases must hold at least one"),
        (lambda: Phased([(Uniform(2),)]), TypeError, r"phases must be Phase or \(stream, messages, rate\) tuples"),
        (lambda: Phased([7]), TypeError, "phases must be Phase or"),
        (lambda: Phased([(Uniform(3), 10, 0.0)]), ValueError, "rate must be"),
        (lambda: execution_times(5, high=0.5), ValueError, "high must be"),
        (lambda: execution_times(5, spacing="cubic"), ValueError, "spacing must be one of 'linear', 'geometric'"),
        (lambda: Drifting(Uniform(3), [5], returning=0), ValueError, "returning must be at least 1, got 0"),
    ],
)
def test_bad_input(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_seeds():
    stream = Uniform(2**32 - 1)
    sequence = np.random.SeedSequence(5)
    np.testing.assert_array_equal(stream.draw(5, sequence), stream.draw(5, np.random.SeedSequence(5)))
    assert (stream.draw(5, None) != stream.draw(5, None)).any()
