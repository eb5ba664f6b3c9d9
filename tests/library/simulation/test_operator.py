"""The simulated operator: policies against event-by-event twins, chunking, arrivals, bad input."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import posg as naive

from streamlb import Zipf, analysis, execution_times, simulate_operator
from streamlb.learning.messages import Matrices, Reply, size_of
from streamlb.simulation.operator import ARRIVALS, POLICIES, simulate


def stream(seed, m=400, keys=12):
    rng = np.random.default_rng(seed)
    drawn = rng.integers(0, keys, m).astype(np.uint64)
    return drawn, rng.integers(1, 9, keys).astype(float)[drawn.astype(int)]


RULES = st.fixed_dictionaries(
    {
        "clock": st.sampled_from(["wall", "busy"]),
        "idle": st.sampled_from(["ignore", "clamp"]),
        "ties": st.sampled_from(["first", "least_recent"]),
        "unseen": st.sampled_from(["mean", "zero"]),
        "stability": st.sampled_from(["nonempty", "printed"]),
        "synchronise": st.sampled_from(["barrier", "staggered"]),
        "resync": st.sampled_from([False, 7, 40]),
        "timeout": st.sampled_from([5, 1000]),
        "resend": st.sampled_from(["always", "changed"]),
    }
).filter(
    lambda r: not (r["clock"] == "busy" and r["idle"] == "clamp") and (r["resync"] or r["synchronise"] == "barrier")
)


@settings(max_examples=120)
@given(
    seed=st.integers(0, 5),
    k=st.integers(1, 4),
    window=st.integers(2, 20),
    tolerance=st.sampled_from([0.05, 0.3, 10.0]),
    over=st.sampled_from([0.9, 1.0, 1.3]),
    delay=st.sampled_from([0.0, 2.0]),
    control=st.sampled_from([0.0, 3.0, 60.0]),
    heterogeneous=st.booleans(),
    rules=RULES,
)
def test_posg_matches_naive(seed, k, window, tolerance, over, delay, control, heterogeneous, rules):
    keys, costs = stream(seed)
    multipliers = [np.linspace(0.5, 1.5, k), np.linspace(2.0, 0.5, k)] if heterogeneous else [np.ones(k)] * 2
    interval = costs.mean() / k * over
    arrivals = (np.arange(costs.size) * interval).tolist()
    ref_stays, ref_chosen, ref = naive.simulate_posg(
        keys.tolist(), costs.tolist(), arrivals, k, window, tolerance, 2, 7, seed, rules["stability"],
        lambda t: multipliers[t >= 250].tolist(), delay, control, rules["clock"] == "busy",
        resync=int(rules["resync"]), timeout=rules["timeout"], clamp=rules["idle"] == "clamp",
        least_recent=rules["ties"] == "least_recent", zero=rules["unseen"] == "zero",
        staggered=rules["synchronise"] == "staggered", on_change=rules["resend"] == "changed",
    )  # fmt: skip
    comp = simulate_operator(
        keys, costs, k, "posg", over, seed, keep=True, speeds=multipliers[0], changes=[(250, multipliers[1])],
        latency=delay, control_latency=control, window=window, tolerance=tolerance, delta=0.25, columns=7, **rules,
    )  # fmt: skip
    assert comp.assignment.tolist() == ref_chosen
    np.testing.assert_allclose(comp.completion, ref_stays, rtol=1e-9, atol=1e-9)
    counted = comp.messages
    assert counted["timeouts"] == ref.timeouts
    # Messages that are still on their way when the last tuple arrives reach only the twin.
    assert counted["matrices"] + counted["matrices_under_way"] == ref.matrices
    sent = counted["replies"] + counted["ignored"] + counted["replies_under_way"]
    assert sent == counted["requests"] == ref.replies + ref.ignored
    pair, reply = size_of(Matrices, 2, 7), size_of(Reply)
    assert counted["bytes"] == ref.matrices * pair + sent * reply


@given(
    policy=st.sampled_from(["round_robin", "full_knowledge", "least_work", "feedback"]),
    seed=st.integers(0, 5),
    k=st.integers(1, 5),
    delay=st.sampled_from([0.0, 2.0]),
    control=st.sampled_from([0.0, 3.0]),
    every=st.integers(1, 5),
    over=st.sampled_from([0.7, 1.0, 1.3]),
)
def test_baselines_match_naive(policy, seed, k, delay, control, every, over):
    keys, costs = stream(seed, 300)
    speeds = np.linspace(0.5, 1.5, k)
    arrivals = (np.arange(costs.size) * (costs.mean() / k * over)).tolist()
    ref_stays, ref_chosen = naive.simulate_simple(
        policy, costs.tolist(), arrivals, k, lambda t: speeds.tolist(), delay, every, control
    )
    own = {"every": every} if policy == "feedback" else {}
    comp = simulate_operator(
        keys, costs, k, policy, over, speeds=speeds, latency=delay, control_latency=control, keep=True, **own
    )
    assert comp.assignment.tolist() == ref_chosen
    np.testing.assert_allclose(comp.completion, ref_stays, rtol=1e-9)
    assert comp.mean == pytest.approx(np.mean(ref_stays))
    assert comp.std == pytest.approx(np.std(ref_stays), abs=1e-6)
    assert (comp.minimum, comp.maximum) == (comp.completion.min(), comp.completion.max())


@pytest.mark.parametrize("policy", POLICIES)
def test_costs_beyond_the_floats_are_refused(policy):
    with pytest.raises(ValueError, match="costs must add up"):
        simulate_operator([1, 2, 3], [1e308] * 3, 1, policy)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("arrivals", ARRIVALS)
def test_chunks_do_not_matter(policy, arrivals, monkeypatch):
    keys, costs = stream(1, 1000)
    options = {"window": 20, "tolerance": 0.3} if policy in ("posg", "one_column") else {}
    set_up = {"arrivals": arrivals, "burst": 7, "keep": True, "block": 30, "overprovisioning": 0.8, **options}
    whole = simulate_operator(keys, costs, 3, policy, **set_up)
    monkeypatch.setattr(simulate, "_CHUNK", 97)
    parts = simulate_operator(keys, costs, 3, policy, **set_up)
    assert np.array_equal(whole.completion, parts.completion)
    assert np.array_equal(whole.assignment, parts.assignment)
    assert np.array_equal(whole.blocks, parts.blocks)
    assert whole.phases == parts.phases
    assert whole.messages == parts.messages


def test_a_full_box_makes_room():
    """Long control latency keeps many messages on their way: more than the box holds at first."""
    keys, costs = stream(2, 4000)
    rules = {
        "window": 4,
        "tolerance": 10.0,
        "resync": 5,
        "delta": 0.25,
        "columns": 7,
        "timeout": 1000,
        "synchronise": "staggered",
    }
    arrivals = (np.arange(costs.size) * costs.mean() / 2).tolist()
    ref_stays, ref_chosen, _ = naive.simulate_posg(
        keys.tolist(), costs.tolist(), arrivals, 2, 4, 10.0, 2, 7, 0, "nonempty", lambda t: [1.0, 1.0], 0.0, 900.0, False,
        resync=5, timeout=1000, staggered=True,
    )  # fmt: skip
    comp = simulate_operator(keys, costs, 2, "posg", control_latency=900.0, keep=True, **rules)
    assert comp.assignment.tolist() == ref_chosen
    np.testing.assert_allclose(comp.completion, ref_stays, rtol=1e-9)


@pytest.mark.parametrize("over", [1.0, 1.05, 1.15])
def test_feedback_knows_who_idles(over):
    """Fed back often, it beats round robin also where instances idle: it is no control otherwise.

    The streams are fixed, so that a false alarm cannot come and go.
    """
    for seed in range(10):
        keys = Zipf(500, 1.0).draw(5_000, seed)
        costs = execution_times(500, seed=seed)[keys]
        plain, fed = (
            simulate_operator(keys, costs, 5, policy, over, **own).mean
            for policy, own in (("round_robin", {}), ("feedback", {"every": 10}))
        )
        assert fed < plain


def test_a_full_queue_of_reports_makes_room():
    keys, costs = stream(2, 3000)
    arrivals = (np.arange(costs.size) * costs.mean() / 2).tolist()
    ref_stays, _ = naive.simulate_simple("feedback", costs.tolist(), arrivals, 2, lambda t: [1.0, 1.0], 0.0, 1, 2000.0)
    comp = simulate_operator(keys, costs, 2, "feedback", every=1, control_latency=2000.0, keep=True)
    np.testing.assert_allclose(comp.completion, ref_stays, rtol=1e-9)


def test_completion_times_are_those_of_analysis():
    keys, costs = stream(3, 200)
    arrivals = np.floor(np.arange(200) * 2.5)
    comp = simulate_operator(keys, costs, 3, "posg", arrivals=arrivals, window=10, tolerance=1.0, keep=True)
    ref = analysis.completion_times(arrivals, costs, comp.assignment.tolist(), 3)
    assert comp.completion.tolist() == [float(stay) for stay in ref]


def test_example_of_the_paper():
    comp = simulate_operator([0, 1, 0], [10.0, 1.0, 10.0], 2, "round_robin", arrivals=[0.0, 1.0, 2.0], keep=True)
    assert comp.completion.sum() == 29
    comp = simulate_operator([0, 1, 0], [10.0, 1.0, 10.0], 2, "full_knowledge", arrivals=[0.0, 1.0, 2.0], keep=True)
    assert comp.completion.sum() == 21


def test_without_warm_up_the_scheduler_knows_at_once():
    keys, costs = stream(4, 2000)
    comp = simulate_operator(keys, costs, 3, "posg", warmup=False, window=50, tolerance=0.2)
    assert comp.first_run < 30
    never = simulate_operator(keys, costs, 3, "posg", warmup=False, window=5000)
    assert never.first_run < 30  # never stable: what was learnt is taken as it is
    assert never.messages["matrices"] == 0


def test_one_instance_is_round_robin():
    keys, costs = stream(5, 3000)
    round_robin, posg = (simulate_operator(keys, costs, 1, policy, keep=True) for policy in ("round_robin", "posg"))
    assert np.array_equal(round_robin.completion, posg.completion)


def test_late_tuples_and_blocks():
    keys, costs = stream(6, 100)
    comp = simulate_operator(keys, costs, 2, "round_robin", overprovisioning=0.5, deadline=50.0, block=30, keep=True)
    assert comp.late == (comp.completion > 50.0).sum() > 0
    ref = [comp.completion[at : at + 30] for at in range(0, 100, 30)]
    np.testing.assert_allclose(comp.blocks, [[part.min(), part.mean(), part.max()] for part in ref])


@pytest.mark.bound
def test_poisson_gaps_are_exponential():
    """Kolmogorov-Smirnov at p > 1e-6 on a fixed seed: a false alarm cannot come and go."""
    from scipy.stats import kstest

    # All wait for a costly first tuple and cost nothing themselves: their waits tell when they
    # came.
    costs = np.zeros(20_000)
    costs[0] = 80_000.0
    stays = simulate_operator(
        np.arange(20_000), costs, 1, "round_robin", 0.5, 11, arrivals="poisson", keep=True
    ).completion
    assert kstest(-np.diff(stays), "expon", args=(0, 2.0)).pvalue > 1e-6


@pytest.mark.bound
def test_messages_stay_within_theorem_33():
    """Counts on both sides: no false alarm."""
    for seed in range(5):
        keys = Zipf(200, 1.0).draw(20_000, seed)
        costs = execution_times(200, seed=seed)[keys]
        for resync in (False, 2000):
            comp = simulate_operator(keys, costs, 4, "posg", window=256, tolerance=0.2, resync=resync)
            bounds = analysis.posg_message_bounds(20_000, 256, 4, resync or None)
            assert 0 < comp.messages["matrices"] <= bounds["matrices"]
            assert 0 < comp.messages["replies"] <= bounds["replies"]


@pytest.mark.parametrize(
    ("change", "error", "name"),
    [
        ({"instances": 0}, ValueError, "instances"),
        ({"costs": [1.0]}, ValueError, "costs"),
        ({"costs": [1.0, -1.0, 1.0]}, ValueError, "costs"),
        ({"costs": [1.0, float("nan"), 1.0]}, ValueError, "costs"),
        ({"policy": "best"}, ValueError, "policy"),
        ({"overprovisioning": 0.0}, ValueError, "overprovisioning"),
        ({"arrivals": "sometimes"}, ValueError, "arrivals"),
        ({"arrivals": [0.0, 2.0, 1.0]}, ValueError, "arrivals"),
        ({"speeds": [1.0]}, ValueError, "speeds"),
        ({"speeds": [1.0, 0.0]}, ValueError, "speeds"),
        ({"changes": [(5, [1.0, 1.0]), (5, [1.0, 1.0])]}, ValueError, "changes"),
        ({"latency": -1.0}, ValueError, "latency"),
        ({"deadline": float("nan")}, ValueError, "deadline"),
        ({"block": 0}, ValueError, "block"),
        ({"policy": "feedback", "every": 0}, ValueError, "every"),
        ({"window": 0}, ValueError, "window"),
        ({"clock": "sun"}, ValueError, "clock"),
        ({"policy": "round_robin", "window": 5}, TypeError, "window"),
        ({"clock": "busy", "idle": "clamp"}, ValueError, "idle"),
        ({"resync": False, "synchronise": "staggered"}, ValueError, "resync"),
        ({"keys": [], "costs": np.empty(0)}, ValueError, "keys"),
    ],
)
def test_bad_input(change, error, name):
    arguments = {"keys": [1, 2, 3], "costs": [1.0, 2.0, 3.0], "instances": 2} | change
    with pytest.raises(error, match=name):
        simulate_operator(**arguments)
