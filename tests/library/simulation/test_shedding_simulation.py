"""The simulated operator behind a shedder: against its twin and the live shedder; results, phases,
bad input."""

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlb.analysis import running_averages

from streamlb import (
    FullKnowledge,
    LoadAwareShedder,
    RandomShedder,
    SheddingResult,
    StrawMan,
    Zipf,
    execution_times,
    seven_phases,
    simulate_shedding,
)

POLICIES = ["load_aware", "straw_man", "full_knowledge", "random", "none"]


class Live:
    """A shedder that the simulator does not know as one of streamlb's: each call is made."""

    def __init__(self, shedder, costs=None):
        self.shedder, self.complete = shedder, shedder.complete
        self.costs = iter(costs) if isinstance(shedder, FullKnowledge) else None

    @property
    def active(self):
        return self.shedder.active

    def offer(self, key, now):
        return self.shedder.offer(key, now, *(() if self.costs is None else (next(self.costs),)))


def stream(m=3000, seed=1, exponent=1.0, keys=200):
    drawn = Zipf(keys, exponent).draw(m, seed)
    return drawn, execution_times(keys, 20, 0.1, 6.4, seed=seed)[drawn]


def twin_waits(waits):
    return [-1.0 if wait is None else wait for wait in waits]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 6), st.integers(0, 8)), max_size=80), st.integers(1, 9))
def test_known_costs_match_the_twin(tuples, threshold):
    keys = [key for key, _, _ in tuples]
    costs = [float(cost) for _, cost, _ in tuples]
    arrivals = np.cumsum([gap for _, _, gap in tuples], dtype=float)
    comp = simulate_shedding(keys, costs, "full_knowledge", threshold, arrivals=arrivals)
    ref = naive.KnownCosts(float(threshold))
    waits = naive.simulate_shedding(lambda k, now, cost: ref.offer(now, cost), lambda *_: None, keys, costs, arrivals)
    assert comp.waits.tolist() == twin_waits(waits)
    comp = simulate_shedding(keys, costs, "straw_man", threshold, arrivals=arrivals, mean_cost=2.5, safety=0.5)
    ref = naive.KnownCosts(float(threshold), 1.5)
    waits = naive.simulate_shedding(lambda k, now, cost: ref.offer(now, 2.5), lambda *_: None, keys, costs, arrivals)
    assert comp.waits.tolist() == twin_waits(waits)


@pytest.mark.parametrize("seed", range(6))
def test_load_aware_matches_the_twin(seed):
    keys, costs = stream(800, seed, keys=30)
    arrivals = np.arange(800) * costs.mean() * 0.7
    comp = LoadAwareShedder(6.4, 64, 0.1, epsilon=0.2, seed=seed)
    learner = naive.Learner(64, 0.1, *comp.F.shape[1:], seed, "nonempty")
    ref = naive.LoadAware(learner, 6.4, 1.2, timeout=16 * 64)
    result = simulate_shedding(keys, costs, comp, arrivals=arrivals)
    waits = naive.simulate_shedding(
        lambda key, now, _: ref.offer(key, now), ref.complete, keys.tolist(), costs.tolist(), arrivals.tolist()
    )
    assert (result.waits < 0).tolist() == [wait is None for wait in waits]
    np.testing.assert_allclose(result.waits, twin_waits(waits))
    assert result.replies > 0
    assert result.dropped_ratio > 0.2


@given(
    st.integers(0, 5),
    st.floats(-0.3, 0.8),
    st.sampled_from(["average", "windowed", "bound", "percentile"]),
    st.sampled_from([0, 16]),
)
def test_simulated_is_live_bit_for_bit(seed, underprovisioning, goal, reports):
    keys, costs = stream(700, seed, keys=40)
    options = {"window": 32, "tolerance": 0.1, "goal": goal, "span": 50, "reports": reports, "seed": seed}
    simulated, live = LoadAwareShedder(6.4, **options), LoadAwareShedder(6.4, **options)
    result = simulate_shedding(keys, costs, simulated, underprovisioning=underprovisioning)
    called = simulate_shedding(keys, costs, Live(live), arrivals=result.arrivals)
    np.testing.assert_array_equal(result.waits, called.waits)
    assert result.active_from == called.active_from
    assert simulated.state() == live.state()
    for build in (lambda: FullKnowledge(6.4, goal=goal), lambda: StrawMan(6.4, 3.0), lambda: RandomShedder(0.3, seed)):
        result = simulate_shedding(keys, costs, build(), underprovisioning=underprovisioning)
        called = simulate_shedding(keys, costs, Live(build(), costs.tolist()), underprovisioning=underprovisioning)
        np.testing.assert_array_equal(result.waits, called.waits)


def test_any_object_with_the_two_calls_will_do():
    class EveryThird:
        def __init__(self):
            self.seen, self.executed = 0, []

        def offer(self, key, now):
            self.seen += 1
            return self.seen % 3 == 0

        def complete(self, key, elapsed, now):
            self.executed.append((key, elapsed))

    keys, costs = stream(300)
    policy = EveryThird()
    result = simulate_shedding(keys, costs, policy)
    assert result.dropped.tolist() == [(i + 1) % 3 == 0 for i in range(300)]
    kept = ~result.dropped
    assert policy.executed == list(zip(keys[kept].tolist(), costs[kept].tolist()))


def test_an_own_goal_simulates_as_the_built_in_one():
    keys, costs = stream(1500)
    options = {"window": 64, "tolerance": 0.1}
    own = simulate_shedding(keys, costs, "load_aware", 6.4, goal=lambda wait: wait > 6.4, **options)
    builtin = simulate_shedding(keys, costs, "load_aware", 6.4, goal="bound", **options)
    np.testing.assert_array_equal(own.waits, builtin.waits)
    assert own.dropped_ratio > 0


def test_waits_are_those_of_a_queue():
    keys, costs = stream(2000)
    for policy in POLICIES:
        result = simulate_shedding(keys, costs, policy, seed=3)
        kept = np.flatnonzero(~result.dropped)
        ref = naive.kept_waits(result.arrivals.tolist(), costs.tolist(), kept.tolist())
        np.testing.assert_array_equal(result.waits[kept], ref)
    assert simulate_shedding(keys, costs, "none").dropped_ratio == 0


@pytest.mark.bound
@pytest.mark.parametrize("underprovisioning", [-0.1, 0.0, 0.25, 0.9])
def test_full_knowledge_never_passes_the_threshold(underprovisioning):
    """A theorem (the rule keeps only what leaves the average in bounds): no false alarm; the slack
    is for rounding."""
    for seed in range(5):
        keys, costs = stream(4000, seed)
        result = simulate_shedding(keys, costs, "full_knowledge", 6.4, underprovisioning)
        assert result.running_average().max() <= 6.4 * (1 + 1e-12)


@pytest.mark.bound
def test_overestimates_never_pass_the_threshold():
    """With costs that only ever look too large the waits do too: a theorem, so no false alarm."""
    keys, costs = stream(4000)
    result = simulate_shedding(keys, costs, "full_knowledge", 6.4, 0.3, safety=0.2)
    assert result.running_average().max() <= 6.4 * (1 + 1e-12)
    worst = simulate_shedding(keys, costs, "straw_man", 6.4, 0.3, mean_cost=6.4)
    assert worst.running_average().max() <= 6.4 * (1 + 1e-12)


def test_even_arrivals_follow_the_underprovisioning():
    keys, costs = stream(100)
    for underprovisioning in (-0.5, 0.0, 0.25):
        gaps = np.diff(simulate_shedding(keys, costs, "none", underprovisioning=underprovisioning).arrivals)
        np.testing.assert_allclose(gaps, costs.mean() * (1 - underprovisioning))


def test_warm_up_makes_the_shedder_watch_from_the_first_tuple():
    keys, costs = stream(6000)
    options = {"window": 256, "tolerance": 0.1}
    cold = simulate_shedding(keys, costs, **options)
    warm = simulate_shedding(keys, costs, warmup=stream(6000, seed=1), **options)
    assert warm.active_from == 0 < 2 * 256 <= cold.active_from
    assert not cold.dropped[: cold.active_from].any()
    with pytest.raises(TypeError, match="unexpected argument 'warmup'; with the policy 'straw_man' it takes keys"):
        simulate_shedding(keys, costs, "straw_man", warmup=(keys, costs))


def test_an_object_goes_on_from_its_state():
    keys, costs = stream(3000)
    shedder = LoadAwareShedder(6.4, 64, 0.1)
    first = simulate_shedding(keys, costs, shedder)
    assert shedder.outstanding == 0
    second = simulate_shedding(keys, costs, shedder, arrivals=first.arrivals + first.arrivals[-1] + 1e5)
    assert shedder.offered == 6000
    assert second.active_from == 0
    with pytest.raises(ValueError, match="arrivals must not start before the shedder's last tuple"):
        simulate_shedding(keys, costs, shedder)


def test_results_say_what_happened():
    result = SheddingResult(np.array([0.0, -1.0, 4.0, -1.0, 2.0]), np.array([1.0, 9.0, 2.0, 9.0, 3.0]), np.arange(5.0))
    assert result.dropped.tolist() == [False, True, False, True, False]
    assert result.dropped_ratio == 0.4
    assert result.average_wait == 2.0
    assert result.average_completion == 4.0
    assert result.running_average().tolist() == [float(q) for q in running_averages([0, 4, 2])]
    assert result.quantile(0.5) == 2.0
    windows = result.windows(2)
    assert windows["end"].tolist() == [2, 4, 5]
    assert windows["wait"].tolist() == [0.0, 4.0, 2.0]
    assert windows["completion"].tolist() == [1.0, 6.0, 5.0]
    assert windows["dropped_ratio"].tolist() == [0.5, 0.5, 0.0]
    assert result.between(2, 4).waits.tolist() == [4.0, -1.0]
    assert result.shedding_ratio(result.between(0, 2)) == 1.0
    with pytest.raises(ValueError, match="baseline must have dropped something"):
        result.shedding_ratio(result.between(0, 1))
    assert np.isnan(result.between(1, 2).windows(1)["wait"][0])
    assert "dropped 40.0%" in repr(result)


def test_an_empty_stream_and_one_tuple():
    for policy in POLICIES:
        empty = simulate_shedding([], [], policy)
        assert (empty.dropped_ratio, empty.average_wait, empty.average_completion) == (0, 0, 0)
        assert empty.windows()["wait"].size == 0
        if policy != "random":
            assert simulate_shedding([5], [1.0], policy).waits.tolist() == [0.0]


def test_seven_phases_are_as_described():
    load = seven_phases(seed=2, keys=256, messages=4000)
    part = [slice(start, start + 4000) for start in load.starts]
    gaps = np.diff(load.arrivals, append=np.nan)
    for number, gap in enumerate([1, 0.5, 1, 1, 1.5, 1]):
        np.testing.assert_allclose(gaps[part[number]], gap * load.mean_cost)
    times = {}
    for number in range(7):  # a key costs the same in all phases, twice that in F
        factor = 2.0 if number == 5 else 1.0
        for key, cost in zip(load.keys[part[number]].tolist(), load.costs[part[number]].tolist()):
            assert times.setdefault(key, cost / factor) == cost / factor
    top = [np.bincount(load.keys[p].astype(np.int64)).argmax() for p in part]
    assert top[0] == top[1] == top[2] == top[6] == 0
    assert top[3] == top[4] == top[5] != 0
    assert times[top[3]] == max(times.values())
    assert np.bincount(seven_phases(2, 256, 1.0, 4000, "D").keys[part[4]].astype(np.int64)).argmax() == 0
    with pytest.raises(ValueError, match="swapped must name phases"):
        seven_phases(swapped="X")
    with pytest.raises(ValueError, match="rates must be one of"):
        seven_phases(rates="last")


@pytest.mark.parametrize("swapped", ["", "DEF"])
def test_phases_by_their_own_mean_cost_come_as_much_slower(swapped):
    """The load of F, its mean cost over the gap between tuples, is then that of A: exactly 1."""
    load = seven_phases(3, 64, 1.0, 20_000, swapped, rates="own")
    first = seven_phases(3, 64, 1.0, 20_000, swapped)
    gap, usual = (np.diff(each.arrivals)[each.starts[:-1]] for each in (load, first))
    np.testing.assert_allclose(gap[[0, 1, 2, 3]], usual[[0, 1, 2, 3]])
    pmf = Zipf(64, 1.0).pmf
    times = {int(key): cost for key, cost in zip(load.keys[:20_000], load.costs[:20_000])}
    order = {key: key for key in times}
    for number, factor in ((4, 1.5), (5, 2.0)):
        counts = np.bincount(load.keys[load.starts[number] : load.starts[number] + 20_000].astype(np.int64))
        if swapped:
            top = int(counts.argmax())
            order = {**order, 0: top, top: 0}
        mean = sum(pmf[rank] * times[key] for rank, key in order.items())
        np.testing.assert_allclose(gap[number], factor * mean)


@pytest.mark.parametrize(
    ("arguments", "options", "error", "words"),
    [
        (([1, 2], [1.0]), {}, ValueError, "costs must have as many entries as the keys"),
        (([1], [-1.0]), {}, ValueError, "costs must be finite and at least 0"),
        (([1], [float("nan")]), {}, ValueError, "costs must be finite"),
        (([1.5], [1.0]), {}, TypeError, "keys"),
        (([1], [1.0]), {"policy": "best"}, ValueError, "policy must be one of"),
        (([1], [1.0]), {"threshold": 0.0}, ValueError, "threshold must be"),
        (([1], [1.0]), {"underprovisioning": 1.0}, ValueError, "underprovisioning must be"),
        (
            ([1, 2], [1.0, 1.0]),
            {"arrivals": [1.0, 0.5]},
            ValueError,
            "arrivals must not decrease, got .* at position 1",
        ),
        (([1, 2], [1.0, 1.0]), {"arrivals": [-1.0, 0.5]}, ValueError, "arrivals must be finite and at least 0"),
    ],
)
def test_bad_input_is_refused(arguments, options, error, words):
    with pytest.raises(error, match=words):
        simulate_shedding(*arguments, **options)


def test_a_policy_must_shed():
    with pytest.raises(TypeError, match="policy must be a name or an object with offer and complete, got 3"):
        simulate_shedding([1], [1.0], policy=3)


def test_a_learning_straw_man_and_a_busy_shedder_run_by_their_calls():
    """Neither can run compiled: the one learns its mean as it goes, the other has tuples of before
    with its operator."""
    keys, costs = stream(400)
    ref, comp = StrawMan(6.4), StrawMan(6.4)
    np.testing.assert_array_equal(
        simulate_shedding(keys, costs, comp).waits, simulate_shedding(keys, costs, Live(ref)).waits
    )
    assert ref.mean_cost == comp.mean_cost > 0.0
    busy = LoadAwareShedder(6.4, window=64)
    busy.offer(1, 0.0)
    simulate_shedding(keys, costs, busy)
    assert (busy.offered, busy.outstanding) == (401, 1)


def test_one_signature_for_each_kernel():
    """Kernels that are called from Python must always get the same types: see the contributors'
    guide."""
    from numba.core.dispatcher import Dispatcher

    from streamlb.shedding import local
    from streamlb.simulation.shedding import kernels as simulator

    keys, costs = stream(500)
    simulate_shedding(keys, costs, window=32)
    simulate_shedding(keys.tolist(), costs.astype(np.float32), window=32, threshold=6)
    shedder = LoadAwareShedder(6, window=2)
    for now in (0, 1.0, np.float32(2), np.int64(3)):
        shedder.offer(int(now), now)
        shedder.complete("a", now)
        shedder.complete("a", 1, now + 1) if shedder.outstanding else None
    kernels = [one for room in (local, simulator) for one in vars(room).values() if isinstance(one, Dispatcher)]
    assert len(kernels) > 8
    assert all(len(kernel.signatures) <= 1 for kernel in kernels)
