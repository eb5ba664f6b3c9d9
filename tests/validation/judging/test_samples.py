"""Samples and runs: paired by seed, averaged within it, and the same in any order of rows."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlb.validation.judging import Runs, Sample, printed
from streamlb.validation.judging.samples import CELL


def test_arithmetic_pairs_by_seed():
    a, b = Sample([3, 1, 2], [30.0, 10.0, 20.0], frozenset({1})), Sample([2, 3, 9], [2.0, 3.0, 9.0], frozenset({2}))
    for comp, ref in ((a - b, [18.0, 27.0]), (a / b, [10.0, 10.0]), (b * a, [40.0, 90.0]), (a + b, [22.0, 33.0])):
        assert comp.seeds.tolist() == [2, 3]
        assert comp.values.tolist() == ref
        assert comp.cells == {1, 2}
    assert (1 - a).values.tolist() == [-9.0, -19.0, -29.0]
    assert (60 / a).values.tolist() == [6.0, 3.0, 2.0]
    assert (2 + a * 2).values.tolist() == [22.0, 42.0, 62.0]
    assert a.map(np.sqrt).values.tolist() == np.sqrt([10.0, 20.0, 30.0]).tolist()


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_refused_by_name(bad):
    frame = pd.DataFrame({"seed": [5, 6, 7], "load": [1.0, bad, 2.0]})
    with pytest.raises(ValueError, match=rf"load must be finite, got {bad} for seed 6"):
        Runs(frame)["load"]
    with pytest.raises(ValueError, match="the wait must be finite"):
        Runs(frame).sample(frame["load"], "the wait")
    with pytest.raises(ValueError, match="must be finite"):
        Sample([1, 2], [1.0, 2.0]) / Sample([1, 2], [0.0, 1.0])


def test_a_sample_has_one_value_for_each_seed():
    with pytest.raises(ValueError, match="one value for each seed"):
        Sample([1, 2], [1.0])
    with pytest.raises(ValueError, match=r"seeds of a sample must differ, got \[1, 1\]"):
        Sample([1, 1], [1.0, 2.0])


def test_settings_with_more_seeds_than_others_are_compared_on_those_that_all_have():
    """Averaging over settings: a seed that one of them lacks is not an average of all."""
    rows = [(cell, seed, 100.0 * cell + seed) for cell, seeds in ((0, 6), (1, 4), (2, 6)) for seed in range(seeds)]
    frame = pd.DataFrame(rows, columns=["n", "seed", "load"]).assign(**{CELL: lambda frame: frame["n"]})
    runs = Runs(frame)
    assert runs["load"].seeds.tolist() == [0, 1, 2, 3]
    assert runs["load"].values.tolist() == [100.0, 101.0, 102.0, 103.0]
    assert runs.cells == {0, 1, 2}
    assert runs.where(n=(0, 2))["load"].seeds.tolist() == list(range(6))
    assert (runs.where(n=0)["load"] - runs.where(n=1)["load"]).values.tolist() == [-100.0] * 4
    assert runs.where(n=2).cells == {2}


def test_where_raises_when_nothing_is_left():
    runs = Runs(pd.DataFrame({"n": [1, 2], "seed": [0, 0], "load": [1.0, 2.0]}))
    assert len(runs.where(runs.frame["load"] > 1.5)) == 1
    with pytest.raises(ValueError, match="where: no run has n = 3"):
        runs.where(n=3)
    with pytest.raises(ValueError, match="where: the runs have no column 'm'; they have n, seed, load"):
        runs.where(m=3)
    with pytest.raises(ValueError, match="where: no run has the condition"):
        runs.where([False, False])
    assert runs.values_of("n") == [1, 2]
    assert [value for value, _ in runs.by("n", "seed")] == [(1, 0), (2, 0)]


def test_runs_without_seeds_are_replicates():
    assert Runs(pd.DataFrame({"load": [3.0, 1.0]}))["load"].values.tolist() == [3.0, 1.0]


@given(
    counts=st.lists(st.integers(1, 5), min_size=1, max_size=4),
    shuffle=st.randoms(use_true_random=False),
)
def test_a_sample_does_not_depend_on_the_order_of_rows(counts, shuffle):
    """The naive twin averages seed by seed with plain loops, for whole numbers exactly."""
    rows = [
        {"n": n, "seed": seed, "load": float((7 * n + 3 * seed) % 11), CELL: n}
        for n, count in enumerate(counts)
        for seed in range(count)
    ]
    ref = {}
    for seed in range(min(counts)):
        own = [row["load"] for row in rows if row["seed"] == seed]
        ref[seed] = sum(own) / len(own)
    shuffle.shuffle(rows)
    comp = Runs(pd.DataFrame(rows))["load"]
    assert dict(zip(comp.seeds.tolist(), comp.values.tolist())) == ref


@pytest.mark.parametrize(
    ("text", "neutral", "scale", "number", "tolerance"),
    [
        ("1.25", 1.0, 1.0, 1.25, 0.05),  # a fifth of the effect .25
        ("1.19", 1.0, 1.0, 1.19, 0.038),
        ("1.01", 1.0, 1.0, 1.01, 0.005),  # half a unit of the last digit is more
        ("25%", 0.0, 1.0, 0.25, 0.05),
        ("0.2%", 0.0, 1.0, 0.002, 0.0005),
        ("10,690", 0.0, 1.0, 10690.0, 2138.0),
        ("3", 0.0, 1.0, 3.0, 0.6),
        ("2", 0.0, 1.0, 2.0, 0.5),
        ("-4", 0.0, 1.0, -4.0, 0.8),
        ("\N{MINUS SIGN}4", 0.0, 1.0, -4.0, 0.8),
        (" 7.5 ", 7.0, 1.0, 7.5, 0.1),
        ("1e-4", 0.0, 1.0, 1e-4, 5e-5),
        ("1.5E3", 0.0, 1.0, 1500.0, 300.0),
        ("250", 0.0, 1e-3, 0.25, 0.05),
        (".5", 0.0, 1.0, 0.5, 0.1),
        ("-4", 0.0, -1.0, 4.0, 0.8),
        ("150000", 160000.0, 1.0, 150000.0, 2000.0),
        ("0", 0.0, 1.0, 0.0, 0.5),
        ("0.00", 0.0, 1.0, 0.0, 0.005),
    ],
)
def test_printed(text, neutral, scale, number, tolerance):
    found = printed(text, neutral=neutral, scale=scale)
    assert found.number == pytest.approx(number, rel=1e-9, abs=1e-15)
    assert found.tolerance == pytest.approx(tolerance, rel=1e-9)
    assert found.region == (found.number - found.tolerance, found.number + found.tolerance)


@pytest.mark.parametrize("text", ["", "about 3", "1.2.3", "3 to 4", "nan", "1,2", "1,2,", "%", "3 %%"])
def test_what_is_not_one_printed_number_is_refused(text):
    with pytest.raises(ValueError, match="text must be one printed number"):
        printed(text)
